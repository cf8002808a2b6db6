"""The chain: framing, fixed starts, leaves and links (spec C1 to C5, C8, C9).

Decides where a record ends, what its number and type are without parsing it, and what its leaf is.
Not decided here: whether the record's JSON holds (`strict`, `record`).
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from typing import Final

from provtape.format.strict import MAX_NUMBER

FORMAT: Final = "provtape/1"
GENESIS: Final = "0" * 64
MAX_RECORD: Final = 256 * 1024 * 1024

_START: Final = re.compile(
    rb'\{"prev":"([0-9a-f]{64})","seq":(0|[1-9][0-9]{0,15}),"type":"(open|run|interaction|end)",'
)
_WITHHELD: Final = re.compile(rb'\{"withheld":"([0-9a-f]{64})"\}\n')


@dataclass(frozen=True, slots=True)
class Start:
    """The fixed start of a record (spec C3): link, number and type, read without parsing."""

    prev: bytes
    seq: int
    type: str
    length: int


def start(record: bytes) -> Start | None:
    """The fixed start of a record, or None if it has none (spec C3)."""
    match = _START.match(record)
    if match is None or int(match[2]) > MAX_NUMBER:
        return None
    return Start(match[1], int(match[2]), match[3].decode(), match.end())


def withheld(record: bytes) -> bytes | None:
    """The leaf that a withheld line stands for (spec C22), or None if this is no such line."""
    match = _WITHHELD.fullmatch(record)
    return bytes.fromhex(match[1].decode()) if match else None


def leaf(record: bytes) -> bytes:
    """SHA-256(0x00 ‖ record with its LF), 32 bytes (spec C8, RFC 6962 §2.1)."""
    return hashlib.sha256(b"\x00" + record).digest()


@dataclass(frozen=True, slots=True)
class Chain:
    """Where a cassette ends: `records` of them, the last with leaf `last` (hex; zeros when there is none)."""

    records: int = 0
    last: str = GENESIS

    def extend(self, record: bytes) -> Chain:
        """The chain with one more record, given with its LF."""
        return Chain(self.records + 1, leaf(record).hex())

    def link(self, tail: bytes) -> bytes:
        """The next record: `prev` and `seq` in front of `tail`, which starts with `"type"` and ends with LF."""
        return b'{"prev":"%s","seq":%d,%s' % (self.last.encode(), self.records, tail)
