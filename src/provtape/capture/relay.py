"""One call that goes live: bytes relayed both ways as they come, a copy understood, the last byte held until the record is durable.

Decides what a client sees when its upstream ends early, and what is recorded when the client does. Nothing is rebuilt: what the
upstream sends is what the client gets. Does not decide what of the copy is recorded (`wire.exchange`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from time import monotonic
from typing import Final

from provtape.capture.desk import Desk, Outcome
from provtape.capture.request import Request
from provtape.capture.roles import Client
from provtape.capture.upstream import HIGH_WATER, DialFailed, Upstream, word
from provtape.session.turns import Turn
from provtape.wire.event import End, Event, Rest
from provtape.wire.exchange import Ended, Fault, ResponseCopy
from provtape.wire.tap import ResponseReader

_EXPECT: Final = frozenset((b"expect",))


class Relay:
    """One exchange between a client and its upstream.

    Args:
        client: The client's connection.
        request: Its request.
        desk: Asks the session.
        recorded: Whether the session is asked at all.
        turn: The turn, when the session was asked before (auto): then the client is not waiting for a `100 Continue`.
    """

    def __init__(
        self, client: Client, request: Request, desk: Desk, *, recorded: bool = True, turn: Turn | None = None
    ) -> None:
        self._client = client
        self._request = request
        self._desk = desk
        self._recorded = recorded
        self._asked_before = turn is not None
        self._turn: Turn | None = turn
        self._refused = False  # the session can not record this call; it was told so
        self._whole = False  # the request has been read to its end
        self._began_body = False
        self._gone = False  # the client left
        self._clock = monotonic()
        self._reader = ResponseReader(request.head.method)
        self._copy = ResponseCopy(desk.settings.max_body)
        self._held = b""
        self._size = 0
        self._last = False  # neither connection can be used again
        self._ending: tuple[Ended, Fault | None] | None = None
        self._settled = False
        self._upstream: Upstream | None = None
        self._queued: list[bytes] = []
        self._seen = desk.loop.time()
        self._timer = desk.loop.call_later(desk.settings.read_timeout, self._check_time)
        self._dialling: asyncio.Task[None] | None = None
        lent = client.lend(request)
        if lent is None:
            self._dialling = desk.loop.create_task(self._dial())
        else:
            self._connected(lent)

    # From the client.

    def forward(self, data: bytes) -> None:
        """Bytes of the request after its head, as they came."""
        self._seen = self._desk.loop.time()
        self._began_body = True
        if self._ending is not None:
            return  # the upstream answered early; the rest is read for the record only
        if self._upstream is not None:
            self._upstream.write(data)
            return
        self._queued.append(data)
        if sum(map(len, self._queued)) > HIGH_WATER:
            self._client.pause(True)

    def body(self, data: bytes) -> None:
        """The same bytes, transfer coding undone."""
        if self._recorded:
            self._request.add(data)

    def complete(self) -> None:
        """The request is whole."""
        self._whole = True
        self._clock = monotonic()
        if self._turn is None and self._recorded:
            self._ask()
        else:
            self._settle()

    def client_lost(self) -> None:
        """The client left: its upstream is left too, and what it got is recorded."""
        self._gone = True
        if self._ending is None:
            self._end("client_left", None)
        elif not self._whole:
            self._settle()

    def choked(self, full: bool) -> None:
        """Whether the client takes no more bytes for now."""
        if self._upstream is not None:
            self._upstream.pause(full)

    # From the upstream.

    def received(self, data: bytes) -> None:
        """Bytes of the response."""
        self._seen = self._desk.loop.time()
        self._size += len(data)
        events = self._reader.feed(data)
        self._copy.add(events, self._ms())
        end = _end_of(events)
        if self._copy.broken is not None:
            if self._copy.head is not None:
                self._client.write(data)
            self._end("upstream_broke", "malformed")
            return
        if end is None:
            self._client.write(data)
            return
        self._last = any(isinstance(event, Rest) for event in events)
        self._client.write(data[: end - 1])
        self._held = data[end - 1 : end]
        self._end("complete", None)

    def lost(self, error: Exception | None) -> None:
        """The upstream's connection is gone."""
        events = [] if error is not None else self._reader.eof()
        self._copy.add(events, self._ms())
        if self._copy.whole:
            self._end("complete", None)
        else:
            self._end("upstream_broke", word(error))

    def upstream_choked(self, full: bool) -> None:
        """Whether the upstream takes no more bytes for now."""
        self._client.pause(full)

    # How it goes on.

    async def _dial(self) -> None:
        try:
            upstream = await self._desk.dialer.dial(self._request.where.origin)
        except DialFailed as error:
            self._end("no_response", error.word)
        else:
            if self._ending is None:
                self._connected(upstream)
            else:
                upstream.abort()

    def _connected(self, upstream: Upstream) -> None:
        self._upstream = upstream
        upstream.reader = _Listening(self)
        drop = _EXPECT if self._asked_before else frozenset[bytes]()
        upstream.write(b"".join([self._request.upstream_head(upstream, drop=drop), *self._queued]))
        if self._queued:
            self._queued.clear()
            self._client.pause(False)

    def _ask(self) -> None:
        request = self._request
        if request.over:
            self._lose("its request is larger than is recorded")
            self._settle()
        else:
            self._desk.attempt(request.members, request.size, self._begun)

    def _begun(self, outcome: Outcome) -> None:
        if isinstance(outcome, Turn):
            self._turn = outcome
        else:
            self._lose("its request can not be recorded")
        self._settle()

    def _end(self, ended: Ended, error: Fault | None) -> None:
        """What was to come from the upstream has come. The client learns of it once it is recorded."""
        if self._ending is not None:
            return
        self._ending = (ended, error)
        self._timer.cancel()
        self._part()
        if not self._whole and not self._began_body and self._request.head.expects_continue:
            self._last = True  # nothing tells whether a body follows all the same
            self.complete()
        else:
            self._settle()

    def _part(self) -> None:
        """Leave the upstream: for the next exchange if both sides allow it."""
        upstream, self._upstream = self._upstream, None
        self._queued.clear()
        self._client.pause(False)  # whatever could not be sent on is read all the same: the record wants it
        if self._dialling is not None and upstream is None and self._gone:
            self._dialling.cancel()
        if upstream is None:
            return
        upstream.reader = None
        head = self._copy.head
        if self._copy.whole and self._whole and not self._last and head and head.keep_alive and upstream.open:
            upstream.pause(False)
            self._client.leave(upstream)
        else:
            upstream.abort()

    def _settle(self) -> None:
        """Record, when there is all that is to be recorded."""
        if self._ending is None or self._settled or not (self._whole or self._gone):
            return
        if self._recorded and self._turn is None and not self._refused:
            if self._whole:
                return  # a worker still looks at the request
            self._settled = True  # the client left before it had asked anything
            return
        self._settled = True
        ended, error = self._ending
        if self._copy.over and self._turn is not None and not self._refused:
            self._lose("its response is larger than is recorded")
        if self._turn is None or self._refused:
            self._let_go()
            return
        copy = self._copy
        self._desk.finish(self._turn, lambda: copy.members(ended, error), self._size, self._durable)

    def _lose(self, why: str) -> None:
        self._refused = True
        self._desk.turns.lose(f"{self._request.line}: {why}")

    def _durable(self, error: BaseException | None) -> None:
        if error is None:
            self._let_go()
        elif not self._gone:
            self._client.reset()  # not recorded: the client must not see it finish

    def _let_go(self) -> None:
        """Let the client see how it ended."""
        if self._gone or self._ending is None:
            return
        ended, error = self._ending
        head = self._copy.head
        if ended == "complete" and head is not None:
            if self._held:
                self._client.write(self._held)
            keep = head.keep_alive and self._request.head.keep_alive
            self._client.finished(keep and not self._last)
        elif head is None or error == "reset" or _until_close(self._copy):
            self._client.reset()
        else:
            self._client.finished(False)

    def _check_time(self) -> None:
        late = self._seen + self._desk.settings.read_timeout - self._desk.loop.time()
        if late > 0:
            self._timer = self._desk.loop.call_later(late, self._check_time)
        else:
            self._end("upstream_broke", "timeout")

    def _ms(self) -> int:
        return round((monotonic() - self._clock) * 1000) if self._whole else 0


class _Listening:
    """The relay as its upstream sees it: here `choked` speaks of the upstream."""

    __slots__ = ("choked", "lost", "received")

    def __init__(self, relay: Relay) -> None:
        self.received: Callable[[bytes], None] = relay.received
        self.lost: Callable[[Exception | None], None] = relay.lost
        self.choked: Callable[[bool], None] = relay.upstream_choked


def _end_of(events: list[Event]) -> int | None:
    return next((event.consumed for event in events if isinstance(event, End)), None)


def _until_close(copy: ResponseCopy) -> bool:
    """Whether an end in order would look like the end of the body."""
    head = copy.head
    return (
        head is not None
        and head.streamed
        and not any(name == "transfer-encoding" for name, _ in head.headers)
    )
