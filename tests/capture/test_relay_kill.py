"""kill -9: every call that a client saw finish is in the cassette, and the cassette goes on."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from relay_stage import body_of, interactions, serving
from relay_upstream import TestUpstream

from provtape.wire.event import Body, End
from provtape.wire.tap import ResponseReader

STREAM = json.dumps({"model": "m", "messages": [], "stream": True}).encode()
REQUEST = (
    b"POST /up/v1/chat/completions HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n" % len(STREAM) + STREAM
)
RECORDER = Path(__file__).with_name("relay_recorder.py")


@pytest.fixture
def upstream() -> Iterator[TestUpstream]:
    with TestUpstream() as started:
        yield started


class Streams:
    """Two hundred clients, each asking again and again; `finished` holds what they saw to the end."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.finished: list[bytes] = []
        self.enough = asyncio.Event()

    async def run(self, recorder: subprocess.Popen[str], enough: int) -> None:
        clients = [asyncio.create_task(self._client(enough)) for _ in range(200)]
        await self.enough.wait()
        recorder.kill()
        await asyncio.gather(*clients)

    async def _client(self, enough: int) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        try:
            while True:
                writer.write(REQUEST)
                await self._answer(reader)
                if len(self.finished) >= enough:
                    self.enough.set()
        except (ConnectionError, EOFError):
            pass
        finally:
            writer.transport.abort()

    async def _answer(self, reader: asyncio.StreamReader) -> None:
        tap, body = ResponseReader("POST"), b""
        while True:
            data = await reader.read(65536)
            if not data:
                raise EOFError
            for event in tap.feed(data):
                if isinstance(event, Body):
                    body += event.data
                elif isinstance(event, End):
                    self.finished.append(body)
                    return


@pytest.mark.parametrize("enough", [1, 150, 500])
def test_what_a_client_saw_finish_survives_kill_9(
    enough: int, upstream: TestUpstream, tmp_path: Path
) -> None:
    path = tmp_path / "run.jsonl"
    recorder = subprocess.Popen(
        [sys.executable, str(RECORDER), str(path), upstream.url], stdout=subprocess.PIPE, text=True
    )
    with recorder:
        assert recorder.stdout is not None
        streams = Streams(int(recorder.stdout.readline()))
        asyncio.run(streams.run(recorder, enough))
    with serving(path, "auto", {"up": upstream.url}):
        pass  # goes on: a torn tail is moved aside
    recorded = {body_of(made["response"]) for made in interactions(path)}
    assert len(streams.finished) >= enough
    assert set(streams.finished) <= recorded
