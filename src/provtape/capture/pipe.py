"""A service of the host that is let through (`--allow`): bytes there and back, nothing understood and nothing recorded.

Decides that each side is read only as fast as the other takes it, and that an end on one side is passed on. Which services are let
through is decided, and written into the cassette, by whoever starts the run.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from typing import Final, cast

from provtape.capture.upstream import HIGH_WATER

CONNECT_TIMEOUT: Final = 30.0  # seconds


class _Side(asyncio.Protocol):
    """One of the two connections; what comes on it goes to the other."""

    def __init__(self, lost: Callable[[], None]) -> None:
        self.other: _Side | None = None
        self.transport: asyncio.Transport | None = None
        self._lost = lost

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)
        self.transport.set_write_buffer_limits(HIGH_WATER)
        if self.other is None:
            self.transport.pause_reading()

    def join(self, other: _Side) -> None:
        self.other = other
        if self.transport is not None:
            self.transport.resume_reading()

    def data_received(self, data: bytes) -> None:
        if self.other is not None and self.other.transport is not None:
            self.other.transport.write(data)

    def eof_received(self) -> bool:
        other = self.other.transport if self.other is not None else None
        if other is None or other.is_closing():
            return False
        other.write_eof()
        return True  # the other direction goes on

    def pause_writing(self) -> None:
        if self.other is not None and self.other.transport is not None:
            self.other.transport.pause_reading()

    def resume_writing(self) -> None:
        if self.other is not None and self.other.transport is not None:
            self.other.transport.resume_reading()

    def connection_lost(self, exc: Exception | None) -> None:
        if self.other is not None and self.other.transport is not None:
            self.other.transport.close() if exc is None else self.other.transport.abort()
        self._lost()


class Pipe:
    """One connection of a client, joined to one of the host.

    Args:
        gone: Called once, when both are lost.
    """

    def __init__(self, gone: Callable[[Pipe], None]) -> None:
        self._gone = gone
        self._sides: list[_Side] = []
        self._open = 0

    async def run(self, client: socket.socket, to: tuple[str, int]) -> None:
        """Join a client's socket to a service.

        Raises:
            OSError: The service is not there, or does not answer in time.
        """
        loop = asyncio.get_running_loop()
        async with asyncio.timeout(CONNECT_TIMEOUT):
            _, there = await loop.create_connection(lambda: self._side(), *to)
        try:
            _, here = await loop.connect_accepted_socket(lambda: self._side(), client)
        except BaseException:
            self.drop()
            raise
        there.join(here)
        here.join(there)

    def drop(self) -> None:
        """End both at once."""
        for side in self._sides:
            if side.transport is not None:
                side.transport.abort()

    def _side(self) -> _Side:
        side = _Side(self._lost)
        self._sides.append(side)
        self._open += 1
        return side

    def _lost(self) -> None:
        self._open -= 1
        if self._open == 0:
            self._gone(self)
