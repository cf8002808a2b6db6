"""How the vectors are spelled: JSON with names in the order given, base64, digests.

Decides the bytes of everything the builder writes. Knows nothing of records, notes or manifests. A number that must
stand in a file as it is spelled (`1e400`, five thousand digits) is a `Raw`.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

SHORT: Final = {0x22: '\\"', 0x5C: "\\\\", 8: "\\b", 9: "\\t", 10: "\\n", 12: "\\f", 13: "\\r"}


@dataclass(frozen=True, slots=True)
class Raw:
    """JSON text that is written as it stands."""

    text: str


# None, true and false, whole numbers, strings, `Raw`, sequences, and mappings from strings: `spelled` refuses the rest.
Json = object


def quoted(text: str) -> str:
    """The one spelling of a JSON string (rule C7)."""
    return '"' + "".join(_character(character) for character in text) + '"'


def _character(character: str) -> str:
    number = ord(character)
    if number in SHORT:
        return SHORT[number]
    return f"\\u{number:04x}" if number < 0x20 else character


def spelled(value: Json) -> str:
    """The one spelling of `value`, names in the order given (rule C7)."""
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, Raw):
        return value.text
    if isinstance(value, int):
        return str(value)
    if isinstance(value, str):
        return quoted(value)
    if isinstance(value, Mapping):
        return "{" + ",".join(f"{quoted(name)}:{spelled(inner)}" for name, inner in value.items()) + "}"
    if isinstance(value, Sequence):
        return "[" + ",".join(spelled(inner) for inner in value) + "]"
    raise TypeError(type(value).__name__)


def ordered(value: Json) -> Json:
    """`value` with names sorted by code point at every level (rule Q3)."""
    if isinstance(value, Mapping):
        return {name: ordered(value[name]) for name in sorted(value)}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [ordered(inner) for inner in value]
    return value


def table(rows: Sequence[Json]) -> bytes:
    """A vector file: one JSON array, one row a line."""
    return ("[\n" + ",\n".join(spelled(row) for row in rows) + "\n]\n").encode()


def b64(data: bytes) -> str:
    """RFC 4648 section 4, padded."""
    return base64.b64encode(data).decode()


def url64(data: bytes) -> str:
    """RFC 4648 section 5, without padding."""
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def sha256(data: bytes) -> bytes:
    """SHA-256, 32 bytes."""
    return hashlib.sha256(data).digest()
