"""How the recorder itself reaches upstreams: the proxies and the trust of its own environment."""

from __future__ import annotations

import asyncio
import errno
import socket
import ssl
from pathlib import Path

import pytest
from relay_stage import Client, interactions, serving
from relay_upstream import TestUpstream

from provtape.capture.authority import Authority
from provtape.capture.dialer import Dialer, Proxies
from provtape.capture.server import listen
from provtape.capture.upstream import DialFailed, Origin, word

VARIABLES = ("http_proxy", "https_proxy", "all_proxy", "no_proxy")


@pytest.fixture
def environment(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    return monkeypatch


def dialled(dialer: Dialer, origin: Origin) -> str:
    """The word for what happened."""

    async def dial() -> str:
        try:
            upstream = await dialer.dial(origin)
        except DialFailed as error:
            return error.word
        upstream.abort()
        await asyncio.sleep(0.01)
        return "connected"

    return asyncio.run(dial())


def test_the_proxies_of_the_environment_are_used_and_excepted(
    environment: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with TestUpstream() as upstream, serving(tmp_path / "proxy.jsonl", "record") as (proxy, _):
        environment.setenv("HTTP_PROXY", f"http://127.0.0.1:{proxy}")
        for number, excepted in enumerate(["", "127.0.0.1"]):
            environment.setenv("NO_PROXY", excepted)
            dialer = Dialer(Proxies.of_environment())
            path = tmp_path / f"{number}.jsonl"
            with (
                serving(path, "record", {"up": upstream.url}, dialer=dialer) as (port, _),
                Client(port) as client,
            ):
                client.get("/up/echo")
                client.answer()
    assert len(interactions(tmp_path / "proxy.jsonl")) == 1
    assert upstream.connections == 2


@pytest.mark.parametrize("proxy", ["socks5://127.0.0.1:1", "http://", "http://127.0.0.1:99999999"])
def test_a_proxy_that_is_not_spoken_here_is_not_gone_around(proxy: str) -> None:
    with TestUpstream() as upstream:
        dialer = Dialer(Proxies({"http": proxy}))
        assert dialled(dialer, Origin("http", "127.0.0.1", upstream.port)) == "refused"
        assert upstream.connections == 0


def test_a_proxy_that_refuses_a_tunnel_is_a_refusal() -> None:
    with TestUpstream() as upstream:
        dialer = Dialer(Proxies({"https": upstream.url}))
        assert dialled(dialer, Origin("https", "api.example", 443)) == "refused"
        assert upstream.seen[0].head.startswith(b"CONNECT api.example:443 HTTP/1.1\r\n")


def test_the_trust_of_the_recorders_environment_counts(
    environment: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with Authority({}) as authority:
        roots = tmp_path / "roots.pem"
        roots.write_bytes(authority.certificate)
        with TestUpstream(tls=authority.context("localhost")) as upstream:
            origin = Origin("https", "localhost", upstream.port)
            assert dialled(Dialer(), origin) == "tls"
            environment.setenv("SSL_CERT_FILE", str(roots))
            assert dialled(Dialer(), origin) == "connected"
            address = Origin("https", "127.0.0.1", upstream.port)
            assert dialled(Dialer(), address) == "tls", "the certificate is for the name"


def test_a_connection_that_does_not_come_about_is_given_up() -> None:
    with socket.socket() as full:
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        port = full.getsockname()[1]
        waiting = [socket.create_connection(("127.0.0.1", port)) for _ in range(1)]
        dialer = Dialer(connect_timeout=0.2, context=ssl.create_default_context())
        assert dialled(dialer, Origin("https", "127.0.0.1", port)) == "timeout"
        for sock in waiting:
            sock.close()


def test_every_failure_has_a_word() -> None:
    words = {
        None: "closed",
        ssl.SSLError(): "tls",
        socket.gaierror(): "unresolved",
        ConnectionResetError(): "reset",
        BrokenPipeError(): "reset",
        ConnectionRefusedError(): "refused",
        TimeoutError(): "timeout",
        OSError(errno.ENETUNREACH, ""): "refused",
        RuntimeError(): "closed",
    }
    assert {error: word(error) for error in words} == words


def test_a_port_that_is_taken_is_said_in_one_line() -> None:
    from provtape.errors import InputError

    with listen().socket as taken, pytest.raises(InputError, match="can not be listened on"):
        listen("127.0.0.1", taken.getsockname()[1])
