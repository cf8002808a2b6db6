"""Evidence brought from disk: checkpoint file, manifest, kept notes, bound files.

Decides where evidence is found and what may be opened: regular files of bounded size, subjects only below the manifest's folder
and through no link (spec N1, M1, M13). What it means is decided in `checks`.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from provtape.cassette.reader import read_small
from provtape.errors import FormatError
from provtape.format import checkpoint, envelope, manifest
from provtape.format.checkpoint import Checkpoint
from provtape.format.envelope import Envelope
from provtape.format.manifest import Manifest
from provtape.format.verdict import Finding
from provtape.verify.case import Evidence

_BLOCK: Final = 1024 * 1024
_HINTS: Final = {
    "checkpoint.form": "take the checkpoint file as published; it holds notes and nothing else",
    "checkpoint.crlf": "git or an editor converted line endings; take the file as published",
    "manifest.form": "take the manifest as published; every byte of it is fixed",
    "manifest.crlf": "git or an editor converted line endings; take the file as published",
}


def beside(cassette: Path, suffix: str) -> Path | None:
    """The evidence file of that suffix beside a cassette, if anything of that name is there."""
    path = cassette.with_name(cassette.name + suffix)
    return path if os.path.lexists(path) else None


def gather(checkpoints: Path | None, manifest_path: Path | None, kept: Sequence[Path] = ()) -> Evidence:
    """Read evidence.

    Raises:
        InputError: A file that is named can not be read.
        LimitError: A file larger than 64 MiB.
    """
    findings: list[Finding] = []
    notes, rest = _notes(checkpoints, findings) if checkpoints else (None, None)
    seen = [found for path in kept for found in _kept(path, findings)]
    envelopes, statement = _manifest(manifest_path, findings) if manifest_path else (None, None)
    return Evidence(notes, rest, tuple(seen), envelopes, statement, tuple(findings))


def _notes(path: Path, findings: list[Finding]) -> tuple[tuple[Checkpoint, ...], bytes | None]:
    try:
        notes, rest = checkpoint.parse_file(read_small(path, checkpoint.MAX_FILE))
    except FormatError as error:
        findings.append(_form(error))
        return (), None
    return tuple(notes), rest if rest or not notes else None


def _kept(path: Path, findings: list[Finding]) -> list[Checkpoint]:
    try:
        notes, rest = checkpoint.parse_file(read_small(path, checkpoint.MAX_FILE))
        if rest or not notes:
            raise FormatError(f"the kept note {path.name} is not a note and nothing else", "checkpoint.form")
    except FormatError as error:
        findings.append(_form(error))
        return []
    return notes


def _manifest(path: Path, findings: list[Finding]) -> tuple[tuple[Envelope, ...], Manifest | None]:
    try:
        envelopes = envelope.parse_file(read_small(path, envelope.MAX_FILE))
    except FormatError as error:
        findings.append(_form(error))
        return (), None
    try:
        return tuple(envelopes), manifest.parse(envelopes[0].payload)
    except FormatError as error:
        findings.append(_form(error))
        return tuple(envelopes), None


def _form(error: FormatError) -> Finding:
    return Finding(error.code, error.message, _HINTS[error.code])


def digest_below(folder: Path, name: str) -> str | None:
    """Hex SHA-256 of the regular file `name` below `folder`, no link followed on the way; None if it is not supplied.

    Args:
        folder: The manifest's folder.
        name: A subject name (spec M7); hostile even when signed.
    """
    descriptor = _descriptor(folder, name)
    if descriptor is None:
        return None
    with open(descriptor, "rb") as file:
        digest = hashlib.sha256()
        while block := file.read(_BLOCK):
            digest.update(block)
    return digest.hexdigest()


def is_below(folder: Path, name: str) -> bool:
    """Whether `name` is a regular file below `folder`, no link on the way."""
    descriptor = _descriptor(folder, name)
    if descriptor is not None:
        os.close(descriptor)
    return descriptor is not None


def _descriptor(folder: Path, name: str) -> int | None:
    try:
        descriptor = _open_below(folder, name)
    except OSError:  # not there, a link, a socket, or not for us to read: it was not supplied
        return None
    if stat.S_ISREG(os.fstat(descriptor).st_mode):
        return descriptor
    os.close(descriptor)
    return None


def _open_below(folder: Path, name: str) -> int:
    """Open segment by segment, so that a link on the way can not lead out of the folder."""
    *folders, last = name.split("/")
    if os.open not in os.supports_dir_fd:
        return _open_without_links(folder, (*folders, last))
    here = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        for segment in folders:
            below = os.open(segment, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=here)
            os.close(here)
            here = below
        return os.open(last, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=here)
    finally:
        os.close(here)


def _open_without_links(folder: Path, segments: tuple[str, ...]) -> int:
    path = folder
    for segment in segments:
        path = path / segment
        if path.is_symlink():
            raise FileNotFoundError
    return os.open(path, os.O_RDONLY | getattr(os, "O_BINARY", 0))
