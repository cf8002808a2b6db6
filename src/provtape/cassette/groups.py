"""The writer thread: all that waits together becomes one commit, with one write and one sync (DESIGN 7).

Decides the order: commit, answer the callers, and only then a note, so that nobody waits for a signature. What a commit is,
and when a note is due, is the head's matter.
"""

from __future__ import annotations

import queue
import threading
from concurrent.futures import Future
from contextlib import suppress
from typing import Final

from provtape.cassette.disk import because
from provtape.cassette.head import Head
from provtape.errors import CassetteError

_GROUP: Final = 16 * 1024 * 1024  # bytes; a group that has as many is written before more is taken

_Waiting = tuple[bytes, Future[int]]


class Groups:
    """A queue of records and the one thread that takes from it.

    Attributes:
        failure: What stopped the thread, or None.
    """

    __slots__ = ("_door", "_head", "_queue", "_shut", "_thread", "failure")

    def __init__(self, head: Head) -> None:
        self._head = head
        self._queue: queue.SimpleQueue[_Waiting | None] = queue.SimpleQueue()
        self._door = threading.Lock()  # nothing is queued once `_shut` is set
        self._shut: CassetteError | None = None
        self.failure: CassetteError | None = None
        name = f"provtape {head.file.path.name}"
        self._thread = threading.Thread(target=self._serve, name=name, daemon=True)

    def start(self) -> None:
        """Start the thread; once."""
        self._thread.start()

    def hand_over(self, tail: bytes, shut: CassetteError | None = None) -> Future[int]:
        """Queue one record.

        Args:
            tail: From `"type"` to its LF.
            shut: If this is the last record: what later ones are told.

        Returns:
            A future for its `seq`, done once it is durable.

        Raises:
            CassetteError: Nothing is taken any more, or this is a forked child.
        """
        if self._head.file.forked:
            name = self._head.file.path.name
            raise CassetteError(
                f"{name}: this process was forked from the one that writes it", "record in that one"
            )
        future: Future[int] = Future()
        future.set_running_or_notify_cancel()  # a record that is on its way can not be called back
        with self._door:
            if self._shut:
                raise type(self._shut)(self._shut.message, self._shut.hint)
            self._shut = shut
            self._queue.put((tail, future))
        return future

    def finish(self) -> None:
        """Take nothing more; return when all that was handed over is written or was told why not."""
        with self._door:
            self._shut = self._shut or CassetteError(f"{self._head.file.path.name}: closed")
            self._queue.put(None)
        self._thread.join()

    def _serve(self) -> None:
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
        if group:
            first = self._head.commit([tail for tail, _ in group])
            for seq, (_, future) in enumerate(group, first):
                future.set_result(seq)

    def _give_up(self, error: Exception, group: list[_Waiting]) -> None:
        failure = error if isinstance(error, CassetteError) else self._unexpected(error)
        with self._door:
            self._shut = self.failure = failure
        with suppress(queue.Empty):
            while True:
                if item := self._queue.get_nowait():
                    group.append(item)
        for _, future in group:
            if not future.done():
                future.set_exception(failure)

    def _unexpected(self, error: Exception) -> CassetteError:
        what = because(error) if isinstance(error, OSError) else type(error).__name__
        return CassetteError(f"{self._head.file.path.name}: the writer stopped: {what}")
