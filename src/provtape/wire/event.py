"""What a connection says, as values: heads, pieces of bodies, ends.

Decides which facts of a message the rest of the house may know. Does not read bytes (`tap`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

Headers: TypeAlias = tuple[tuple[str, str], ...]


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


def has_no_body(method: str, status: int) -> bool:
    """Whether a response has no body by its status or by what it answers (RFC 9112 section 6.3)."""
    tunnel = method == "CONNECT" and 200 <= status < 300
    return method == "HEAD" or status < 200 or status in (204, 304) or tunnel


def named_tokens(headers: Headers | list[tuple[str, str]], name: str) -> list[str]:
    """The comma-separated tokens of every header of this name, lower-case, in order."""
    values = [value for each, value in headers if each == name]
    return [token for value in values for part in value.split(",") if (token := part.strip().lower())]
