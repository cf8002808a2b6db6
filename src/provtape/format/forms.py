"""Forms of single values that records and manifests share (spec C14, C21, M8, N2).

Decides which strings are a time, a digest, an origin, and which objects have the names they must have.
"""

from __future__ import annotations

import re
from typing import Final

from provtape.errors import FormatError
from provtape.format.keys import is_name
from provtape.format.strict import MAX_NUMBER

Object = dict[str, object]

HEX64: Final = re.compile(r"[0-9a-f]{64}")
TIME: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{3}Z")
RANDOM: Final = re.compile(r"[A-Za-z0-9_-]{21}[AQgw]")
_GIT_ID: Final = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")


def check_code(value: object, where: str = "code") -> None:
    """Check a `code` value: null or uri, commit, tree, dirty (spec C14).

    Raises:
        FormatError: Code `record.members`.
    """
    if value is None:
        return
    code = members(value, ("uri", "commit", "tree", "dirty"), where)
    need(code["uri"] is None or is_str(code["uri"]), where)
    need(matches(_GIT_ID, code["commit"]) and matches(_GIT_ID, code["tree"]), where)
    need(isinstance(code["dirty"], bool), where)


def members(value: object, names: tuple[str, ...], where: str) -> Object:
    """The object `value`, if it has exactly these names in this order.

    Raises:
        FormatError: Code `record.members`.
    """
    if not isinstance(value, dict) or tuple(value) != names:
        raise wrong(f"the names of {where}")
    return value


def is_str(value: object) -> bool:
    """Whether this is a JSON string (a number token is none)."""
    return type(value) is str


def is_strings(value: object) -> bool:
    """Whether this is an array of strings."""
    return isinstance(value, list) and all(type(item) is str for item in value)


def is_count(value: object) -> bool:
    """Whether this is an own number: `0|[1-9][0-9]*`, at most 2^53−1."""
    return type(value) is int and 0 <= value <= MAX_NUMBER


def is_hex64(value: object) -> bool:
    """Whether this is 64 lower-case hex digits."""
    return matches(HEX64, value)


def is_time(value: object) -> bool:
    """Whether this is a time of C21."""
    return matches(TIME, value)


def is_git_id(value: object) -> bool:
    """Whether this is a whole object id of git."""
    return matches(_GIT_ID, value)


def is_origin(value: object) -> bool:
    """Whether this is an origin: prefix, `/`, hex64 (spec N2)."""
    if type(value) is not str:
        return False
    prefix, slash, last = value.rpartition("/")
    return bool(slash) and is_name(prefix) and matches(HEX64, last)


def matches(pattern: re.Pattern[str], value: object) -> bool:
    """Whether this is a string of that form."""
    return type(value) is str and pattern.fullmatch(value) is not None


def need(condition: bool, where: str) -> None:
    """Refuse unless the condition holds.

    Raises:
        FormatError: Code `record.members`.
    """
    if not condition:
        raise wrong(where)


def wrong(where: str) -> FormatError:
    """The error for a member that is not as the format says; `where` names it."""
    return FormatError(f"{where} is not as the format says", "record.members")
