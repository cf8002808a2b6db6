"""Writing a cassette: made, gone on with, sealed, closed (DESIGN 7; spec C8 to C11).

Decides how a recording begins and ends, and what is taken in between. Callers, sync and async, wait for the same future of one
writer thread (`groups`). What a record says was decided at the door (`Scrubbed`); who may write is decided by the lock.
"""

from __future__ import annotations

import atexit
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from provtape.cassette.groups import Groups
from provtape.cassette.head import Head, Pace, check_tail
from provtape.cassette.lock import LockedFile
from provtape.cassette.notes import Signer
from provtape.cassette.standing import Standing, beginning, check_rules, take_up
from provtape.errors import CassetteError, CassetteSealed
from provtape.format.record import Scrubbed


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
        self._groups = Groups(head)
        self._ending = threading.Lock()
        self._ended = False
        self._seal_only = False

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
    def torn_note(self) -> int:
        """Bytes of a torn last note that were moved aside to `<path>.ckpt.torn`."""
        return self._head.torn_note

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
        return self._groups.hand_over(record.data)

    def seal(self, end: Scrubbed) -> None:
        """Append the last record, note it when there is a signer, and close.

        Raises:
            CassetteError: The record, or one handed over before, or the note could not be written; or as `append`.
        """
        check_tail(end, "end")
        future = self._groups.hand_over(
            end.data, CassetteSealed(f"{self.path.name}: sealed: it takes nothing more")
        )
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
            self._groups.finish()
            self._ended = True
            self._end()

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
        self._groups.start()
        return self

    def _end(self) -> None:
        try:
            self._head.note()
        finally:
            self._head.file.release()
            _OPEN.discard(self)
            if self._groups.failure:
                raise self._groups.failure


_OPEN: Final[set[Writer]] = set()


def _close_all() -> None:
    for writer in list(_OPEN):
        with suppress(CassetteError):  # whoever waited was told
            writer.close()


atexit.register(_close_all)
