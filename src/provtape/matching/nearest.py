"""The recorded request that is nearest to one that missed.

Decides which of a bounded number of candidates a miss is explained by: equal members count most, then common words. Reads no
file: the session brings candidates, those of the same kind and from around the place where the program is. Does not decide what
is said about the difference (`difference`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Final
from urllib.parse import urlsplit

from provtape.format import strict
from provtape.format.record import Kind
from provtape.matching.difference import Change, changes, clause
from provtape.matching.identity import DEFAULT, Match, identity

MAX_CANDIDATES: Final = 256
MAX_TEXT: Final = 8192

_WEIGHTS: Final = {"prompt": 3.0, "arguments": 3.0, "body": 3.0, "name": 2.0, "url": 2.0}
_WORD: Final = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class Candidate:
    """A recorded request that a miss may be compared with."""

    seq: int
    request: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Nearest:
    """The nearest recorded request and how the asked one differs from it.

    Attributes:
        seq: The number of its record.
        changes: The first differences, at most 8.
        clause: Where to look, in a few words.
    """

    seq: int
    changes: tuple[Change, ...]
    clause: str

    def line(self) -> str:
        """One line without any content: the record, the clause, the pointers."""
        places = ", ".join(change.pointer for change in self.changes)
        return f"nearest is record {self.seq}: {self.clause} ({places})"


def nearest(
    kind: Kind, asked: Mapping[str, object], candidates: Iterable[Candidate], match: Match = DEFAULT
) -> Nearest | None:
    """The candidate that is most like the asked request, or None when there is none.

    Args:
        kind: The kind of all of them.
        asked: The scrubbed request that missed.
        candidates: Recorded requests; only the first 256 are looked at.
        match: The rules of record 0.
    """
    mine = identity(kind, asked, match)
    profile = _Profile(mine)
    best: tuple[float, int, dict[str, object]] | None = None
    for candidate in islice(candidates, MAX_CANDIDATES):
        other = identity(kind, candidate.request, match)
        score = profile.score(other)
        if best is None or score > best[0]:
            best = (score, candidate.seq, other)
    if best is None:
        return None
    found = changes(mine, best[2])
    return Nearest(best[1], found, _clause(kind, mine, best[2], found))


def host(url: str) -> str:
    """Scheme, host and port of a URL; the text itself when it is none."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return url
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"


def _clause(
    kind: Kind, asked: Mapping[str, object], recorded: Mapping[str, object], found: tuple[Change, ...]
) -> str:
    """A host that differs is said first: then nothing about bodies helps."""
    if kind == "http" and host(str(asked.get("url"))) != host(str(recorded.get("url"))):
        return "no request to this host is among those compared"
    if kind == "tool" and asked.get("name") != recorded.get("name"):
        return "no call of this tool is among those compared"
    return clause(found)


class _Profile:
    """What is computed once of the asked identity, to compare it with many."""

    __slots__ = ("_host", "_members", "_words")

    def __init__(self, asked: Mapping[str, object]) -> None:
        self._members = {name: strict.canonical(value) for name, value in asked.items()}
        self._words = {name: _words(data) for name, data in self._members.items()}
        self._host = host(str(asked.get("url")))

    def score(self, recorded: Mapping[str, object]) -> float:
        total = 1.0 if "url" in recorded and host(str(recorded["url"])) == self._host else 0.0
        for name, data in self._members.items():
            if name not in recorded:
                continue
            other = strict.canonical(recorded[name])
            weight = _WEIGHTS.get(name, 1.0)
            total += weight if other == data else weight * 0.9 * _likeness(self._words[name], _words(other))
        return total


def _words(data: bytes) -> frozenset[str]:
    return frozenset(_WORD.findall(data[:MAX_TEXT].decode("utf-8", "replace")))


def _likeness(first: frozenset[str], second: frozenset[str]) -> float:
    together = len(first | second)
    return len(first & second) / together if together else 0.0
