"""Cases in which all links hold and roots do not: rechained, spliced, forked."""

from __future__ import annotations

from typing import Final

from vector_case import Case, files, kept, whole
from vector_evidence import checkpoints, entry, enveloped, manifest, note, statement, subject
from vector_keys import BOB, MALLORY
from vector_record import Cassette
from vector_stories import changed, exchanged, other, plain, rewritten, rich
from vector_text import spelled

BOTH_ROOTS: Final = ("checkpoint.root", "manifest.root")


def rechained() -> list[Case]:
    """The forger recomputed every link; or another run lies beside the evidence."""
    run = plain()
    forged = {
        n: rewritten(n, old, new)
        for n, old, new in (
            (1, b'"3.13.1"', b'"3.11.9"'),
            (2, b"Carbon", b"Hydrogen"),
            (3, b"Seven", b"Eleven"),
            (4, b"morning", b"evening"),
        )
    }
    last = Cassette(exchanged(run.records, 5, b"09:00:50", b"09:10:50"))
    new_author = files(
        forged[3].file, checkpoints(forged[3], (2, 4, 6), MALLORY), manifest(forged[3], (MALLORY,))
    )
    mine, theirs = run, other()
    swapped = enveloped(
        spelled(
            statement([entry(theirs, "other.jsonl", code=None)], [subject("other.jsonl", theirs.file)])
        ).encode()
    )
    beside = files(mine.file, checkpoints(theirs, (2, 4, 6)), swapped, **{"other.jsonl": theirs.file})
    return [
        Case(
            "rechain/answer",
            "an answer edited, every link recomputed: the change lies between two notes",
            kept(forged[3].file, run),
            BOTH_ROOTS,
            2,
        ),
        Case(
            "rechain/late-answer",
            "the change lies after the note at 4",
            kept(forged[4].file, run),
            BOTH_ROOTS,
            4,
        ),
        Case(
            "rechain/run", "the change lies before the first note", kept(forged[1].file, run), BOTH_ROOTS, 0
        ),
        Case(
            "rechain/last-record",
            "the end changed: no link comes after it",
            kept(last.file, run),
            BOTH_ROOTS,
            4,
        ),
        Case(
            "rechain/manifest-only",
            "only a manifest tells",
            files(forged[2].file, None, manifest(run)),
            ("manifest.root",),
            0,
        ),
        Case(
            "rechain/notes-only",
            "the manifest removed as well",
            files(forged[2].file, checkpoints(run)),
            ("checkpoint.root", "trust.no-manifest"),
            2,
        ),
        Case(
            "rechain/and-strip",
            "all evidence removed: nothing shows but that it is gone",
            files(forged[2].file),
            ("trust.no-evidence",),
        ),
        Case(
            "rechain/stranger",
            "re-signed by another key under the author's prefix",
            new_author,
            ("trust.stranger",),
        ),
        Case(
            "rechain/seen",
            "the author re-recorded and signed anew; a note kept from before disagrees",
            whole(forged[3]) | {"kept.note": note(run, 4)},
            ("checkpoint.root",),
            2,
            options={"seen": ["kept.note"]},
        ),
        Case(
            "rechain/stranger-note",
            "a key that nobody named signed another root: it binds nevertheless",
            files(run.file, checkpoints(run) + note(forged[3], 4, MALLORY), manifest(run)),
            ("checkpoint.root",),
            2,
        ),
        Case(
            "splice/evidence",
            "evidence of another run by the same author",
            beside,
            ("checkpoint.origin", "manifest.origin"),
        ),
        Case(
            "splice/notes",
            "notes of another run, the right manifest",
            files(run.file, checkpoints(theirs), manifest(run)),
            ("checkpoint.origin",),
        ),
        Case(
            "splice/longer",
            "a note of another, longer run: its number says nothing about this one",
            files(run.file, checkpoints(rich(), (10,)), manifest(run)),
            ("checkpoint.origin",),
        ),
        Case(
            "splice/manifest",
            "the right notes, another run's manifest",
            {**beside, "cassette.jsonl.ckpt": checkpoints(run)},
            ("manifest.origin",),
        ),
        Case(
            "splice/seen",
            "the kept note is of another run",
            kept(run.file, run) | {"kept.note": note(theirs, 4)},
            ("checkpoint.origin",),
            options={"seen": ["kept.note"]},
        ),
        Case(
            "splice/and-edit",
            "edited, with another run's evidence",
            {**beside, "cassette.jsonl": changed(3, b"Seven", b"Eight")},
            ("chain.prev", "checkpoint.origin", "manifest.origin"),
            4,
        ),
    ]


def forks() -> list[Case]:
    """One key, one origin, one number, two roots."""
    run, again = plain(), rewritten(3, b"Seven", b"Eleven")
    both = checkpoints(run) + note(again, 6)
    return [
        Case(
            "fork/two-notes",
            "the author signed two histories of one length",
            files(run.file, both, manifest(run)),
            ("evidence.fork", "checkpoint.root"),
        ),
        Case(
            "fork/note-and-manifest",
            "the note says one root, the manifest another",
            files(run.file, checkpoints(run, (2,)) + note(again, 6), manifest(run)),
            ("evidence.fork", "checkpoint.root"),
        ),
        Case(
            "fork/manifest-and-note",
            "the cassette is the note's, the manifest is the other history's",
            files(run.file, checkpoints(run), manifest(again)),
            ("evidence.fork", "manifest.root"),
        ),
        Case(
            "fork/seen",
            "a note kept from an earlier day is the other history's",
            kept(run.file, run) | {"kept.note": note(again, 6)},
            ("evidence.fork", "checkpoint.root"),
            options={"seen": ["kept.note"]},
        ),
        Case(
            "fork/two-keys",
            "two named keys, one history each",
            files(run.file, checkpoints(run) + note(again, 6, BOB), manifest(run)),
            ("evidence.fork", "checkpoint.root"),
            keys=("alice.vkey", "bob.vkey"),
        ),
        Case(
            "fork/neither",
            "two histories, and a third one in the cassette",
            files(rewritten(4, b"Good", b"Bad").file, checkpoints(run, (2, 6)) + note(again, 6), None),
            ("evidence.fork", "checkpoint.root", "trust.no-manifest"),
        ),
        Case(
            "fork/stranger",
            "the second history is by a key that nobody named: no fork of a named key, yet it binds",
            files(run.file, checkpoints(run) + note(again, 6, MALLORY), manifest(run)),
            ("checkpoint.root",),
            4,
        ),
        Case(
            "fork/mirror-same-root",
            "two notes of one number and one root",
            files(run.file, checkpoints(run) + note(run, 6), manifest(run)),
        ),
    ]
