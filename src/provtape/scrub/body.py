"""Bodies: text that stays as it came but for the spans that are secret.

Decides how a body is looked into: JSON by its decoded strings, by named keys and by pointers; a form by its field
names; anything else as one text. Replacement is by span in the stored text, so no number, blank, order or duplicate
name of a provider changes. Signatures, encrypted reasoning and inline media are not looked into, and counted.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Final
from urllib.parse import unquote_plus

from provtape.format.placeholder import PLACEHOLDER, placeholder
from provtape.scrub.address import parameter_edits
from provtape.scrub.engine import MAX_PASSES, endless
from provtape.scrub.rules import Rules
from provtape.scrub.sweep import Edit, Sweep, replaced, segment
from provtape.scrub.values import Named

FORM: Final = "application/x-www-form-urlencoded"
OPAQUE_KEYS: Final = frozenset(
    ("signature", "thoughtsignature", "encryptedcontent", "encryptedindex", "b64json")
)
OPAQUE_LENGTH: Final = 64

_DATA_URL: Final = re.compile(r"data:[A-Za-z0-9.+/-]{0,100}(?:;[A-Za-z0-9.=+-]{1,100}){0,4};base64,")
_BASE64: Final = re.compile(r"[A-Za-z0-9+/_-]*={0,2}")
_STRINGS: Final = json.JSONDecoder(strict=False)
_TOKEN: Final = re.compile(r'["{}\[\],:]')
_ESCAPE: Final = re.compile(
    r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\u[0-9a-fA-F]{4}|\\.|[^\\]+", re.DOTALL
)


@dataclass(frozen=True, slots=True)
class Selectors:
    """What a body is looked through for, besides text: names and pointers of the rules."""

    query: frozenset[str]
    named: Named
    opaque: Named
    pointers: tuple[tuple[str, ...], ...]
    triggers: frozenset[str]

    @classmethod
    def of(cls, rules: Rules, named: Named) -> Selectors:
        """The selectors of a set of rules; `triggers` are names without which no pointer can match."""
        triggers = (
            next((part for part in reversed(pointer) if part != "*"), "*") for pointer in rules.pointers
        )
        return cls(rules.query, named, Named(OPAQUE_KEYS), rules.pointers, frozenset(triggers))


@dataclass(frozen=True, slots=True)
class Leaf:
    """A string of a JSON text: where it stands (without its quotes), what it says, and the path to it."""

    start: int
    end: int
    text: str
    path: tuple[str | int, ...]
    is_name: bool


@dataclass(frozen=True, slots=True)
class Body:
    """A body after scrubbing, and how its byte offsets moved."""

    text: str
    moves: tuple[tuple[int, int, int], ...]

    def offset(self, old: int) -> int:
        """Where byte `old` of the text that came stands now; what was removed belongs to where it began."""
        for start, end, size in self.moves:
            if old <= start:
                continue
            old = start + size if old < end else old - (end - start) + size
        return old


def body_texts(text: str, form: bool, selectors: Selectors) -> tuple[list[str], bool]:
    """Every text of a body, and whether it must be looked through whatever these texts hold (a named key, a pointer)."""
    if form:
        return [text, unquote_plus(text)], True
    texts: list[str] = []
    closer = False

    def visit(pairs: list[tuple[str, object]]) -> None:
        nonlocal closer
        for name, value in pairs:
            texts.append(name)
            if type(value) is str:
                texts.append(value)
                if selectors.named[name] or selectors.opaque[name] or value[:5] == "data:":
                    closer = True
            elif type(value) is list:
                texts.extend(_strings(value))
            if name in selectors.triggers:
                closer = True

    if not _is_json(text, visit, texts):
        return [text], False
    return texts, closer or "*" in selectors.triggers


def scrub_body(text: str, form: bool, where: str, sweep: Sweep, selectors: Selectors) -> Body:
    """A body that is text, scrubbed.

    Args:
        text: As stored.
        form: Its content type says that it is a form.
        where: The JSON Pointer of the text in the record.
        sweep: Made over `body_texts`.
        selectors: Of the rules.

    Raises:
        ScrubError: It does not come to rest.
    """
    moves: list[tuple[int, int, int]] = []
    for attempt in range(MAX_PASSES):
        if form:
            edits = parameter_edits(text, where, sweep, selectors.query, selectors.named) or sweep.edits(
                text, where
            )
        elif _is_json(text, None, []):
            edits = list(_json_edits(text, where, sweep, selectors, count_opaque=attempt == 0))
        else:
            edits = sweep.edits(text, where)
        if not edits:
            return Body(text, tuple(moves))
        moves += _moves(text, edits)
        text = replaced(text, edits)
    raise endless()


def _is_json(text: str, visit: object, texts: list[str]) -> bool:
    """Whether a text is a JSON object or array; its strings outside of objects are added to `texts`."""
    if text.lstrip(" \t\r\n")[:1] not in ("{", "["):
        return False
    hook = visit if callable(visit) else len
    try:
        value = json.loads(text, object_pairs_hook=hook, parse_int=len, parse_float=len, strict=False)
    except (ValueError, RecursionError):
        return False
    if isinstance(value, list):
        texts.extend(_strings(value))
    return True


def _strings(items: list[object]) -> Iterator[str]:
    waiting: list[object] = [*items]
    while waiting:
        item = waiting.pop()
        if isinstance(item, str):
            yield item
        elif isinstance(item, list):
            waiting += item


def leaves(text: str) -> Iterator[Leaf]:
    """The strings of a JSON text in order, names too.

    Args:
        text: JSON, as `json.loads` takes it.
    """
    path: list[str | int] = []
    after_colon = True
    at = 0
    while (token := _TOKEN.search(text, at)) is not None:
        at, mark = token.end(), token.group()
        if mark == '"':
            value, end = _STRINGS.raw_decode(text, at - 1)
            if not after_colon and path and not isinstance(path[-1], int):
                path[-1] = value
                yield Leaf(at, end - 1, value, tuple(path), True)
            else:
                yield Leaf(at, end - 1, value, tuple(path), False)
            at = end
        elif mark == "{":
            path.append("")
            after_colon = False
        elif mark == "[":
            path.append(0)
            after_colon = True
        elif mark in "]}":
            path.pop()
            after_colon = bool(path) and isinstance(path[-1], int)
        elif mark == ":":
            after_colon = True
        elif path and isinstance(path[-1], int):
            path[-1] += 1
        else:
            after_colon = False


def _json_edits(
    text: str, where: str, sweep: Sweep, selectors: Selectors, *, count_opaque: bool
) -> Iterator[Edit]:
    for leaf in leaves(text):
        rule = None if leaf.is_name else _by_place(leaf, selectors)
        if rule is not None and leaf.text and not PLACEHOLDER.fullmatch(leaf.text):
            sweep.whole(leaf.text, rule, _place(where, leaf, sweep))
            yield Edit(leaf.start, leaf.end, placeholder(rule))
        elif rule is None and not leaf.is_name and _is_opaque(leaf, sweep, selectors):
            if count_opaque:
                sweep.note("opaque", _place(where, leaf, sweep), len(leaf.text))
        elif rule is None and sweep.spans(leaf.text):
            edits = sweep.edits(leaf.text, _place(where, leaf, sweep))
            yield from _in_text(edits, leaf, text)


def _by_place(leaf: Leaf, selectors: Selectors) -> str | None:
    last = leaf.path[-1] if leaf.path else None
    if isinstance(last, str) and selectors.named[last]:
        return "json-key"
    if any(_points_to(pointer, leaf.path) for pointer in selectors.pointers):
        return "pointer"
    return None


def _points_to(pointer: tuple[str, ...], path: tuple[str | int, ...]) -> bool:
    return len(pointer) == len(path) and all(a in ("*", str(b)) for a, b in zip(pointer, path, strict=True))


def _is_opaque(leaf: Leaf, sweep: Sweep, selectors: Selectors) -> bool:
    """Inline media, signatures and encrypted reasoning: a changed byte would break them, and chance looks like a key there.

    Chance does not fill the whole value, so one that is a finding from end to end is a key under a strange name.
    """
    last = leaf.path[-1] if leaf.path else None
    if len(leaf.text) < OPAQUE_LENGTH:
        return False
    if isinstance(last, str) and selectors.opaque[last]:
        spans = sweep.spans(leaf.text)
        key = bool(spans) and spans[0].start == 0 and spans[-1].end == len(leaf.text)
        return not key and _BASE64.fullmatch(leaf.text) is not None
    start = _DATA_URL.match(leaf.text)
    return start is not None and _BASE64.fullmatch(leaf.text, start.end()) is not None


def _place(where: str, leaf: Leaf, sweep: Sweep) -> str:
    parts = (segment(sweep.shown(part) if isinstance(part, str) else part) for part in leaf.path)
    return f"{where}#{''.join(parts)}"


def _in_text(edits: Sequence[Edit], leaf: Leaf, text: str) -> Iterator[Edit]:
    """Edits of what a leaf says, as edits of the text it is spelled in."""
    spelled = text[leaf.start : leaf.end]
    if "\\" not in spelled:
        for edit in edits:
            yield Edit(leaf.start + edit.start, leaf.start + edit.end, edit.text)
        return
    pieces = [match.group() for match in _ESCAPE.finditer(spelled)]
    says = [0, *accumulate(1 if piece[0] == "\\" else len(piece) for piece in pieces)]
    stands = [0, *accumulate(map(len, pieces))]

    def place(at: int) -> int:
        index = bisect_right(says, at) - 1
        return leaf.start + stands[index] + at - says[index]

    for edit in edits:
        yield Edit(place(edit.start), place(edit.end), edit.text)


def _moves(text: str, edits: Sequence[Edit]) -> Iterator[tuple[int, int, int]]:
    """Edits as (start, end, new size) in bytes, each in the coordinates that the ones before it leave."""
    ascii_only = text.isascii()
    shift = 0
    for edit in edits:
        start = edit.start if ascii_only else len(text[: edit.start].encode("utf-8"))
        end = edit.end if ascii_only else len(text[: edit.end].encode("utf-8"))
        size = len(edit.text)
        yield start + shift, end + shift, size
        shift += size - (end - start)
