"""One text rule at work.

Decides where a rule finds something in a text, and whether what it finds is varied enough to count. Does not decide
what happens when rules find the same (`engine`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from provtape.scrub.rulefile import Rule

MAX_MATCH: Final = 16 * 1024


class Matcher:
    """One rule, ready to run; compiled when it is needed first."""

    __slots__ = ("_pattern", "folded", "group", "keywords", "order", "rule")

    def __init__(self, order: int, rule: Rule) -> None:
        self.order = order
        self.rule = rule
        self.folded = rule.regex.startswith("(?i)")
        self.keywords = tuple(keyword.encode("ascii") for keyword in rule.keywords)
        self.group = 0
        self._pattern: re.Pattern[bytes] | None = None

    def present(self, data: bytes, low: bytes) -> bool:
        """Whether a keyword occurs in `data`; `low` is `data` in lower case."""
        text = low if self.folded else data
        return any(keyword in text for keyword in self.keywords)

    def spans(self, data: bytes) -> Iterator[tuple[int, int, bool]]:
        """Start and end of every secret in `data`, and whether its match was longer than 16 KiB."""
        for match in self._compiled().finditer(data):
            start, end = match.span(self.group)
            if start < 0:
                start, end = match.span()
            if start < end and self._counts(data[start:end]):
                yield start, end, match.end() - match.start() > MAX_MATCH

    def _compiled(self) -> re.Pattern[bytes]:
        if self._pattern is None:
            self._pattern = re.compile(self.rule.regex.encode("ascii"))
            group = self.rule.secret_group
            self.group = min(self._pattern.groups, 1) if group is None else group
        return self._pattern

    def _counts(self, secret: bytes) -> bool:
        rule = self.rule
        if rule.min_distinct and len(set(secret)) < rule.min_distinct:
            return False
        if rule.min_classes and classes(secret) < rule.min_classes:
            return False
        if rule.min_digits and sum(48 <= byte <= 57 for byte in secret) < rule.min_digits:
            return False
        return not rule.allow or secret.decode("utf-8", "replace") not in rule.allow


def classes(secret: bytes) -> int:
    """How many of lower-case letters, upper-case letters and digits occur."""
    return sum(any(low <= byte <= high for byte in secret) for low, high in ((97, 122), (65, 90), (48, 57)))
