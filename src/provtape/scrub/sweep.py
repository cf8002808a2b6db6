"""One part of a record on its way through the rules.

Decides how findings are counted and named: rule, JSON Pointer, number. Holds the rules that can find anything in this
part at all, so that a part without a keyword costs one look.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, TypedDict

from provtape.format.placeholder import PLACEHOLDER, placeholder
from provtape.scrub.engine import MAX_PASSES, Scrubber, Span, decode, encode, endless
from provtape.scrub.matcher import Matcher


class Finding(TypedDict):
    """One row of `scrubbed` (spec C15)."""

    rule: str
    where: str
    count: int


@dataclass(frozen=True, slots=True)
class Edit:
    """Characters `start` to `end` of a text are replaced by a placeholder."""

    start: int
    end: int
    text: str


class Sweep:
    """The state of one part: which rules are tried, and what was found where.

    Args:
        scrubber: The rules of the cassette.
        texts: Every text of the part; what is not among them is not looked into while `idle`.
        literals: Look for literals and remembered values too.
    """

    def __init__(self, scrubber: Scrubber, texts: Iterable[str], *, literals: bool = True) -> None:
        suspects = scrubber.suspects(texts)
        self.scrubber: Final = scrubber
        self.idle: Final = suspects is None
        self._literals: Final = literals
        self._matchers: Final[Sequence[Matcher]] = suspects or ()
        self._counts: dict[tuple[str, str], int] = {}

    @property
    def findings(self) -> list[Finding]:
        """What was found, in the order in which it was found first."""
        return [
            {"rule": rule, "where": where, "count": count} for (rule, where), count in self._counts.items()
        ]

    def note(self, rule: str, where: str, count: int = 1) -> None:
        """Count something under a rule at a place."""
        key = (rule, where)
        self._counts[key] = self._counts.get(key, 0) + count

    def spans(self, text: str) -> list[Span]:
        """One pass over a value, counting nothing; positions are characters."""
        if self.idle:
            return []
        data = encode(text)
        spans = self.scrubber.find(data, self._matchers, literals=self._literals)
        if text.isascii() or not spans:
            return spans
        return [
            Span(len(decode(data[: span.start])), len(decode(data[: span.end])), span.rule, span.whole)
            for span in spans
        ]

    def edits(self, text: str, where: str) -> list[Edit]:
        """One pass over a value: what is to be replaced in it; counted and remembered."""
        spans = self.spans(text)
        edits: list[Edit] = []
        for span in spans:
            self.note(span.rule, where)
            self.scrubber.remember(text[span.start : span.end], span.rule)
            if span.whole:
                return [Edit(0, len(text), placeholder(span.rule))]
            edits.append(Edit(span.start, span.end, placeholder(span.rule)))
        return edits

    def text(self, text: str, where: str) -> str:
        """A value without what the text rules find in it.

        Raises:
            ScrubError: It still matches after 8 passes.
        """
        for _ in range(MAX_PASSES):
            edits = self.edits(text, where)
            if not edits:
                return text
            text = replaced(text, edits)
        raise endless()

    def shown(self, text: str) -> str:
        """As `text`, for a name inside a pointer: nothing is counted."""
        for _ in range(MAX_PASSES):
            spans = self.spans(text)
            if not spans:
                return text
            whole = [span for span in spans if span.whole]
            if whole:
                return placeholder(whole[0].rule)
            text = replaced(text, [Edit(span.start, span.end, placeholder(span.rule)) for span in spans])
        raise endless()

    def whole(self, text: str, rule: str, where: str) -> str:
        """A value that goes as a whole, because of the name it stands under."""
        if not text or PLACEHOLDER.fullmatch(text):
            return text
        self.note(rule, where)
        self.scrubber.remember(text, rule)
        return placeholder(rule)


def replaced(text: str, edits: Sequence[Edit]) -> str:
    """The text after its edits, which are in order and do not overlap."""
    parts: list[str] = []
    at = 0
    for edit in edits:
        parts += (text[at : edit.start], edit.text)
        at = edit.end
    return "".join((*parts, text[at:]))


def segment(name: object) -> str:
    """One segment of a JSON Pointer, with its slash (RFC 6901).

    >>> segment("a/b")
    '/a~1b'
    """
    return "/" + str(name).replace("~", "~0").replace("/", "~1")
