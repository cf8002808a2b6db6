"""The identity of a request and its key (spec Q1 to Q6).

Decides which two requests are the same. Takes the *scrubbed* request as it is stored. Does not decide what a program is answered
(`session.decide`), and never changes a stored byte: an identity is made, hashed and thrown away.
"""

from __future__ import annotations

import hashlib
import re
from base64 import b64decode
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from provtape.errors import FormatError, SessionError
from provtape.format import strict
from provtape.format.record import Kind

HEADERS: Final = ("anthropic-beta", "anthropic-version", "openai-beta")
MAX_IGNORED: Final = 1000

_TAG: Final = b"provtape/1 key\n"
_AUTHORITY: Final = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*://)([^/?#]*)")
_BOUNDARY: Final = re.compile(
    r"""multipart/[^;]*;(?:.*;)?[ \t]*boundary=(?:"((?:[^"\\]|\\.)*)"|([^;" \t]+))""",
    re.IGNORECASE | re.DOTALL,
)
_BAD_ESCAPE: Final = re.compile(r"~(?![01])")
_NO_POINTER: Final = (
    "match.ignore: entry {} is no JSON Pointer",
    'a pointer starts with "/"; "~" is written "~0"; "*" stands for one segment',
)


@dataclass(frozen=True, slots=True)
class Match:
    """The match rules of a cassette, as record 0 binds them.

    Attributes:
        headers: Lower-case names of the request headers that belong to the identity of an http request.
        ignore: JSON Pointers (RFC 6901) into the identity; `*` is one whole segment.
        pointers: `ignore`, split and unescaped.
    """

    headers: tuple[str, ...] = HEADERS
    ignore: tuple[str, ...] = ()
    pointers: tuple[tuple[str, ...], ...] = ()

    @classmethod
    def of(cls, headers: tuple[str, ...] = HEADERS, ignore: tuple[str, ...] = ()) -> Match:
        """The rules with their pointers read.

        Raises:
            SessionError: An entry of `ignore` is no pointer to a member (the message names it by number), or there are over 1,000.
        """
        if len(ignore) > MAX_IGNORED:
            raise SessionError(f"match.ignore: more than {MAX_IGNORED} entries")
        return cls(headers, ignore, tuple(_segments(number, entry) for number, entry in enumerate(ignore)))

    def members(self) -> dict[str, object]:
        """The value of `match` in record 0."""
        return {"headers": list(self.headers), "ignore": list(self.ignore)}


DEFAULT: Final = Match()


def key(kind: Kind, request: Mapping[str, object], match: Match = DEFAULT) -> str:
    """The match key of a scrubbed request: 64 lower-case hex digits (spec Q1).

    Args:
        kind: `llm`, `tool` or `http`.
        request: The members of `request` as they are stored (spec C16, C17).
        match: The rules of record 0.

    Raises:
        FormatError: The request holds something JSON can not say.

    >>> key("llm", {"model": "m", "prompt": "hi", "params": {"b": 1, "a": 2}}) == key(
    ...     "llm", {"params": {"a": 2, "b": 1}, "prompt": "hi", "model": "m"}
    ... )
    True
    """
    return hashlib.sha256(_TAG + strict.canonical(identity(kind, request, match))).hexdigest()


def identity(kind: Kind, request: Mapping[str, object], match: Match = DEFAULT) -> dict[str, object]:
    """What makes a request this request and no other (spec Q2, Q4 to Q6).

    Returns:
        A JSON object; numbers are as the strict reader or the program gave them.
    """
    if kind == "llm":
        whole: dict[str, object] = {
            "kind": kind,
            "model": request["model"],
            "prompt": request["prompt"],
            "params": request["params"],
        }
    elif kind == "tool":
        whole = {"kind": kind, "name": request["name"], "arguments": request["arguments"]}
    else:
        whole = _http(request, match)
    if match.pointers:
        return dict(_without(whole, match.pointers))
    return whole


def _http(request: Mapping[str, object], match: Match) -> dict[str, object]:
    pairs = _pairs(request["headers"])
    kept = sorted(([name, value] for name, value in pairs if name in match.headers), key=lambda pair: pair[0])
    return {
        "kind": "http",
        "method": request["method"],
        "url": plain_url(str(request["url"])),
        "headers": kept,
        "body": _body(request["body"], pairs),
    }


def plain_url(url: str) -> str:
    """A URL without userinfo and fragment; every other character stays (spec Q4).

    >>> plain_url("https://user:pass@host/a?b=%20&b=#top")
    'https://host/a?b=%20&b='
    """
    url = url.partition("#")[0]
    found = _AUTHORITY.match(url)
    if found is None or "@" not in found[2]:
        return url
    return found[1] + found[2].rpartition("@")[2] + url[found.end() :]


def _pairs(headers: object) -> list[tuple[str, str]]:
    return [(str(name), str(value)) for name, value in headers] if isinstance(headers, list | tuple) else []


def _body(body: object, headers: list[tuple[str, str]]) -> dict[str, object] | None:
    if not isinstance(body, Mapping):
        return None
    text = body.get("text")
    data = b64decode(str(body["base64"])) if text is None else str(text).encode("utf-8", "surrogatepass")
    data = _without_boundary(data, headers)
    if data.lstrip(b" \t\r\n")[:1] in (b"{", b"["):
        try:
            return {"json": _strictly(data)}
        except FormatError:
            pass
    return {"sha256": hashlib.sha256(data).hexdigest()}


def _strictly(data: bytes) -> object:
    """As `strict.parse`, by the fast road where the bytes are in the one spelling."""
    try:
        return strict.read(data)
    except FormatError as error:
        if error.code != "record.spelling":
            raise
    return strict.parse(data)


def _without_boundary(data: bytes, headers: list[tuple[str, str]]) -> bytes:
    for name, value in headers:
        if name != "content-type":
            continue
        found = _BOUNDARY.match(value.strip())
        token = (re.sub(r"\\(.)", r"\1", found[1]) if found[1] else found[2]) if found else None
        return data.replace(token.encode("utf-8", "surrogatepass"), b"boundary") if token else data
    return data


def _segments(number: int, pointer: str) -> tuple[str, ...]:
    if not pointer.startswith("/") or _BAD_ESCAPE.search(pointer):
        raise SessionError(_NO_POINTER[0].format(number), _NO_POINTER[1])
    return tuple(part.replace("~1", "/").replace("~0", "~") for part in pointer.split("/")[1:])


def _without(value: Mapping[str, object], pointers: tuple[tuple[str, ...], ...]) -> list[tuple[str, object]]:
    """The members of an object that no pointer names, each without what the pointers name inside it."""
    kept = []
    for name, child in value.items():
        inside = tuple(pointer[1:] for pointer in pointers if pointer[0] in ("*", name))
        if () not in inside:
            kept.append((name, _pruned(child, inside)))
    return kept


def _pruned(value: object, pointers: tuple[tuple[str, ...], ...]) -> object:
    if not pointers:
        return value
    if isinstance(value, Mapping):
        return dict(_without(value, pointers))
    if isinstance(value, list | tuple):
        numbered = {str(number): child for number, child in enumerate(value)}
        return [child for _, child in _without(numbered, pointers)]
    return value
