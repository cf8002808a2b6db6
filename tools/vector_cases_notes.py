"""Cases of checkpoint files that are at fault, and of signatures that are."""

from __future__ import annotations

from vector_case import Case, files, kept
from vector_curve import L
from vector_evidence import (
    checkpoints,
    encoded,
    entry,
    envelope,
    manifest,
    note,
    note_line,
    note_text,
    signed,
    statement,
    subject,
)
from vector_keys import ALICE, BOB, MALLORY, RIG, fingerprint, key_id
from vector_stories import plain, rewritten
from vector_text import sha256, spelled


def _notes(name: str, why: str, ckpt: bytes, *codes: str, keys: tuple[str, ...] = ("alice.vkey",)) -> Case:
    """The intact cassette and manifest, with another checkpoint file."""
    return Case(name, why, files(plain().file, ckpt, manifest(plain())), codes, keys=keys)


def _manifest(
    name: str, why: str, content: bytes, *codes: str, keys: tuple[str, ...] = ("alice.vkey",)
) -> Case:
    """The intact cassette and notes, with another manifest."""
    return Case(name, why, files(plain().file, checkpoints(plain()), content), codes, keys=keys)


def _plain_payload() -> bytes:
    run = plain()
    return spelled(statement([entry(run)], [subject("cassette.jsonl", run.file)])).encode()


def notes() -> list[Case]:
    """Checkpoint files that are no notes, and lines whose name or id was changed."""
    run = plain()
    good, one, text = checkpoints(run), note(run, 6), note_text(run.origin, 6, run.root(6))
    mark = b"lab.example/alice "
    renamed = one.replace(b"\xe2\x80\x94 " + mark, b"\xe2\x80\x94 lab.example/carol ")
    elsewhere = note_line("lab.example/carol", key_id("lab.example/carol", ALICE.public), ALICE.sign(text))
    swapped_id = text + b"\n" + note_line(ALICE.name, b"\x01\x02\x03\x04", ALICE.sign(text))
    line = one.rpartition(b"\n\n")[2]
    return [
        _notes(
            "edit/checkpoint-junk",
            "text that nobody signed between two notes",
            good.replace(b"=\n" + run.origin.encode(), b"=\nchecked twice\n" + run.origin.encode(), 1),
            "checkpoint.form",
        ),
        _notes("edit/checkpoint-empty", "a checkpoint file without a note", b"", "checkpoint.form"),
        _notes(
            "edit/checkpoint-tail",
            "the beginning of a note after the last one, in a sealed cassette",
            good + run.origin[:20].encode(),
            "checkpoint.form",
        ),
        _notes("edit/checkpoint-twice", "one line stands twice in a note", good + line, "checkpoint.form"),
        _notes(
            "edit/checkpoint-base64",
            "a second spelling of the root",
            good.replace(b"AYj+Q=\n", b"AYj+R=\n"),
            "checkpoint.form",
        ),
        _notes(
            "edit/checkpoint-zero",
            "a note over no records",
            good + signed(note_text(run.origin, 0, sha256(b"")), (ALICE,)),
            "checkpoint.form",
        ),
        _notes(
            "edit/checkpoint-renamed",
            "the signer's name in a line was changed",
            good + renamed,
            "checkpoint.id",
        ),
        _notes(
            "edit/checkpoint-renamed-pem",
            "the same seen by a key without a name",
            good + renamed,
            "checkpoint.id",
            keys=("alice.pem",),
        ),
        _notes("edit/checkpoint-id", "the key id in a line was changed", good + swapped_id, "checkpoint.id"),
        _notes(
            "edit/mirror-other-name",
            "the author signs under another name with the id of that name: a line like a stranger's",
            good + text + b"\n" + elsewhere,
        ),
        _notes(
            "edit/mirror-id-unnamed",
            "a changed id in a line of a key that nobody named can not be seen",
            good + text + b"\n" + note_line(RIG.name, b"\x01\x02\x03\x04", RIG.sign(text)),
        ),
        Case(
            "edit/seen-junk",
            "the kept note is none",
            kept(run.file, run) | {"kept.note": b"4 records, I promise\n"},
            ("checkpoint.form",),
            options={"seen": ["kept.note"]},
        ),
    ]


def forgeries() -> list[Case]:
    """A named key's line that does not verify."""
    run = plain()
    text, identity = note_text(run.origin, 6, run.root(6)), key_id(ALICE.name, ALICE.public)
    honest = ALICE.sign(text)
    flipped = honest[:5] + bytes([honest[5] ^ 1]) + honest[6:]
    grown = honest[:32] + (int.from_bytes(honest[32:], "little") + L).to_bytes(32, "little")
    earlier = checkpoints(run, (2, 4))

    def line(signature: bytes) -> bytes:
        return earlier + text + b"\n" + note_line(ALICE.name, identity, signature)

    payload, keyid = _plain_payload(), fingerprint(ALICE.public)
    bad = envelope(payload, keyid, MALLORY.sign(encoded(payload)))
    raw = envelope(payload, keyid, ALICE.sign(payload))
    claim = payload.replace(
        b'"claims":[]',
        b'"claims":[{"id":"a","text":"b","file":"c","pointer":"","value":9,"tolerance":0,"steps":[]}]',
    )
    old = ALICE.sign(encoded(payload))
    note_codes, line_codes = "checkpoint.signature", "manifest.signature"
    return [
        _notes("forged/note-bit", "one bit of a signature", line(flipped), note_codes),
        _notes(
            "forged/note-by-other",
            "the author's name and id, another key's signature",
            line(MALLORY.sign(text)),
            note_codes,
        ),
        _notes(
            "forged/note-grown",
            "S + L in place of S: the same equation, a second spelling",
            line(grown),
            note_codes,
        ),
        _notes("forged/note-short", "63 bytes", line(honest[:63]), note_codes),
        _notes(
            "forged/note-other-text",
            "the signature of the note at 4",
            line(ALICE.sign(note_text(run.origin, 4, run.root(4)))),
            note_codes,
        ),
        _notes(
            "forged/note-pem",
            "one bit, seen by a key without a name",
            line(flipped),
            note_codes,
            keys=("alice.pem",),
        ),
        _notes(
            "forged/mirror-unnamed",
            "one bit in the line of a key that nobody named",
            earlier + text + b"\n" + note_line(RIG.name, key_id(RIG.name, RIG.public), flipped),
        ),
        _manifest("forged/manifest-by-other", "the author's keyid, another key's signature", bad, line_codes),
        _manifest("forged/manifest-raw", "the payload signed without the DSSE encoding", raw, line_codes),
        _manifest(
            "forged/manifest-claim",
            "a claim added, the signature kept",
            envelope(claim, keyid, old),
            line_codes,
        ),
        _manifest(
            "forged/manifest-second",
            "the first line holds, the second signer's does not",
            manifest(run) + envelope(payload, fingerprint(BOB.public), MALLORY.sign(encoded(payload))),
            line_codes,
            keys=("alice.vkey", "bob.vkey"),
        ),
        _manifest(
            "forged/mirror-second-unnamed",
            "the same while the second signer is not named",
            manifest(run) + envelope(payload, fingerprint(BOB.public), MALLORY.sign(encoded(payload))),
        ),
        Case(
            "forged/both", "note and manifest", files(run.file, line(flipped), bad), (note_codes, line_codes)
        ),
        Case(
            "forged/and-rechain",
            "rechained and badly signed: content goes first",
            files(rewritten(3, b"Seven", b"Eleven").file, line(flipped), bad),
            ("checkpoint.root", "manifest.root", note_codes, line_codes),
            2,
        ),
        Case(
            "forged/no-key",
            "a forged line is nobody's while no key is named",
            files(run.file, line(flipped), bad),
            ("trust.no-key",),
            keys=(),
        ),
    ]
