"""From what the taps saw to the members of an `http` interaction (spec C17 to C19).

Decides what of a message is recorded: its headers without those that speak about one connection or one framing, its body with the
content coding undone where that is possible, and when which bytes came. Takes nothing from a clock: times are arguments. Does not
decide what of it may be written (`scrub.door`) or how it is played (`player`).
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable
from typing import Final, Literal

from provtape.dialects.coding import decoded
from provtape.format.record import Object
from provtape.wire.event import Body, Broken, End, Event, Headers, ResponseHead, named_tokens

Ended = Literal["complete", "client_left", "upstream_broke", "no_response"]
Fault = Literal["refused", "unresolved", "tls", "timeout", "reset", "closed", "malformed"]

MAX_BODY: Final = 64 * 1024 * 1024
# RFC 9110 section 7.6.1, and the framing, which the player derives from the bytes it sends.
CONNECTION_HEADERS: Final = frozenset(
    (
        "connection",
        "keep-alive",
        "transfer-encoding",
        "te",
        "trailer",
        "upgrade",
        "content-length",
        "proxy-authenticate",
        "proxy-authorization",
        "proxy-authentication-info",
        "proxy-connection",
    )
)


def request_members(
    method: str, url: str, headers: Headers, body: bytes = b"", *, limit: int = MAX_BODY
) -> Object:
    """The member `request` of an `http` interaction, not scrubbed.

    Args:
        method: As sent.
        url: As it is stored (`wire.route`).
        headers: As the tap gave them.
        body: Transfer coding undone.
        limit: The most bytes that undoing a content coding may give.
    """
    content, kept, _ = _content(body, headers, limit)
    return {"method": method, "url": url, "headers": kept, "body": body_member(content)}


def body_member(data: bytes) -> dict[str, object] | None:
    """The one spelling of a body (spec C18).

    >>> body_member(b"hi"), body_member(b""), body_member(bytes([255]))
    ({'text': 'hi'}, None, {'base64': '/w=='})
    """
    if not data:
        return None
    try:
        return {"text": data.decode("utf-8")}
    except UnicodeDecodeError:
        return {"base64": b64encode(data).decode("ascii")}


class ResponseCopy:
    """Collects one response while it is relayed.

    Args:
        limit: The most bytes of a body that are kept, as they came and with the coding undone.

    Attributes:
        head: The final head, None until it came.
        whole: The message has ended as it should.
        broken: Why it can not be read, or None.
        over: The body is larger than the limit: it was let go, and `members` is not to be asked.
    """

    __slots__ = ("_limit", "_parts", "_reads", "_size", "broken", "head", "over", "whole")

    def __init__(self, limit: int = MAX_BODY) -> None:
        self._limit = limit
        self._parts: list[bytes] = []
        self._reads: list[list[int]] = []
        self._size = 0
        self.head: ResponseHead | None = None
        self.whole = False
        self.broken: str | None = None
        self.over = False

    def add(self, events: Iterable[Event], ms: int) -> None:
        """Take what one read of the connection said.

        Args:
            events: From `ResponseReader.feed` or `eof`, of one call.
            ms: Milliseconds since the interaction's `started`.
        """
        before = self._size
        for event in events:
            if isinstance(event, Body):
                self._keep(event.data)
            elif isinstance(event, End):
                self.whole = True
            elif isinstance(event, Broken):
                self.broken = event.reason
            elif isinstance(event, ResponseHead) and not event.interim:
                self.head = event
        if self._size > before:
            self._reads.append([self._size - before, max(0, ms)])

    def members(self, ended: Ended, error: Fault | None = None) -> Object:
        """The member `response`, not scrubbed.

        Args:
            ended: How it ended for the client. When no final head came it is `no_response` (a client that left stays one).
            error: What went wrong, in a word; for a client that left and a complete response None.
        """
        if self.head is None:
            ended = ended if ended == "client_left" else "no_response"
            return _response(ended, error, None, [], None, None)
        body, headers, undone = _content(b"".join(self._parts), self.head.headers, self._limit)
        chunks: object = None if undone or not self.head.streamed else self._reads
        return _response(ended, error, self.head.status, headers, body_member(body), chunks)

    def _keep(self, data: bytes) -> None:
        self._size += len(data)
        if self._size > self._limit:
            self.over = True
            self._parts.clear()
            self._reads.clear()
        if not self.over:
            self._parts.append(data)


def _response(
    ended: Ended, error: Fault | None, status: int | None, headers: object, body: object, chunks: object
) -> Object:
    return {
        "ended": ended,
        "error": error,
        "status": status,
        "headers": headers,
        "body": body,
        "chunks": chunks,
    }


def _content(body: bytes, headers: Headers, limit: int) -> tuple[bytes, list[list[str]], bool]:
    """Body and headers as they are stored, and whether a coding was undone."""
    said = dict(headers)
    gone = CONNECTION_HEADERS
    if "connection" in said:
        gone = gone.union(named_tokens(headers, "connection"))
    codings = ",".join(named_tokens(headers, "content-encoding")) if "content-encoding" in said else ""
    plain = decoded(codings, body, limit) if codings and body else None
    if plain is not None:
        gone |= {"content-encoding"}
    kept = [[name, value] for name, value in headers if name not in gone]
    return (body if plain is None else plain), kept, plain is not None


def no_response(error: Fault) -> Object:
    """The member `response` when nothing came at all."""
    return _response("no_response", error, None, [], None, None)
