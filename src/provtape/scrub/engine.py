"""Running the rules over text.

Decides what is a finding and what is put in its place. Text means the UTF-8 bytes of one string value. Findings of
one pass are taken leftmost, then longest, then in rule order, literals last; what overlaps a finding is swallowed by
it. Placeholders are never looked into; the text between them is looked at again until nothing is found. Does not
decide which parts of a record are text (`values`, `address`, `body`, `door`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final
from urllib.parse import quote

from provtape.errors import ScrubError
from provtape.format.placeholder import PLACEHOLDER, placeholder
from provtape.scrub.matcher import Matcher
from provtape.scrub.rulefile import Rule
from provtape.scrub.rules import Rules
from provtape.scrub.sieve import Sieve

MAX_PASSES: Final = 8
MIN_LITERAL: Final = 8
MANY_LITERALS: Final = 100
MAX_REMEMBERED: Final = 4096
PLAIN_WORD: Final = 16
LITERAL_ORDER: Final = (
    1 << 30
)  # where a rule and a literal find the same, the rule names it: other machines have the rule only

_PLACEHOLDER: Final = re.compile(PLACEHOLDER.pattern.encode())
_USER_NAME: Final = "home-path"
_CLEAN_LENGTH: Final = 48
_CLEAN_COUNT: Final = 4096


@dataclass(frozen=True, slots=True)
class Span:
    """A finding: bytes `start` to `end` of a value, or the whole value when the match was too long to cut out."""

    start: int
    end: int
    rule: str
    whole: bool = False


class Scrubber:
    """The rules of one cassette at work, with the literals and the memory of one session.

    Args:
        rules: The effective rules.
        literals: Values known to be secret, UTF-8; those under 8 bytes are not used. They are found as they are, percent-coded
            and JSON-escaped.
    """

    def __init__(self, rules: Rules, literals: Iterable[bytes] = ()) -> None:
        self.rules = rules
        self._matchers, self._sieve, self._by_keyword = _prepared(rules.rules)
        self._literals: dict[bytes, str] = {}
        self._starts: dict[bytes, set[bytes]] = {}
        self._clean: set[str] = set()
        for literal in literals:
            self._add_literal(literal, "local")

    @property
    def known(self) -> int:
        """How many literal forms are looked for; grows when something new is remembered."""
        return len(self._literals)

    def remember(self, value: str, rule: str) -> None:
        """Look for a removed value from now on, wherever it stands.

        Too short (under 8 bytes) and too long values are not remembered, nor is a plain word such as `required`, which
        somebody used as a password once and everybody uses as a word, nor a bare user name.
        """
        data = encode(value)
        word = rule == _USER_NAME or (data.isalpha() and len(data) < PLAIN_WORD)
        if len(data) <= MAX_REMEMBERED and not word and not _PLACEHOLDER.search(data):
            self._add_literal(data, rule)

    def suspects(self, texts: Iterable[str]) -> tuple[Matcher, ...] | None:
        """The rules that have a keyword in one of these texts, in order; None when no text needs to be looked at."""
        clean = self._clean
        fresh = [text for text in texts if text not in clean]
        if not fresh:
            return None
        data = encode("\0".join(fresh))
        matchers: set[Matcher] = set()
        keywords = self._sieve.keywords(data)
        if keywords:
            low = data.lower()
            candidates = {matcher for keyword in keywords for matcher in self._by_keyword[keyword]}
            matchers = {matcher for matcher in candidates if matcher.present(data, low)}
        if not matchers and not self._known_in(data):
            self._know_clean(fresh)
            return None
        return tuple(sorted(matchers, key=lambda matcher: matcher.order))

    def find(
        self, data: bytes, matchers: Sequence[Matcher] | None = None, *, literals: bool = True
    ) -> list[Span]:
        """One pass over one value: what is to be removed from it, in order, nothing overlapping.

        Args:
            data: The value.
            matchers: The rules that can find something in it; None is all of them.
            literals: Look for literals and remembered values too.
        """
        tried = self._matchers if matchers is None else matchers
        known = self._known_in(data) if literals else {}
        spans: list[Span] = []
        for start, end in _gaps(data):
            segment = data[start:end]
            found = sorted((*_literal_candidates(segment, known), *_rule_candidates(segment, tried)))
            spans += _merged(found, data, start)
        return spans

    def scrub(self, text: str) -> tuple[str, dict[str, int]]:
        """Scrub one value until nothing is found in it.

        Returns:
            The text with placeholders, and how often each rule removed something.

        Raises:
            ScrubError: Still something after 8 passes.
        """
        counts: dict[str, int] = {}
        data = encode(text)
        for _ in range(MAX_PASSES):
            spans = self.find(data)
            if not spans:
                return decode(data), counts
            for span in spans:
                counts[span.rule] = counts.get(span.rule, 0) + 1
                self.remember(decode(data[span.start : span.end]), span.rule)
            data = _replaced(data, spans)
        raise endless()

    def _known_in(self, data: bytes) -> dict[bytes, str]:
        """The literals that occur in `data`; however many there are, at most one step per byte."""
        known = self._literals
        if len(known) > MANY_LITERALS:
            starts = self._starts.keys() & {data[at : at + MIN_LITERAL] for at in range(len(data))}
            return {form: known[form] for start in starts for form in self._starts[start] if form in data}
        return {form: rule for form, rule in known.items() if form in data}

    def _add_literal(self, literal: bytes, rule: str) -> None:
        if len(literal) < MIN_LITERAL or _PLACEHOLDER.search(literal):
            return
        before = len(self._literals)
        for form in _forms(literal):
            if self._literals.setdefault(form, rule) is rule:
                self._starts.setdefault(form[:MIN_LITERAL], set()).add(form)
        if len(self._literals) > before:
            self._clean.clear()

    def _know_clean(self, texts: Iterable[str]) -> None:
        if len(self._clean) > _CLEAN_COUNT:
            self._clean.clear()
        self._clean.update(text for text in texts if len(text) <= _CLEAN_LENGTH)


@lru_cache(maxsize=8)
def _prepared(rules: tuple[Rule, ...]) -> tuple[tuple[Matcher, ...], Sieve, dict[str, list[Matcher]]]:
    """What sessions with equal rules share: the rules ready to run, the sieve, and which rules have which keyword."""
    matchers = tuple(Matcher(order, rule) for order, rule in enumerate(rules))
    sieve = Sieve((keyword, matcher.folded) for matcher in matchers for keyword in matcher.keywords)
    by_keyword: dict[str, list[Matcher]] = {}
    for matcher in matchers:
        for word in matcher.rule.keywords:
            by_keyword.setdefault(word.lower(), []).append(matcher)
    return matchers, sieve, by_keyword


def encode(text: str) -> bytes:
    """The UTF-8 bytes of a text; an escaped lone surrogate inside a body is no reason not to look at the body."""
    return text.encode("utf-8", "surrogatepass")


def decode(data: bytes) -> str:
    """The text of bytes that `encode` made."""
    return data.decode("utf-8", "surrogatepass")


def endless() -> ScrubError:
    """What is raised when a value does not come to rest."""
    return ScrubError(
        f"scrub rules: a value still matches after {MAX_PASSES} passes",
        "a rule finds what placeholders leave behind",
    )


def _forms(literal: bytes) -> set[bytes]:
    text = literal.decode("utf-8", "replace")
    coded = quote(literal, safe="")
    forms = {literal, coded.encode(), re.sub(r"%..", lambda found: found.group().lower(), coded).encode()}
    for ascii_only in (False, True):
        forms.add(json.dumps(text, ensure_ascii=ascii_only)[1:-1].encode("utf-8", "surrogatepass"))
    return forms


def _literal_candidates(
    segment: bytes, literals: Mapping[bytes, str]
) -> Iterator[tuple[int, int, int, str, bool]]:
    for literal, rule in literals.items():
        at = segment.find(literal)
        while at >= 0:
            yield at, -(at + len(literal)), LITERAL_ORDER, rule, False
            at = segment.find(literal, at + len(literal))


def _rule_candidates(
    segment: bytes, matchers: Sequence[Matcher]
) -> Iterator[tuple[int, int, int, str, bool]]:
    low = segment.lower()
    for matcher in matchers:
        if matcher.present(segment, low):
            for start, end, whole in matcher.spans(segment):
                yield start, -end, matcher.order, matcher.rule.id, whole


def _gaps(data: bytes) -> Iterator[tuple[int, int]]:
    """Where the text between placeholders starts and ends."""
    at = 0
    if b"~REDACTED~" in data:
        for match in _PLACEHOLDER.finditer(data):
            if match.start() > at:
                yield at, match.start()
            at = match.end()
    if at < len(data):
        yield at, len(data)


def _merged(found: list[tuple[int, int, int, str, bool]], data: bytes, offset: int) -> list[Span]:
    """Turn sorted candidates (start, minus end, order, rule, whole) of one segment into spans of the whole value."""
    spans: list[Span] = []
    for start, minus_end, _, rule, whole in found:
        start, end = offset + start, offset - minus_end
        if spans and start < spans[-1].end:
            last = spans[-1]
            spans[-1] = Span(last.start, max(last.end, end), last.rule, last.whole or whole)
        else:
            spans.append(Span(start, end, rule, whole))
    return [_on_characters(span, data) for span in spans]


def _on_characters(span: Span, data: bytes) -> Span:
    """Widen a span that cuts a character of several bytes in two."""
    start, end = span.start, span.end
    while start > 0 and data[start] & 0xC0 == 0x80:
        start -= 1
    while end < len(data) and data[end] & 0xC0 == 0x80:
        end += 1
    return span if (start, end) == (span.start, span.end) else Span(start, end, span.rule, span.whole)


def _replaced(data: bytes, spans: Sequence[Span]) -> bytes:
    for span in spans:
        if span.whole:
            return placeholder(span.rule).encode()
    parts: list[bytes] = []
    at = 0
    for span in spans:
        parts += (data[at : span.start], placeholder(span.rule).encode())
        at = span.end
    return b"".join((*parts, data[at:]))
