"""One walk over a cassette from its first record to its last: starts, places, links and leaves (spec C1 to C4, C8 to C12).

Decides whether a file may be gone on with or served from, in one streaming pass. A torn tail ends the walk; damage before it
stops the walk with an error and is never repaired. Nothing is said about members, and no verdict is made (`verify`).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO, NamedTuple

from provtape.cassette.reader import lines
from provtape.errors import CassetteError, FormatError
from provtape.format import strict
from provtape.format.chain import Chain, Start, leaf, start, withheld
from provtape.format.foreign import other_format
from provtape.format.record import Object, check_record


class Stored(NamedTuple):
    """One record where it stands: byte offset, the line with its LF, its fixed start, its leaf (32 bytes)."""

    offset: int
    line: bytes
    start: Start
    leaf: bytes


class Walk:
    """The whole records of a cassette, in order; iterate once.

    Attributes:
        chain: Where the cassette ends; grows while walking.
        size: The bytes of the whole records.
        sealed: Whether the last record is `end`.
        torn: The torn tail (empty: there is none).
    """

    __slots__ = ("_file", "_name", "chain", "sealed", "size", "torn")

    def __init__(self, file: BinaryIO, name: str) -> None:
        self._file = file
        self._name = name
        self.chain = Chain()
        self.size = 0
        self.sealed = False
        self.torn = b""

    def __iter__(self) -> Iterator[Stored]:
        """The records.

        Raises:
            CassetteError: Damage: the message names record and rule.
            LimitError: A line of more than 256 MiB (spec C5).
        """
        for offset, line in lines(self._file):
            if self.sealed:
                raise self._damage("something follows the record end (C11)")
            if not line.endswith(b"\n"):
                self.torn = line
                return
            found = self._checked(line)
            digest = leaf(line)
            self.chain = Chain(found.seq + 1, digest.hex())
            self.size = offset + len(line)
            self.sealed = found.type == "end"
            yield Stored(offset, line, found, digest)

    def members(self, stored: Stored) -> Object:
        """The record itself, strictly read (spec C6, C7, C13 to C21).

        Raises:
            CassetteError: It breaks one of these rules.
        """
        return read_members(stored.line, stored.start.type, stored.start.seq, self._name)

    def _checked(self, line: bytes) -> Start:
        found = start(line)
        if line.endswith(b"\r\n"):
            raise self._damage(
                "ends in CR LF (C2)", "git may have changed the line ends; take the file again"
            )
        if withheld(line):
            raise self._damage("is withheld (C22)", "take the whole cassette, not a withheld copy")
        if found is None:
            raise self._damage("does not start as a record does (C3)")
        if self.chain.records == 0 and (other := other_format(line)):
            raise CassetteError(
                f"{self._name}: a cassette of format {other}, which this provtape does not know"
            )
        if found.seq != self.chain.records:
            raise self._damage(f"says that it is record {found.seq} (C4)")
        if found.prev != self.chain.last.encode():
            raise self._damage("prev is not the leaf of the record before it (C9)")
        if (found.type == "open") != (found.seq == 0) or (found.seq == 1 and found.type != "run"):
            raise self._damage(f"a record of type {found.type} in the wrong place (C10)")
        return found

    def _damage(
        self, what: str, hint: str = "run provtape verify on it; damage is never repaired"
    ) -> CassetteError:
        return CassetteError(f"{self._name}: record {self.chain.records}: {what}", hint)


def read_members(line: bytes, type_: str, seq: int, name: str) -> Object:
    """One record, strictly read and checked for its members.

    Args:
        line: The record with its LF.
        type_: The type its fixed start names.
        seq: Its number, for the message.
        name: The cassette's name, for the message.

    Raises:
        CassetteError: It breaks a rule of C6, C7 or C13 to C21.
    """
    try:
        return check_record(type_, strict.read(line[:-1]))
    except FormatError as error:
        raise CassetteError(f"{name}: record {seq}: {error.message}", error.hint) from None
