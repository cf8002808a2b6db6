"""The one server of record, replay, auto and serve: sockets in, connections out, in a thread of its own.

Decides how a server begins and ends: nothing that a client saw finish is lost, and a mistake of ours does not pass in silence. Does
not decide what a new connection is (`entrance`) or what a request gets (`connection`).
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Sequence
from functools import partial
from types import TracebackType
from typing import Any, Self

from provtape.capture.desk import Desk, Settings
from provtape.capture.dialer import Dialer
from provtape.capture.entrance import Certificates, Entrance, Listening, listen
from provtape.session.turns import Turns

__all__ = ["Certificates", "Listening", "Server", "Settings", "listen"]


class Server:
    """Answers HTTP for one session, from `start` until `close`.

    Args:
        turns: The session's.
        listeners: Where clients come in.
        settings: How calls are treated.
        dialer: Reaches upstreams; not used in replay.
        certificates: For TLS; None: only plain connections are understood.
        name_of: Which name was looked up to come to an address (`Names.name_of`), if any.
    """

    def __init__(
        self,
        turns: Turns,
        listeners: Sequence[Listening],
        settings: Settings | None = None,
        *,
        dialer: Dialer | None = None,
        certificates: Certificates | None = None,
        name_of: Callable[[str], str | None] = lambda address: None,
    ) -> None:
        self._turns = turns
        self._listeners = tuple(listeners)
        self._settings = settings or Settings()
        self._dialer = dialer or Dialer()
        self._certificates = certificates
        self._name_of = name_of
        self._ready = threading.Event()
        self._stop: Callable[[], object] = lambda: None
        self._failure: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name="provtape server", daemon=True)

    def start(self) -> Self:
        """Begin to answer; returns once it does."""
        self._thread.start()
        self._ready.wait()
        self._raise_failure()
        return self

    def close(self) -> None:
        """End all connections and return when all that was to be recorded is; the second time nothing happens."""
        if self._thread.is_alive():
            self._stop()
            self._thread.join()
        self._raise_failure()

    @property
    def ports(self) -> tuple[int, ...]:
        """The ports that are listened on, in the order given."""
        return tuple(listener.socket.getsockname()[1] for listener in self._listeners)

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _raise_failure(self) -> None:
        failure, self._failure = self._failure, None
        if failure is not None:
            raise failure

    # The thread.

    def _run(self) -> None:
        try:
            with asyncio.Runner(loop_factory=asyncio.SelectorEventLoop) as runner:
                runner.run(self._serve())
        except BaseException as error:
            self._failure = error
        finally:
            self._ready.set()

    async def _serve(self) -> None:
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(self._unexpected)
        desk = Desk(self._turns, self._settings, self._dialer)
        entrance = Entrance(desk, self._listeners, self._certificates, self._name_of)
        stopped = asyncio.Event()
        self._stop = partial(loop.call_soon_threadsafe, stopped.set)
        entrance.open()
        self._ready.set()
        try:
            await stopped.wait()
        finally:
            await entrance.close()
            await desk.settled()
            desk.close()

    def _unexpected(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        """A mistake of ours ends in `close`; that the network broke somewhere is no mistake."""
        error = context.get("exception")
        if error is not None and not isinstance(error, OSError) and self._failure is None:
            self._failure = error
