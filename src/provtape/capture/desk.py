"""How connections ask the session without holding up the loop.

Decides what is done at once on the loop's thread (small calls) and what by a worker (large bodies, the nearest request of a miss),
and that what a worker or the writer says comes back to the loop. Does not decide what a request gets (`session.turns`).
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from typing import Final, TypeVar

from provtape.capture.dialer import Dialer
from provtape.errors import Miss, ProvtapeError, SessionError
from provtape.format.record import Kind, Object
from provtape.session.recorded import Answer
from provtape.session.turns import Turn, Turns, Unanswered
from provtape.wire.exchange import MAX_BODY
from provtape.wire.player import Pace
from provtape.wire.route import Bases, Routes

AT_ONCE: Final = 64 * 1024  # bytes that are scrubbed on the loop's thread
READ_TIMEOUT: Final = 600.0
SERVED_REQUEST: Final = 16 * 1024 * 1024  # bytes of a reviewer's request
SERVED_IDLE: Final = 60.0  # seconds
SERVED_CONNECTIONS: Final = 512
WORKERS: Final = 2

Outcome = Answer | Turn | Unanswered | ProvtapeError
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Settings:
    """How a server treats calls.

    Attributes:
        max_body: Bytes of a request or response body that are recorded; a larger one passes, and the session fails at its end.
        max_request: Bytes of a request body that is read before it is answered (replay, auto); a larger one is refused (413).
        read_timeout: Seconds without a byte from the upstream after which a call is over.
        idle_timeout: Seconds in which a request must arrive, or the connection is closed; None: as long as it likes.
        max_connections: Connections at one time; more wait.
        pace: `recorded`, `none`, or a factor: how recorded answers are given.
        passed: Hosts that are relayed and not recorded; in replay their connections are reset.
        routes: Which base URLs the paths of our own port stand for.
        guesses: What a path without a route can mean (serve).
        hosts: Names under which a server for reviewers is known, besides `localhost` and IP addresses.
        serves: A server for reviewers: each may have an order of its own, and `POST /` is the tutorial's.
    """

    max_body: int = MAX_BODY
    max_request: int = MAX_BODY
    read_timeout: float = READ_TIMEOUT
    idle_timeout: float | None = None
    max_connections: int = 4096
    pace: Pace = "none"
    passed: frozenset[str] = field(default_factory=frozenset)
    routes: Routes = field(default_factory=lambda: Routes({}))
    guesses: Bases | None = None
    serves: bool = False
    hosts: frozenset[str] = field(default_factory=frozenset)

    @classmethod
    def for_reviewers(
        cls, routes: Routes, guesses: Bases | None, *, hosts: Iterable[str] = (), pace: Pace = "none"
    ) -> Settings:
        """The settings of `serve`: read by strangers, so everything has a limit.

        Args:
            routes: Those that the cassette names.
            guesses: From its recorded URLs.
            hosts: Names under which the server is known.
            pace: As in `Settings`.
        """
        return cls(
            max_request=SERVED_REQUEST,
            idle_timeout=SERVED_IDLE,
            max_connections=SERVED_CONNECTIONS,
            pace=pace,
            routes=routes,
            guesses=guesses,
            serves=True,
            hosts=frozenset(hosts),
        )


class Desk:
    """What all connections of one server share; made on the loop's thread.

    Args:
        turns: The session's.
        settings: How calls are treated.
        dialer: Reaches upstreams.

    Attributes:
        waiting: Things that workers and the writer have not done yet.
    """

    def __init__(self, turns: Turns, settings: Settings, dialer: Dialer) -> None:
        self.turns = turns
        self.settings = settings
        self.dialer = dialer
        self.waiting = 0
        self.loop = asyncio.get_running_loop()
        self._workers = ThreadPoolExecutor(WORKERS, thread_name_prefix="provtape calls")
        self._landed: deque[Callable[[], None]] = deque()
        self._waking = False
        self._heavy = 0  # large calls that a worker looks at: scrubbing is for one at a time, so small ones wait there too

    def attempt(
        self,
        make: Callable[[], Object],
        size: int,
        done: Callable[[Outcome], None],
        reader: str = "",
        kind: Kind = "http",
    ) -> None:
        """Ask for the turn or the recorded answer of a request.

        Args:
            make: Its members; called once, perhaps by a worker.
            size: About how many bytes they have.
            done: Called with what came of it, on the loop's thread: at once for a small request.
            reader: Whose order of equal requests it is.
            kind: Of the request.
        """

        def ask() -> Outcome:
            try:
                return self.turns.attempt(kind, make(), reader)
            except ProvtapeError as error:
                return error
            except Exception as error:  # a mistake of ours must not leave the client waiting
                return SessionError(f"a call could not be looked into: {type(error).__name__}")

        if size <= AT_ONCE and not self._heavy:
            done(ask())
            return
        heavy = size > AT_ONCE
        self._heavy += heavy

        def asked(outcome: Outcome) -> None:
            self._heavy -= heavy
            done(outcome)

        self.work(ask, asked)

    def explain(self, unanswered: Unanswered, done: Callable[[Miss], None]) -> None:
        """Find out what is said about a miss; `done` is called on the loop's thread."""
        self.work(lambda: self.turns.explain(unanswered), done)

    def finish(
        self,
        turn: Turn,
        make: Callable[[], Object],
        size: int,
        done: Callable[[BaseException | None], None],
    ) -> None:
        """Record the response of a call.

        Args:
            turn: Its turn.
            make: The members of `response`; called once, perhaps by a worker.
            size: About how many bytes they have.
            done: Called on the loop's thread with None once it is durable, else with what went wrong.
        """
        self.waiting += 1
        heavy = size > AT_ONCE

        def landed(error: BaseException | None) -> None:
            self.waiting -= 1
            self._heavy -= heavy
            done(error)

        def record() -> None:
            try:
                future = self.turns.finish(turn, make(), {})
            except Exception as error:
                self._post(partial(landed, error))
            else:
                future.add_done_callback(written)

        def written(future: Future[int]) -> None:
            self._post(partial(landed, future.exception()))

        if heavy or self._heavy:
            self._heavy += heavy
            self._workers.submit(record)
        else:
            record()

    def work(self, task: Callable[[], T], done: Callable[[T], None]) -> None:
        """Let a worker do something that does not raise; `done` gets its value on the loop's thread."""

        def landed(value: T) -> None:
            self.waiting -= 1
            done(value)

        def run() -> None:
            self._post(partial(landed, task()))

        self.waiting += 1
        self._workers.submit(run)

    async def settled(self) -> None:
        """Return when every call that was to be recorded is durable, or is known to be lost."""
        while self.waiting:
            await asyncio.sleep(0.002)

    def close(self) -> None:
        """End the workers."""
        self._workers.shutdown()

    def _post(self, call: Callable[[], None]) -> None:
        """Have something called on the loop's thread; what comes together wakes it once."""
        self._landed.append(call)
        if not self._waking:
            self._waking = True
            self.loop.call_soon_threadsafe(self._land)

    def _land(self) -> None:
        self._waking = False
        while self._landed:
            call = self._landed.popleft()
            try:
                call()
            except Exception as error:  # the others still have to be told
                context = {"message": "a call could not go on", "exception": error}
                self.loop.call_exception_handler(context)
