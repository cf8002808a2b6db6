"""Files that are another format altogether, told by their first line, so that they can be named instead of judged."""

from __future__ import annotations

import re
from typing import Final

from provtape.errors import FormatError
from provtape.format import strict
from provtape.format.chain import FORMAT, start

_OTHER: Final = re.compile(rb'"format":"([A-Za-z0-9._/-]{1,64})"')
_TUTORIAL: Final = frozenset(("prev", "key", "output", "hash"))


def other_format(line: bytes) -> str | None:
    """The format that record 0 names, if it is a cassette of another format (spec C12), else None."""
    found = start(line)
    if found is None or found.type != "open":
        return None
    match = _OTHER.match(line, found.length)
    name = match[1].decode() if match else FORMAT
    return None if name == FORMAT else name


def is_tutorial(line: bytes) -> bool:
    """Whether a first line is of the tutorial's format: to the strict reader an object with its names and without `seq`."""
    try:
        value = strict.parse(line)
    except FormatError:
        return False
    return isinstance(value, dict) and value.keys() >= _TUTORIAL and "seq" not in value
