"""One direction of one connection, bytes in, events out (RFC 9112).

Decides where messages begin and end and what their heads say. llhttp reads heads and chunked bodies; how long a body is, is decided
here, because llhttp does not know which request a response answers and does not tell where a message ended. Reads a copy: what is
relayed is never rebuilt. Does not decide what of it is recorded (`exchange`).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final, Generic, Protocol, TypeAlias, TypeVar

from httptools import HttpParserError, HttpParserUpgrade, HttpRequestParser, HttpResponseParser

from provtape.wire.chunked import ChunkedBody

MAX_HEAD: Final = 64 * 1024
Headers: TypeAlias = tuple[tuple[str, str], ...]

_LENGTH: Final = re.compile(r"[0-9]{1,16}")
_CLOSED_EARLY: Final = "the connection was closed inside a message"


@dataclass(frozen=True, slots=True)
class RequestHead:
    """The head of a request.

    Attributes:
        method: As sent; llhttp knows the registered ones.
        target: As sent: origin, absolute, authority or asterisk form.
        version: `1.0` or `1.1`.
        headers: Lower-case name and value (Latin-1, without blanks around it), in order, repeats kept.
        keep_alive: The connection may carry another message.
        upgrade: It asks for another protocol, or is a CONNECT.
    """

    method: str
    target: str
    version: str
    headers: Headers
    keep_alive: bool
    upgrade: bool

    @property
    def expects_continue(self) -> bool:
        """Whether the client waits for a `100 Continue` before its body."""
        return any(name == "expect" and value.lower() == "100-continue" for name, value in self.headers)


@dataclass(frozen=True, slots=True)
class ResponseHead:
    """The head of a response; attributes as in `RequestHead`.

    Attributes:
        streamed: The length was not announced: the body is chunked, or ends with the connection.
    """

    status: int
    version: str
    headers: Headers
    keep_alive: bool
    upgrade: bool
    streamed: bool

    @property
    def interim(self) -> bool:
        """Whether another head follows (1xx but 101): no `End` comes for this one."""
        return self.status < 200 and self.status != 101


@dataclass(frozen=True, slots=True)
class Body:
    """Some bytes of the body, transfer coding undone; never empty."""

    data: bytes


@dataclass(frozen=True, slots=True)
class End:
    """The message is whole.

    Attributes:
        consumed: Offset, in the bytes fed, just after the last byte of the message; 0 when it ended with the connection.
    """

    consumed: int


@dataclass(frozen=True, slots=True)
class Rest:
    """Bytes after the end of the message, not read: a pipelined request, or a tunnel's first. Feed them again to read them."""

    data: bytes


@dataclass(frozen=True, slots=True)
class Broken:
    """Not HTTP/1.1, larger than taken, or closed too early: nothing more comes from this reader. `reason` holds no content."""

    reason: str


Head: TypeAlias = RequestHead | ResponseHead
Event: TypeAlias = RequestHead | ResponseHead | Body | End | Rest | Broken

_H = TypeVar("_H", RequestHead, ResponseHead)


class _Parser(Protocol):
    """What is used of llhttp."""

    def feed_data(self, data: bytes) -> None: ...

    def get_http_version(self) -> str: ...


class _Reader(Generic[_H]):
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
        self._headers.append((name.decode("latin-1").lower(), value.decode("latin-1").strip(" \t")))

    def on_headers_complete(self) -> None:
        """For llhttp."""
        self._complete = True

    def _begin(self) -> None:
        self._inside = self._complete = False
        self._begun = 0
        self._tail = b""
        self._left: int | None = 0
        self._chunked: ChunkedBody | None = None
        self._headers: list[tuple[str, str]] = []
        self._parser = self._new_parser()

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
            self._parse(data[at:end])
            self._tail = (self._tail + data[max(at, end - 4) : end])[-4:]
            at = end
            if self._complete:
                if self._tail != b"\r\n\r\n":
                    raise ValueError("the end of the head can be read in two ways")
                head, left = self._read_head()
                events.append(head)
                if isinstance(head, ResponseHead) and head.interim:
                    self._begin()
                    continue
                self._inside, self._left = True, left
                self._chunked = ChunkedBody() if left is None else None
        return at

    def _head_end(self, data: bytes, at: int) -> int:
        """The offset after the next empty line, or after all bytes. The empty line may have begun in the read before."""
        tail = self._tail[-3:]
        seam = (tail + data[at : at + 3]).find(b"\r\n\r\n")
        if seam >= 0:
            return at + seam + 4 - len(tail)
        found = data.find(b"\r\n\r\n", at, at + MAX_HEAD + 4)
        return found + 4 if found >= 0 else len(data)

    def _parse(self, data: bytes) -> None:
        try:
            self._parser.feed_data(data)
        except HttpParserUpgrade:
            pass  # llhttp has read the head and stops at its end; so do we
        except HttpParserError as error:
            raise ValueError(f"the head is malformed: {str(error).lower()}") from None

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
        if end is not None:
            events.append(End(end))
            self._begin()
            if data[end:].lstrip(self._BLANK):
                events.append(Rest(data[end:]))

    def _framing(self, bare: int | None) -> int | None:
        """How long the body is by its headers (RFC 9112 section 6.3), `bare` when they do not say."""
        codings = [value for name, value in self._headers if name == "transfer-encoding"]
        lengths = [value for name, value in self._headers if name == "content-length"]
        if codings:
            if lengths or [coding.lower() for coding in codings] != ["chunked"]:
                raise ValueError("a transfer coding other than chunked alone")
            return None
        if not lengths:
            return bare
        if len(lengths) > 1 or not _LENGTH.fullmatch(lengths[0]):
            raise ValueError("the content-length is not one number")
        return int(lengths[0])

    def _version(self) -> str:
        version: str = self._parser.get_http_version()
        if version not in ("1.0", "1.1"):
            raise ValueError("not HTTP/1.0 or HTTP/1.1")
        return version

    def _keeps_alive(self, version: str) -> bool:
        tokens = named_tokens(self._headers, "connection")
        return "close" not in tokens and (version == "1.1" or "keep-alive" in tokens)

    def _new_parser(self) -> _Parser:
        raise NotImplementedError

    def _read_head(self) -> tuple[_H, int | None]:
        raise NotImplementedError


class RequestReader(_Reader[RequestHead]):
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
        self._request = HttpRequestParser(self)
        return self._request

    def _read_head(self) -> tuple[RequestHead, int | None]:
        method, version = self._request.get_method().decode("ascii"), self._version()
        length = 0 if method == "CONNECT" else self._framing(0)
        upgrade = method == "CONNECT" or self._request.should_upgrade()
        target, headers = self._target.decode("latin-1"), tuple(self._headers)
        return RequestHead(method, target, version, headers, self._keeps_alive(version), upgrade), length


class ResponseReader(_Reader[ResponseHead]):
    """Reads the response to one request, interim responses first.

    Args:
        method: Of the request: a response to HEAD has no body, whatever its headers say.
    """

    def __init__(self, method: str) -> None:
        self._method = method
        super().__init__()

    def _new_parser(self) -> HttpResponseParser:
        self._response = HttpResponseParser(self)
        return self._response

    def _read_head(self) -> tuple[ResponseHead, int | None]:
        status, version = self._response.get_status_code(), self._version()
        if not 100 <= status <= 999:
            raise ValueError("the status is not a number of three digits")
        length = 0 if has_no_body(self._method, status) else self._framing(-1)
        streamed = length is None or length == -1
        keep_alive = length != -1 and status != 101 and self._keeps_alive(version)
        headers = tuple(self._headers)
        return ResponseHead(status, version, headers, keep_alive, status == 101, streamed), length


def has_no_body(method: str, status: int) -> bool:
    """Whether a response has no body by its status or by what it answers (RFC 9112 section 6.3)."""
    tunnel = method == "CONNECT" and 200 <= status < 300
    return method == "HEAD" or status < 200 or status in (204, 304) or tunnel


def named_tokens(headers: Headers | list[tuple[str, str]], name: str) -> list[str]:
    """The comma-separated tokens of every header of this name, lower-case, in order."""
    values = [value for each, value in headers if each == name]
    return [token for value in values for part in value.split(",") if (token := part.strip().lower())]
