"""Which keywords may occur in a text, decided in a few passes over it.

A text without secrets is the common case, and asking for 190 keywords one by one would cost more than all the rest of
an append. So a keyword is known by a small mark that it shares with others: the two bytes before its first separator
or rare letter (all such marks are read off one `split`), the capitals it contains (searched in the capitals of the
text), or else a short piece of itself. A mark that is missing rules out its keywords; one that is there proves
nothing. Decides no finding (`engine`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Final

_SEPARATORS: Final = b"-_=./:@*~\\"
_RARE: Final = b"zjqxk"
_CAPITALS: Final = frozenset(range(ord("A"), ord("Z") + 1))
_NO_CAPITALS: Final = bytes(set(range(256)) - _CAPITALS)


class Sieve:
    """Finds the keywords, given as (keyword, ignores case), that a text may contain."""

    def __init__(self, keywords: Iterable[tuple[bytes, bool]]) -> None:
        ends: dict[bytes, dict[bytes, set[bytes]]] = defaultdict(lambda: defaultdict(set))
        starts: dict[bytes, set[bytes]] = defaultdict(set)
        capitals: dict[bytes, set[bytes]] = defaultdict(set)
        plain: set[bytes] = set()
        for keyword, folded in keywords:
            low = keyword.lower()
            place = next((at for at, byte in enumerate(low) if byte in _SEPARATORS), -1)
            rare = next((at for at, byte in enumerate(low) if byte in _RARE), -1)
            shouted = bytes(byte for byte in keyword if byte in _CAPITALS)
            if place >= 2:
                ends[low[place : place + 1]][low[place - 2 : place]].add(low)
            elif not folded and len(shouted) >= 2:
                capitals[shouted].add(low)
            elif place >= 0:
                starts[low[place : place + 1]].add(low)
            elif rare >= 2:
                ends[low[rare : rare + 1]][low[rare - 2 : rare]].add(low)
            else:
                plain.add(low)
        self._separators = tuple(
            (separator, dict(ends.get(separator, {})), tuple(sorted(starts.get(separator, ()))))
            for separator in sorted({*ends, *starts})
        )
        self._capitals = tuple((mark, tuple(sorted(low))) for mark, low in sorted(capitals.items()))
        self._plain = _covered(plain)

    def keywords(self, data: bytes) -> list[bytes]:
        """The keywords, in lower case, that `data` contains when case is ignored; a few that it does not are possible."""
        low = data.lower()
        found: list[bytes] = []
        for separator, ends, starts in self._separators:
            if separator in low:
                for mark in ends.keys() & {piece[-2:] for piece in low.split(separator)}:
                    found += [keyword for keyword in ends[mark] if keyword in low]
                found += [keyword for keyword in starts if keyword in low]
        shouted = data.translate(None, _NO_CAPITALS)
        if shouted:
            for mark, keywords in self._capitals:
                if mark in shouted:
                    found += [keyword for keyword in keywords if keyword in low]
        for piece, keywords in self._plain:
            if piece in low:
                found += [keyword for keyword in keywords if keyword in low]
        return found


def _covered(keywords: set[bytes]) -> tuple[tuple[bytes, tuple[bytes, ...]], ...]:
    """Group keywords by a piece that several share: the longest one of those shared by most, again and again."""
    groups: list[tuple[bytes, tuple[bytes, ...]]] = []
    left = set(keywords)
    while left:
        shared: dict[bytes, set[bytes]] = defaultdict(set)
        for keyword in left:
            for piece in _pieces(keyword):
                shared[piece].add(keyword)
        piece = max(shared, key=lambda one: (len(shared[one]), len(one), one))
        groups.append((piece, tuple(sorted(shared[piece]))))
        left -= shared[piece]
    return tuple(groups)


def _pieces(keyword: bytes) -> set[bytes]:
    """The pieces of four bytes and more; a shorter keyword is its own only piece."""
    lengths = range(min(4, len(keyword)), len(keyword) + 1)
    return {keyword[at : at + length] for length in lengths for at in range(len(keyword) - length + 1)}
