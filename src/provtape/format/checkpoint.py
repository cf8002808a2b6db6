"""Checkpoints: what a note says about a prefix of a cassette (spec N1, N2, N8, N9; C2SP tlog-checkpoint).

Decides what the three lines mean, and when the end of a checkpoint file is a note cut by a crash.
"""

from __future__ import annotations

import base64
import re
from dataclasses import dataclass
from typing import Final

from provtape.errors import FormatError
from provtape.format import note
from provtape.format.keys import MAX_NAME, NAME, decode_base64
from provtape.format.note import Note
from provtape.format.strict import MAX_NUMBER

MAX_FILE: Final = 64 * 1024 * 1024
_TEXT: Final = re.compile(rb"((%s)/[0-9a-f]{64})\n([1-9][0-9]{0,15})\n([A-Za-z0-9+/]{43}=)\n" % NAME.encode())
_TORN_LINES: Final = (
    re.compile(rb"[1-9][0-9]{0,15}"),
    re.compile(rb"[A-Za-z0-9+/]{43}="),
    re.compile(rb""),
)
_TORN_SIGNATURE: Final = re.compile(rb"\xe2\x80\x94 %s [A-Za-z0-9+/]+={0,2}" % NAME.encode())


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A note that says: the first `records` records of `origin` have this `root` (32 bytes)."""

    origin: str
    records: int
    root: bytes
    note: Note


def origin(prefix: str, first_leaf: bytes) -> str:
    """The origin of the cassette whose record 0 has this prefix and leaf (spec N2)."""
    return f"{prefix}/{first_leaf.hex()}"


def text(origin: str, records: int, root: bytes) -> bytes:
    """The three lines that a note signs, each with LF (spec N4)."""
    return f"{origin}\n{records}\n{base64.b64encode(root).decode()}\n".encode()


def parse_file(data: bytes) -> tuple[list[Checkpoint], bytes]:
    """Read a checkpoint file.

    Returns:
        Its notes, and what follows the last complete one (empty in a whole file; see `is_torn`).

    Raises:
        FormatError: Code `checkpoint.form` or `checkpoint.crlf`.
    """
    if b"\r\n" in data:
        raise FormatError("a line of the checkpoint file ends in CR LF", "checkpoint.crlf")
    notes, rest = note.split(data)
    return [_checkpoint(found) for found in notes], rest


def is_torn(rest: bytes, origin: str, *, first: bool) -> bool:
    """Whether `rest` is the beginning of one more note of this cassette, cut (spec N9).

    Args:
        rest: What follows the last complete note; of an empty file, nothing.
        origin: The cassette's origin.
        first: Whether there is no complete note before it.
    """
    line = origin.encode() + b"\n"
    if line.startswith(rest):
        return True
    if not rest.startswith(line):
        return not first and rest[:1] == note.DASH[:1] and b"\n" not in rest
    *complete, _cut = rest[len(line) :].split(b"\n")
    head, signatures = complete[:3], complete[3:]
    if head and head[0].isdigit() and int(head[0][:17]) > MAX_NUMBER:
        return False
    if len(head) > 1 and decode_base64(head[1]) is None:
        return False
    return all(form.fullmatch(given) for form, given in zip(_TORN_LINES, head, strict=False)) and all(
        _TORN_SIGNATURE.fullmatch(given) for given in signatures
    )


def _checkpoint(found: Note) -> Checkpoint:
    match = _TEXT.fullmatch(found.text)
    root = decode_base64(match[4]) if match else None
    if match is None or root is None or len(match[2]) > MAX_NAME or int(match[3]) > MAX_NUMBER:
        raise FormatError(
            "a note is not a checkpoint of three lines: origin, number, root", "checkpoint.form"
        )
    return Checkpoint(match[1].decode(), int(match[3]), root, found)
