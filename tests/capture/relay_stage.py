"""A stage for relay stories: sessions with a server, and a client that speaks bytes."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Self

from relay_upstream import TestUpstream

from provtape.capture.desk import Settings
from provtape.capture.dialer import Dialer
from provtape.capture.server import Certificates, Server, listen
from provtape.session import Session
from provtape.session.decide import Mode
from provtape.wire.event import Body, Broken, End, ResponseHead
from provtape.wire.route import Routes
from provtape.wire.tap import ResponseReader

TIMEOUT = 20.0


class Client:
    """A connection to a port of 127.0.0.1 that says exactly what it is told to."""

    def __init__(self, port: int, host: str = "127.0.0.1") -> None:
        self.socket = socket.create_connection((host, port), TIMEOUT)

    def send(self, data: bytes) -> None:
        self.socket.sendall(data)

    def get(self, path: str, *headers: str, method: str = "GET", body: bytes = b"") -> None:
        lines = [f"{method} {path} HTTP/1.1", "Host: 127.0.0.1", *headers]
        if body:
            lines.append(f"Content-Length: {len(body)}")
        self.send("\r\n".join(lines).encode() + b"\r\n\r\n" + body)

    def until(self, part: bytes) -> bytes:
        """Read until these bytes came."""
        got = b""
        while part not in got:
            data = self.socket.recv(65536)
            assert data, got
            got += data
        return got

    def all_for_now(self) -> bytes:
        """Read until nothing came for a fifth of a second."""
        got = b""
        self.socket.settimeout(0.2)
        with suppress(TimeoutError):
            while data := self.socket.recv(65536):
                got += data
        self.socket.settimeout(TIMEOUT)
        return got

    def rest(self) -> tuple[bytes, str]:
        """Read to the end: what came, and whether the end was `closed` or `reset`."""
        got = b""
        while True:
            try:
                data = self.socket.recv(65536)
            except ConnectionResetError:
                return got, "reset"
            if not data:
                return got, "closed"
            got += data

    def answer(self, method: str = "GET") -> tuple[ResponseHead, bytes]:
        """Read one whole response."""
        reader, head, body = ResponseReader(method), None, b""
        while True:
            data = self.socket.recv(65536)
            for event in reader.feed(data) if data else reader.eof():
                assert not isinstance(event, Broken), event
                if isinstance(event, ResponseHead) and not event.interim:
                    head = event
                elif isinstance(event, Body):
                    body += event.data
                elif isinstance(event, End):
                    assert head is not None
                    return head, body
            assert data, "closed before the response was whole"

    def close(self) -> None:
        self.socket.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


@contextmanager
def serving(
    path: Path,
    mode: Mode,
    routes: Mapping[str, object] | None = None,
    *,
    repeat: bool = False,
    dialer: Dialer | None = None,
    certificates: Certificates | None = None,
    fails: bool = False,
    chosen: Settings | None = None,
    **settings: Any,
) -> Iterator[tuple[int, Session]]:
    """A session and its server on a port of 127.0.0.1.

    Args:
        path: The cassette.
        mode: Of the session.
        routes: Name to base URL.
        repeat: As in `Session.open`.
        dialer: As in `Server`.
        certificates: As in `Server`.
        fails: Leave it to the test to close the session.
        chosen: All the settings.
        **settings: As in `Settings`, when they are not chosen.
    """
    session = Session.open(path, mode, repeat=repeat, literals=())
    try:
        chosen = chosen or Settings(routes=Routes.of(routes or {}), **settings)
        with Server(session.turns, [listen()], chosen, dialer=dialer, certificates=certificates) as server:
            yield server.ports[0], session
    finally:
        if not fails:
            session.close()


@contextmanager
def recording(path: Path, upstream: TestUpstream, **settings: Any) -> Iterator[tuple[int, Session]]:
    """`serving` in record mode, with the upstream as route `up`."""
    with serving(path, "record", {"up": upstream.url}, **settings) as served:
        yield served


def interactions(path: Path) -> list[dict[str, Any]]:
    """The interactions of a cassette."""
    records = [json.loads(line) for line in path.read_bytes().split(b"\n") if line]
    return [record for record in records if record["type"] == "interaction"]


def body_of(message: Mapping[str, Any]) -> bytes:
    """The bytes of a stored body, when it is text."""
    return str(message["body"]["text"]).encode() if message["body"] else b""
