"""How an asked request differs from a recorded one, said so that its author sees what to change.

Decides what is told of a difference: JSON Pointers, a kind of change, and for text the words that changed. Takes identities of
*scrubbed* requests, so nothing it says holds what was scrubbed. Bounded in work and in length, whatever the values are. Does not
decide which recorded request is compared (`nearest`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from difflib import SequenceMatcher
from itertools import islice
from typing import Final, Literal

from provtape.format import strict
from provtape.format.printable import printable
from provtape.format.strict import Number

MAX_CHANGES: Final = 8
MAX_WORDS: Final = 400
MAX_TEXT: Final = 4096
MAX_SHOWN: Final = 320
MAX_POINTER: Final = 160

What = Literal["changed", "number spelled differently", "only asked", "only recorded", "of another type"]

_WORD: Final = re.compile(r"\w+|\s+|[^\w\s]")
_CONTEXT: Final = 6
_BEFORE: Final = 60


@dataclass(frozen=True, slots=True)
class Change:
    """One place where two identities differ.

    Attributes:
        pointer: JSON Pointer into the identity, printable, cut at 160 characters.
        what: The kind of change.
        words: For a text or number that changed: its surroundings with `[-recorded-]` and `{+asked+}`; otherwise empty.
    """

    pointer: str
    what: What
    words: str = ""

    def line(self) -> str:
        """The change in one line."""
        return f"{self.pointer}: {self.what}{': ' if self.words else ''}{self.words}"


def changes(asked: Mapping[str, object], recorded: Mapping[str, object]) -> tuple[Change, ...]:
    """The first places where two identities differ, in the order of the recorded one.

    Returns:
        At most `MAX_CHANGES`; empty when the identities are equal.
    """
    return tuple(islice(_compare("", recorded, asked), MAX_CHANGES))


def clause(found: Sequence[Change]) -> str:
    """One clause that says where to look, e.g. `your prompt changed, not the model`."""
    places = {change.pointer.split("/")[1] for change in found if change.pointer}
    if found and all(change.what == "number spelled differently" for change in found):
        return "only the spelling of a number differs, and 1, 1.0 and 1e0 are three requests"
    if places == {"prompt"}:
        return "your prompt changed, not the model"
    if places == {"model"}:
        return "the model changed, not your prompt"
    if places == {"params"}:
        return "a parameter changed, not your prompt"
    if not places:
        return "nothing differs"
    *others, last = sorted(places)
    return f"{', '.join(others)} and {last} changed" if others else f"{last} changed"


def word_difference(recorded: str, asked: str) -> str:
    """The words in which two texts differ, with a few words around them, printable and at most 320 characters long.

    >>> word_difference("Name a red fruit.", "Name a blue fruit.")
    'Name a [-red-]{+blue+} fruit.'
    """
    same = _common_prefix(recorded, asked)
    start = max(0, same - _BEFORE)
    old, new = (_WORD.findall(text[start : start + MAX_TEXT])[:MAX_WORDS] for text in (recorded, asked))
    parts = ["…"] if start else []
    for tag, i1, i2, j1, j2 in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if tag == "equal":
            parts.append(_shortened(old[i1:i2]))
            continue
        parts.append(f"[-{_shortened(old[i1:i2])}-]" if i2 > i1 else "")
        parts.append(f"{{+{_shortened(new[j1:j2])}+}}" if j2 > j1 else "")
    shown = printable("".join(parts))
    return shown if len(shown) <= MAX_SHOWN else shown[: MAX_SHOWN - 1] + "…"


def _common_prefix(first: str, second: str) -> int:
    """How many characters two texts share at their start, found by halving: slices compare faster than a loop."""
    low, high = 0, min(len(first), len(second))
    while low < high:
        middle = (low + high + 1) // 2
        if first[low:middle] == second[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _shortened(words: list[str]) -> str:
    if len(words) <= 2 * _CONTEXT:
        return "".join(words)
    return "".join(words[:_CONTEXT]) + "…" + "".join(words[-_CONTEXT:])


def _compare(pointer: str, recorded: object, asked: object) -> Iterator[Change]:
    if isinstance(recorded, Mapping) and isinstance(asked, Mapping):
        yield from _compare_objects(pointer, recorded, asked)
    elif isinstance(recorded, list | tuple) and isinstance(asked, list | tuple):
        yield from _compare_objects(pointer, dict(enumerate(recorded)), dict(enumerate(asked)))
    elif _is_number(recorded) and _is_number(asked):
        if _token(recorded) != _token(asked):
            what: What = "number spelled differently" if _same(recorded, asked) else "changed"
            yield _change(pointer, what, word_difference(_token(recorded), _token(asked)))
    elif _type(recorded) is not _type(asked):
        yield _change(pointer, "of another type")
    elif isinstance(recorded, str) and isinstance(asked, str):
        if recorded != asked:
            yield _change(pointer, "changed", word_difference(recorded, asked))
    elif recorded != asked:
        yield _change(pointer, "changed")


def _compare_objects(
    pointer: str, recorded: Mapping[object, object], asked: Mapping[object, object]
) -> Iterator[Change]:
    for name, value in recorded.items():
        below = f"{pointer}/{_escaped(name)}"
        if name in asked:
            yield from _compare(below, value, asked[name])
        else:
            yield _change(below, "only recorded")
    for name in asked:
        if name not in recorded:
            yield _change(f"{pointer}/{_escaped(name)}", "only asked")


def _change(pointer: str, what: What, words: str = "") -> Change:
    shown = printable(pointer)
    return Change(shown if len(shown) <= MAX_POINTER else shown[: MAX_POINTER - 1] + "…", what, words)


def _escaped(name: object) -> str:
    return str(name).replace("~", "~0").replace("/", "~1")


def _is_number(value: object) -> bool:
    return isinstance(value, int | float | Number) and not isinstance(value, bool)


def _type(value: object) -> type:
    if _is_number(value):
        return Number
    if isinstance(value, Mapping):
        return dict
    return list if isinstance(value, tuple) else type(value)


def _token(value: object) -> str:
    return str(value) if isinstance(value, Number) else strict.dumps(value).decode()


def _same(recorded: object, asked: object) -> bool:
    tokens = _token(recorded), _token(asked)
    if max(map(len, tokens)) > 64:
        return False
    try:
        return Decimal(tokens[0]) == Decimal(tokens[1])
    except ArithmeticError:
        return False
