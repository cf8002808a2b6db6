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

_SEPARATORS: Final = "-_=./:@*~\\"
_RARE: Final = "zjqxk"
_NO_CAPITALS: Final = bytes(byte for byte in range(256) if not 65 <= byte <= 90)

Groups = tuple[tuple[str, tuple[str, ...]], ...]


class Sieve:
    """Finds the keywords, given as (keyword, ignores case), that a text may contain.

    Searching a `str` is much cheaper than searching `bytes`, so the bytes of a text are read as Latin-1.
    """

    def __init__(self, keywords: Iterable[tuple[bytes, bool]]) -> None:
        ends: dict[str, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
        starts: dict[str, set[str]] = defaultdict(set)
        capitals: dict[str, set[str]] = defaultdict(set)
        plain: set[str] = set()
        for keyword, folded in keywords:
            low = keyword.lower().decode("ascii")
            place, rare = _first(low, _SEPARATORS), _first(low, _RARE)
            shouted = "" if folded else keyword.translate(None, _NO_CAPITALS).decode("ascii")
            if place >= 2:
                ends[low[place]][low[place - 2 : place]].add(low)
            elif len(shouted) >= 2:
                capitals[shouted].add(low)
            elif place >= 0:
                starts[low[place]].add(low)
            elif rare >= 2:
                ends[low[rare]][low[rare - 2 : rare]].add(low)
            else:
                plain.add(low)
        self._ends = tuple(
            (mark, {end: tuple(sorted(low)) for end, low in ends[mark].items()}) for mark in sorted(ends)
        )
        self._starts: Groups = tuple((mark, tuple(sorted(starts[mark]))) for mark in sorted(starts))
        self._capitals: Groups = tuple((mark, tuple(sorted(capitals[mark]))) for mark in sorted(capitals))
        self._plain = _covered(plain)

    def keywords(self, data: bytes) -> set[str]:
        """The keywords, in lower case, that `data` contains when case is ignored, and perhaps more of them."""
        low = data.lower().decode("latin-1")
        maybe: list[str] = []
        for mark, ends in self._ends:
            if mark in low:
                for piece in low.split(mark):
                    if piece[-2:] in ends:
                        maybe += ends[piece[-2:]]
        for groups, text in (
            (self._starts, low),
            (self._capitals, data.translate(None, _NO_CAPITALS).decode("latin-1")),
            (self._plain, low),
        ):
            for mark, keywords in groups:
                if mark in text:
                    maybe += keywords
        return {keyword for keyword in set(maybe) if keyword in low} if maybe else set()


def _first(keyword: str, characters: str) -> int:
    """Where the first of these characters stands; −1 if none does."""
    return next((at for at, character in enumerate(keyword) if character in characters), -1)


def _covered(keywords: set[str]) -> Groups:
    """Group keywords by a piece that several share: the longest of those shared by most, again and again."""
    shared: dict[str, set[str]] = defaultdict(set)
    for keyword in keywords:
        for piece in _pieces(keyword):
            shared[piece].add(keyword)
    groups: list[tuple[str, tuple[str, ...]]] = []
    while shared:
        piece = max(shared, key=lambda one: (len(shared[one]), len(one), one))
        taken = shared[piece]
        groups.append((piece, tuple(sorted(taken))))
        shared = {one: left for one, holders in shared.items() if (left := holders - taken)}
    return tuple(groups)


def _pieces(keyword: str) -> set[str]:
    """The pieces of four characters and more; a shorter keyword is its own only piece."""
    lengths = range(min(4, len(keyword)), len(keyword) + 1)
    return {keyword[at : at + length] for length in lengths for at in range(len(keyword) - length + 1)}
