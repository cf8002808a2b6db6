"""The enclosure and the server together: an unmodified program asks a name over TLS, and later nobody is there to answer it."""

from __future__ import annotations

import os
import ssl
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from relay_stage import interactions
from relay_upstream import TestUpstream

from provtape.capture.authority import Authority
from provtape.capture.dialer import Dialer
from provtape.capture.namespace import Enclosure
from provtape.capture.server import Listening, Server
from provtape.capture.surroundings import surroundings
from provtape.capture.upstream import Origin, Upstream
from provtape.session import Session
from provtape.session.decide import Mode

PROGRAM = """
import json, socket, sys, urllib.request
base = sys.argv[1]
for number in range(3):
    question = json.dumps({"model": "m", "stream": number == 2}).encode()
    with urllib.request.urlopen(f"{base}/v1/chat/completions", question, timeout=20) as answer:
        print(answer.read().decode())
"""


class AtHome(Dialer):
    """Finds every name on this machine."""

    async def dial(self, origin: Origin) -> Upstream:
        return await super().dial(replace(origin, address="127.0.0.1"))


class Gone(Dialer):
    """There is no network."""

    async def dial(self, origin: Origin) -> Upstream:
        raise AssertionError("a replay reached for the network")


def told(path: Path, mode: Mode, url: str, dialer: Callable[[], Dialer]) -> str:
    """What the program prints, run in an enclosure whose every address is the server's."""
    port = int(url.rpartition(":")[2])
    output = path.with_name("output")
    with (
        output.open("wb") as printed,
        Authority(os.environ) as authority,
        Session.open(path, mode, literals=()) as session,
    ):
        enclosure = Enclosure.start(
            [sys.executable, "-c", PROGRAM, url],
            environment=surroundings(os.environ, str(authority.bundle), enclosed=True),
            stdout=printed,
            ports=(80, 443, port),
        )
        listeners = [Listening(sock, everywhere=True) for sock in enclosure.sockets.values()]
        server = Server(
            session.turns,
            listeners,
            dialer=dialer(),
            certificates=authority,
            name_of=enclosure.names.name_of,
        )
        with enclosure, server:
            enclosure.go()
            assert enclosure.wait() == 0
    return output.read_text("utf-8")


def test_a_program_that_asks_a_name_over_tls_is_replayed_without_it(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    with Authority({}) as theirs, TestUpstream(tls=theirs.context("api.lab.example")) as upstream:
        trust = theirs.certificate.decode()
        url = f"https://api.lab.example:{upstream.port}"

        def dialer() -> Dialer:
            return AtHome(context=ssl.create_default_context(cadata=trust))

        live = told(path, "record", url, dialer)
    assert "answer 1" in live
    assert "three 3" in live
    assert {made["request"]["url"] for made in interactions(path)} == {f"{url}/v1/chat/completions"}
    assert told(path, "replay", url, Gone) == live
