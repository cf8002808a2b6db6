"""Headers and body of an HTTP request or response.

Decides that a header is kept only when the rules name it, that a few kept ones are URLs, and which body is a form.
Header names that are dropped are counted and never listed: a name can tell about the inside of a company.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from provtape.errors import ScrubError
from provtape.scrub.address import scrub_url, url_texts
from provtape.scrub.body import FORM, Body, Selectors, body_texts, scrub_body
from provtape.scrub.engine import Scrubber, encode
from provtape.scrub.matcher import classes
from provtape.scrub.sweep import Sweep

URL_HEADERS: Final = frozenset(
    ("location", "content-location", "operation-location", "x-goog-upload-url", "x-goog-upload-control-url")
)
CREDENTIAL_HEADERS: Final = frozenset(
    (
        "authorization",
        "proxy-authorization",
        "x-api-key",
        "api-key",
        "x-goog-api-key",
        "xi-api-key",
        "x-amz-security-token",
    )
)
MIN_CREDENTIAL: Final = 16


@dataclass(frozen=True, slots=True)
class Message:
    """A message before scrubbing, taken apart.

    Attributes:
        where: JSON Pointer of the request or response.
        kept: The headers that the rules name.
        dropped: How many headers they do not name.
        text: The body if it is text.
        other: The body member if it is not: None or `base64`.
        form: The body is a form.
        texts: Every text, for the sweep.
        closer: The body has a named key or a place that a pointer may mean.
    """

    where: str
    kept: tuple[tuple[str, str], ...]
    dropped: int
    text: str | None
    other: dict[str, object] | None
    form: bool
    texts: list[str]
    closer: bool


def take_apart(
    headers: object, body: object, keep: frozenset[str], where: str, selectors: Selectors
) -> Message:
    """Read headers and body as a record has them (spec C17, C18).

    Raises:
        ScrubError: They are not of that shape.
    """
    pairs = _pairs(headers, where)
    kept = tuple((name, value) for name, value in pairs if name.lower() in keep)
    text, other = _content(body, where)
    form = any(name == "content-type" and value.lower().startswith(FORM) for name, value in pairs)
    texts: list[str] = []
    closer = False
    if text is not None:
        texts, closer = body_texts(text, form, selectors)
    for name, value in kept:
        texts += url_texts(value) if name in URL_HEADERS else (value,)
    return Message(where, kept, len(pairs) - len(kept), text, other, form, texts, closer)


def remember_credentials(headers: object, scrubber: Scrubber) -> None:
    """Look from now on for the credential that a request came with, wherever somebody echoes it.

    Dummy keys of a replay are short or plain words; those are left alone, or a prompt that says `not-needed` would change.
    """
    for name, value in _pairs(headers, "/request"):
        if name.lower() in CREDENTIAL_HEADERS:
            credential = value.rpartition(" ")[2]
            if len(credential) >= MIN_CREDENTIAL and classes(encode(credential)) >= 2:
                scrubber.remember(credential, "local")


def scrub_headers(message: Message, sweep: Sweep, names: frozenset[str]) -> list[list[str]]:
    """The kept headers, their values scrubbed; what was dropped is counted under `header`."""
    where = f"{message.where}/headers"
    if message.dropped:
        sweep.note("header", where, message.dropped)
    result: list[list[str]] = []
    for index, (name, value) in enumerate(message.kept):
        place = f"{where}/{index}/1"
        url = name in URL_HEADERS
        result.append([name, scrub_url(value, place, sweep, names) if url else sweep.text(value, place)])
    return result


def scrub_content(
    message: Message, sweep: Sweep, selectors: Selectors
) -> tuple[dict[str, object] | None, Body | None]:
    """The body member, scrubbed; and for a text how its bytes moved."""
    where = f"{message.where}/body"
    if message.text is None:
        if message.other is not None:
            sweep.note("unread", f"{where}/base64", _length(str(message.other["base64"])))
        return message.other, None
    if sweep.idle and not message.closer:
        return {"text": message.text}, None
    body = scrub_body(message.text, message.form, f"{where}/text", sweep, selectors)
    return {"text": body.text}, body


def move_chunks(chunks: object, body: Body | None) -> object:
    """Chunk lengths after the body changed: the same number of chunks, cut where they were cut (spec C19)."""
    if body is None or not body.moves or not isinstance(chunks, list):
        return chunks
    moved: list[list[object]] = []
    before = at = 0
    for length, time in chunks:
        at += length
        now = body.offset(at)
        moved.append([now - before, time])
        before = now
    return moved


def _pairs(headers: object, where: str) -> Sequence[tuple[str, str]]:
    pairs: list[tuple[str, str]] = []
    for pair in headers if isinstance(headers, list | tuple) else (None,):
        if (
            not isinstance(pair, list | tuple)
            or len(pair) != 2
            or not all(type(part) is str for part in pair)
        ):
            raise ScrubError(f"{where}/headers is not a list of names and values")
        pairs.append((pair[0], pair[1]))
    return pairs


def _content(body: object, where: str) -> tuple[str | None, dict[str, object] | None]:
    if body is None:
        return None, None
    if isinstance(body, dict) and len(body) == 1:
        ((name, content),) = body.items()
        if name in ("text", "base64") and type(content) is str:
            return (content, None) if name == "text" else (None, {"base64": content})
    raise ScrubError(f"{where}/body is neither null, text nor base64")


def _length(coded: str) -> int:
    """The number of bytes of canonical base64."""
    return len(coded) // 4 * 3 - coded[-2:].count("=")
