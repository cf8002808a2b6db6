"""A cassette read from disk, fast (spec C1 to C12): segments, several processes, one digest.

Decides nothing about rules: it proves "every record is in order" by equalities, for a segment at a time, or it gives up and
`walk` names what is wrong. A segment starts anywhere in the file, because a link is found without parsing.
"""

from __future__ import annotations

import gc
import hashlib
import io
import multiprocessing
import os
import sys
import threading
from binascii import hexlify
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Final

import orjson

from provtape.cassette.reader import lines, open_regular
from provtape.errors import FormatError, LimitError
from provtape.format import chain, strict
from provtape.format.record import Object, check_record, free
from provtape.format.tree import Roots
from provtape.verify.walk import Scan, Tally, Walk

SEGMENT: Final = 4 * 1024 * 1024
_BLOCK: Final = 1024 * 1024
_LINE: Final = orjson.OPT_APPEND_NEWLINE

Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class Part:
    """A stretch of records in order: how it joins what is before it, its leaves, and its rare records."""

    first_prev: bytes
    first_seq: int
    leaves: bytes
    specials: tuple[tuple[int, str, Object], ...]


def scan(path: Path, sizes: Iterable[int], *, workers: int = 1, progress: Progress | None = None) -> Scan:
    """Read a cassette once, whatever its size, in memory that does not grow with it.

    Args:
        path: The cassette.
        sizes: Sizes at which a root is wanted.
        workers: Processes to use; more than one only from a command line (a library call must not start any).
        progress: Called with bytes done and bytes in all.

    Raises:
        InputError: Not readable, no regular file.
        LimitError: A line over 256 MiB.
    """
    wanted = frozenset(sizes)
    with open_regular(path) as file:
        quick = _quick(path, file, wanted, workers, progress)
        return quick if quick is not None else _careful(file, wanted)


def _quick(
    path: Path, file: BinaryIO, sizes: frozenset[int], workers: int, progress: Progress | None
) -> Scan | None:
    size = os.fstat(file.fileno()).st_size
    complete = _complete(file, size)
    if complete is None:
        return None
    tally = Tally(Roots(sizes))
    starts = range(0, complete, SEGMENT)
    jobs = [(str(path), start, min(start + SEGMENT, complete)) for start in starts]
    with _Digest(path) as digest:
        for done, part in enumerate(_parts(jobs, min(workers, len(jobs))), 1):
            digest.start()  # only now: a process that has threads must not fork
            if part is None or not _join(tally, part):
                return None
            if progress:
                progress(min(done * SEGMENT, complete), size)
        if digest.size() != size or not _ordinary(tally, size - complete):
            return None
        return Scan(tally, complete, size - complete, digest.hex(), ())


def _ordinary(tally: Tally, tail: int) -> bool:
    ended_early = tally.end is not None and (not tally.sealed or tail > 0)
    return tally.records > 0 and not ended_early


def _join(tally: Tally, part: Part) -> bool:
    if not part.leaves:
        return True
    last = tally.last_leaf.hex() if tally.records else chain.GENESIS
    if part.first_seq != tally.records or part.first_prev != last.encode():
        return False
    position, end = tally.records, tally.records + len(part.leaves) // 32
    for record, type_, value in part.specials:
        tally.count(record - position)
        tally.special(record, type_, value)
        position = record + 1
    tally.count(end - position)
    tally.leaves(part.leaves)
    return True


def _parts(jobs: list[tuple[str, int, int]], workers: int) -> Iterator[Part | None]:
    if workers < 2:
        yield from map(read_part, jobs)
        return
    from concurrent.futures import ProcessPoolExecutor  # 20 ms that small cassettes do not pay

    method = "fork" if sys.platform == "linux" else "spawn"
    # gc: nothing in a worker is cyclic, and a collection would look at every value in flight
    with ProcessPoolExecutor(workers, multiprocessing.get_context(method), initializer=gc.disable) as pool:
        try:
            yield from pool.map(read_part, jobs)
        finally:
            # waits: without that the interpreter's own end would race with it
            pool.shutdown(cancel_futures=True)


def read_part(job: tuple[str, int, int]) -> Part | None:
    """Read the records that begin in one segment; None if anything is out of the ordinary.

    Args:
        job: Path, first byte, byte after the last; records may end beyond it.
    """
    path, start, end = job
    with open_regular(Path(path)) as file:
        data = _segment(file, start, end)
    try:
        return _proven(io.BytesIO(data).readlines()) if data is not None else None
    except (FormatError, KeyError, ValueError):  # whatever it is, the careful road names it
        return None


def _segment(file: BinaryIO, start: int, end: int) -> bytes | None:
    """The bytes of the records that begin in [start, end); None for a line too long for the fast road."""
    file.seek(max(start - 1, 0))
    if start and not file.readline(chain.MAX_RECORD).endswith(b"\n"):
        return None
    position = file.tell()
    if position >= end:
        return b""
    data = file.read(end - position)
    if not data.endswith(b"\n"):
        data += file.readline(chain.MAX_RECORD)
    return data if data.endswith(b"\n") else None


def _proven(records: list[bytes]) -> Part | None:
    """The part, if every record is linked, numbered, strict and whole (an equality each)."""
    first = chain.start(records[0]) if records else None
    if first is None:
        return None if records else Part(b"", 0, b"", ())
    prev, number = first.prev, first.seq
    leaves, specials, sha256 = [], [], hashlib.sha256
    for line in records:
        head = b'{"prev":"%s","seq":%d,"type":"' % (prev, number)
        if not line.startswith(head) or len(line) > chain.MAX_RECORD:
            return None
        if line.startswith(b'interaction"', len(head)):
            value = check_record("interaction", _value(line))
            if number < 2:
                return None
            if value["kind"] != "http" or value["meta"]:
                strict.check_depth(list(free(value)), 2)  # elsewhere the members themselves bound the depth
        else:
            specials.append(_special(line, len(head), number))
        leaf = sha256(b"\x00" + line).digest()
        leaves.append(leaf)
        prev, number = hexlify(leaf), number + 1
    return Part(first.prev, first.seq, b"".join(leaves), tuple(specials))


def _special(line: bytes, start: int, number: int) -> tuple[int, str, Object]:
    """A record of another type, at a place where it may stand.

    Raises:
        FormatError: It does not hold its form, or may not stand there.
    """
    type_ = line[start : line.index(b'"', start)].decode()
    value = check_record(type_, _value(line))
    if (type_ == "open") != (number == 0) or (number == 1 and type_ != "run"):
        raise FormatError("a record may not stand here", "record.place")
    strict.check_depth(list(free(value)), 2)
    return number, type_, value


def _value(line: bytes) -> object:
    try:
        value: object = orjson.loads(line)
        if orjson.dumps(value, option=_LINE) == line:
            return value
    except (orjson.JSONDecodeError, orjson.JSONEncodeError):
        pass
    return strict.read(line[:-1])


def _careful(file: BinaryIO, sizes: frozenset[int]) -> Scan:
    walk, digest = Walk(Tally(Roots(sizes))), hashlib.sha256()
    file.seek(0)
    complete = tail = 0
    for offset, line in lines(file):
        digest.update(line)
        if line.endswith(b"\n"):
            walk.line(offset, line)
            complete = offset + len(line)
        else:
            tail = len(line)
    return walk.result(tail, digest.hexdigest(), complete)


def _complete(file: BinaryIO, size: int) -> int | None:
    """The number of bytes up to and including the last LF; None if it is too far from the end."""
    position, tail = size, 0
    while position > 0 and tail <= chain.MAX_RECORD:
        step = min(_BLOCK, position)
        position -= step
        file.seek(position)
        found = file.read(step).rfind(b"\n")
        if found >= 0:
            return position + found + 1
        tail += step
    if tail > chain.MAX_RECORD:
        raise LimitError(f"the last line has more than {chain.MAX_RECORD >> 20} MiB")
    return 0


class _Digest:
    """SHA-256 of the whole file, computed beside the scan: hashing leaves the interpreter free."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._hash = hashlib.sha256()
        self._size = 0
        self._error: BaseException | None = None
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> _Digest:
        return self

    def __exit__(self, *exception: object) -> None:
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join()

    def start(self) -> None:
        """Begin, if that has not happened yet."""
        if self._thread.ident is None:
            self._thread.start()

    def _run(self) -> None:
        try:
            with open_regular(self._path) as file:
                while not self._stop.is_set() and (block := file.read(_BLOCK)):
                    self._hash.update(block)
                    self._size += len(block)
        except BaseException as error:  # handed to the caller by `size`
            self._error = error

    def size(self) -> int:
        """Wait for the end of the file; the number of bytes hashed."""
        self.start()
        self._thread.join()
        if self._error is not None:
            raise self._error
        return self._size

    def hex(self) -> str:
        """The digest, once `size` has answered."""
        return self._hash.hexdigest()
