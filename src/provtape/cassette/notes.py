"""The checkpoint file beside a cassette: adding notes to it, and mending a torn one (spec N1, N2, N9; DESIGN 2.2).

Decides how a note reaches the disk. When a note is due is the writer's matter; whether notes are to be trusted is `verify`'s.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from provtape.cassette.disk import because, beside, open_to_append, set_aside, sync, sync_folder, write_whole
from provtape.cassette.lock import lock, unlock
from provtape.cassette.reader import read_small
from provtape.errors import CassetteError, FormatError, KeyRefused
from provtape.format import note
from provtape.format.checkpoint import MAX_FILE, Checkpoint, is_torn, parse_file, text
from provtape.format.keys import PublicKey, is_name, verify_signature
from provtape.format.suffix import CHECKPOINTS, TORN


@dataclass(frozen=True, slots=True)
class Signer:
    """Who signs checkpoints: a name, a public key, and a way to sign that shows nothing of the private one.

    Attributes:
        name: The key's name in note lines (spec N3).
        public: The public key that belongs to `sign`.
        sign: Ed25519 over the given bytes: R ‖ S, 64 bytes. Called on the writer's thread.
    """

    name: str
    public: PublicKey
    sign: Callable[[bytes], bytes] = field(repr=False)

    def __post_init__(self) -> None:
        if not is_name(self.name):
            raise KeyRefused(
                "not a key name", "use a domain and words, in lower case, e.g. lab.example/alice"
            )

    def note(self, origin: str, records: int, root: bytes) -> bytes:
        """One note over the first `records` records, signed and checked (spec N1, N4, N5).

        Raises:
            CassetteError: Signing failed, or its signature does not verify under `public`.
        """
        signed = text(origin, records, root)
        try:
            signature = self.sign(signed)
        except Exception as error:  # whatever a key store raises; its words may say too much
            raise CassetteError(
                f"the checkpoint at {records} records could not be signed ({type(error).__name__})"
            ) from None
        if not verify_signature(self.public.raw, signature, signed):
            raise CassetteError("the signer's signature does not verify under its own public key")
        return note.write(signed, self.name, self.public, signature)


class NoteFile:
    """`<cassette>.ckpt`: notes and nothing else, each added by one write and one sync.

    Attributes:
        path: The checkpoint file; made with its first note.
        torn: Bytes of a torn last note that were moved aside to `<path>.torn`.
    """

    __slots__ = ("_origin", "_whole", "path", "torn")

    def __init__(self, cassette: Path, origin: str) -> None:
        self.path = beside(cassette, CHECKPOINTS)
        self._origin = origin
        self.torn = 0
        self._whole = -1  # bytes known to be whole notes; -1: not looked at yet

    @property
    def roomy(self) -> bool:
        """Whether there is room for notes along the way; the second half of what a reader takes is for later ones."""
        return self._whole < MAX_FILE // 2

    def mend(self) -> None:
        """Move a torn last note aside, to `<cassette>.ckpt.torn` (spec N9). No file: nothing to do.

        Raises:
            CassetteError: The file breaks a rule of N1, or can not be read or written.
        """
        if os.path.lexists(self.path):
            self._change(lambda descriptor: self._drop_if_empty())

    def add(self, signer: Signer, records: int, root: bytes) -> None:
        """Add one note; durable when this returns.

        Args:
            signer: Who signs.
            records: How many records of the cassette it covers; they are durable already.
            root: root(records), 32 bytes.

        Raises:
            CassetteError: It could not be signed or written; the file was cut back to whole notes.
            CassetteLocked: Somebody else is adding a note.
        """
        line = signer.note(self._origin, records, root)
        self._change(lambda descriptor: self._append(descriptor, line))

    def _change(self, change: Callable[[int], None]) -> None:
        try:
            descriptor = open_to_append(self.path, os.O_CREAT)
        except OSError as error:
            raise CassetteError(f"{self.path.name}: could not be opened: {because(error)}") from None
        try:
            lock(descriptor, self.path.name)
            self._look(descriptor)
            change(descriptor)
        except OSError as error:
            raise CassetteError(f"{self.path.name}: could not be written: {because(error)}") from None
        finally:
            unlock(descriptor)
            os.close(descriptor)

    def _look(self, descriptor: int) -> None:
        size = os.fstat(descriptor).st_size
        if size == self._whole or size == 0:
            self._whole = size
            return
        _, rest = stated(self.path, self._origin)
        self._whole = size - len(rest)
        if rest:
            set_aside(beside(self.path, TORN), rest)
            self.torn += len(rest)
            os.ftruncate(descriptor, self._whole)
            sync(descriptor)

    def _append(self, descriptor: int, line: bytes) -> None:
        if self._whole + len(line) > MAX_FILE:
            raise CassetteError(f"{self.path.name}: full: a reader takes {MAX_FILE >> 20} MiB")
        try:
            write_whole(descriptor, line)
            sync(descriptor)
            if self._whole == 0:
                sync_folder(self.path)
        except OSError:
            self._undo(descriptor)
            raise
        self._whole += len(line)

    def _undo(self, descriptor: int) -> None:
        with suppress(OSError):
            os.ftruncate(descriptor, self._whole)
            self._drop_if_empty()

    def _drop_if_empty(self) -> None:
        if self._whole == 0:
            self.path.unlink()  # a file without a note breaks N1


def stated(path: Path, origin: str) -> tuple[list[Checkpoint], bytes]:
    """What a checkpoint file says, and the torn note at its end (empty: there is none). An empty file says nothing.

    Args:
        path: The checkpoint file itself.
        origin: The cassette's origin, for N9.

    Raises:
        CassetteError: Something in it is neither a note nor the beginning of one (spec N1, N9).
        InputError: It can not be read.
        LimitError: Larger than 64 MiB.
    """
    data = read_small(path, MAX_FILE)
    if not data:  # a crash right after it was made
        return [], b""
    try:
        checkpoints, rest = parse_file(data)
    except FormatError as error:
        raise CassetteError(f"{path.name}: {error.message}", "run provtape verify on the cassette") from None
    if rest and not is_torn(rest, origin, first=not checkpoints):
        raise CassetteError(
            f"{path.name}: what follows the last note is no note (N1)", "run provtape verify on the cassette"
        )
    return checkpoints, rest


def add(cassette: Path, signer: Signer, origin: str, records: int, root: bytes) -> None:
    """Add one note to a cassette's checkpoint file, e.g. by a second signer; a torn last note is moved aside first.

    Args:
        cassette: The cassette; it is not opened.
        signer: Who signs.
        origin: Its origin (spec N2).
        records: How many records the note covers.
        root: root(records), 32 bytes, computed by the caller from what it verified.

    Raises:
        CassetteError: It could not be signed or written.
    """
    NoteFile(cassette, origin).add(signer, records, root)
