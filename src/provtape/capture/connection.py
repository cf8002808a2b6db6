"""A client's connection: one request after the other, each given to whoever answers it.

Decides what is refused before anybody is asked: what is no HTTP/1.1, pipelined requests, upgrades, hosts that the connection does
not stand for. Does not decide what a request gets (`relay`, `replayer`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

from provtape.capture.desk import Desk
from provtape.capture.line import Line
from provtape.capture.relay import Relay
from provtape.capture.replayer import Replay
from provtape.capture.request import Request
from provtape.capture.roles import Exchange
from provtape.capture.target import OWN, Standing, find
from provtape.capture.upstream import Origin, Upstream
from provtape.wire.event import Body, Broken, End, RequestHead, Rest
from provtape.wire.refusal import Refusal, refusal
from provtape.wire.route import authority
from provtape.wire.tap import RequestReader

_TUNNEL: Final = b"HTTP/1.1 200 Connection established\r\n\r\n"


class Connection(Line, asyncio.Protocol):
    """One connection of a client.

    Args:
        desk: What all connections share.
        standing: What it stands for; settled later when TLS says it (`stand_for`).
        tunnel: Secures the connection after a CONNECT; None: tunnels are refused.
        gone: Called once, when it is lost.
    """

    def __init__(
        self,
        desk: Desk,
        standing: Standing | Callable[[asyncio.BaseTransport], Standing],
        *,
        tunnel: Callable[[Connection, asyncio.Transport, Origin], None] | None,
        gone: Callable[[Connection], None],
    ) -> None:
        super().__init__(desk.loop)
        self._desk = desk
        self._standing = standing
        self._tunnel = tunnel
        self._gone = gone
        self._reader = RequestReader()
        self._exchange: Exchange | None = None
        self._whole = False
        self._last = False  # the connection ends after this exchange: more came, or the upstream's ended
        self._head = b""
        self._early: bytes | None = None  # what came through a tunnel before we were told that it stands
        self._upstream: Upstream | None = None
        self._timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """For asyncio."""
        self.attach(transport)
        if callable(self._standing):
            self._standing = self._standing(transport)
        self._wait_for_request()

    def data_received(self, data: bytes) -> None:
        """For asyncio."""
        if self._closing:
            return
        if self._early is not None:
            self._early += data
            return
        if self._whole:
            self._crowd(data)
            return
        if self._exchange is None:
            self._head += data
        raw, end = data, len(data)
        for event in self._reader.feed(data):
            if isinstance(event, RequestHead):
                raw = self._head
                self._begin(event)
            elif isinstance(event, Body) and self._exchange is not None:
                self._exchange.body(event.data)
            elif isinstance(event, End):
                end = event.consumed
                self._whole = True
                self._stop_timer()
            elif isinstance(event, Rest):
                self._crowd(event.data)
            elif isinstance(event, Broken):
                self._refuse(_broken(event))
        self._hand_over(raw, len(data) - end)

    def eof_received(self) -> None:
        """As servers do: a client that says no more is taken to have left."""

    def connection_lost(self, exc: Exception | None) -> None:
        """For asyncio."""
        self._closing = True
        self._stop_timer()
        exchange, self._exchange = self._exchange, None
        upstream, self._upstream = self._upstream, None
        if upstream is not None:
            upstream.idle_lost = None
            upstream.abort()
        if exchange is not None:
            exchange.client_lost()
        self._gone(self)

    def pause_writing(self) -> None:
        """For asyncio."""
        if self._exchange is not None:
            self._exchange.choked(True)

    def resume_writing(self) -> None:
        """For asyncio."""
        if self._exchange is not None:
            self._exchange.choked(False)

    # What answers ask for.

    def finished(self, keep: bool) -> None:
        """The exchange is over; `keep`: another may follow."""
        self._exchange = None
        self._whole = False
        self._head = b""
        if keep and not self._last:
            self._wait_for_request()
        else:
            self.close()

    def refuse(self, answer: Refusal, *, head_only: bool, keep: bool) -> None:
        """Give an answer of our own; without `keep` it is the last one."""
        if keep and not self._last:
            self.write(answer.wire(head_only=head_only))
            self.finished(True)
        else:
            self.write(answer.wire(head_only=head_only, keep_alive=False))
            self._exchange = None
            self.linger()

    def take_over(self, exchange: Exchange) -> None:
        """Let somebody else answer the request that is being answered."""
        self._exchange = exchange

    def lend(self, request: Request) -> Upstream | None:
        """The connection that the last exchange left for this origin, if it still stands."""
        upstream, self._upstream = self._upstream, None
        if upstream is None:
            return None
        upstream.idle_lost = None
        if upstream.open and upstream.origin == request.where.origin:
            return upstream
        upstream.abort()
        return None

    def leave(self, upstream: Upstream) -> None:
        """Keep a connection for the next exchange; when it goes, this one goes too, as the client would have seen it go."""
        if self._closing:
            upstream.abort()
            return
        self._upstream = upstream
        upstream.idle_lost = self._idle_lost

    def secured(self, transport: asyncio.Transport, standing: Standing) -> None:
        """Go on inside a tunnel."""
        self.attach(transport)
        self._standing = standing
        self._reader = RequestReader()
        early, self._early = self._early, None
        self.finished(True)
        if early:
            self.data_received(early)

    # How requests come in.

    def _begin(self, head: RequestHead) -> None:
        if head.method == "CONNECT":
            self._open_tunnel(head)
            return
        if head.upgrade:
            text = "a connection can not become another protocol: only HTTP/1.1 is recorded"
            self._refuse(refusal(501, "upgrade", text), head.method == "HEAD")
            return
        replays = self._desk.turns.mode == "replay"
        standing = self._standing if isinstance(self._standing, Standing) else OWN
        where = find(head, standing, self._desk.settings, replays=replays)
        if isinstance(where, Refusal):
            self._refuse(where, head.method == "HEAD")
            return
        passed = where.origin.host in self._desk.settings.passed
        if passed and replays:
            self.reset()
            return
        settings = self._desk.settings
        live = self._desk.turns.mode == "record" or passed
        limit = settings.max_body if live else settings.max_request
        request = Request(head, self._raw_head(), where, limit)
        if live:
            self._exchange = Relay(self, request, self._desk, recorded=not passed)
        else:
            self._exchange = Replay(self, request, self._desk)

    def _raw_head(self) -> bytes:
        raw = self._head.lstrip(b"\r\n")
        return raw[: raw.index(b"\r\n\r\n") + 4]

    def _hand_over(self, raw: bytes, after: int) -> None:
        """Give the exchange the bytes that belong to the request and are not its head."""
        exchange = self._exchange
        if exchange is None:
            return
        if raw is not self._head:
            start = 0
        else:
            start = len(raw) - len(raw.lstrip(b"\r\n"))
            start = raw.index(b"\r\n\r\n", start) + 4
            self._head = b""
        if len(raw) - after > start:
            exchange.forward(raw[start : len(raw) - after])
        if self._whole:
            exchange.complete()

    def _crowd(self, data: bytes) -> None:
        """Bytes of another request before this one is answered: it is answered, the next one never is."""
        if data.strip(b"\r\n"):
            self._last = True

    def _refuse(self, answer: Refusal, head_only: bool = False) -> None:
        if self._exchange is not None:
            self.reset()
        else:
            self.refuse(answer, head_only=head_only, keep=False)

    def _open_tunnel(self, head: RequestHead) -> None:
        where = authority(head.target, "https")
        if where is None or self._tunnel is None or self._transport is None or self._standing is not OWN:
            self._refuse(refusal(501, "tunnel", "no tunnel can be opened here"))
            return
        self._early = b""
        self._transport.write(_TUNNEL)
        self._tunnel(self, self._transport, Origin("https", where.host, where.port))

    def _idle_lost(self) -> None:
        self._upstream = None
        self._last = True
        if self._exchange is None:
            self.close()

    def _wait_for_request(self) -> None:
        seconds = self._desk.settings.idle_timeout
        if seconds is not None:
            self._timer = self._desk.loop.call_later(seconds, self.close)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


def _broken(event: Broken) -> Refusal:
    if "headers are larger" in event.reason:
        return refusal(431, "headers", event.reason)
    return refusal(400, "malformed", event.reason)
