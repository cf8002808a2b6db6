"""The growing end of a cassette: link, write, sync, and only then a note (spec C8, C9, N8; DESIGN 2.2, 7).

Decides what one commit writes and when a note is due. One caller at a time: threads and futures are the writer's matter.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, get_args

from provtape.cassette.disk import because, beside, set_aside, sync_folder
from provtape.cassette.lock import LockedFile
from provtape.cassette.notes import NoteFile, Signer
from provtape.cassette.standing import Standing
from provtape.errors import CassetteError, LimitError
from provtape.format.chain import GENESIS, MAX_RECORD, Chain, leaf
from provtape.format.record import RecordType, Scrubbed
from provtape.format.suffix import TORN

NOTE_EVERY: Final = 1.0  # seconds
_TYPES: Final = {type_: b'"type":"%s",' % type_.encode() for type_ in get_args(RecordType)}
_LINK: Final = len(Chain(10**15, GENESIS).link(b""))  # of the longest `prev` and `seq`


def check_tail(record: Scrubbed, type_: RecordType) -> None:
    """Refuse what would break the file, whoever made it.

    Args:
        record: What is to become a line.
        type_: What it has to be.

    Raises:
        CassetteError: Of another type, or not exactly one line.
        LimitError: A line of more than 256 MiB (spec C5).
    """
    data = record.data
    if not data.startswith(_TYPES[type_]):
        raise CassetteError(f"not a record of type {type_}")
    if not data.endswith(b"}\n") or data.find(b"\n") != len(data) - 1 or b"\r" in data:
        raise CassetteError(f"a record of type {type_} that is not one line")
    if len(data) + _LINK > MAX_RECORD:
        raise LimitError(f"a record of type {type_} has more than {MAX_RECORD >> 20} MiB")


@dataclass(frozen=True, slots=True)
class Pace:
    """Who signs notes, if anybody, and the clock for their cadence (seconds)."""

    signer: Signer | None = None
    monotonic: Callable[[], float] = time.monotonic


class Head:
    """A locked cassette and where it ends. Everything up to `records` is durable."""

    __slots__ = ("_chain", "_frontier", "_noted", "_noted_at", "_notes", "_pace", "file")

    def __init__(self, file: LockedFile, standing: Standing, pace: Pace) -> None:
        self.file = file
        self._chain = standing.chain
        self._frontier = standing.frontier
        self._pace = pace
        self._notes = NoteFile(file.path, standing.origin)
        self._noted = standing.chain.records  # what stood here before is for its own writer's notes
        self._noted_at = pace.monotonic()

    @property
    def records(self) -> int:
        """How many records are durable."""
        return self._chain.records

    @property
    def torn_note(self) -> int:
        """Bytes of a torn last note that were moved aside to `<cassette>.ckpt.torn`."""
        return self._notes.torn

    def commit(self, tails: Sequence[bytes]) -> int:
        """Link records and make them durable: one write, one sync, whatever their number.

        Args:
            tails: Each from `"type"` to its LF; at least one.

        Returns:
            The `seq` of the first.

        Raises:
            CassetteError: None of them was recorded.
        """
        chain, lines, leaves = self._chain, [], []
        for tail in tails:
            line = chain.link(tail)
            digest = leaf(line)
            chain = Chain(chain.records + 1, digest.hex())
            lines.append(line)
            leaves.append(digest)
        self.file.extend(lines[0] if len(lines) == 1 else b"".join(lines))
        first, self._chain = self._chain.records, chain
        for digest in leaves:
            self._frontier.append(digest)
        return first

    def note(self) -> None:
        """Sign what no note covers yet, if there is a signer.

        Raises:
            CassetteError: It could not be signed or written; it is not tried again for these records.
        """
        signer = self._pace.signer
        if signer is None or self._noted == self.records:
            return
        self._noted, self._noted_at = self.records, self._pace.monotonic()
        self._notes.add(signer, self.records, self._frontier.root())

    def note_if_due(self) -> None:
        """As `note`, but at most one a second, and none when the checkpoint file is half full.

        Raises:
            CassetteError: As `note`.
        """
        if self._pace.signer is None or not self._notes.roomy:
            return
        if self._pace.monotonic() - self._noted_at >= NOTE_EVERY:
            self.note()

    def mend(self, standing: Standing) -> None:
        """Move what is torn aside: the cassette's tail to `.torn`, the last note to `.ckpt.torn`.

        Raises:
            CassetteError: It could not be moved.
        """
        if standing.torn:
            set_aside(beside(self.file.path, TORN), standing.torn)
            try:
                self.file.cut(standing.size)
            except OSError as error:
                name = self.file.path.name
                raise CassetteError(f"{name}: the torn tail could not be cut off: {because(error)}") from None
        self._notes.mend()

    def sync_folder(self) -> None:
        """Make the new file's name durable.

        Raises:
            CassetteError: It may not be.
        """
        path = self.file.path
        try:
            sync_folder(path)
        except OSError as error:
            raise CassetteError(f"{path.name}: its folder could not be synced: {because(error)}") from None
