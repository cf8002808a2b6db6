"""Free JSON: prompts, parameters, outputs, arguments, results, `meta`.

Decides that every string of a free value is text, member names too, and that a string under a named key goes as a whole. Numbers,
true, false and null stay. A value that can not be written as JSON is refused before anything is looked at.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Final

from provtape.errors import ScrubError
from provtape.format.strict import MAX_DEPTH, Number
from provtape.scrub.rules import normal_key
from provtape.scrub.sweep import Sweep, segment

_KNOWN: Final = 4096
_SCALARS: Final = frozenset((int, bool, type(None), Number))


class Named(dict[str, bool]):
    """Whether a member name is one of `[json] keys`; remembers the answers."""

    def __init__(self, keys: frozenset[str]) -> None:
        super().__init__()
        self._keys = keys

    def __missing__(self, name: str) -> bool:
        if len(self) >= _KNOWN:
            self.clear()
        answer = self[name] = normal_key(name) in self._keys
        return answer


def collect(value: object, texts: list[str], named: Named, depth: int = 1) -> bool:
    """Add every string of a value to `texts`.

    Args:
        value: As for `strict.dumps`.
        texts: Grows.
        named: The names whose values go as a whole.
        depth: The depth of `value`, if it is a container.

    Returns:
        Whether a string stands under a named key.

    Raises:
        ScrubError: Deeper than 64, a name that is no string, NaN, or a type that JSON does not have.
    """
    if type(value) is str:
        texts.append(value)
    elif type(value) in _SCALARS:
        pass
    elif isinstance(value, dict):
        return _collect_object(value, texts, named, depth)
    elif isinstance(value, (list, tuple)):
        _check_depth(depth)
        hits = [collect(item, texts, named, depth + 1) for item in value]  # all of them, for their texts
        return True in hits
    else:
        _check_float(value)
    return False


def _collect_object(value: dict[object, object], texts: list[str], named: Named, depth: int) -> bool:
    _check_depth(depth)
    hit = False
    for name, item in value.items():
        if type(name) is not str:
            raise ScrubError("a member name that is not a string can not be scrubbed")
        texts.append(name)
        if type(item) is str:
            texts.append(item)
            hit = named[name] or hit
        elif type(item) not in _SCALARS and collect(item, texts, named, depth + 1):
            hit = True
    return hit


def scrub_value(value: object, where: str, sweep: Sweep, named: Named) -> object:
    """A free value, scrubbed; the value itself is not touched.

    Args:
        value: A value that `collect` went through for this sweep.
        where: Its JSON Pointer.
        sweep: Counts.
        named: The names whose values go as a whole.

    Raises:
        ScrubError: Two names of one object become the same, or a string does not come to rest.
    """
    if type(value) is str:
        return sweep.text(value, where)
    if isinstance(value, dict):
        return _object(value, where, sweep, named)
    if isinstance(value, list | tuple):
        return [scrub_value(item, f"{where}/{index}", sweep, named) for index, item in enumerate(value)]
    return value


def _object(value: dict[str, object], where: str, sweep: Sweep, named: Named) -> dict[str, object]:
    result: dict[str, object] = {}
    for name, item in value.items():
        place = where + segment(sweep.shown(name))
        kept = sweep.text(name, place)
        if kept in result:
            raise ScrubError("two member names of one object can not be told apart once they are scrubbed")
        if named[name] and type(item) is str:
            result[kept] = sweep.whole(item, "json-key", place)
        else:
            result[kept] = scrub_value(item, place, sweep, named)
    return result


def scrub_words(words: Iterable[str], where: str, sweep: Sweep, named: Named) -> list[str]:
    """A command line: text word by word, and the value of an option that is named like a secret.

    >>> # ["--api-key", "x"] and ["--api-key=x"] and ["API_KEY=x"] all lose their x under the default rules
    """
    result: list[str] = []
    option = ""
    for index, word in enumerate(words):
        place = f"{where}/{index}"
        name, equals, value = word.partition("=")
        if option and not word.startswith("-"):
            result.append(sweep.whole(word, "json-key", place))
        elif equals and named[name]:
            result.append(f"{name}={sweep.whole(value, 'json-key', place)}")
        else:
            result.append(sweep.text(word, place))
        option = name if name.startswith("-") and not equals and named[name] else ""
    return result


def _check_depth(depth: int) -> None:
    if depth > MAX_DEPTH:
        raise ScrubError(f"nested deeper than {MAX_DEPTH}, which can not be written")


def _check_float(value: object) -> None:
    if not isinstance(value, float):
        raise ScrubError(f"a value of type {type(value).__name__} can not be scrubbed")
    if not math.isfinite(value):
        raise ScrubError("NaN and infinities can not be written")
