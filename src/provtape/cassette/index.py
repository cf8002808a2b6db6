"""Looking up interactions by key, in file order, with no bodies in memory (DESIGN 7, Repeats).

Decides where an interaction stands and that what is served is what was indexed. Which of several is served, and whether the
cassette may be trusted, is decided elsewhere (`session`, `verify`).
"""

from __future__ import annotations

import os
import re
import sys
import threading
from array import array
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple, Self, overload

from provtape.cassette.reader import open_regular
from provtape.cassette.walk import Stored, Walk, read_members
from provtape.errors import CassetteError
from provtape.format.chain import leaf
from provtape.format.forms import HEX64, Object
from provtape.format.tree import LEAF

_KEY: Final = re.compile(rb'"kind":"(?:llm|tool|http)","key":"([0-9a-f]{64})",')


class Place(NamedTuple):
    """Where an interaction stands: byte offset, bytes with its LF, number."""

    offset: int
    length: int
    seq: int


class Places(Sequence[Place]):
    """The places of one key in file order; a small view that reads the index when asked."""

    __slots__ = ("_index", "_range")

    def __init__(self, index: Index, positions: range) -> None:
        self._index = index
        self._range = positions

    def __len__(self) -> int:
        return len(self._range)

    @overload
    def __getitem__(self, position: int) -> Place: ...
    @overload
    def __getitem__(self, position: slice) -> Places: ...
    def __getitem__(self, position: int | slice) -> Place | Places:
        if isinstance(position, slice):
            return Places(self._index, self._range[position])
        return self._index._sorted_place(self._range[position])


class Index:
    """The interactions of a cassette as it was when this was made: about 100 bytes each, whatever they hold.

    Made in one streaming pass that checks starts, places, links (spec C1 to C4, C9 to C11). The file stays open until `close`.

    Attributes:
        path: The cassette.
        records: Its whole records.
        sealed: Whether it ends with `end`.
        torn: Bytes of its torn tail (0: there is none).
        opening: Record 0.
        runs: The `run` records, each with its `seq`, in file order.
    """

    def __init__(self, path: Path) -> None:
        """Index a cassette, open or sealed.

        Args:
            path: The cassette.

        Raises:
            CassetteError: It holds no record, is damaged or withheld in part; the message names record and rule.
            InputError: It can not be read.
            LimitError: A line of more than 256 MiB (spec C5).
        """
        self.path = path
        self.opening: Object = {}
        self.runs: list[Object] = []
        self._offsets, self._lengths, self._seqs = array("Q"), array("I"), array("Q")
        self._keys, self._leaves = bytearray(), bytearray()
        self._reading = threading.Lock()
        self._file = open_regular(path)
        try:
            walk = Walk(self._file, path.name)
            for stored in walk:
                self._take(walk, stored)
            if walk.chain.records == 0:
                raise CassetteError(f"{path.name}: holds no whole record", "move it away and record again")
        except BaseException:
            self._file.close()
            raise
        self.records, self.sealed, self.torn = walk.chain.records, walk.sealed, len(walk.torn)
        self._order = array("I", sorted(range(len(self._offsets)), key=self._key))

    def places(self, key: str) -> Sequence[Place]:
        """Where the interactions of a match key stand, in file order; empty when there is none.

        Args:
            key: 64 lower-case hex digits; anything else has no places.
        """
        if not HEX64.fullmatch(key):
            return ()
        wanted = bytes.fromhex(key)
        first = bisect_left(self._order, wanted, key=self._key)
        last = bisect_left(self._order, wanted + b"\x00", first, key=self._key)
        return Places(self, range(first, last))

    def interactions(self) -> Iterator[Place]:
        """The places of all interactions in file order."""
        return map(Place, self._offsets, self._lengths, self._seqs)

    def __len__(self) -> int:
        return len(self._offsets)

    def read(self, place: Place) -> Object:
        """One interaction, strictly read (spec C6, C7, C15 to C19), from any thread.

        Raises:
            CassetteError: It breaks a rule, its bytes are not those that were indexed, or this is no place of this index.
        """
        position = bisect_left(self._offsets, place.offset)
        if position == len(self._offsets) or self._place(position) != place:
            raise CassetteError(f"{self.path.name}: no interaction stands at byte {place.offset}")
        line = self._read_at(place)
        if leaf(line) != self._leaves[position * LEAF : (position + 1) * LEAF]:
            raise CassetteError(
                f"{self.path.name}: record {place.seq}: changed since the cassette was opened", "start again"
            )
        return read_members(line, "interaction", place.seq, self.path.name)

    def close(self) -> None:
        """Close the file; look-ups still answer, `read` does not. The second time nothing happens."""
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _take(self, walk: Walk, stored: Stored) -> None:
        start = stored.start
        if start.type == "open":
            self.opening = walk.members(stored)
        elif start.type == "run":
            self.runs.append(walk.members(stored))
        elif start.type == "interaction":
            match = _KEY.match(stored.line, start.length)
            if match is None:
                raise CassetteError(f"{self.path.name}: record {start.seq}: no kind and key (C15)")
            self._offsets.append(stored.offset)
            self._lengths.append(len(stored.line))
            self._seqs.append(start.seq)
            self._keys += bytes.fromhex(match[1].decode())
            self._leaves += stored.leaf

    def _key(self, position: int) -> bytes:
        return bytes(self._keys[position * LEAF : (position + 1) * LEAF])

    def _place(self, position: int) -> Place:
        return Place(self._offsets[position], self._lengths[position], self._seqs[position])

    def _sorted_place(self, position: int) -> Place:
        return self._place(self._order[position])

    def _read_at(self, place: Place) -> bytes:
        if self._file.closed:
            raise CassetteError(f"{self.path.name}: closed")
        descriptor = self._file.fileno()
        if sys.platform != "win32":  # no file position: threads and forked children do not disturb each other
            return os.pread(descriptor, place.length, place.offset)
        with self._reading:
            os.lseek(descriptor, place.offset, os.SEEK_SET)
            return os.read(descriptor, place.length)
