"""Who signed what: every signature is checked here, once (spec N6, N7, M5).

Pure. What a signed statement is worth beside the cassette is decided in `checks`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from provtape.format.checkpoint import Checkpoint
from provtape.format.envelope import Envelope
from provtape.format.keys import PublicKey


@dataclass(frozen=True, slots=True)
class Signed:
    """What one named key has signed, and what only claims to be its.

    Attributes:
        notes: Notes with a line that counts for the key and verifies.
        manifest: Whether a line of the manifest is the key's and verifies.
        forged_note: A note line counts for the key and does not verify.
        renamed_note: A note line was the key's, and stands under another name or id.
        forged_manifest: A manifest line names the key and does not verify.
        renamed_manifest: A manifest line was the key's, and stands under another keyid.
    """

    notes: tuple[Checkpoint, ...]
    manifest: bool
    forged_note: bool
    renamed_note: bool
    forged_manifest: bool
    renamed_manifest: bool


def judge(key: PublicKey, notes: Sequence[Checkpoint], envelopes: Sequence[Envelope]) -> Signed:
    """Check every line against one key.

    Args:
        key: A key the caller named.
        notes: The checkpoint file's notes and the kept ones.
        envelopes: The manifest's lines.
    """
    signed, forged, renamed = [], False, False
    for note in notes:
        text = note.note.text
        claimed = [line.verifies(key, text) for line in note.note.lines if line.counts_for(key)]
        if any(claimed):
            signed.append(note)
        forged = forged or not all(claimed)
        renamed = renamed or any(
            line.is_renamed(key, text) for line in note.note.lines if not line.counts_for(key)
        )
    own = [line.verifies(key) for line in envelopes if line.keyid == key.fingerprint]
    other = any(line.verifies(key) for line in envelopes if line.keyid != key.fingerprint)
    return Signed(tuple(signed), any(own), forged, renamed, not all(own), other)
