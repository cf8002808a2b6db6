"""The two halves of every call: `begin` (scrub, key, look up or go live) and `finish` (append), and what is counted (DESIGN 7).

Decides the order of these steps, which are the same for every kind of call and every caller, and keeps what a session must not
forget: misses, and answers that were given live but not recorded. What a request gets is decided in `decide`, which requests are
the same in `matching`, what may be written in `scrub.door`. Does not call functions of the program (`session`).
"""

from __future__ import annotations

import atexit
import os
import secrets
import threading
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import Future
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from provtape.errors import Miss, ProvtapeError, SessionError
from provtape.format.record import Kind, Object
from provtape.format.stamp import stamp
from provtape.matching.nearest import Nearest, nearest
from provtape.session import misses
from provtape.session.asked import Asked
from provtape.session.decide import MissedRequest, Mode, Serve, UsedUp
from provtape.session.recorded import Answer, Recorded
from provtape.session.start import Started, say
from provtape.session.summary import Summary


@dataclass(frozen=True, slots=True)
class Turn:
    """A request that goes live: what was asked, and since when."""

    asked: Asked
    started: str
    clock: float


@dataclass(frozen=True, slots=True)
class Unanswered:
    """A request that missed: what was asked, and what is known before anybody looked for the nearest recorded request."""

    asked: Asked
    key: str
    decision: MissedRequest | UsedUp
    before: int


class Turns:
    """Every call of one session, from any thread of the process that opened it."""

    def __init__(self, path: Path, mode: Mode, started: Started, *, repeat: bool) -> None:
        self._name = path.name
        self._mode: Mode = mode
        self._reception = started.reception
        self._recorded = started.recorded
        self._writer = started.writer
        self._base = started.writer.records if started.writer else 0
        self._repeat = repeat
        self._lock = threading.Lock()
        self._pid = os.getpid()
        self._closed = False
        self._served = self._missed = self._explained = self._finished = 0
        self._lost: list[str] = []
        self._remembered: list[misses.Missing] = []
        _OPEN.add(self)

    @property
    def missed(self) -> int:
        """How many requests missed so far."""
        return self._missed

    @property
    def mode(self) -> Mode:
        """How the session was opened."""
        return self._mode

    @property
    def looks_up(self) -> bool:
        """Whether there are recorded answers at all."""
        return self._recorded is not None

    def urls(self) -> Iterator[str]:
        """The recorded URLs, to guess what a path without a host means; reads the whole cassette.

        Raises:
            CassetteError: The file changed since it was opened, or a record breaks a rule.
        """
        return iter(()) if self._recorded is None else self._recorded.urls()

    def begin(self, kind: Kind, request: Mapping[str, object]) -> Answer | Turn:
        """The recorded answer to a request, or the permission to go live.

        Args:
            kind: `llm`, `tool` or `http`.
            request: Its members in order, not scrubbed.

        Raises:
            Miss: Never recorded, or `Exhausted`; it is remembered.
            SessionError: The session is closed, belongs to another process, or the request is no JSON.
        """
        outcome = self.attempt(kind, request)
        if isinstance(outcome, Unanswered):
            raise self.explain(outcome)
        return outcome

    def attempt(
        self, kind: Kind, request: Mapping[str, object], reader: str = ""
    ) -> Answer | Turn | Unanswered:
        """As `begin`, but a miss is counted and given back, not raised: finding its nearest request takes long (`explain`).

        Args:
            kind: `llm`, `tool` or `http`.
            request: Its members in order, not scrubbed.
            reader: Whose order it is: each reader gets the n-th answer for its own n-th equal request.

        Raises:
            SessionError: As `begin`.
        """
        self._check_usable()
        asked = self._reception.receive(kind, request)
        recorded = self._recorded
        if recorded is None:
            return _live(asked)
        with self._lock:
            key, decision = recorded.decide(self._mode, asked.keys, repeat=self._repeat, reader=reader)
            if kind == "llm" and not isinstance(decision, Serve):
                keys = (key, *self._reception.tutorial(request))
                key, decision = recorded.decide(self._mode, keys, repeat=self._repeat, reader=reader)
            before = recorded.count(key, reader)
            if isinstance(decision, MissedRequest | UsedUp):
                self._missed += 1
                return Unanswered(asked, key, decision, before)
        if not isinstance(decision, Serve):
            return _live(asked)
        answer = recorded.serve(kind, key, decision)
        with self._lock:
            self._served += 1
        return answer

    def explain(self, unanswered: Unanswered) -> Miss:
        """The miss to raise, remembered. The first 20 are explained, later ones only counted: work stays bounded."""
        recorded = self._recorded
        if recorded is None:
            raise AssertionError("only what was looked up can miss")
        asked, decision = unanswered.asked, unanswered.decision
        with self._lock:
            kept = self._explained < misses.KEPT
            self._explained += 1
        if isinstance(decision, UsedUp):
            last = recorded.last_place(unanswered.key)
            error, missing = misses.used_up(
                self._name, unanswered.key, decision.recorded, unanswered.before + 1, last
            )
        else:
            near = self._nearest(recorded, asked) if kept else None
            error, missing = misses.unknown(self._name, asked.kind, asked.keys[0], near, recorded.loaded)
        if kept:
            with self._lock:
                self._remembered.append(missing)
        return error

    def elsewhere(self, kind: Kind, request: Mapping[str, object]) -> Turn:
        """The turn of an interaction that took place elsewhere and is only recorded here.

        Raises:
            SessionError: As `begin`.
        """
        self._check_usable()
        return _live(self._reception.receive(kind, request))

    def finish(self, turn: Turn, response: Object, meta: Object) -> Future[int]:
        """Hand the answer of a call that went live to the writer.

        Args:
            turn: What `begin` gave.
            response: Its members in order, not scrubbed; nobody else changes them.
            meta: Free JSON.

        Returns:
            A future for the record's `seq`, done once it is durable. Give the answer to nobody before.

        Raises:
            SessionError: The session replays.
            ScrubError: Something in it can not be scrubbed.
            CassetteError: The cassette takes nothing more.
        """
        self.lose()
        if self._writer is None:
            raise SessionError(f"{self._name}: a replay records nothing")
        record = self._reception.interaction(
            turn.asked,
            response,
            started=turn.started,
            elapsed_ms=max(0, round((time.monotonic() - turn.clock) * 1000)),
            meta=meta,
            salt=secrets.token_urlsafe(16),
        )
        return self._writer.append(record)

    def lose(self, what: str | None = None) -> None:
        """Count a live answer as lost until its record is durable.

        Args:
            what: For one that will never be: which call it was, and why. One line, without content.
        """
        with self._lock:
            self._finished += 1
            if what and len(self._lost) < misses.KEPT:
                self._lost.append(what)

    def summary(self) -> Summary:
        """What was done so far."""
        recorded = self._recorded
        with self._lock:
            loaded, used = (recorded.loaded, recorded.used) if recorded else (0, 0)
            return Summary(self._mode, loaded, self._served, self._missed, loaded - used, self._durable())

    def end(self) -> ProvtapeError | None:
        """Close everything; what went wrong in the session, if anything did. The second time nothing happens."""
        if os.getpid() != self._pid:
            return None
        with self._lock:
            if self._closed:
                return None
            self._closed = True
        _OPEN.discard(self)
        fault = self._close()
        summary = self.summary()
        if summary.idle:
            say(f"{self._name}: nothing was served: {summary.line()}")
        if self._missed:
            with self._lock:
                return misses.missed(self._name, self._missed, self._remembered)
        return fault or self._unrecorded()

    def _close(self) -> ProvtapeError | None:
        if self._recorded is not None:
            self._recorded.close()
        try:
            if self._writer is not None:
                self._writer.close()
        except ProvtapeError as error:
            return error
        return None

    def _nearest(self, recorded: Recorded, asked: Asked) -> Nearest | None:
        """The nearest recorded request; none when the file can not be read any more: the miss stays a miss."""
        try:
            candidates = recorded.candidates(asked.kind)
            return nearest(asked.kind, asked.request, candidates, self._reception.match)
        except ProvtapeError:
            return None

    def _check_usable(self) -> None:
        if os.getpid() != self._pid:
            raise SessionError(
                f"{self._name}: this process was forked from the one that opened the session",
                "open the session in the process that uses it",
            )
        if self._closed:
            raise SessionError(f"{self._name}: the session is closed")

    def _durable(self) -> int:
        return self._writer.records - self._base if self._writer else 0

    def _unrecorded(self) -> SessionError | None:
        lost = self._finished - self._durable()
        if lost <= 0:
            return None
        what = "1 live answer is" if lost == 1 else f"{lost} live answers are"
        error = SessionError(f"{self._name}: {what} not recorded: the cassette is not the whole run")
        for line in self._lost:
            error.add_note(line)
        return error


def _live(asked: Asked) -> Turn:
    return Turn(asked, stamp(datetime.now(UTC)), time.monotonic())


_OPEN: Final[set[Turns]] = set()


def _end_all() -> None:
    """Say what a program that never closed its session would have been told."""
    for turns in list(_OPEN):
        fault = turns.end()
        if fault is not None:
            say(fault.message)


atexit.register(_end_all)
