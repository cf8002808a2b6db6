"""The name server of an enclosure: a thread between its sockets and `names`.

Decides nothing about answers. Each goes out from the address that was asked, which a socket bound to all of them does not do by
itself.
"""

from __future__ import annotations

import contextlib
import selectors
import socket
import struct
from collections.abc import Sequence
from threading import Thread
from typing import Final

from provtape.capture.names import Names

MESSAGE: Final = 4096
CONNECTIONS: Final = 64
FREE_BIND: Final = 78  # IPV6_FREEBIND: answer from an address that is ours by a route only
PACKET_INFO: Final = {
    int(socket.AF_INET): (
        socket.IPPROTO_IP,
        8,
    ),  # IP_PKTINFO, which `socket` does not name before Python 3.14
    int(socket.AF_INET6): (socket.IPPROTO_IPV6, socket.IPV6_RECVPKTINFO),
}


class Resolver:
    """Answers DNS over UDP and TCP until it is closed.

    Args:
        names: The table; other threads may use it meanwhile.
        sockets: Bound datagram and listening stream sockets; the resolver owns them from here on.
    """

    def __init__(self, names: Names, sockets: Sequence[socket.socket]) -> None:
        self._names = names
        self._selector = selectors.DefaultSelector()
        self._open: dict[socket.socket, bytes] = {}
        self._wake, self._woken = socket.socketpair()
        self._selector.register(self._woken, selectors.EVENT_READ, self._nothing)
        for one in sockets:
            one.setblocking(False)
            if one.type == socket.SOCK_DGRAM:
                one.setsockopt(*PACKET_INFO[int(one.family)], 1)
                if one.family == socket.AF_INET6:
                    one.setsockopt(socket.IPPROTO_IPV6, FREE_BIND, 1)
                self._selector.register(one, selectors.EVENT_READ, self._datagram)
            else:
                self._selector.register(one, selectors.EVENT_READ, self._accept)
        self._thread = Thread(target=self._serve, name="provtape-names", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop answering and close every socket."""
        self._wake.close()
        self._thread.join()

    def _serve(self) -> None:
        while True:
            for key, _ in self._selector.select():
                one = key.fileobj
                assert isinstance(one, socket.socket)
                if one is self._woken:
                    return self._end()
                if one.fileno() >= 0:  # not dropped for one that came in the same round
                    with contextlib.suppress(OSError):
                        key.data(one)
        return None

    def _end(self) -> None:
        for key in list(self._selector.get_map().values()):
            assert isinstance(key.fileobj, socket.socket)
            key.fileobj.close()
        self._selector.close()

    def _nothing(self, _: socket.socket) -> None:
        """Wait for the end only."""

    def _datagram(self, one: socket.socket) -> None:
        query, ancillary, _, sender = one.recvmsg(MESSAGE, socket.CMSG_SPACE(20))
        answer = self._names.answer(query)
        if answer is not None:
            one.sendmsg([answer], [_source(*item) for item in ancillary], 0, sender)

    def _accept(self, listening: socket.socket) -> None:
        connection, _ = listening.accept()
        if len(self._open) >= CONNECTIONS:
            self._drop(next(iter(self._open)))
        connection.setblocking(False)
        self._open[connection] = b""
        self._selector.register(connection, selectors.EVENT_READ, self._stream)

    def _stream(self, connection: socket.socket) -> None:
        try:
            came = connection.recv(MESSAGE)
            held = self._answered(connection, self._open[connection] + came) if came else None
        except OSError:  # also a client that asks and does not read
            held = None
        if held is None:
            self._drop(connection)
        else:
            self._open[connection] = held

    def _answered(self, connection: socket.socket, held: bytes) -> bytes | None:
        """Answer the whole messages of a stream (RFC 1035 §4.2.2); what is left of it, None to close."""
        while len(held) >= 2 and len(held) >= (end := 2 + int.from_bytes(held[:2], "big")):
            answer = self._names.answer(held[2:end])
            if answer is None:
                return None
            connection.sendall(len(answer).to_bytes(2, "big") + answer)
            held = held[end:]
        return held

    def _drop(self, connection: socket.socket) -> None:
        del self._open[connection]
        self._selector.unregister(connection)
        connection.close()


def _source(level: int, kind: int, value: bytes) -> tuple[int, int, bytes]:
    """Turn where a datagram was sent to into where the answer comes from."""
    if level == socket.IPPROTO_IP:
        _, _, destination = struct.unpack("=I4s4s", value)
        value = struct.pack("=I4s4s", 0, destination, bytes(4))
    return level, kind, value
