"""Cassettes in the JSON lines of a well-known tutorial: their chain is checked, then their answers become a cassette of ours.

Each line has `prev`, `key`, `output`, `meta`, `ts`, `hash`. `hash` is the hex SHA-256 of what Python's `json.dumps` with sorted
names and default separators writes for `prev`, `key`, `output`, `meta`; `prev` is the line before's `hash`, or `genesis`. Decides
which files hold, and what they do not show: such a chain covers no time and no prompt, and whoever holds the file can make it anew.
Does not decide how its answers are found again (`session.tutorial`).
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Unpack, cast

from provtape.cassette.reader import open_regular
from provtape.errors import ConvertError, FormatError, LimitError
from provtape.format import strict
from provtape.format.chain import MAX_RECORD
from provtape.session import Session
from provtape.session.start import Recording
from provtape.session.tutorial import KEY, tutorial_request

GENESIS: Final = "genesis"
MAX_LINE: Final = MAX_RECORD

_NAMES: Final = frozenset(("prev", "key", "output", "meta", "ts", "hash"))
_HASH: Final = re.compile(r"[0-9a-f]{64}")
_AT_ONCE: Final = 1000
_NOT_COVERED: Final = (
    "times (`ts` is outside the hash)",
    "prompts, models and parameters (the file holds a digest of them, 64 bits long)",
    "its end (lines cut off there leave no trace)",
    "its author (there is no signature: whoever holds the file can write another chain)",
)
_RESTARTED: Final = "what stood before or between restarts (each begins a chain of its own)"


@dataclass(frozen=True, slots=True)
class Entry:
    """One line whose hash and link hold.

    Attributes:
        line: Its number, from 1.
        restarted: Whether a chain begins here although lines stand before it.
        key: 16 hex digits.
        output: The answer; numbers as they are spelled in the file.
        meta: As in the file.
        ts: As in the file; not covered by the hash.
        hash: 64 hex digits.
    """

    line: int
    restarted: bool
    key: str
    output: object
    meta: object
    ts: object
    hash: str


@dataclass(frozen=True, slots=True)
class Torn:
    """The last line, cut off: no entry."""

    line: int
    length: int


@dataclass(frozen=True, slots=True)
class Report:
    """What an import did.

    Attributes:
        answers: How many became interactions.
        chains: How many chains the file consists of: one more than restarts.
        torn: The number of a last line that was cut off and left out, or None.
        not_covered: What the file's own chain did not show, one clause each.
    """

    answers: int
    chains: int
    torn: int | None
    not_covered: tuple[str, ...]

    @property
    def restarts(self) -> int:
        """How often the chain begins again in mid-file."""
        return max(0, self.chains - 1)

    def __str__(self) -> str:
        """For people: what was imported, what was left out, and what the file's own chain did not cover."""
        said = [f"{_counted(self.answers, 'answer')} imported, {_counted(self.chains, 'chain')} checked"]
        if self.torn is not None:
            said.append(f"line {self.torn} is cut off and was left out")
        said.append("the source's own chain does not cover:")
        return "\n".join([*said, *(f"  - {clause}" for clause in self.not_covered)])


def _counted(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def read(path: Path) -> Iterator[Entry | Torn]:
    """The entries of a file, each checked before it is given out; at the end `Torn`, if its last line is cut off.

    Raises:
        ConvertError: A line breaks the format or its chain; the message names the line.
        InputError: The file can not be read.
        LimitError: A line of more than 256 MiB.
    """
    last: str | None = None
    with open_regular(path) as file:
        for number, line in enumerate(iter(lambda: file.readline(MAX_LINE + 1), b""), 1):
            if len(line) > MAX_LINE:
                raise LimitError(f"line {number}: more than {MAX_LINE >> 20} MiB")
            if not line.endswith(b"\n") and not _is_json(line):
                if last is None:
                    raise _wrong(number, "cut off, and it is the only one: there is nothing to import")
                yield Torn(number, len(line))
                return
            entry = _entry(number, line, last)
            last = entry.hash
            yield entry
    if last is None:
        raise ConvertError(f"{path.name}: empty: there is nothing to import")


def import_file(source: Path, target: Path, **recording: Unpack[Recording]) -> Report:
    """Make a cassette of such a file. The whole file is checked before anything is written.

    Each answer becomes an `llm` interaction whose request holds the tutorial's key in place of a prompt. In a replay it is reached
    by `Session.answer` and by every `Call` that hashes to that key.

    Args:
        source: The tutorial's file.
        target: The cassette to make; refused when it is there.
        **recording: As for `Session.open`; the road is always `import`.

    Raises:
        ConvertError: As `read`; nothing was written.
        CassetteError: The cassette is there already or can not be written.
        ScrubError: Something in it can not be scrubbed.
    """
    for _ in read(source):
        pass
    recording["road"] = "import"
    answers, chains, torn = 0, 1, None
    pending: deque[Future[int]] = deque()
    with Session.open(target, "record", **recording) as session:
        for entry in read(source):
            if isinstance(entry, Torn):
                torn = entry.line
                continue
            answers += 1
            chains += entry.restarted
            pending.append(_append(session, entry))
            if len(pending) > _AT_ONCE:
                pending.popleft().result()
        for future in pending:
            future.result()
    return Report(answers, chains, torn, (*_NOT_COVERED, _RESTARTED) if chains > 1 else _NOT_COVERED)


def _append(session: Session, entry: Entry) -> Future[int]:
    kept = {"meta": entry.meta, "ts": entry.ts, "hash": entry.hash}
    return session.append("llm", tutorial_request(entry.key), {"output": entry.output}, {"tutorial": kept})


def _entry(number: int, line: bytes, last: str | None) -> Entry:
    members = _members(number, line)
    key, hash_, prev = members["key"], members["hash"], members["prev"]
    if not isinstance(key, str) or not KEY.fullmatch(key):
        raise _wrong(number, '"key" is not 16 hex digits')
    if not isinstance(hash_, str) or not _HASH.fullmatch(hash_):
        raise _wrong(number, '"hash" is not 64 hex digits')
    if _hashed(number, line) != hash_:
        raise _wrong(number, '"hash" is not that of the line: it was changed')
    if last is None and prev != GENESIS:
        raise _wrong(number, '"prev" of the first line is not "genesis"')
    if prev != last and (prev != GENESIS or type(prev) is not str):
        raise _wrong(
            number, '"prev" is not the hash of the line before: a line was changed, moved or removed'
        )
    restarted = last is not None and prev == GENESIS
    return Entry(number, restarted, key, members["output"], members["meta"], members["ts"], hash_)


def _members(number: int, line: bytes) -> dict[str, object]:
    try:
        value = strict.parse(line)
    except FormatError as error:
        raise _wrong(number, error.message) from None
    if not isinstance(value, dict):
        raise _wrong(number, "not an object")
    if value.keys() != _NAMES:
        raise _wrong(number, f"its names are not {', '.join(sorted(_NAMES))}")
    return value


def _hashed(number: int, line: bytes) -> str:
    """The hash as the tutorial computes it: of the values as Python's own reader sees them."""
    try:
        value = cast(dict[str, object], json.loads(line))
        covered = {name: value[name] for name in ("prev", "key", "output", "meta")}
        text = json.dumps(covered, sort_keys=True, ensure_ascii=False)
    except ValueError:  # over Python's limit of 4,300 digits
        raise _wrong(number, "a number with too many digits for the tutorial's own hash") from None
    return hashlib.sha256(text.encode()).hexdigest()


def _is_json(line: bytes) -> bool:
    """Whether a line without its LF is whole all the same; its hash is checked like any other's."""
    try:
        json.loads(line)
    except (ValueError, RecursionError):
        return False
    return True


def _wrong(number: int, what: str) -> ConvertError:
    return ConvertError(f"line {number}: {what}", "nothing was imported")
