"""Writing a cassette: one thread, whole lines, one sync for all that wait together (DESIGN 7, spec C8, C9, N8).

Decides the order of things: link, write, sync, answer the callers, and only then sign a note. Callers, sync and async, wait
for the same future. What a record says was decided at the door (`Scrubbed`); who may write is decided by the lock.
"""

from __future__ import annotations

import atexit
import queue
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from provtape.cassette.disk import because
from provtape.cassette.head import Head, Pace, check_tail
from provtape.cassette.lock import LockedFile
from provtape.cassette.notes import Signer
from provtape.cassette.standing import Standing, beginning, check_rules, take_up
from provtape.errors import CassetteError, CassetteSealed
from provtape.format.record import Scrubbed

_GROUP: Final = 16 * 1024 * 1024  # bytes; a group that has as many is written before more is taken

_Waiting = tuple[bytes, Future[int]]


class Writer:
    """The one writer of a cassette; made by `create`, `resume` or `reopen`, used from any thread.

    Attributes:
        path: The cassette.
        prefix: The prefix of its origin.
        origin: Its origin (spec N2).
        torn: Bytes of the torn tail that were moved aside to `<path>.torn` when it was taken up; 0: there was none.
    """

    def __init__(self, head: Head, standing: Standing) -> None:
        self.path = head.file.path
        self.prefix = standing.prefix
        self.origin = standing.origin
        self.torn = len(standing.torn)
        self._head = head
        self._queue: queue.SimpleQueue[_Waiting | None] = queue.SimpleQueue()
        self._door = threading.Lock()  # nothing is queued once `_shut` is set
        self._shut: CassetteError | None = None
        self._failure: CassetteError | None = None
        self._ending = threading.Lock()
        self._ended = False
        self._seal_only = False
        self._thread = threading.Thread(target=self._serve, name=f"provtape {self.path.name}", daemon=True)

    @classmethod
    def create(
        cls,
        path: Path,
        opening: Scrubbed,
        run: Scrubbed,
        *,
        prefix: str,
        signer: Signer | None = None,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> Writer:
        """Make a cassette; its first two records, and a note over them when there is a signer, are durable when this returns.

        Args:
            path: A new file; its folder exists.
            opening: Record 0, of type `open`.
            run: Record 1, of type `run`.
            prefix: The prefix that record 0 names (spec N3).
            signer: Signs checkpoints along the way.
            monotonic: Seconds, for the cadence of notes.

        Raises:
            CassetteExists: A file or link of that name, or evidence of an older cassette of that name, is there.
            CassetteError: It can not be made, locked or written; nothing is left of it.
        """
        check_tail(opening, "open")
        check_tail(run, "run")
        standing = beginning(path, opening, prefix)
        file = LockedFile.create(path)
        try:
            head = Head(file, standing, Pace(signer, monotonic))
            head.commit([opening.data, run.data])
            head.sync_folder()
            head.note()
        except BaseException:
            file.discard()
            raise
        return cls(head, standing)._start()

    @classmethod
    def resume(
        cls,
        path: Path,
        run: Scrubbed,
        *,
        scrub: Mapping[str, object],
        match: Mapping[str, object],
        signer: Signer | None = None,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> Writer:
        """Go on with an open cassette by a new run; the run is durable when this returns, and noted when there is a signer.

        Args:
            path: The cassette. A torn tail is moved to `<path>.torn` (one LF after each), then cut off; see `torn`.
            run: The new run's record.
            scrub: The scrub rules in force now, as in record 0: `name`, `sha256`, `rules`.
            match: The match rules in force now, as in record 0: `headers`, `ignore`.
            signer: Signs checkpoints along the way.
            monotonic: Seconds, for the cadence of notes.

        Raises:
            CassetteSealed: It ends with `end`.
            CassetteLocked: Somebody else is writing it.
            RulesDiffer: Record 0 names other rules.
            CassetteError: It is damaged, withheld in part, contradicted by a note, or can not be written.
        """
        check_tail(run, "run")

        def go_on(head: Head, standing: Standing) -> None:
            check_rules(path, standing, scrub, match)
            head.mend(standing)
            head.commit([run.data])
            head.note()

        return cls._take_up(path, Pace(signer, monotonic), go_on)

    @classmethod
    def reopen(
        cls,
        path: Path,
        *,
        signer: Signer | None = None,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> Writer:
        """Take up an open cassette in order to seal it: no run is written, rules are not compared, `append` refuses.

        Args:
            path: The cassette; a torn tail is treated as by `resume`.
            signer: Signs the note at the end.
            monotonic: Seconds, for the cadence of notes.

        Raises:
            CassetteSealed: It ends with `end` already.
            CassetteError: As `resume`; or it holds no run yet.
        """

        def go_on(head: Head, standing: Standing) -> None:
            if standing.chain.records < 2:
                raise CassetteError(f"{path.name}: holds no run (C10): there is nothing to seal")
            head.mend(standing)

        writer = cls._take_up(path, Pace(signer, monotonic), go_on)
        writer._seal_only = True
        return writer

    @classmethod
    def _take_up(cls, path: Path, pace: Pace, go_on: Callable[[Head, Standing], None]) -> Writer:
        file = LockedFile.open(path)
        try:
            with file.reader() as whole:
                standing = take_up(whole, path)
            head = Head(file, standing, pace)
            go_on(head, standing)
        except BaseException:
            file.release()
            raise
        return cls(head, standing)._start()

    @property
    def records(self) -> int:
        """How many records are durable."""
        return self._head.records

    def append(self, record: Scrubbed) -> Future[int]:
        """Hand an interaction to the writer thread.

        Returns:
            A future for its `seq`, done once the record is durable. It can not be cancelled; if the record could not be
            written it raises CassetteError, and so does every later append.

        Raises:
            CassetteError: Closed, sealed, failed before, opened only to be sealed, or used in a forked child.
            LimitError: A line of more than 256 MiB (spec C5).
        """
        check_tail(record, "interaction")
        if self._seal_only:
            raise CassetteError(
                f"{self.path.name}: opened to be sealed, not to be gone on with", "resume it by a run"
            )
        return self._hand_over(record.data)

    def seal(self, end: Scrubbed) -> None:
        """Append the last record, note it when there is a signer, and close.

        Raises:
            CassetteError: The record, or one handed over before, or the note could not be written; or as `append`.
        """
        check_tail(end, "end")
        future = self._hand_over(end.data, CassetteSealed(f"{self.path.name}: sealed: it takes nothing more"))
        future.exception()  # wait; `close` raises what went wrong
        self.close()

    def close(self) -> None:
        """Write what was handed over, note what no note covers yet, and give the lock back; the second time nothing happens.

        Raises:
            CassetteError: Records or a note could not be written (also when the waiting call was told so).
        """
        if self._head.file.forked:
            return
        with self._ending:
            if self._ended:
                return
            self._ended = True
            with self._door:
                self._shut = self._shut or CassetteError(f"{self.path.name}: closed")
                self._queue.put(None)
            self._thread.join()
            self._end()
        if self._failure:
            raise self._failure

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self.close()
        else:
            with suppress(CassetteError):  # the error on its way says more
                self.close()

    def _start(self) -> Writer:
        _OPEN.add(self)
        self._thread.start()
        return self

    def _end(self) -> None:
        try:
            self._head.note()
        except CassetteError as error:
            self._failure = self._failure or error
        finally:
            self._head.file.release()
            _OPEN.discard(self)

    def _hand_over(self, tail: bytes, shut: CassetteError | None = None) -> Future[int]:
        if self._head.file.forked:
            raise CassetteError(
                f"{self.path.name}: this process was forked from the one that writes it", "record in that one"
            )
        future: Future[int] = Future()
        future.set_running_or_notify_cancel()  # a record that is on its way can not be called back
        with self._door:
            if self._shut:
                raise type(self._shut)(self._shut.message, self._shut.hint)
            self._shut = shut
            self._queue.put((tail, future))
        return future

    def _serve(self) -> None:
        """The writer thread: one group after the other."""
        group: list[_Waiting] = []
        try:
            going = True
            while going:
                group, going = self._collect()
                self._write(group)
                self._head.note_if_due()
        except Exception as error:  # whatever it is, nobody may wait for ever
            self._give_up(error, group)

    def _collect(self) -> tuple[list[_Waiting], bool]:
        """All that waits now, at least one thing; and whether more may come."""
        group: list[_Waiting] = []
        item, size = self._queue.get(), 0
        while item is not None:
            group.append(item)
            size += len(item[0])
            if size >= _GROUP or self._queue.empty():  # nobody else takes anything out
                return group, True
            item = self._queue.get()
        return group, False

    def _write(self, group: list[_Waiting]) -> None:
        if not group:
            return
        first = self._head.commit([tail for tail, _ in group])
        for seq, (_, future) in enumerate(group, first):
            future.set_result(seq)

    def _give_up(self, error: Exception, group: list[_Waiting]) -> None:
        failure = error if isinstance(error, CassetteError) else _unexpected(error, self.path)
        with self._door:
            self._shut = self._failure = failure
        with suppress(queue.Empty):
            while True:
                if item := self._queue.get_nowait():
                    group.append(item)
        for _, future in group:
            if not future.done():
                future.set_exception(failure)


def _unexpected(error: Exception, path: Path) -> CassetteError:
    what = because(error) if isinstance(error, OSError) else type(error).__name__
    return CassetteError(f"{path.name}: the writer stopped: {what}")


_OPEN: Final[set[Writer]] = set()


def _close_all() -> None:
    for writer in list(_OPEN):
        with suppress(CassetteError):  # whoever waited was told
            writer.close()


atexit.register(_close_all)
