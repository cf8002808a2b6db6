"""One connection to an upstream, and the words for what can go wrong with it.

Decides by which word a failure is recorded. Who makes connections is `dialer`; what goes over one is decided by whoever dialled it
(`relay`).
"""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Protocol, cast

from provtape.wire.exchange import Fault

HIGH_WATER: Final = 256 * 1024  # bytes waiting for a slow reader before its source is no longer read


@dataclass(frozen=True, slots=True)
class Origin:
    """Where requests go.

    Attributes:
        scheme: `http` or `https`.
        host: Lower case, an IPv6 address without brackets.
        port: TCP port.
        address: The IP address to dial, when the host was not resolved by us.
    """

    scheme: str
    host: str
    port: int
    address: str | None = None


class DialFailed(Exception):
    """An upstream could not be reached; `word` says why, as `response.error` will."""

    def __init__(self, word: Fault) -> None:
        super().__init__(word)
        self.word: Fault = word


class Reader(Protocol):
    """Who listens to a connection, on the loop's thread."""

    def received(self, data: bytes) -> None:
        """Bytes came."""

    def lost(self, error: Exception | None) -> None:
        """No more will come: None when the other side closed, else what broke."""

    def choked(self, full: bool) -> None:
        """Whether the connection takes no more bytes for now."""


class Upstream(asyncio.Protocol):
    """One connection to an upstream.

    Attributes:
        origin: Where it leads.
        proxied: Whether requests must name their host in absolute form, since a plain proxy is in between.
        authorization: What that proxy wants as `proxy-authorization`.
        reader: Who listens now; None between two requests.
        idle_lost: Called when the connection is lost while nobody listens.
    """

    def __init__(self, origin: Origin, *, proxied: bool = False, authorization: str | None = None) -> None:
        self.origin = origin
        self.proxied = proxied
        self.authorization = authorization
        self.reader: Reader | None = None
        self.idle_lost: Callable[[], None] | None = None
        self.open = False
        self._transport: asyncio.Transport | None = None

    def attach(self, transport: asyncio.BaseTransport) -> None:
        """Take over a transport."""
        self._transport = cast(asyncio.Transport, transport)
        self._transport.set_write_buffer_limits(HIGH_WATER)
        self.open = True

    def write(self, data: bytes) -> None:
        """Send bytes; nothing happens when the connection is lost (its reader was told)."""
        if self._transport is not None and self.open:
            self._transport.write(data)

    def pause(self, paused: bool) -> None:
        """Read no more for now, or again."""
        if self._transport is not None and self.open:
            if paused:
                self._transport.pause_reading()
            else:
                self._transport.resume_reading()

    def abort(self) -> None:
        """End the connection at once."""
        if self._transport is not None:
            self._transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """For asyncio."""
        self.attach(transport)

    def data_received(self, data: bytes) -> None:
        """For asyncio."""
        if self.reader is not None:
            self.reader.received(data)
        else:
            self.abort()  # nobody asked: this connection can not be trusted with a request any more

    def connection_lost(self, exc: Exception | None) -> None:
        """For asyncio."""
        self.open = False
        if self.reader is not None:
            self.reader.lost(exc)
        elif self.idle_lost is not None:
            self.idle_lost()

    def pause_writing(self) -> None:
        """For asyncio."""
        if self.reader is not None:
            self.reader.choked(True)

    def resume_writing(self) -> None:
        """For asyncio."""
        if self.reader is not None:
            self.reader.choked(False)


def word(error: BaseException | None) -> Fault:
    """The word by which a failure is recorded in `response.error`; None: the other side closed."""
    if error is None:
        return "closed"
    return next((name for kinds, name in _WORDS if isinstance(error, kinds)), "closed")


_WORDS: Final[tuple[tuple[tuple[type[BaseException], ...], Fault], ...]] = (
    ((ssl.SSLError,), "tls"),
    ((socket.gaierror, UnicodeError), "unresolved"),
    ((ConnectionResetError, BrokenPipeError, ConnectionAbortedError), "reset"),
    ((TimeoutError,), "timeout"),
    ((OSError,), "refused"),  # by whoever is there, or by the network on the way
)
