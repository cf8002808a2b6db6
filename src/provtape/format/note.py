"""Signed notes as they stand in a checkpoint file (spec N1, N3 to N7; C2SP signed-note).

Decides where a note ends, what its signature lines say and whether one counts for a key. What the text of a note claims is
`checkpoint`'s matter.
"""

from __future__ import annotations

import base64
import re
from dataclasses import dataclass
from typing import Final

from provtape.errors import FormatError
from provtape.format.keys import MAX_NAME, NAME, PublicKey, decode_base64, key_id, verify_signature

DASH: Final = "—".encode()
_LINE: Final = re.compile(rb"\xe2\x80\x94 (%s) ([A-Za-z0-9+/]+={0,2})\n" % NAME.encode())
_NOTE: Final = re.compile(
    rb"((?:[^\n]+\n){3})\n((?:\xe2\x80\x94 %s [A-Za-z0-9+/]+={0,2}\n){1,16})" % NAME.encode()
)


@dataclass(frozen=True, slots=True)
class SignatureLine:
    """One line `— NAME BASE64`: the name is unsigned; `blob` is key id ‖ signature."""

    name: str
    blob: bytes

    def counts_for(self, key: PublicKey) -> bool:
        """Whether this line claims to be that key's (spec N6)."""
        return key.answers_to(self.name, self.blob[:4])

    def verifies(self, key: PublicKey, text: bytes) -> bool:
        """Whether the signature on this line holds for that key over the note's text (spec K3)."""
        return verify_signature(key.raw, self.blob[4:], text)

    def is_renamed(self, key: PublicKey, text: bytes) -> bool:
        """Whether this was that key's line until name or id were changed (spec N7)."""
        expected, found = key_id(self.name, key.raw), self.blob[:4]
        if expected == found:
            return False
        nearly = found[:3] == expected[:3] and found[3] >> 2 == expected[3] >> 2  # five characters of base64
        return nearly or self.verifies(key, text)


@dataclass(frozen=True, slots=True)
class Note:
    """A note: `text` is what was signed (three lines, each with LF), `lines` who signed it."""

    text: bytes
    lines: tuple[SignatureLine, ...]


def split(data: bytes) -> tuple[list[Note], bytes]:
    """Split a checkpoint file into its leading notes and what follows them.

    Returns:
        The notes, and the rest: empty when the file is notes and nothing else (spec N1).

    Raises:
        FormatError: Code `checkpoint.form`: a signature line whose base64 is not canonical, or that stands twice.
    """
    notes, position = [], 0
    while match := _NOTE.match(data, position):
        notes.append(Note(match[1], _lines(match[2])))
        position = match.end()
    return notes, data[position:]


def write(text: bytes, name: str, key: PublicKey, signature: bytes) -> bytes:
    """One note with one signature line.

    Args:
        text: Three lines, each with LF.
        name: The signer's name (spec N3).
        key: The signer's public key.
        signature: Ed25519 over `text`, 64 bytes.
    """
    blob = base64.b64encode(key_id(name, key.raw) + signature)
    return text + b"\n" + DASH + b" " + name.encode() + b" " + blob + b"\n"


def _lines(data: bytes) -> tuple[SignatureLine, ...]:
    lines = tuple(_line(match) for match in _LINE.finditer(data))
    if len({(line.name, line.blob[:4]) for line in lines}) != len(lines):
        raise FormatError("two signature lines of one note have the same name and id", "checkpoint.form")
    return lines


def _line(match: re.Match[bytes]) -> SignatureLine:
    blob = decode_base64(match[2])
    if blob is None or len(blob) < 5 or len(match[1]) > MAX_NAME:
        raise FormatError("a signature line is not as the format says", "checkpoint.form")
    return SignatureLine(match[1].decode(), blob)
