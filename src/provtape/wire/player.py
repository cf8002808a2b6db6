"""From the member `response` of a record to what is done with a client's connection (spec C17 to C19).

Decides the framing, always derived from the bytes that are sent and never taken from a record, the pace, and how it ends: what was
cut is cut again, so that it never looks finished. A record is hostile: what HTTP can not say, or would say as something else, is
refused. Sends nothing itself (`capture`).
"""

from __future__ import annotations

import re
from base64 import b64decode
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from itertools import chain
from typing import Final, Literal, TypeAlias, cast

from provtape.dialects.ending import says_whole
from provtape.errors import FormatError
from provtape.format.record import Object
from provtape.wire.event import has_no_body
from provtape.wire.exchange import CONNECTION_HEADERS

Pace: TypeAlias = Literal["recorded", "none"] | float

MAX_WAIT: Final = 600_000

_NAME: Final = re.compile(r"[a-z0-9!#$%&'*+.^_`|~-]+")
_VALUE: Final = re.compile(r"[\t\x20-\x7e\x80-\xff]*")
_PHRASES: Final = {status.value: status.phrase for status in HTTPStatus}
_LAST_CHUNK: Final = b"0\r\n\r\n"


@dataclass(frozen=True, slots=True)
class Send:
    """Write these bytes."""

    data: bytes


@dataclass(frozen=True, slots=True)
class Wait:
    """Do nothing for so many milliseconds after the step before."""

    ms: float


@dataclass(frozen=True, slots=True)
class Close:
    """Close the connection in order (FIN)."""


@dataclass(frozen=True, slots=True)
class Reset:
    """Close the connection by a reset (RST)."""


Step: TypeAlias = Send | Wait | Close | Reset


def play(
    response: Object,
    *,
    method: str,
    version: str = "1.1",
    keep_alive: bool = True,
    pace: Pace = "recorded",
) -> Iterator[Step]:
    """The steps that give a recorded response to a client.

    Args:
        response: Its members, checked (spec C17 to C19).
        method: Of the client's request.
        version: Of the client's request; to 1.0 a stream ends with the connection.
        keep_alive: The client's request allows another one on the connection.
        pace: `recorded` waits between chunks as long as it took, `none` never, a positive number divides the waits by it.

    Returns:
        Steps in order. After the last the connection goes on, unless that is `Close` or `Reset`.

    Raises:
        FormatError: HTTP can not say this status or these headers.
    """
    status = response["status"]
    if status is None:
        return iter((Reset(),))
    if type(status) is not int or not 200 <= status <= 999:
        raise _unplayable("response.status")
    body = body_bytes(response["body"])
    whole = _is_whole(response, body)
    chunks = cast("Sequence[Sequence[int]] | None", response["chunks"])
    bare = has_no_body(method, status)
    chunked = chunks is not None and version == "1.1" and not bare
    until_close = chunks is not None and version != "1.1" and not bare
    keep_alive = keep_alive and whole and not until_close
    framing = [] if bare or until_close else [_framing(chunked, len(body) + (not whole))]
    head = _head(response, status, [*framing, *_connection(version, keep_alive)])
    ending = _ending(response, whole, keep_alive, until_close)
    if bare or chunks is None:
        return chain((Send(head if bare else head + body),), ending)
    last = _LAST_CHUNK if chunked and whole else b""
    return chain(_stream(head, _pieces(body, chunks, pace), last, chunked=chunked), ending)


def body_bytes(body: object) -> bytes:
    """The bytes of a body member (spec C18)."""
    if not isinstance(body, dict):
        return b""
    text = body.get("text")
    return b64decode(str(body["base64"])) if text is None else str(text).encode("utf-8")


def _is_whole(response: Object, body: bytes) -> bool:
    """Whether the client had all there was: a client that leaves after the last event has."""
    if response["ended"] != "client_left":
        return response["ended"] == "complete"
    headers = cast("list[list[str]]", response["headers"])
    return says_whole(next((value for name, value in headers if name == "content-type"), ""), body)


def _head(response: Object, status: int, framing: Iterable[tuple[str, str]]) -> bytes:
    headers = cast("list[list[str]]", response["headers"])
    lines = [f"HTTP/1.1 {status} {_PHRASES.get(status, '')}"]
    for name, value in headers:
        if not _NAME.fullmatch(name) or not _VALUE.fullmatch(value):
            raise _unplayable("a header in response.headers")
        if name not in CONNECTION_HEADERS:
            lines.append(f"{name}: {value}")
    lines += [f"{name}: {value}" for name, value in framing]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")


def _framing(chunked: bool, length: int) -> tuple[str, str]:
    return ("transfer-encoding", "chunked") if chunked else ("content-length", str(length))


def _connection(version: str, keep_alive: bool) -> list[tuple[str, str]]:
    if not keep_alive:
        return [("connection", "close")]
    return [] if version == "1.1" else [("connection", "keep-alive")]


def _pieces(body: bytes, chunks: Sequence[Sequence[int]], pace: Pace) -> Iterator[tuple[float, bytes]]:
    """How long to wait, and what comes then."""
    at = before = 0
    for length, ms in chunks:
        wait = 0.0 if pace == "none" else min(max(0, ms - before), MAX_WAIT)
        before = max(before, ms)
        yield wait if isinstance(pace, str) else wait / pace, body[at : at + length]
        at += length


def _stream(
    head: bytes, pieces: Iterator[tuple[float, bytes]], last: bytes, *, chunked: bool
) -> Iterator[Step]:
    """The head goes with the first piece, the end with the last: as few writes as the client saw reads."""
    held, begun = head, False
    for wait, data in pieces:
        if begun and held:
            yield Send(held)
            held = b""
        if wait > 0:
            yield Wait(wait)
        if data:
            held += b"%x\r\n%b\r\n" % (len(data), data) if chunked else data
            begun = True
    if held or last:
        yield Send(held + last)


def _ending(response: Object, whole: bool, keep_alive: bool, until_close: bool) -> tuple[Step, ...]:
    if whole:
        return () if keep_alive else (Close(),)
    return (Reset(),) if until_close or response["error"] == "reset" else (Close(),)


def _unplayable(where: str) -> FormatError:
    return FormatError(f"{where} is nothing that HTTP can say: it is not served", "record.members")
