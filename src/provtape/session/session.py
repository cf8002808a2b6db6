"""The one road of a request: scrub, key, look up or go live, append (DESIGN 7).

Decides the order of things and what is durable when an answer is given out; sync and async callers share all of it but the wait.
Everything a program records or replays comes through here, whatever thread or task it comes from. What a request gets is decided
in `decide`, which requests are the same in `matching`, what may be written in `scrub.door`.
"""

from __future__ import annotations

import asyncio
import os
import secrets
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import wraps
from pathlib import Path
from types import TracebackType
from typing import ParamSpec, Self, TypeVar, Unpack, cast

from provtape.errors import Miss, ProvtapeError, SessionError
from provtape.format.keys import PublicKey
from provtape.format.record import OUTPUT, Kind
from provtape.format.verdict import Verdict
from provtape.matching.nearest import nearest
from provtape.session import misses
from provtape.session.asked import Asked
from provtape.session.call import Call, plain, stored
from provtape.session.decide import MODES, MissedRequest, Mode, Serve, UsedUp
from provtape.session.functions import (
    Work,
    bound_arguments,
    described,
    is_async,
    needs_await,
    refuse_awaitable,
    tool_request,
)
from provtape.session.opening import stamp
from provtape.session.recorded import Answer
from provtape.session.start import Recording, Started, say, start
from provtape.session.summary import Summary
from provtape.session.tutorial import KEY, tutorial_request

P = ParamSpec("P")
R = TypeVar("R")
LiveFunction = Callable[[Call], object]


@dataclass(frozen=True, slots=True)
class Turn:
    """A request that goes live: what was asked, and since when."""

    asked: Asked
    started: str
    clock: float


class Session:
    """A cassette in use; made by `open`, used from any thread or task of one process, closed by `with` or `close`."""

    def __init__(
        self, path: Path, mode: Mode, started: Started, live: LiveFunction | None, *, repeat: bool
    ) -> None:
        self.path = path
        self.mode = mode
        self._reception = started.reception
        self._recorded = started.recorded
        self._writer = started.writer
        self._verdict = started.verdict
        self._live = live
        self._repeat = repeat
        self._lock = threading.Lock()
        self._pid = os.getpid()
        self._closed = False
        self._base = started.writer.records if started.writer else 0
        self._served = self._missed = self._finished = 0
        self._remembered: list[misses.Missing] = []

    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str],
        mode: Mode,
        *,
        live: LiveFunction | None = None,
        repeat: bool = False,
        trusted: Sequence[PublicKey] = (),
        **recording: Unpack[Recording],
    ) -> Session:
        """Open a session on a cassette.

        Args:
            path: The cassette, e.g. `run.jsonl`.
            mode: `record` makes a new cassette and asks live; `replay` gives recorded answers and never asks live; `auto` gives
                the n-th recorded answer to the n-th equal request, and asks live for what is not recorded.
            live: Gets a `Call` and gives the model's answer as a JSON value; sync or async.
            repeat: In replay, begin again with the first answer when all were given.
            trusted: The author's public keys. A cassette that does not hold is refused; one that none of these vouches for is
                replayed after one line on stderr.
            **recording: See `Recording`.

        Raises:
            SessionError: An unknown mode, or a cassette that does not hold.
            CassetteError: It exists (record), is sealed or bound to other rules (auto), is locked, damaged or can not be written.
        """
        if mode not in MODES:
            raise SessionError("no such mode", f"modes: {', '.join(MODES)}")
        where = Path(path)
        return cls(where, mode, start(where, mode, recording, trusted), live, repeat=repeat)

    def ask(self, call: Call, live: LiveFunction | None = None) -> object:
        """The answer to a call: live and recorded, or recorded earlier.

        Args:
            call: The question.
            live: Instead of the session's live function.

        Returns:
            A JSON value in Python, the same in every mode: an answer from `live` comes back as its JSON round trip, once it is
            durable. Only what scrubbing removes differs: live it is still there, in the cassette and in replay it is not.

        Raises:
            Miss: In replay: never recorded, or `Exhausted`. It is remembered and raised again when the session ends.
            RecordedError: In replay: the live function had raised.
            SessionError: The call or the answer is no JSON, there is no live function, or it is async.
            CassetteError: The answer could not be recorded.
        """
        return self._answer("llm", call.request(), self._work(call, live))

    async def ask_async(self, call: Call, live: LiveFunction | None = None) -> object:
        """As `ask`, without holding up the event loop; a sync live function runs in a thread."""
        return await self._answer_async("llm", call.request(), self._work(call, live))

    def answer(self, tutorial_key: str) -> object:
        """The answer that was imported from the tutorial's format under this key of 16 hex digits; each is given once.

        Raises:
            Miss: There is none, or none is left.
            SessionError: This is no such key, or the session records only.
        """
        if not KEY.fullmatch(tutorial_key) or self._recorded is None:
            raise SessionError("not a key of 16 hex digits, or nothing to look it up in")
        return self._answer("llm", tutorial_request(tutorial_key), None)

    def call_tool(
        self, name: str, arguments: Mapping[str, object], function: Callable[..., object]
    ) -> object:
        """The result of `function(**arguments)`: run and recorded, or recorded earlier. As `ask` otherwise."""
        return self._answer("tool", tool_request(name, arguments), Work(function, kwargs=arguments))

    async def call_tool_async(
        self, name: str, arguments: Mapping[str, object], function: Callable[..., object]
    ) -> object:
        """As `call_tool`, without holding up the event loop."""
        return await self._answer_async(
            "tool", tool_request(name, arguments), Work(function, kwargs=arguments)
        )

    def tool(self, function: Callable[P, R]) -> Callable[P, R]:
        """Decorate a function, sync or async: its calls go through this session as tool calls under its name.

        Arguments are recorded by parameter name, defaults filled in; arguments and result must be JSON values.
        """
        name = str(getattr(function, "__name__", type(function).__name__))
        plain_function = cast(Callable[..., object], function)

        @wraps(function)
        def calling(*args: P.args, **kwargs: P.kwargs) -> object:
            request = tool_request(name, bound_arguments(plain_function, args, kwargs))
            return self._answer("tool", request, Work(plain_function, args, kwargs))

        @wraps(function)
        async def calling_async(*args: P.args, **kwargs: P.kwargs) -> object:
            request = tool_request(name, bound_arguments(plain_function, args, kwargs))
            return await self._answer_async("tool", request, Work(plain_function, args, kwargs))

        return cast(Callable[P, R], calling_async if is_async(function) else calling)

    def append(
        self,
        kind: Kind,
        request: Mapping[str, object],
        response: Mapping[str, object],
        meta: Mapping[str, object],
    ) -> Future[int]:
        """Record an interaction that took place elsewhere, as an import does; nothing goes live.

        Returns:
            A future for its `seq`, done once it is durable.

        Raises:
            SessionError: The session replays, or this is no JSON.
            CassetteError: The cassette takes nothing more.
        """
        self._check_usable()
        if self._writer is None:
            raise SessionError(f"{self.path.name}: a replay records nothing")
        turn = Turn(self._reception.receive(kind, request), stamp(datetime.now(UTC)), time.monotonic())
        return self.finish(turn, response, meta)

    def begin(self, kind: Kind, request: Mapping[str, object]) -> Answer | Turn:
        """The first half of a call: its recorded answer, or the permission to go live.

        Args:
            kind: `llm`, `tool` or `http`.
            request: Its members in order, not scrubbed.

        Raises:
            Miss: As `ask`.
            SessionError: The session is closed, belongs to another process, or the request is no JSON.
        """
        self._check_usable()
        asked = self._reception.receive(kind, request)
        if self._recorded is None:
            return self._turn(asked)
        with self._lock:
            key, decision = self._recorded.decide(self.mode, asked.keys, repeat=self._repeat)
            if kind == "llm" and not isinstance(decision, Serve):
                keys = (key, *self._reception.tutorial(request))
                key, decision = self._recorded.decide(self.mode, keys, repeat=self._repeat)
            before = self._recorded.count(key)
            if isinstance(decision, Serve):
                answer = self._recorded.serve(kind, key, decision)
                self._served += 1
                return answer
            if isinstance(decision, MissedRequest | UsedUp):
                raise self._miss(asked, key, decision, before)
        return self._turn(asked)

    def finish(
        self, turn: Turn, response: Mapping[str, object], meta: Mapping[str, object] | None = None
    ) -> Future[int]:
        """The second half of a call that went live: hand its answer to the writer.

        Args:
            turn: What `begin` gave.
            response: Its members in order, not scrubbed.
            meta: Free JSON.

        Returns:
            A future for the record's `seq`, done once it is durable. Give the answer to nobody before.

        Raises:
            SessionError: The answer is no JSON.
            ScrubError: It can not be scrubbed.
            CassetteError: The cassette takes nothing more.
        """
        with self._lock:
            self._finished += 1
        if self._writer is None:
            raise SessionError(f"{self.path.name}: a replay records nothing")
        record = self._reception.interaction(
            turn.asked,
            _members(response, "the answer"),
            started=turn.started,
            elapsed_ms=max(0, round((time.monotonic() - turn.clock) * 1000)),
            meta=_members(meta or {}, "meta"),
            salt=secrets.token_urlsafe(16),
        )
        return self._writer.append(record)

    @property
    def summary(self) -> Summary:
        """What was done so far."""
        with self._lock:
            loaded, first = (self._recorded.loaded, self._recorded.first_served) if self._recorded else (0, 0)
            return Summary(
                self.mode, loaded, self._served, self._missed, loaded - first, self._durable_records()
            )

    @property
    def verdict(self) -> Verdict | None:
        """What `verify` said of the cassette when the session began; None for a new one."""
        return self._verdict

    def close(self) -> None:
        """End the session: wait for what is being written, and say what went wrong in it. The second time nothing happens.

        Raises:
            Missed: Requests missed, even if the program swallowed it.
            CassetteError: Something could not be written.
            SessionError: Answers were given live that are not recorded.
        """
        error = self._end()
        if error is not None:
            raise error

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        fault = self._end()
        if fault is None:
            return
        if error is None or (isinstance(error, SystemExit) and error.code in (None, 0)):
            raise fault  # a program that says it went well, when it did not
        if not isinstance(error, Miss) or self._missed > 1:
            error.add_note(f"provtape: {fault}")

    # What sync and async callers share, and the wait they do not share.

    def _answer(self, kind: Kind, request: Mapping[str, object], work: Work | None) -> object:
        if work is not None and is_async(work.function):
            raise needs_await()
        outcome = self.begin(kind, request)
        if isinstance(outcome, Answer):
            return outcome.value()
        work = self._needed(work)
        try:
            value = work.run()
        except Exception as error:
            self.finish(outcome, described(error)).result()
            raise
        refuse_awaitable(value)
        future, answer = self._settle(outcome, value)
        future.result()
        return answer

    async def _answer_async(self, kind: Kind, request: Mapping[str, object], work: Work | None) -> object:
        outcome = self.begin(kind, request)
        if isinstance(outcome, Answer):
            return outcome.value()
        work = self._needed(work)
        try:
            value = await work.run_async()
        except Exception as error:
            await _durable(self.finish(outcome, described(error)))
            raise
        future, answer = self._settle(outcome, value)
        await _durable(future)
        return answer

    def _settle(self, turn: Turn, value: object) -> tuple[Future[int], object]:
        """The future of the record, and the answer for the caller: equal to what a replay will give."""
        name = OUTPUT[turn.asked.kind]
        future = self.finish(turn, {name: value})
        return future, plain(stored(value, "the answer"))

    def _work(self, call: Call, live: LiveFunction | None) -> Work | None:
        function = live or self._live
        return Work(function, (call,)) if function else None

    def _needed(self, work: Work | None) -> Work:
        if work is None:
            raise SessionError(
                "there is no live function to ask", "give live= to the session or to this call"
            )
        return work

    def _turn(self, asked: Asked) -> Turn:
        return Turn(asked, stamp(datetime.now(UTC)), time.monotonic())

    def _miss(self, asked: Asked, key: str, decision: MissedRequest | UsedUp, before: int) -> Miss:
        """The miss to raise; remembered. The first 20 are explained, later ones only counted, so that work stays bounded."""
        assert self._recorded is not None  # noqa: S101  # only a session with recorded answers misses
        self._missed += 1
        name, loaded = self.path.name, self._recorded.loaded
        if isinstance(decision, UsedUp):
            last = self._recorded.last_place(key)
            error, missing = misses.used_up(name, key, decision.recorded, before + 1, last)
        else:
            explained = len(self._remembered) < misses.KEPT
            candidates = self._recorded.candidates(asked.kind) if explained else iter(())
            near = nearest(asked.kind, asked.request, candidates, self._reception.match)
            error, missing = misses.unknown(name, asked.kind, asked.keys[0], near, loaded)
        if len(self._remembered) < misses.KEPT:
            self._remembered.append(missing)
        return error

    def _check_usable(self) -> None:
        if os.getpid() != self._pid:
            raise SessionError(
                f"{self.path.name}: this process was forked from the one that opened the session",
                "open the session in the process that uses it",
            )
        if self._closed:
            raise SessionError(f"{self.path.name}: the session is closed")

    def _durable_records(self) -> int:
        return self._writer.records - self._base if self._writer else 0

    def _end(self) -> ProvtapeError | None:
        """Close everything once; what went wrong, if anything did."""
        with self._lock:
            if self._closed or os.getpid() != self._pid:
                return None
            self._closed = True
        fault: ProvtapeError | None = None
        if self._recorded is not None:
            self._recorded.close()
        if self._writer is not None:
            try:
                self._writer.close()
            except ProvtapeError as error:
                fault = error
        if self.summary.idle:
            say(f"{self.path.name}: nothing was served: {self.summary.line()}")
        if self._missed:
            return misses.missed(self.path.name, self._missed, self._remembered)
        return fault or self._unrecorded()

    def _unrecorded(self) -> SessionError | None:
        lost = self._finished - self._durable_records()
        if lost <= 0:
            return None
        what = "1 live answer is" if lost == 1 else f"{lost} live answers are"
        return SessionError(f"{self.path.name}: {what} not recorded: the cassette is not the whole run")


async def _durable(future: Future[int]) -> None:
    """Wait for the writer; a task that is cancelled meanwhile leaves the record alone."""
    await asyncio.shield(asyncio.wrap_future(future))


def _members(value: Mapping[str, object], what: str) -> dict[str, object]:
    return cast(dict[str, object], stored(dict(value), what))
