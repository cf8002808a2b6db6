"""Cases in which a cassette or a note ends too early, or interactions are withheld."""

from __future__ import annotations

from typing import Final

from vector_case import Case, files, kept
from vector_evidence import checkpoints, manifest, note
from vector_stories import changed, held, open_run, plain

BOTH_ROOTS: Final = ("checkpoint.root", "manifest.root")


def cut() -> list[Case]:
    """Less than was signed."""
    run, live = plain(), open_run()
    short = b"".join(run.records[:4])
    tail = live.file + b'{"prev":"ede6998aa645cf06'
    sealed = run.file
    return [
        Case(
            "torn/open",
            "an honest crash: the last line of an open run is cut, and no evidence reaches past it",
            files(tail, checkpoints(live, (2, 4))),
            ("cassette.torn", "cassette.open"),
            5,
        ),
        Case(
            "torn/open-no-evidence",
            "the same before the first note",
            files(tail),
            ("cassette.torn", "trust.no-evidence", "cassette.open"),
            5,
        ),
        Case(
            "torn/sealed",
            "the end is cut in the middle",
            kept(sealed[:-20], run),
            ("cassette.cut", "cassette.open"),
            5,
        ),
        Case(
            "torn/last-byte",
            "the very last LF is gone",
            kept(sealed[:-1], run),
            ("cassette.cut", "cassette.open"),
            5,
        ),
        Case(
            "torn/open-covered",
            "an open run cut below its last note",
            files(short + run.records[4][:99], checkpoints(live, (2, 5))),
            ("cassette.cut", "cassette.open"),
            4,
        ),
        Case(
            "torn/manifest-only",
            "cut, and only a manifest says so",
            files(sealed[:-20], None, manifest(run)),
            ("cassette.cut", "cassette.open"),
            5,
        ),
        Case(
            "torn/and-edit",
            "edited and cut",
            kept(changed(3, b"Seven", b"Eight")[:-20], run),
            ("chain.prev", "cassette.cut", "checkpoint.root", "cassette.open"),
            4,
        ),
        Case(
            "truncate/two-records",
            "the last two records are gone",
            kept(short, run),
            ("checkpoint.records", "manifest.records", "cassette.open"),
            4,
        ),
        Case(
            "truncate/manifest-only",
            "gone, and only the manifest says so",
            files(short, None, manifest(run)),
            ("manifest.records", "cassette.open"),
            4,
        ),
        Case(
            "truncate/open",
            "an open run below its last note",
            files(short, checkpoints(live, (2, 5))),
            ("checkpoint.records", "cassette.open"),
            4,
        ),
        Case(
            "truncate/seen",
            "cassette and notes cut alike; a note kept from an earlier day remembers more",
            files(short, checkpoints(live, (2, 4)), **{"kept.note": note(live, 5)}),
            ("checkpoint.records", "cassette.open"),
            4,
            options={"seen": ["kept.note"]},
        ),
        Case(
            "truncate/mirror-to-note",
            "an open run cut exactly to its last note shows nothing",
            files(short, checkpoints(live, (2, 4))),
            ("cassette.open",),
            4,
        ),
        Case(
            "truncate/empty",
            "nothing is left",
            files(b""),
            ("cassette.empty", "trust.no-evidence", "cassette.open"),
            0,
        ),
        Case(
            "truncate/no-line",
            "half of record 0 is left",
            files(run.records[0][:200]),
            ("cassette.empty", "cassette.torn", "trust.no-evidence", "cassette.open"),
            0,
        ),
    ]


def torn_notes() -> list[Case]:
    """A note that was being written when the machine stopped (rule N9)."""
    live, run = open_run(), plain()
    before, last = checkpoints(live, (2, 4)), note(live, 5)
    after_line = checkpoints(live, (2,)) + "\u2014 rig.exam".encode()

    def case(name: str, why: str, ckpt: bytes, *codes: str) -> Case:
        record = 5 if codes[0] == "cassette.open" else None
        return Case(f"torn/{name}", why, files(live.file, ckpt), codes, record)

    return [
        case("note-origin", "cut in the origin line", before + last[:30], "checkpoint.torn", "cassette.open"),
        case(
            "note-number",
            "cut after the origin line",
            before + last[: last.index(b"\n") + 1],
            "checkpoint.torn",
            "cassette.open",
        ),
        case(
            "note-root",
            "cut in the root",
            before + last[: last.index(b"\n5\n") + 20],
            "checkpoint.torn",
            "cassette.open",
        ),
        case(
            "note-signature", "cut in the signature", before + last[:-10], "checkpoint.torn", "cassette.open"
        ),
        case(
            "note-dash",
            "cut in the dash of a second signature line",
            checkpoints(live, (2,)) + b"\xe2\x80",
            "checkpoint.torn",
            "cassette.open",
        ),
        case(
            "note-second-line",
            "cut in a second signature line",
            after_line,
            "checkpoint.torn",
            "cassette.open",
        ),
        case(
            "note-stranger-origin",
            "what was cut began with another origin",
            before + b"lab.example/bob/12",
            "checkpoint.form",
            "cassette.open",
        ),
        case(
            "note-first",
            "cut in the very first note: there is none yet",
            last[:40],
            "checkpoint.torn",
            "cassette.open",
        ),
        case("mirror-note-whole", "the same note, whole", before + last, "cassette.open"),
        Case(
            "torn/note-sealed",
            "a cut note beside a sealed cassette is no crash",
            files(run.file, checkpoints(run)[:-10], manifest(run)),
            ("checkpoint.form",),
        ),
        Case(
            "torn/both",
            "cassette and note cut in the same moment",
            files(live.file + b'{"prev":"ede6', before + last[:30]),
            ("cassette.torn", "checkpoint.torn", "cassette.open"),
            5,
        ),
    ]


def withheld() -> list[Case]:
    """Copies in which interactions are lines of one digest."""
    run, allow = plain(), {"allow-withheld": True}
    upper = held({3: plain().leaves[3].hex().upper()})
    return [
        Case(
            "withheld/one", "one interaction withheld", kept(held({3: None}), run), ("cassette.withheld",), 3
        ),
        Case(
            "withheld/allowed",
            "one withheld, and allowed by the caller",
            kept(held({3: None}), run),
            options=allow,
        ),
        Case(
            "withheld/all-allowed",
            "all interactions withheld",
            kept(held({2: None, 3: None, 4: None}), run),
            options=allow,
        ),
        Case(
            "withheld/run",
            "record 1 can not be withheld: its leaf is that of the line",
            kept(held({1: None}), run),
            ("record.start", "chain.prev", *BOTH_ROOTS),
            1,
        ),
        Case(
            "withheld/end",
            "a reader can not see what was withheld; that there is no end shows",
            kept(held({5: None}), run),
            ("manifest.unsealed", "cassette.open"),
            None,
            options=allow,
        ),
        Case(
            "withheld/upper-case",
            "a second spelling of a withheld line is no such line",
            kept(upper, run),
            ("record.start", "chain.prev", *BOTH_ROOTS),
            3,
        ),
        Case(
            "withheld/edited",
            "an interaction edited beside a withheld one",
            kept(held({2: None}).replace(b"Seven", b"Eight"), run),
            ("chain.prev", *BOTH_ROOTS),
            4,
            options=allow,
        ),
        Case(
            "withheld/no-evidence",
            "without a trusted root a withheld line proves nothing",
            files(held({3: None})),
            ("trust.no-evidence",),
            options=allow,
        ),
    ]
