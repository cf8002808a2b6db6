"""One request of a client: its head, where it is to go, and a copy of its body.

Decides how the head that the upstream gets differs from the one that came: not at all, unless the client spoke to a proxy or to a
base URL of ours. Does not decide where a request goes (`connection`, `wire.route`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from provtape.capture.upstream import Origin, Upstream
from provtape.format.record import Object
from provtape.wire.exchange import request_members
from provtape.wire.tap import RequestHead

_END: Final = b"\r\n\r\n"
_TO_PROXY: Final = frozenset((b"proxy-connection", b"proxy-authorization"))


@dataclass(frozen=True, slots=True)
class Where:
    """Where a request goes.

    Attributes:
        origin: The upstream.
        url: As it is stored.
        target: What the upstream gets as request target; None: what came.
        authority: What the upstream gets as `host`; None: what came.
    """

    origin: Origin
    url: str
    target: str | None = None
    authority: str | None = None


class Request:
    """A request on its way in.

    Args:
        head: What the tap said.
        raw: The bytes of the head, its empty line included.
        where: Where it goes.
        limit: Bytes of the body that are kept.

    Attributes:
        size: Bytes of the body so far.
        over: It is larger than the limit: the copy was let go.
    """

    __slots__ = ("_limit", "_parts", "_raw", "head", "over", "size", "where")

    def __init__(self, head: RequestHead, raw: bytes, where: Where, limit: int) -> None:
        self.head = head
        self.where = where
        self.size = 0
        self.over = False
        self._raw = raw
        self._limit = limit
        self._parts: list[bytes] = []

    def add(self, data: bytes) -> None:
        """Keep some bytes of the body, transfer coding undone."""
        self.size += len(data)
        if self.size > self._limit:
            self.over = True
            self._parts.clear()
        if not self.over:
            self._parts.append(data)

    @property
    def body(self) -> bytes:
        """The body so far."""
        return b"".join(self._parts)

    def members(self) -> Object:
        """The member `request` of the interaction, not scrubbed."""
        return request_members(
            self.head.method, self.where.url, self.head.headers, self.body, limit=self._limit
        )

    @property
    def line(self) -> str:
        """Method and host, for a message: no path, no content."""
        return f"{self.head.method} to {self.where.origin.host}"

    def header(self, name: str) -> str | None:
        """The first value of a header, by its lower-case name."""
        return next((value for each, value in self.head.headers if each == name), None)

    def upstream_head(self, upstream: Upstream, *, drop: frozenset[bytes] = frozenset()) -> bytes:
        """The head for an upstream: byte for byte what came, but for what only meant us.

        Args:
            upstream: Who gets it.
            drop: Lower-case names of headers that are left out besides.
        """
        where = self.where
        target = where.target
        replaced: dict[bytes, bytes] = {}
        if where.authority is not None:
            replaced[b"host"] = where.authority.encode("latin-1")
        if upstream.proxied:
            target = _absolute(where, target or self.head.target)
        dropped = drop | _TO_PROXY if target is not None else drop
        added = f"Proxy-Authorization: {upstream.authorization}" if upstream.authorization else None
        if target is None and not replaced and not dropped and added is None:
            return self._raw
        return _rewritten(self._raw, target, replaced, dropped, added)


def _absolute(where: Where, target: str) -> str:
    """The absolute form of a target, for a proxy on the way (RFC 9112 section 3.2.2)."""
    if not target.startswith("/"):
        return target
    host = f"[{where.origin.host}]" if ":" in where.origin.host else where.origin.host
    return f"{where.origin.scheme}://{host}:{where.origin.port}{target}"


def _rewritten(
    raw: bytes,
    target: str | None,
    replaced: Mapping[bytes, bytes],
    dropped: frozenset[bytes],
    added: str | None,
) -> bytes:
    first, *lines = raw[: -len(_END)].split(b"\r\n")
    if target is not None:
        method, _, rest = first.partition(b" ")
        first = b" ".join((method, target.encode("latin-1"), rest.rpartition(b" ")[2]))
    result = [first]
    for line in lines:
        name = line.partition(b":")[0].strip().lower()
        if name in replaced:
            line = line.partition(b":")[0] + b": " + replaced[name]
        if name not in dropped:
            result.append(line)
    if added is not None:
        result.append(added.encode("latin-1"))
    return b"\r\n".join(result) + _END
