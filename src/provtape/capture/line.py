"""The wire to a client: written, paused, and ended in one of the ways in which a connection can end.

Decides how an ending looks to the client: in order, as a reset, or in order after an answer that must be read first. Does not
decide when (`connection`).
"""

from __future__ import annotations

import asyncio
import socket
import struct
from typing import Final, cast

from provtape.capture.upstream import HIGH_WATER

_LINGER: Final = struct.pack("ii", 1, 0)
_LINGERING: Final = 1.0  # seconds
_FLUSH: Final = 0.005  # seconds between two looks at whether everything is sent


class Line:
    """One transport to a client; another one when a tunnel is secured."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._transport: asyncio.Transport | None = None
        self._closing = False

    def attach(self, transport: asyncio.BaseTransport) -> None:
        """Take over a transport."""
        self._transport = cast(asyncio.Transport, transport)
        self._transport.set_write_buffer_limits(HIGH_WATER)

    def write(self, data: bytes) -> None:
        """Send bytes; nothing happens once the line is ending."""
        if data and self._transport is not None and not self._closing:
            self._transport.write(data)

    def pause(self, paused: bool) -> None:
        """Read no more for now, or again."""
        if self._transport is None or self._transport.is_closing():
            return
        if paused:
            self._transport.pause_reading()
        else:
            self._transport.resume_reading()

    def close(self) -> None:
        """End in order, after what was written."""
        self._closing = True
        if self._transport is not None:
            self._transport.close()

    def drop(self) -> None:
        """End at once: the server ends."""
        if self._transport is not None:
            self._transport.abort()

    def reset(self) -> None:
        """Break the connection, once what was written is sent."""
        transport, self._closing = self._transport, True
        if transport is None or transport.is_closing():
            return
        if transport.get_write_buffer_size():
            self._loop.call_later(_FLUSH, self.reset)
            return
        sock = transport.get_extra_info("socket")
        if sock is not None:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _LINGER)
        transport.abort()

    def linger(self) -> None:
        """End in order, but read on for a moment: ended with bytes unread, the client would see a reset before our answer."""
        transport, self._closing = self._transport, True
        if transport is None or not transport.can_write_eof():
            self.close()
            return
        transport.write_eof()
        self._loop.call_later(_LINGERING, transport.close)
