"""Where clients come in: listening sockets, and what a new connection is.

Decides whether a connection speaks TLS (by its first byte), whether it came to our own port or to somebody else's address, and how
many are taken at one time. Does not decide what a request gets (`connection`).
"""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import Callable, Coroutine, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, Protocol

from provtape.capture.connection import Connection
from provtape.capture.desk import Desk
from provtape.capture.pipe import Pipe
from provtape.capture.target import OWN, Standing
from provtape.capture.upstream import Origin
from provtape.errors import InputError

BACKLOG: Final = 1024
TLS_FIRST_BYTE: Final = 0x16  # RFC 8446 section 5.1: a handshake record

_ACCEPTED: Final = 64  # connections that are accepted before others have their turn
_HANDSHAKE: Final = 20.0  # seconds
_BREATH: Final = 0.05  # seconds until connections are taken again when the system had no room for one


class Certificates(Protocol):
    """The certificate authority of a run."""

    def context(self, name: str) -> ssl.SSLContext:
        """TLS for a client that names no host, or names one."""

    def name_of(self, tls: ssl.SSLObject) -> str:
        """The host that a connection's certificate stands for."""


@dataclass(frozen=True, slots=True)
class Listening:
    """A listening socket.

    Attributes:
        socket: Bound and listening; whoever serves it closes it.
        everywhere: It takes connections to any address (enclosure): what is dialled is the upstream. Else it is our own port.
        to: Host and port of a service that is let through (`--allow`): bytes go there and back, nothing is understood.
    """

    socket: socket.socket
    everywhere: bool = False
    to: tuple[str, int] | None = None


def listen(host: str = "127.0.0.1", port: int = 0) -> Listening:
    """A listening socket of our own.

    Args:
        host: A numeric address or a name; loopback by default.
        port: 0 takes a free one.

    Raises:
        InputError: It can not be bound.
    """
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        sock = socket.socket(family, kind, protocol)
        try:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            sock.bind(address)
            sock.listen(BACKLOG)
        except BaseException:
            sock.close()
            raise
    except (OSError, UnicodeError, OverflowError):
        raise InputError(f"port {port} can not be listened on at this address", "choose another") from None
    return Listening(sock)


class Entrance:
    """All the connections of a server, on the loop's thread.

    Args:
        desk: What they share.
        listeners: Where clients come in.
        certificates: For TLS; None: only plain connections are understood.
        name_of: Which name was looked up to come to an address, if any.
    """

    def __init__(
        self,
        desk: Desk,
        listeners: Sequence[Listening],
        certificates: Certificates | None,
        name_of: Callable[[str], str | None],
    ) -> None:
        self._desk = desk
        self._listeners = listeners
        self._certificates = certificates
        self._name_of = name_of
        self._connections: set[Connection | Pipe] = set()
        self._sniffed: set[socket.socket] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._listens = False
        self._ended = False

    def open(self) -> None:
        """Take connections."""
        self._listen(True)

    async def close(self) -> None:
        """Take no more, and end those that there are."""
        self._ended = True
        self._listen(False)
        for listener in self._listeners:
            listener.socket.close()
        for sock in list(self._sniffed):
            self._let_go(sock)
        for task in self._tasks:
            task.cancel()
        while self._tasks or self._connections:
            for connection in list(self._connections):
                connection.drop()
            await asyncio.sleep(0.001)

    def _listen(self, on: bool) -> None:
        if on == self._listens:
            return
        self._listens = on
        for listener in self._listeners:
            if on:
                listener.socket.setblocking(False)
                self._desk.loop.add_reader(listener.socket, self._accept, listener)
            else:
                self._desk.loop.remove_reader(listener.socket)

    def _accept(self, listener: Listening) -> None:
        for _ in range(_ACCEPTED):
            if len(self._connections) + len(self._sniffed) >= self._desk.settings.max_connections:
                self._listen(False)
                return
            try:
                sock, _ = listener.socket.accept()
            except BlockingIOError:
                return
            except OSError:  # no descriptor is left, or the client is gone already
                self._listen(False)
                self._desk.loop.call_later(_BREATH, self._listen_again)
                return
            sock.setblocking(False)
            if listener.to is not None:
                self._let_through(sock, listener.to)
            elif self._certificates is None:
                self._connect(sock, listener, tls=False)
            else:
                self._sniffed.add(sock)
                self._desk.loop.add_reader(sock, self._sniff, sock, listener)

    def _sniff(self, sock: socket.socket, listener: Listening) -> None:
        """Look at the first byte and leave it where it is."""
        try:
            first = sock.recv(1, socket.MSG_PEEK)
        except BlockingIOError:
            return
        except OSError:
            first = b""
        if not first:
            self._let_go(sock)
            return
        self._sniffed.discard(sock)
        self._desk.loop.remove_reader(sock)
        self._connect(sock, listener, tls=first[0] == TLS_FIRST_BYTE)

    def _let_go(self, sock: socket.socket) -> None:
        self._sniffed.discard(sock)
        self._desk.loop.remove_reader(sock)
        sock.close()

    def _connect(self, sock: socket.socket, listener: Listening, *, tls: bool) -> None:
        address, port = sock.getsockname()[:2]
        address = str(address).removeprefix("::ffff:")
        standing: Standing | Callable[[asyncio.BaseTransport], Standing] = OWN
        name = self._name_of(address)
        if listener.everywhere:
            scheme = "https" if tls else "http"
            origin = Origin(scheme, name or address, port, None if name else address)
            standing = Standing(origin, named=name is not None)
        context = self._context(name or address) if tls else None
        if tls and context is None:
            sock.close()
            return
        if tls and listener.everywhere:
            standing = partial(self._standing, address=address, port=port, known=name is not None)
        connection = Connection(
            self._desk,
            standing,
            tunnel=self._open_tunnel if self._certificates is not None else None,
            gone=self._gone,
        )
        self._connections.add(connection)
        task = self._spawn(self._attach(sock, connection, context))
        task.add_done_callback(partial(self._attached, sock, connection))

    def _let_through(self, sock: socket.socket, to: tuple[str, int]) -> None:
        pipe = Pipe(gone=self._gone)
        self._connections.add(pipe)
        task = self._spawn(pipe.run(sock, to))
        task.add_done_callback(partial(self._attached, sock, pipe))

    async def _attach(
        self, sock: socket.socket, connection: Connection, context: ssl.SSLContext | None
    ) -> None:
        handshake = None if context is None else _HANDSHAKE
        await self._desk.loop.connect_accepted_socket(
            lambda: connection, sock, ssl=context, ssl_handshake_timeout=handshake
        )

    def _attached(self, sock: socket.socket, connection: Connection | Pipe, task: asyncio.Task[None]) -> None:
        """Forget a connection that never stood: a client that does not trust us, or left, or the server ends."""
        if task.cancelled() or task.exception() is not None:
            sock.close()
            self._gone(connection)

    def _context(self, name: str) -> ssl.SSLContext | None:
        if self._certificates is None:
            return None
        try:
            return self._certificates.context(name)
        except ValueError:
            return None

    def _standing(
        self, transport: asyncio.BaseTransport, *, address: str, port: int, known: bool
    ) -> Standing:
        """What a TLS connection to somebody else's address stands for: the name that its client said."""
        if self._certificates is None:
            raise AssertionError("TLS was spoken with certificates")
        name = self._certificates.name_of(transport.get_extra_info("ssl_object"))
        return Standing(Origin("https", name, port, None if known else address), named=name != address)

    def _open_tunnel(self, connection: Connection, transport: asyncio.Transport, origin: Origin) -> None:
        self._spawn(self._secure(connection, transport, origin))

    async def _secure(self, connection: Connection, transport: asyncio.Transport, origin: Origin) -> None:
        context = self._context(origin.host)
        secured = None
        if context is not None:
            with suppress(OSError):
                secured = await self._desk.loop.start_tls(
                    transport, connection, context, server_side=True, ssl_handshake_timeout=_HANDSHAKE
                )
        if secured is None:
            transport.abort()
        else:
            connection.secured(secured, Standing(origin, named=True))

    def _gone(self, connection: Connection | Pipe) -> None:
        self._connections.discard(connection)
        self._listen_again()

    def _listen_again(self) -> None:
        if not self._ended:
            self._listen(True)

    def _spawn(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = self._desk.loop.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task
