"""What a program sees of a session: ask a model, call a tool, close.

Decides how the program's functions are called, and that a live answer is given out only once it is durable; sync and async callers
share all of it but the wait. Everything a program records or replays comes through here, whatever thread or task it comes from.
Does not decide what a request gets (`turns`) or how a cassette is opened (`start`).
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from functools import wraps
from pathlib import Path
from types import TracebackType
from typing import ParamSpec, Self, TypeVar, Unpack, cast

from provtape.errors import Miss, SessionError
from provtape.format.keys import PublicKey
from provtape.format.record import OUTPUT, Kind, Object
from provtape.format.verdict import Verdict
from provtape.session.call import Call, plain, stored
from provtape.session.decide import MODES, Mode
from provtape.session.functions import (
    Work,
    bound_arguments,
    described,
    is_async,
    needs_await,
    refuse_awaitable,
    tool_request,
)
from provtape.session.recorded import Answer
from provtape.session.start import Recording, Started, start
from provtape.session.summary import Summary
from provtape.session.turns import Turn, Turns
from provtape.session.tutorial import KEY, tutorial_request

P = ParamSpec("P")
R = TypeVar("R")
LiveFunction = Callable[[Call], object]


class Session:
    """A cassette in use; made by `open`, used from any thread or task of one process, closed by `with` or `close`.

    Attributes:
        path: The cassette.
        mode: How it was opened.
        turns: The halves of its calls, for callers that wait in their own way (HTTP).
        routes: Route names and base URLs that the cassette names (none in a new one).
    """

    def __init__(
        self, path: Path, mode: Mode, started: Started, live: LiveFunction | None, *, repeat: bool
    ) -> None:
        self.path = path
        self.mode = mode
        self.turns = Turns(path, mode, started, repeat=repeat)
        self.routes = started.routes
        self._verdict = started.verdict
        self._live = live

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
        if not KEY.fullmatch(tutorial_key) or not self.turns.looks_up:
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

        Args:
            kind: `llm`, `tool` or `http`.
            request: Its members in order, not scrubbed.
            response: Its members in order, not scrubbed.
            meta: Free JSON.

        Returns:
            A future for its `seq`, done once it is durable.

        Raises:
            SessionError: The session replays, or this is no JSON.
            CassetteError: The cassette takes nothing more.
        """
        turn = self.turns.elsewhere(kind, request)
        return self.turns.finish(turn, _members(response, "the answer"), _members(meta, "meta"))

    @property
    def summary(self) -> Summary:
        """What was done so far."""
        return self.turns.summary()

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
        fault = self.turns.end()
        if fault is not None:
            raise fault

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        fault = self.turns.end()
        if fault is None:
            return
        if error is None or (isinstance(error, SystemExit) and error.code in (None, 0)):
            raise fault  # the program says that all went well, and it did not
        if not isinstance(error, Miss) or self.turns.missed > 1:
            error.add_note(f"provtape: {fault}")

    # What sync and async callers share, and the wait they do not share.

    def _answer(self, kind: Kind, request: Mapping[str, object], work: Work | None) -> object:
        if work is not None and is_async(work.function):
            raise needs_await()
        outcome = self.turns.begin(kind, request)
        if isinstance(outcome, Answer):
            return outcome.value()
        work = _needed(work)
        try:
            value = work.run()
        except Exception as error:
            self.turns.finish(outcome, described(error), {}).result()
            raise
        future, answer = self._settle(outcome, value)
        future.result()
        return answer

    async def _answer_async(self, kind: Kind, request: Mapping[str, object], work: Work | None) -> object:
        outcome = self.turns.begin(kind, request)
        if isinstance(outcome, Answer):
            return outcome.value()
        work = _needed(work)
        try:
            value = await work.run_async()
        except Exception as error:
            await _durable(self.turns.finish(outcome, described(error), {}))
            raise
        future, answer = self._settle(outcome, value)
        await _durable(future)
        return answer

    def _settle(self, turn: Turn, value: object) -> tuple[Future[int], object]:
        """The future of the record, and the answer for the caller: equal to what a replay will give."""
        try:
            refuse_awaitable(value)
            snapshot = stored(value, "the answer", depth=3)
        except SessionError:
            self.turns.lose()
            raise
        future = self.turns.finish(turn, {OUTPUT[turn.asked.kind]: snapshot}, {})
        return future, plain(snapshot)

    def _work(self, call: Call, live: LiveFunction | None) -> Work | None:
        function = live or self._live
        return Work(function, (call,)) if function else None


def _needed(work: Work | None) -> Work:
    if work is None:
        raise SessionError("there is no live function to ask", "give live= to the session or to this call")
    return work


async def _durable(future: Future[int]) -> None:
    """Wait for the writer; a task that is cancelled meanwhile leaves the record alone."""
    await asyncio.shield(asyncio.wrap_future(future))


def _members(value: Mapping[str, object], what: str) -> Object:
    return cast(Object, stored(dict(value), what))
