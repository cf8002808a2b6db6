"""Cases in which records were moved, added or removed, or line endings converted."""

from __future__ import annotations

from typing import Final

from vector_case import Case, files, kept, whole
from vector_evidence import checkpoints, manifest, note
from vector_record import Cassette, ending, leaf, llm, record, renumber
from vector_stories import ANSWERS, other, plain, with_record

BOTH_ROOTS: Final = ("checkpoint.root", "manifest.root")


def moved() -> list[Case]:
    """Records in another order, twice, or gone."""
    run = plain()
    r = run.records
    swapped = (*r[:3], r[4], r[3], r[5])
    doubled = (*r[:4], *r[3:])
    foreign = (*r[:3], record(leaf(r[2]).hex(), 3, ANSWERS[2]), *r[3:])
    dropped = (*r[:3], *r[4:])
    headless = r[1:]
    crlf = b"".join(swapped).replace(b"\n", b"\r\n")
    drop_codes = ("record.seq", "chain.prev", "checkpoint.records", "manifest.records", "checkpoint.root")
    return [
        Case(
            "swap/interactions",
            "records 3 and 4 exchanged",
            kept(b"".join(swapped), run),
            ("record.seq", "chain.prev", *BOTH_ROOTS),
            3,
            "swap",
        ),
        Case(
            "swap/renumbered",
            "exchanged, renumbered and linked anew: only the roots tell",
            kept(b"".join(renumber(swapped)), run),
            BOTH_ROOTS,
            2,
        ),
        Case(
            "swap/two-files",
            "notes of two numbers exchanged are no fault",
            files(run.file, checkpoints(run, (4, 2, 6)), manifest(run)),
        ),
        Case(
            "swap/and-crlf",
            "exchanged, and line endings converted",
            kept(crlf, run),
            ("record.crlf", "record.seq", "record.spelling"),
            0,
        ),
        Case(
            "insert/twice",
            "record 3 stands twice",
            kept(b"".join(doubled), run),
            ("record.seq", "chain.prev", "manifest.append", *BOTH_ROOTS),
            4,
            "insert",
        ),
        Case(
            "insert/foreign",
            "a record of the forger's, well linked to the one before it",
            kept(b"".join(foreign), run),
            ("record.seq", "chain.prev", "manifest.append", *BOTH_ROOTS),
            4,
            "insert",
        ),
        Case(
            "insert/renumbered",
            "inserted, renumbered and linked anew",
            kept(b"".join(renumber(foreign)), run),
            ("manifest.append", *BOTH_ROOTS),
            6,
        ),
        Case(
            "insert/concatenated",
            "another run's file after this one's end: numbers, links, the length",
            kept(run.file + other().file, run),
            ("record.seq", "chain.prev", "record.after-end", "manifest.append"),
            6,
            "insert",
        ),
        Case("drop/interaction", "record 3 is gone", kept(b"".join(dropped), run), drop_codes, 3, "drop"),
        Case(
            "drop/renumbered",
            "gone, renumbered and linked anew",
            kept(b"".join(renumber(dropped)), run),
            drop_codes[2:],
            5,
        ),
        Case(
            "drop/first",
            "record 0 is gone: there is no origin",
            kept(b"".join(headless), run),
            ("record.seq", "chain.prev"),
            0,
            "drop",
        ),
        Case(
            "drop/no-evidence",
            "record 3 is gone, and the evidence too",
            files(b"".join(dropped)),
            ("record.seq", "chain.prev", "trust.no-evidence"),
            3,
            "drop",
        ),
    ]


def added() -> list[Case]:
    """More than was signed."""
    run = plain()
    late = record(leaf(run.records[5]).hex(), 6, llm("And now?", "Later.", 55))
    grown = Cassette((*run.records, late))
    again = Cassette((*run.records, record(leaf(run.records[5]).hex(), 6, ending(58))))
    shorter = Cassette(run.records[:4])
    return [
        Case(
            "append/after-end",
            "a well-linked record after the end",
            kept(grown.file, run),
            ("record.after-end", "manifest.append"),
            6,
        ),
        Case(
            "append/signed",
            "the author appended after the end and signed that: still a fault",
            files(grown.file, checkpoints(grown, (2, 7)), manifest(grown)),
            ("manifest.unsealed", "record.after-end"),
            None,
        ),
        Case(
            "append/second-end",
            "a second end",
            kept(again.file, run),
            ("record.after-end", "manifest.append"),
            6,
        ),
        Case(
            "append/torn-tail",
            "bytes after the end that are no record",
            kept(run.file + b'{"prev":"', run),
            ("record.after-end",),
            6,
        ),
        Case(
            "append/no-record",
            "a line after the end that is JSON and no record",
            kept(run.file + b"{}\n", run),
            ("record.start", "record.after-end", "manifest.append"),
            6,
        ),
        Case(
            "append/under-manifest",
            "the manifest speaks of four records of an unsealed run; more came",
            files(run.file, None, manifest(shorter)),
            ("manifest.append",),
            4,
        ),
        Case(
            "append/mirror-after-note",
            "records after the last note, before the end",
            files(run.file, checkpoints(run, (2,)), manifest(run)),
        ),
    ]


def converted() -> list[Case]:
    """CR LF, as some tools write it."""
    run = plain()
    crlf = run.file.replace(b"\n", b"\r\n")
    one = b"".join((*run.records[:3], run.records[3][:-1] + b"\r\n", *run.records[4:]))
    notes, signed = checkpoints(run), manifest(run)
    return [
        Case(
            "crlf/cassette",
            "all line endings converted",
            kept(crlf, run),
            ("record.crlf", "record.spelling"),
            0,
        ),
        Case(
            "crlf/one-record",
            "one line ending converted",
            kept(one, run),
            ("record.crlf", "record.spelling", *BOTH_ROOTS),
            3,
        ),
        Case(
            "crlf/checkpoints",
            "the notes converted",
            files(run.file, notes.replace(b"\n", b"\r\n"), signed),
            ("checkpoint.crlf",),
        ),
        Case(
            "crlf/manifest",
            "the manifest converted",
            files(run.file, notes, signed.replace(b"\n", b"\r\n")),
            ("manifest.crlf",),
        ),
        Case(
            "crlf/all",
            "all three converted",
            files(crlf, notes.replace(b"\n", b"\r\n"), signed.replace(b"\n", b"\r\n")),
            ("record.crlf", "checkpoint.crlf", "manifest.crlf", "record.spelling"),
            0,
        ),
        Case(
            "crlf/seen",
            "the kept note converted",
            kept(run.file, run) | {"kept.note": note(run, 4).replace(b"\n", b"\r\n")},
            ("checkpoint.crlf",),
            options={"seen": ["kept.note"]},
        ),
        Case(
            "crlf/mirror-inside",
            "CR LF inside a string is text",
            whole(with_record(3, llm("a\r\nb", "c\r\n", 9))),
        ),
    ]
