"""One direction of one connection, bytes in, events out (RFC 9112).

Decides where messages begin and end and what their heads say. llhttp reads heads and chunked bodies; how long a body is, is decided
here, because llhttp does not know which request a response answers and does not tell where a message ended. Reads a copy: what is
relayed is never rebuilt. Does not decide what of it is recorded (`exchange`).
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from typing import Final, Generic, TypeVar

from httptools import HttpParserError, HttpParserUpgrade, HttpRequestParser, HttpResponseParser

from provtape.wire.chunked import ChunkedBody
from provtape.wire.event import (
    Body,
    Broken,
    End,
    Event,
    Head,
    Headers,
    RequestHead,
    ResponseHead,
    Rest,
    has_no_body,
    named_tokens,
)

__all__ = [
    "Body",
    "Broken",
    "End",
    "Event",
    "Head",
    "Headers",
    "RequestHead",
    "RequestReader",
    "ResponseHead",
    "ResponseReader",
    "Rest",
    "has_no_body",
    "named_tokens",
]

MAX_HEAD: Final = 64 * 1024

_LENGTH: Final = re.compile(r"[0-9]{1,16}")
_CLOSED_EARLY: Final = "the connection was closed inside a message"


_P = TypeVar("_P", HttpRequestParser, HttpResponseParser)


class _Reader(ABC, Generic[_P]):
    """What both directions share. A body's length is a number, None for chunked, or -1 for up to the end of the connection."""

    _BLANK = b""

    def __init__(self) -> None:
        self._broken = False
        self._begin()

    def feed(self, data: bytes) -> list[Event]:
        """Read the next bytes of the connection.

        Args:
            data: As they came, cut anywhere.

        Returns:
            What they say, in order. At most one message ends; what follows it comes as `Rest`, and the reader is ready for it.
        """
        if self._broken or not data:
            return []
        events: list[Event] = []
        try:
            at = 0 if self._inside else self._head_bytes(data, events)
            if self._inside:
                self._body_bytes(data, at, events)
        except ValueError as error:
            events.append(self._break(str(error)))
        return events

    def eof(self) -> list[Event]:
        """The connection was closed: `End` for a body that lasts until then, `Broken` inside a message, else nothing."""
        if self._broken:
            return []
        if self._inside and self._left == -1:
            self._begin()
            return [End(0)]
        if self._inside or self._begun:
            return [self._break(_CLOSED_EARLY)]
        return []

    @property
    def between(self) -> bool:
        """Whether no message has begun."""
        return not (self._broken or self._inside or self._begun)

    def on_header(self, name: bytes, value: bytes) -> None:
        """For llhttp."""
        self._raw.append((name, value))

    def on_headers_complete(self) -> None:
        """For llhttp."""
        self._complete = True

    def _begin(self) -> None:
        self._inside = self._complete = False
        self._begun = 0
        self._tail = b""
        self._left: int | None = 0
        self._chunked: ChunkedBody | None = None
        self._raw: list[tuple[bytes, bytes]] = []
        self._parser: _P | None = (
            None  # made for each message and let go with it: the two refer to each other
        )

    def _break(self, reason: str) -> Broken:
        self._broken = True
        return Broken(reason)

    def _head_bytes(self, data: bytes, events: list[Event]) -> int:
        """Read heads until one has a body or the bytes end; the offset after the last head."""
        at = 0 if self._begun else len(data) - len(data.lstrip(self._BLANK))
        while not self._inside and at < len(data):
            end = self._head_end(data, at)
            self._begun += end - at
            if self._begun > MAX_HEAD:
                raise ValueError(f"the headers are larger than {MAX_HEAD} bytes")
            parser = self._parse(data if end - at == len(data) else data[at:end])
            self._tail = data[end - 4 : end] if end - at >= 4 else (self._tail + data[at:end])[-4:]
            at = end
            if self._complete:
                self._take_head(parser, events)
        return at

    def _take_head(self, parser: _P, events: list[Event]) -> None:
        if self._tail != b"\r\n\r\n":
            raise ValueError("the end of the head can be read in two ways")
        raw = self._raw
        headers = tuple(
            [(name.decode("latin-1").lower(), value.decode("latin-1").strip(" \t")) for name, value in raw]
        )
        head, left = self._head(parser, headers)
        events.append(head)
        if isinstance(head, ResponseHead) and head.interim:
            self._begin()
            return
        self._inside, self._left = True, left
        self._chunked = ChunkedBody() if left is None else None

    def _head_end(self, data: bytes, at: int) -> int:
        """The offset after the next empty line, or after all bytes. The empty line may have begun in the read before."""
        if self._tail:
            tail = self._tail[-3:]
            seam = (tail + data[at : at + 3]).find(b"\r\n\r\n")
            if seam >= 0:
                return at + seam + 4 - len(tail)
        found = data.find(b"\r\n\r\n", at, at + MAX_HEAD + 4)
        return found + 4 if found >= 0 else len(data)

    def _parse(self, data: bytes) -> _P:
        if self._parser is None:
            self._parser = self._new_parser()
        try:
            self._parser.feed_data(data)
        except HttpParserUpgrade:
            pass  # llhttp has read the head and stops at its end; so do we
        except HttpParserError as error:
            raise ValueError(f"the head is malformed: {str(error).lower()}") from None
        return self._parser

    def _body_bytes(self, data: bytes, at: int, events: list[Event]) -> None:
        end: int | None
        if self._chunked is not None:
            body, end = self._chunked.feed(data, at)
        elif self._left == -1:
            body, end = data[at:], None
        else:
            left = self._left or 0
            body = data[at : at + left]
            self._left = left - len(body)
            end = None if self._left else at + len(body)
        if body:
            events.append(Body(body))
        if self._chunked is not None and self._chunked.fault is not None:
            events.append(self._break(self._chunked.fault))
        elif end is not None:
            events.append(End(end))
            self._begin()
            if end < len(data) and data[end:].lstrip(self._BLANK):
                events.append(Rest(data[end:]))

    @abstractmethod
    def _new_parser(self) -> _P: ...

    @abstractmethod
    def _head(self, parser: _P, headers: Headers) -> tuple[Head, int | None]: ...


class RequestReader(_Reader[HttpRequestParser]):
    """Reads the requests of a connection, one after the other.

    >>> RequestReader().feed(b"GET /v1 HTTP/1.1\\r\\nHost: a\\r\\n\\r\\n")[1:]
    [End(consumed=29)]
    """

    _BLANK = b"\r\n"  # empty lines before a request mean nothing (RFC 9112 section 2.2)

    def on_url(self, data: bytes) -> None:
        """For llhttp."""
        self._target += data

    def _begin(self) -> None:
        self._target = b""
        super()._begin()

    def _new_parser(self) -> HttpRequestParser:
        return HttpRequestParser(self)

    def _head(self, parser: HttpRequestParser, headers: Headers) -> tuple[Head, int | None]:
        method, version, said = parser.get_method().decode("ascii"), _version(parser), dict(headers)
        length = 0 if method == "CONNECT" else _framing(said, headers, 0)
        upgrade = method == "CONNECT" or parser.should_upgrade()
        keep_alive = _keeps_alive(version, said, headers)
        target = self._target.decode("latin-1")
        return RequestHead(method, target, version, headers, keep_alive, upgrade), length


class ResponseReader(_Reader[HttpResponseParser]):
    """Reads the response to one request, interim responses first.

    Args:
        method: Of the request: a response to HEAD has no body, whatever its headers say.
    """

    def __init__(self, method: str) -> None:
        self._method = method
        super().__init__()

    def _new_parser(self) -> HttpResponseParser:
        return HttpResponseParser(self)

    def _head(self, parser: HttpResponseParser, headers: Headers) -> tuple[Head, int | None]:
        status, version, said = parser.get_status_code(), _version(parser), dict(headers)
        if not 100 <= status <= 999:
            raise ValueError("the status is not a number of three digits")
        length = 0 if has_no_body(self._method, status) else _framing(said, headers, -1)
        streamed = length is None or length == -1
        keep_alive = length != -1 and status != 101 and _keeps_alive(version, said, headers)
        return ResponseHead(status, version, headers, keep_alive, status == 101, streamed), length


def _framing(said: dict[str, str], headers: Headers, bare: int) -> int | None:
    """How long the body is by its headers (RFC 9112 section 6.3): as in `_Reader`, `bare` when they do not say."""
    if "transfer-encoding" in said:
        codings = [value.lower() for name, value in headers if name == "transfer-encoding"]
        if "content-length" in said or codings != ["chunked"]:
            raise ValueError("a transfer coding other than chunked alone")
        return None
    length = said.get("content-length")
    if length is None:
        return bare
    if not _LENGTH.fullmatch(length):
        raise ValueError("the content-length is not one number")
    return int(length)


def _keeps_alive(version: str, said: dict[str, str], headers: Headers) -> bool:
    if "connection" not in said:
        return version == "1.1"
    tokens = named_tokens(headers, "connection")
    return "close" not in tokens and (version == "1.1" or "keep-alive" in tokens)


def _version(parser: HttpRequestParser | HttpResponseParser) -> str:
    version = parser.get_http_version()
    if version not in ("1.0", "1.1"):
        raise ValueError("not HTTP/1.0 or HTTP/1.1")
    return version
