"""Strict JSON: one reading (spec C6) and one spelling (C7).

Decides what a JSON text means and how a value is written. Numbers are tokens: an integer token that Python gives back unchanged
comes as `int`, any other as `Number`, and neither is ever rounded. `read` is the fast road of the verifier: an equality with
orjson's own output proves one spelling, unique names and valid UTF-8 at once; what it can not prove goes to the slow road.
Not decided here: which members a record has (`record`).
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable
from json.encoder import encode_basestring
from typing import Final, Never

import orjson

from provtape.errors import FormatError

MAX_DEPTH: Final = 64
MAX_NUMBER: Final = 2**53 - 1

_CONTAINERS: Final = frozenset((dict, list, tuple))
_NUMBER: Final = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?", re.ASCII)
_PLAIN: Final = (
    orjson.OPT_PASSTHROUGH_DATACLASS | orjson.OPT_PASSTHROUGH_DATETIME | orjson.OPT_PASSTHROUGH_SUBCLASS
)


class Number(str):
    """A number token as it is spelled, e.g. `1e400`."""

    __slots__ = ()


def parse(data: bytes) -> object:
    """Read one JSON text strictly (RFC 8259, spec C6).

    Args:
        data: UTF-8 bytes, without byte order mark.

    Returns:
        dict, list, str, bool, None, int (tokens that `str(int)` spells the same, up to 16 digits) or Number.

    Raises:
        FormatError: Not JSON, a name twice, a lone surrogate, NaN or Infinity, or deeper than 64.

    >>> parse(b'{"a":[1,1.0,1e400]}')
    {'a': [1, '1.0', '1e400']}
    """
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise FormatError(f"not UTF-8 at byte {error.start}") from None
    try:
        value: object = _DECODER.decode(text)
    except json.JSONDecodeError as error:
        raise FormatError(f"not JSON at character {error.pos}") from None
    except RecursionError:
        raise FormatError(f"nested deeper than {MAX_DEPTH}") from None
    check_depth(value)
    if "\\u" in text:
        _write_utf8(value, sort=False)
    return value


def read(data: bytes) -> object:
    """Read a JSON text that must be in the one spelling (spec C6, C7).

    Returns:
        As `parse`; on the fast road a float comes as `float`, whose spelling by `dumps` is the token that was read.

    Raises:
        FormatError: As `parse`, or code `record.spelling`.
    """
    try:
        value: object = orjson.loads(data)
        if orjson.dumps(value) == data:
            if data.count(b"[") + data.count(b"{") > MAX_DEPTH:
                check_depth(value)
            return value
    except (orjson.JSONDecodeError, orjson.JSONEncodeError):
        pass
    value = parse(data)
    if _write_utf8(value, sort=False) != data:
        raise FormatError("not in the one spelling", "record.spelling")
    return value


def dumps(value: object) -> bytes:
    """Write a value in the one spelling (spec C7), UTF-8.

    Raises:
        FormatError: Something JSON can not say: NaN, a name that is no string, a lone surrogate, another type.
    """
    try:
        data = orjson.dumps(value, option=_PLAIN)
    except orjson.JSONEncodeError:
        return _write_utf8(value, sort=False)
    if b"null" in data:  # orjson writes NaN and infinities as null
        _check_finite(value)
    return data


def canonical(value: object) -> bytes:
    """Write a value as C(value) of spec Q3: names sorted by code point, numbers as spelled.

    Raises:
        FormatError: As `dumps`.
    """
    try:
        data = orjson.dumps(value, option=_PLAIN | orjson.OPT_SORT_KEYS)
    except orjson.JSONEncodeError:
        return _write_utf8(value, sort=True)
    if b"null" in data:
        _check_finite(value)
    return data


def check_depth(value: object, depth: int = 1) -> None:
    """Refuse containers nested deeper than 64; the outermost is at `depth`.

    Raises:
        FormatError: Deeper.
    """
    level = [value]
    while level := [item for item in level if type(item) in _CONTAINERS]:
        if depth > MAX_DEPTH:
            raise FormatError(f"nested deeper than {MAX_DEPTH}")
        level = [
            child for item in level for child in (item.values() if isinstance(item, dict) else _items(item))
        ]
        depth += 1


def _items(value: object) -> Iterable[object]:
    return value if isinstance(value, list | tuple) else ()


def _unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
    value = dict(pairs)
    if len(value) != len(pairs):
        raise FormatError("a name stands twice in one object")
    return value


def _integer(token: str) -> int | Number:
    return int(token) if len(token) <= 16 and token != "-0" else Number(token)


def _constant(token: str) -> Never:
    raise FormatError("NaN and Infinity are not JSON")


_DECODER: Final = json.JSONDecoder(
    object_pairs_hook=_unique, parse_int=_integer, parse_float=Number, parse_constant=_constant
)


def _write_utf8(value: object, *, sort: bool) -> bytes:
    parts: list[str] = []
    try:
        _write(value, parts, sort)
        return "".join(parts).encode("utf-8")
    except UnicodeEncodeError:
        raise FormatError("a lone surrogate") from None
    except RecursionError:
        raise FormatError(f"nested deeper than {MAX_DEPTH}") from None


def _write(value: object, parts: list[str], sort: bool) -> None:
    if isinstance(value, dict):
        _write_object(value, parts, sort)
    elif isinstance(value, list | tuple):
        _write_array(value, parts, sort)
    else:
        parts.append(_scalar(value))


def _write_object(value: dict[object, object], parts: list[str], sort: bool) -> None:
    if not all(isinstance(name, str) for name in value):
        raise FormatError("a name that is no string")
    opening = "{"
    for name in sorted(value, key=str) if sort else value:
        parts.append(f"{opening}{encode_basestring(str(name))}:")
        _write(value[name], parts, sort)
        opening = ","
    parts.append("}" if value else "{}")


def _write_array(value: list[object] | tuple[object, ...], parts: list[str], sort: bool) -> None:
    opening = "["
    for item in value:
        parts.append(opening)
        _write(item, parts, sort)
        opening = ","
    parts.append("]" if value else "[]")


def _scalar(value: object) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Number):
        if not _NUMBER.fullmatch(value):
            raise FormatError("a number token that is no JSON number")
        return str(value)
    if isinstance(value, str):
        return encode_basestring(value)
    if isinstance(value, int):
        return _digits(value)
    if isinstance(value, float) and math.isfinite(value):
        return orjson.dumps(value).decode()
    raise FormatError(f"JSON has no spelling for a value of type {type(value).__name__}")


def _digits(value: int) -> str:
    try:
        return int.__repr__(value)
    except ValueError:  # over Python's limit of 4,300 digits
        raise FormatError("an integer with too many digits: give it as a string") from None


def _check_finite(value: object) -> None:
    if isinstance(value, float) and not math.isfinite(value):
        raise FormatError("NaN and Infinity are not JSON")
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list | tuple):
        for child in value:
            _check_finite(child)
