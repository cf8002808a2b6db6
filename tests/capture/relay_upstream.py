"""A real upstream on loopback that answers in every way an upstream can, one thread, raw sockets under asyncio streams."""

from __future__ import annotations

import asyncio
import gzip
import json
import socket
import ssl
import struct
import threading
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from types import TracebackType
from typing import Self

ALL_BYTES = bytes(range(256))
HEAD_END = b"\r\n\r\n"


@dataclass
class Seen:
    """A request as it arrived: the bytes of its head, and its body."""

    head: bytes
    body: bytes

    @property
    def method(self) -> str:
        return self.head.split(b" ", 1)[0].decode()

    @property
    def path(self) -> str:
        return self.head.split(b" ", 2)[1].decode()

    def header(self, name: str) -> str | None:
        for line in self.head.decode("latin-1").split("\r\n")[1:]:
            found, _, value = line.partition(":")
            if found.lower() == name:
                return value.strip()
        return None


@dataclass
class Talk:
    """One connection, for the function that answers."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    upstream: TestUpstream

    async def send(self, *parts: bytes, pause: float = 0.0) -> None:
        for part in parts:
            self.writer.write(part)
            await self.writer.drain()
            await asyncio.sleep(pause)

    def reset(self) -> None:
        sock = self.writer.get_extra_info("socket")
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.writer.transport.abort()


Answering = Callable[[Talk, Seen], Awaitable[bool]]


def plain(body: bytes, *headers: str, status: str = "200 OK") -> bytes:
    lines = [f"HTTP/1.1 {status}", "Content-Type: application/json", *headers, f"Content-Length: {len(body)}"]
    return "\r\n".join(lines).encode() + HEAD_END + body


def stream_head(*headers: str) -> bytes:
    lines = ["HTTP/1.1 200 OK", "Content-Type: text/event-stream", *headers, "Transfer-Encoding: chunked"]
    return "\r\n".join(lines).encode() + HEAD_END


def chunk(data: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(data), data)


def event(number: int, text: str) -> bytes:
    delta = {"id": f"c{number}", "object": "chat.completion.chunk", "created": 1, "model": "m"}
    return (
        b"data: "
        + json.dumps(delta | {"choices": [{"index": 0, "delta": {"content": text}}]}).encode()
        + b"\n\n"
    )


def completion(number: int, text: str) -> bytes:
    message = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
    return json.dumps(
        {"id": f"c{number}", "object": "chat.completion", "created": 1, "model": "m", "choices": [message]}
    ).encode()


@dataclass
class TestUpstream:
    """Answers by path; see `ANSWERS`.

    Attributes:
        seen: Every whole request, in order of arrival.
        connections: How many connections came.
        left: How many clients left in mid-answer.
    """

    __test__ = False

    tls: ssl.SSLContext | None = None
    seen: list[Seen] = field(default_factory=list)
    connections: int = 0
    left: int = 0
    port: int = 0
    release: threading.Event = field(default_factory=threading.Event)

    def __enter__(self) -> Self:
        ready = threading.Event()
        self._thread = threading.Thread(target=self._run, args=(ready,), daemon=True)
        self._thread.start()
        assert ready.wait(20)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def stop(self) -> None:
        """Listen no more; the second time nothing happens."""
        self.release.set()
        if self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._stopped.set)
            self._thread.join(20)

    @property
    def url(self) -> str:
        return f"http{'s' if self.tls else ''}://127.0.0.1:{self.port}"

    def _run(self, ready: threading.Event) -> None:
        asyncio.run(self._serve(ready))

    async def _serve(self, ready: threading.Event) -> None:
        self._loop, self._stopped = asyncio.get_running_loop(), asyncio.Event()
        server = await asyncio.start_server(
            self._talk, "127.0.0.1", 0, ssl=self.tls, limit=1 << 20, backlog=512
        )
        self.port = server.sockets[0].getsockname()[1]
        ready.set()
        await self._stopped.wait()
        server.close()
        tasks = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        talk = Talk(reader, writer, self)
        try:
            while (seen := await self._request(talk)) is not None:
                self.seen.append(seen)
                if not await ANSWERS.get(seen.path.split("?")[0].rstrip("/") or "/", not_found)(talk, seen):
                    break
                if seen.header("connection") == "close":
                    break
        except (ConnectionError, asyncio.IncompleteReadError):
            self.left += 1
        except asyncio.CancelledError:
            pass
        finally:
            writer.transport.abort() if writer.is_closing() else writer.close()

    async def _request(self, talk: Talk) -> Seen | None:
        try:
            head = await talk.reader.readuntil(HEAD_END)
        except asyncio.IncompleteReadError:
            return None
        seen = Seen(head, b"")
        if seen.header("expect") == "100-continue" and seen.path != "/no-thanks":
            await talk.send(b"HTTP/1.1 100 Continue\r\n\r\n")
        if seen.path in ("/no-thanks", "/early"):
            return seen
        if seen.header("transfer-encoding") == "chunked":
            while size := int((await talk.reader.readline()).split(b";")[0], 16):
                seen.body += await talk.reader.readexactly(size)
                await talk.reader.readline()
            await talk.reader.readline()
        else:
            seen.body = await talk.reader.readexactly(int(seen.header("content-length") or 0))
        return seen


async def chat(talk: Talk, seen: Seen) -> bool:
    """As a model's server: plain or streamed, every answer another one."""
    number = len(talk.upstream.seen)
    if not json.loads(seen.body).get("stream"):
        await talk.send(plain(completion(number, f"answer {number}")))
        return True
    await talk.send(stream_head())
    for word in ("one ", "two ", f"three {number}"):
        await talk.send(chunk(event(number, word)), pause=0.002)
    await talk.send(chunk(b"data: [DONE]\n\n"), b"0\r\n\r\n")
    return True


async def echo(talk: Talk, seen: Seen) -> bool:
    await talk.send(plain(seen.body, "X-Twice: one", "x-twice: two"))
    return True


async def every_byte(talk: Talk, seen: Seen) -> bool:
    await talk.send(plain(ALL_BYTES))
    return True


async def zipped(talk: Talk, seen: Seen) -> bool:
    await talk.send(
        plain(gzip.compress(mtime=0, data=b'{"output":"unzipped"}' * 20), "Content-Encoding: gzip")
    )
    return True


async def nothing(talk: Talk, seen: Seen) -> bool:
    status = "304 Not Modified" if seen.path == "/304" else "204 No Content"
    await talk.send(f"HTTP/1.1 {status}\r\nX-Kept: yes\r\n\r\n".encode())
    return True


async def headed(talk: Talk, seen: Seen) -> bool:
    body = b"" if seen.method == "HEAD" else b"x" * 1234
    await talk.send(b"HTTP/1.1 200 OK\r\nContent-Length: 1234\r\n\r\n" + body)
    return True


async def trailed(talk: Talk, seen: Seen) -> bool:
    await talk.send(stream_head("Trailer: x-sum"), b"3;note=1\r\nabc\r\n", b"0\r\nX-Sum: 6\r\n\r\n")
    return True


async def until_close(talk: Talk, seen: Seen) -> bool:
    await talk.send(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n", b"all ", b"there is")
    return False


async def hinted(talk: Talk, seen: Seen) -> bool:
    await talk.send(b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n", plain(b'{"after":"hints"}'))
    return True


async def in_a_chunk(talk: Talk, seen: Seen) -> bool:
    """Break off inside a chunk, in order."""
    await talk.send(stream_head(), chunk(event(1, "whole")), b'40\r\ndata: {"cut', pause=0.01)
    return False


async def in_a_chunk_reset(talk: Talk, seen: Seen) -> bool:
    await talk.send(stream_head(), chunk(event(1, "whole")), b'40\r\ndata: {"cut', pause=0.01)
    talk.reset()
    return False


async def short(talk: Talk, seen: Seen) -> bool:
    await talk.send(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nonly this")
    return False


async def reset(talk: Talk, seen: Seen) -> bool:
    talk.reset()
    return False


async def silence(talk: Talk, seen: Seen) -> bool:
    await talk.reader.read()
    return False


async def stalls(talk: Talk, seen: Seen) -> bool:
    """Some events, then nothing until the client leaves."""
    await talk.send(stream_head(), chunk(event(1, "one")), chunk(event(1, "two")), pause=0.02)
    await talk.reader.read()
    talk.upstream.left += 1
    return False


async def done_but_open(talk: Talk, seen: Seen) -> bool:
    """Says that it is done, and does not end the message until the client leaves."""
    await talk.send(stream_head(), chunk(event(1, "one")), chunk(b"data: [DONE]\n\n"))
    await talk.reader.read()
    return False


async def waits(talk: Talk, seen: Seen) -> bool:
    """Answers when the test says so."""
    while not talk.upstream.release.is_set():
        await asyncio.sleep(0.005)
    await talk.send(plain(b'{"released":true}'))
    return True


async def large(talk: Talk, seen: Seen) -> bool:
    size = int(seen.path.partition("?")[2])
    await talk.send(f"HTTP/1.1 200 OK\r\nContent-Length: {size}\r\n\r\n".encode())
    block = bytes(64 * 1024)
    while size:
        await talk.send(block[: min(size, len(block))])
        size -= min(size, len(block))
    return True


async def garbage(talk: Talk, seen: Seen) -> bool:
    await talk.send(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nabcdef")
    return False


async def refuses_body(talk: Talk, seen: Seen) -> bool:
    """A final answer instead of `100 Continue`, or before the body came."""
    await talk.send(plain(b'{"too":"large"}', status="413 Content Too Large"))
    return seen.path == "/no-thanks"


async def closes_after(talk: Talk, seen: Seen) -> bool:
    await talk.send(plain(b"{}", "Connection: close"))
    return False


async def drops_idle(talk: Talk, seen: Seen) -> bool:
    """Keep-alive is promised, and not kept."""
    await talk.send(plain(b"{}"), pause=0.02)
    return False


async def not_found(talk: Talk, seen: Seen) -> bool:
    await talk.send(plain(b'{"error":{"message":"no such path"}}', status="404 Not Found"))
    return True


ANSWERS: dict[str, Answering] = {
    "/v1/chat/completions": chat,
    "/echo": echo,
    "/bytes": every_byte,
    "/gzip": zipped,
    "/204": nothing,
    "/304": nothing,
    "/head": headed,
    "/trailers": trailed,
    "/until-close": until_close,
    "/hints": hinted,
    "/in-a-chunk": in_a_chunk,
    "/in-a-chunk-reset": in_a_chunk_reset,
    "/short": short,
    "/reset": reset,
    "/silence": silence,
    "/stalls": stalls,
    "/done-but-open": done_but_open,
    "/waits": waits,
    "/large": large,
    "/garbage": garbage,
    "/no-thanks": refuses_body,
    "/early": refuses_body,
    "/close": closes_after,
    "/drops-idle": drops_idle,
}
