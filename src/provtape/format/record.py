"""The members of a record (spec C13 to C21).

Decides which names a record has, in which order, and which values they may have. Takes what the strict reader returned; reads
no file and computes no link. `Scrubbed` is declared here because the writer takes nothing else; it is made in `scrub.door` alone.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from operator import itemgetter
from typing import Final, Literal

from provtape.format import strict
from provtape.format.chain import FORMAT
from provtape.format.forms import (
    HEX64,
    RANDOM,
    TIME,
    check_code,
    is_count,
    is_origin,
    is_str,
    is_strings,
    is_time,
    matches,
    members,
    need,
    wrong,
)
from provtape.format.forms import Object as Object  # whoever takes records takes this
from provtape.format.keys import decode_base64, is_name
from provtape.format.strict import MAX_NUMBER

RecordType = Literal["open", "run", "interaction", "end"]
Kind = Literal["llm", "tool", "http"]
_INTERACTION_TYPES: Final = (str, int, str, str, str, dict, dict, str, int, list, dict, str)
_STAMPS: Final = re.compile(HEX64.pattern + TIME.pattern + RANDOM.pattern)
_TEXT: Final = ("text",)
_DIGITS: Final = b"0123456789"
_ALIKE: Final = bytes.maketrans(_DIGITS, b"0" * 10)
_LONG: Final = b"0" * 16  # may be over 2^53
_FIRST: Final = itemgetter(0)
_UPPER: Final = re.compile(r"[A-Z]")

OPEN: Final = ("format", "prefix", "nonce", "created", "recorder", "scrub", "match", "previous", "meta")
RUN: Final = ("started", "recorder", "code", "command", "environment", "capture", "meta")
INTERACTION: Final = (
    "kind",
    "key",
    "request",
    "response",
    "started",
    "elapsed_ms",
    "scrubbed",
    "meta",
    "salt",
)
END: Final = ("closed", "meta")
REQUEST: Final = {
    "llm": ("model", "prompt", "params"),
    "tool": ("name", "arguments"),
    "http": ("method", "url", "headers", "body"),
}
OUTPUT: Final = {"llm": "output", "tool": "result"}
_HTTP_REQUEST: Final = REQUEST["http"]
HTTP_RESPONSE: Final = ("ended", "error", "status", "headers", "body", "chunks")
ENDED: Final = ("complete", "client_left", "upstream_broke", "no_response")
ROADS: Final = ("command", "in-process", "session", "import")
_FIXED: Final = ("prev", "seq", "type")


@dataclass(frozen=True, slots=True)
class Scrubbed:
    """Bytes that passed the door: of a record all that follows `seq`, LF included; of a manifest the payload."""

    data: bytes


@dataclass(frozen=True, slots=True)
class Code:
    """Whose code ran (spec C14): repository URL without user, commit, tree as it was, and whether they differ."""

    uri: str | None
    commit: str
    tree: str
    dirty: bool

    def members(self) -> Object:
        """The value of `code`, its names in order."""
        return {"uri": self.uri, "commit": self.commit, "tree": self.tree, "dirty": self.dirty}


def check_record(type_: str, value: object) -> Object:
    """Check the members of one record that the strict reader has read.

    Args:
        type_: The type that its fixed start names.
        value: What `strict.read` returned for the line without its LF.

    Returns:
        The record.

    Raises:
        FormatError: Code `record.members`; the message names the member.
    """
    names, check = _ROWS[type_]
    if type(value) is not dict or tuple(value) != names:
        raise wrong(f"the names of a record of type {type_}")
    check(value)
    return value


def _open(value: Object) -> None:
    need(value["format"] == FORMAT, "format")
    need(is_str(value["prefix"]) and is_name(str(value["prefix"])), "prefix")
    need(matches(RANDOM, value["nonce"]), "nonce")
    need(is_time(value["created"]), "created")
    need(is_str(value["recorder"]), "recorder")
    scrub = members(value["scrub"], ("name", "sha256", "rules"), "scrub")
    need(is_str(scrub["name"]) and is_str(scrub["rules"]), "scrub")
    need(scrub["sha256"] == hashlib.sha256(str(scrub["rules"]).encode()).hexdigest(), "scrub.sha256")
    match = members(value["match"], ("headers", "ignore"), "match")
    need(is_strings(match["headers"]) and is_strings(match["ignore"]), "match")
    if value["previous"] is not None:
        _previous(members(value["previous"], ("origin", "records", "root"), "previous"))
    need(isinstance(value["meta"], dict), "meta")


def _previous(value: Object) -> None:
    need(is_origin(value["origin"]), "previous.origin")
    need(is_count(value["records"]) and value["records"] != 0, "previous.records")
    need(matches(HEX64, value["root"]), "previous.root")


def _run(value: Object) -> None:
    need(is_time(value["started"]), "started")
    need(is_str(value["recorder"]), "recorder")
    check_code(value["code"])
    need(value["command"] is None or is_strings(value["command"]), "command")
    need(isinstance(value["environment"], dict), "environment")
    capture = members(value["capture"], ("road", "enclosed", "allow", "pass", "routes"), "capture")
    need(capture["road"] in ROADS and isinstance(capture["road"], str), "capture.road")
    need(isinstance(capture["enclosed"], bool), "capture.enclosed")
    need(is_strings(capture["allow"]) and is_strings(capture["pass"]), "capture")
    need(isinstance(capture["routes"], dict), "capture.routes")
    need(isinstance(value["meta"], dict), "meta")


# Interactions are most of a cassette, and a verifier checks each: below, conditions are tested in line, without a call each.


def _interaction(value: Object) -> None:
    if tuple(map(type, value.values())) != _INTERACTION_TYPES:
        raise wrong("the type of a member")
    kind, key, started, salt = value["kind"], value["key"], value["started"], value["salt"]
    request, response = value["request"], value["response"]
    if kind == "http":
        _http_request(request)
        _http_response(response)
    elif kind in REQUEST:
        _answer(str(kind), members(request, REQUEST[str(kind)], "request"), response)
    else:
        raise wrong("kind")
    if len(key) != 64 or len(salt) != 22 or not _STAMPS.fullmatch(key + started + salt):  # type: ignore[arg-type,operator]  # strings, by their types
        raise wrong("key, started or salt")
    if not 0 <= value["elapsed_ms"] <= MAX_NUMBER:  # type: ignore[operator]  # an int, by its type
        raise wrong("elapsed_ms")
    if value["scrubbed"]:
        _scrubbed(value["scrubbed"])


def _answer(kind: str, request: Object, response: object) -> None:
    need(is_str(request["model" if kind == "llm" else "name"]), "request")
    need(isinstance(response, dict) and list(response) in ([OUTPUT[kind]], ["error"]), "response")


def _http_request(request: object) -> None:
    if type(request) is not dict or tuple(request) != _HTTP_REQUEST:
        raise wrong("the names of request")
    method, url, headers, body = request.values()
    if type(method) is not str or type(url) is not str:
        raise wrong("request.method or url")
    _headers(headers, "request.headers")
    _body(body, "request.body")


def _http_response(response: object) -> None:
    if type(response) is not dict or tuple(response) != HTTP_RESPONSE:
        raise wrong("the names of response")
    ended, error, status, headers, body, chunks = response.values()
    if type(ended) is not str or ended not in ENDED:
        raise wrong("response.ended")
    if not ((error is None or type(error) is str) and (status is None or is_count(status))):
        raise wrong("response.error or status")
    _headers(headers, "response.headers")
    if chunks is None:
        _body(body, "response.body")
    elif _total(chunks) != body_length(body, "response.body"):
        raise wrong("response.chunks, whose lengths must add up to the body,")


def _body(body: object, where: str) -> None:
    """As `body_length`, for whom the length does not matter."""
    if body is None or (
        type(body) is dict and tuple(body) == _TEXT and type(body["text"]) is str and body["text"]
    ):
        return
    body_length(body, where)


def _total(chunks: object) -> int:
    """The sum of the lengths; the shape is proven by what remains of the spelling when its digits are taken out."""
    if type(chunks) is not list:
        raise wrong("response.chunks")
    spelled = strict.dumps(chunks)
    if spelled.translate(None, _DIGITS) != _pairs(len(chunks)):
        raise wrong("response.chunks")
    if _LONG in spelled.translate(_ALIKE) and not all(is_count(number) for pair in chunks for number in pair):
        raise wrong("response.chunks")
    return sum(map(_FIRST, chunks))


@lru_cache(maxsize=256)
def _pairs(number: int) -> bytes:
    return b"[%s]" % b",".join([b"[,]"] * number)


def _headers(value: object, where: str) -> None:
    if type(value) is not list:
        raise wrong(where)
    for pair in value:
        if type(pair) is not list or len(pair) != 2 or type(pair[0]) is not str or type(pair[1]) is not str:
            raise wrong(where)
        if not pair[0].islower() and _UPPER.search(pair[0]):
            raise wrong(f"{where}: an upper-case name")


def free(value: Object) -> Iterator[object]:
    """The members of a record in which any JSON may stand (spec C13 to C16), for a record that passed `check_record`."""
    yield value.get("meta")
    request, response = value.get("request"), value.get("response")
    if isinstance(request, dict) and isinstance(response, dict) and value["kind"] != "http":
        yield from request.values()
        yield from response.values()
    capture = value.get("capture")
    if isinstance(capture, dict):
        yield capture["routes"]
        yield value["environment"]


def body_length(body: object, where: str) -> int:
    """The number of bytes of a body (spec C18).

    Raises:
        FormatError: Code `record.members`: no body, or not its one spelling.
    """
    if body is None:
        return 0
    if not isinstance(body, dict) or len(body) != 1:
        raise wrong(where)
    ((name, content),) = body.items()
    if not isinstance(content, str) or not content:
        raise wrong(where)
    if name == "text":
        return len(content) if content.isascii() else len(content.encode())
    data = decode_base64(content) if name == "base64" else None
    if data is None or _is_utf8(data):
        raise wrong(where)
    return len(data)


def _scrubbed(value: object) -> None:
    need(isinstance(value, list), "scrubbed")
    for row in value if isinstance(value, list) else ():
        entry = members(row, ("rule", "where", "count"), "scrubbed")
        need(is_str(entry["rule"]) and is_str(entry["where"]) and is_count(entry["count"]), "scrubbed")


def _end(value: Object) -> None:
    need(is_time(value["closed"]), "closed")
    need(isinstance(value["meta"], dict), "meta")


_ROWS: Final[dict[str, tuple[tuple[str, ...], Callable[[Object], None]]]] = {
    "open": (_FIXED + OPEN, _open),
    "run": (_FIXED + RUN, _run),
    "interaction": (_FIXED + INTERACTION, _interaction),
    "end": (_FIXED + END, _end),
}


def _is_utf8(data: bytes) -> bool:
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True
