"""TLS and addresses that are not ours: what a client took for its upstream, recorded under the name that it said."""

from __future__ import annotations

import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from relay_stage import Client, interactions, recording, serving
from relay_upstream import TestUpstream

from provtape.capture.authority import Authority
from provtape.capture.dialer import Dialer, Proxies
from provtape.capture.server import Listening, Server, listen
from provtape.session import Session


@pytest.fixture(scope="module")
def authority() -> Iterator[Authority]:
    with Authority({}) as made:
        yield made


@pytest.fixture
def upstream(authority: Authority) -> Iterator[TestUpstream]:
    with TestUpstream(tls=authority.context("localhost")) as started:
        yield started


def trusting(authority: Authority) -> ssl.SSLContext:
    return ssl.create_default_context(cadata=authority.certificate.decode())


@contextmanager
def everywhere(
    path: Path, upstream: TestUpstream, authority: Authority, name: str | None
) -> Iterator[tuple[str, int]]:
    """A recorder on another loopback address, at the upstream's port, as if every address were ours."""
    session = Session.open(path, "record", literals=())
    own = listen("127.0.0.2", upstream.port).socket
    dialer = Dialer(context=trusting(authority))
    server = Server(
        session.turns,
        [Listening(own, everywhere=True)],
        dialer=dialer,
        certificates=authority,
        name_of={"127.0.0.2": name}.get,
    )
    with session, server:
        yield "127.0.0.2", upstream.port


def say(sock: socket.socket, request: bytes) -> bytes:
    sock.sendall(request)
    got = b""
    while data := sock.recv(65536):
        got += data
    return got


def test_a_client_that_dials_a_name_is_recorded_under_it(
    upstream: TestUpstream, authority: Authority, tmp_path: Path
) -> None:
    with everywhere(tmp_path / "run.jsonl", upstream, authority, "localhost") as address:
        sock = socket.create_connection(address, 20)
        with trusting(authority).wrap_socket(sock, server_hostname="localhost") as tls:
            assert tls.version() == "TLSv1.3"
            host = f"localhost:{upstream.port}".encode()
            got = say(tls, b"GET /bytes HTTP/1.1\r\nHost: %b\r\nConnection: close\r\n\r\n" % host)
    assert got.endswith(bytes(range(256)))
    (made,) = interactions(tmp_path / "run.jsonl")
    assert made["request"]["url"] == f"https://localhost:{upstream.port}/bytes"
    assert upstream.seen[0].head.startswith(b"GET /bytes HTTP/1.1\r\nHost: localhost:")


def test_a_host_header_for_somebody_else_is_misdirected(
    upstream: TestUpstream, authority: Authority, tmp_path: Path
) -> None:
    with everywhere(tmp_path / "run.jsonl", upstream, authority, "localhost") as address:
        sock = socket.create_connection(address, 20)
        with trusting(authority).wrap_socket(sock, server_hostname="localhost") as tls:
            got = say(tls, b"GET / HTTP/1.1\r\nHost: other.example\r\n\r\n")
    assert got.startswith(b"HTTP/1.1 421 ")
    assert upstream.seen == []


def test_a_plain_client_of_a_name_is_understood_on_the_same_port(
    authority: Authority, tmp_path: Path
) -> None:
    with (
        TestUpstream() as upstream,
        everywhere(tmp_path / "run.jsonl", upstream, authority, "localhost") as address,
    ):
        host = f"localhost:{upstream.port}".encode()
        with socket.create_connection(address, 20) as sock:
            got = say(sock, b"GET /echo HTTP/1.1\r\nHost: %b\r\nConnection: close\r\n\r\n" % host)
        with socket.create_connection(address, 20) as sock:
            refused = say(sock, b"GET /echo HTTP/1.1\r\nHost: a\r\n\r\n")
    assert got.startswith(b"HTTP/1.1 200 ")
    assert refused.startswith(b"HTTP/1.1 421 ")
    (made,) = interactions(tmp_path / "run.jsonl")
    assert made["request"]["url"] == f"{upstream.url.replace('127.0.0.1', 'localhost')}/echo"


def test_a_proxys_client_may_use_absolute_form_and_tunnels(
    upstream: TestUpstream, authority: Authority, tmp_path: Path
) -> None:
    path = tmp_path / "run.jsonl"
    dialer = Dialer(context=trusting(authority))
    with TestUpstream() as plain, serving(path, "record", dialer=dialer, certificates=authority) as (port, _):
        with Client(port) as client:
            client.get(f"{plain.url}/echo", "Proxy-Connection: keep-alive", "Proxy-Authorization: Basic eDp5")
            assert client.answer()[0].status == 200
        assert b"Proxy-" not in plain.seen[0].head
        assert plain.seen[0].path == "/echo"
        with Client(port) as client:
            client.send(b"CONNECT localhost:%d HTTP/1.1\r\nHost: a\r\n\r\n" % upstream.port)
            assert client.until(b"\r\n\r\n").startswith(b"HTTP/1.1 200 ")
            host = f"localhost:{upstream.port}".encode()
            with trusting(authority).wrap_socket(client.socket, server_hostname="localhost") as tls:
                got = say(tls, b"GET /bytes HTTP/1.1\r\nHost: %b\r\nConnection: close\r\n\r\n" % host)
                assert got.endswith(bytes(range(256)))
    urls = [made["request"]["url"] for made in interactions(path)]
    assert urls == [f"{plain.url}/echo", f"https://localhost:{upstream.port}/bytes"]


def test_the_recorders_own_proxy_is_tunnelled_through(
    upstream: TestUpstream, authority: Authority, tmp_path: Path
) -> None:
    far, near = tmp_path / "far.jsonl", tmp_path / "near.jsonl"
    trust = trusting(authority)
    with serving(far, "record", dialer=Dialer(context=trust), certificates=authority) as (proxy, _):
        dialer = Dialer(Proxies({"all": f"http://127.0.0.1:{proxy}"}), context=trust)
        routes = {"up": f"https://localhost:{upstream.port}"}
        with serving(near, "record", routes, dialer=dialer) as (port, _), Client(port) as client:
            client.get("/up/bytes")
            assert client.answer()[1] == bytes(range(256))
    assert [made["request"]["url"] for made in interactions(far)] == [
        made["request"]["url"] for made in interactions(near)
    ]


def test_an_upstream_that_is_not_trusted_gets_no_request(upstream: TestUpstream, tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    with recording(path, upstream) as (port, _), Client(port) as client:
        client.get("/up/echo")
        assert client.rest() == (b"", "reset")
    assert interactions(path)[0]["response"]["error"] == "tls"
    assert upstream.seen == []


def test_a_client_that_does_not_trust_us_learns_nothing(
    upstream: TestUpstream, authority: Authority, tmp_path: Path
) -> None:
    with everywhere(tmp_path / "run.jsonl", upstream, authority, "localhost") as address:
        sock = socket.create_connection(address, 20)
        with sock, pytest.raises(ssl.SSLCertVerificationError):
            ssl.create_default_context().wrap_socket(sock, server_hostname="localhost")
        silent = socket.create_connection(address, 20)  # says nothing at all, and holds nobody up
        threading.Event().wait(0.05)
    silent.close()
    assert interactions(tmp_path / "run.jsonl") == []


def test_a_service_that_is_let_through_gets_every_byte_and_leaves_no_record(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    with TestUpstream() as service:
        session = Session.open(path, "record", literals=())
        let = Listening(listen().socket, to=("127.0.0.1", service.port))
        with session, Server(session.turns, [let]) as server, Client(server.ports[0]) as client:
            client.get("/bytes", "Connection: close")
            got, how = client.rest()
            assert (got[-256:], how) == (bytes(range(256)), "closed")
            held = Client(server.ports[0])  # still there when the server ends
            held.get("/silence")
            threading.Event().wait(0.05)
        assert held.rest()[0] == b""
        held.close()
    assert interactions(path) == []


def test_a_service_that_is_not_there_closes_the_door(tmp_path: Path) -> None:
    with listen().socket as nobody:
        port = nobody.getsockname()[1]
    session = Session.open(tmp_path / "run.jsonl", "record", literals=())
    let = Listening(listen().socket, to=("127.0.0.1", port))
    with session, Server(session.turns, [let]) as server, Client(server.ports[0]) as client:
        assert client.rest()[0] == b""
