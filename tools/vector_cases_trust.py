"""Cases about the caller: whose evidence it is, what was expected, and what was refused before any verdict."""

from __future__ import annotations

from vector_case import Case, Files, files, kept, whole
from vector_evidence import checkpoints, manifest
from vector_keys import ALICE, MALLORY
from vector_record import FIRST, SECOND
from vector_stories import open_run, other, plain, rewritten, rich
from vector_text import spelled


def expected() -> list[Case]:
    """What the caller said that the cassette must be."""
    run, two = plain(), rich()
    good, rich_files = kept(run.file, run), whole(two, code=SECOND)
    first, second = str(FIRST["commit"]), str(SECOND["commit"])
    none = whole(other(), code=None)
    return [
        Case(
            "expect/origin",
            "the origin in the paper is another one",
            good,
            ("expect.origin",),
            0,
            options={"expect-origin": other().origin},
        ),
        Case("expect/mirror-origin", "the origin in the paper", good, options={"expect-origin": run.origin}),
        Case(
            "expect/records",
            "the paper speaks of more records",
            good,
            ("expect.records",),
            6,
            options={"expect-records": 7},
        ),
        Case("expect/mirror-records", "the number in the paper", good, options={"expect-records": 6}),
        Case(
            "expect/commit",
            "the paper's commit is another one",
            good,
            ("expect.commit",),
            1,
            options={"expect-commit": second},
        ),
        Case("expect/mirror-commit", "the paper's commit", good, options={"expect-commit": first}),
        Case(
            "expect/commit-second-run",
            "the first run is of that commit, the second is not and has interactions",
            rich_files,
            ("expect.commit",),
            4,
            options={"expect-commit": first},
        ),
        Case(
            "expect/commit-first-run",
            "the last run is of that commit, the first is not and has interactions",
            rich_files,
            ("expect.commit",),
            1,
            options={"expect-commit": second},
        ),
        Case(
            "expect/commit-none",
            "the run names no code",
            none,
            ("expect.commit",),
            1,
            options={"expect-commit": first},
        ),
        Case(
            "expect/all-three",
            "three expectations, none met",
            good,
            ("expect.origin", "expect.commit", "expect.records"),
            0,
            options={"expect-origin": other().origin, "expect-commit": second, "expect-records": 5},
        ),
        Case(
            "expect/unverified",
            "an expectation that is not met is FAILED, also where nothing was signed",
            files(run.file),
            ("expect.records", "trust.no-evidence"),
            6,
            options={"expect-records": 5},
        ),
    ]


def trusted() -> list[Case]:
    """Whose evidence it is."""
    run = plain()
    good = kept(run.file, run)
    by_mallory = files(run.file, checkpoints(run, (2, 4, 6), MALLORY), manifest(run, (MALLORY,)))
    return [
        Case("stranger/all", "all evidence by a key that nobody named", by_mallory, ("trust.stranger",)),
        Case(
            "stranger/wrong-key-named",
            "the caller named the wrong key",
            good,
            ("trust.stranger",),
            keys=("bob.vkey",),
        ),
        Case(
            "stranger/manifest",
            "notes by the named key, the manifest by another",
            files(run.file, checkpoints(run), manifest(run, (MALLORY,))),
            ("trust.stranger",),
        ),
        Case(
            "stranger/notes-only",
            "sealed, no manifest, notes by a key that nobody named",
            files(run.file, checkpoints(run, (6,), MALLORY)),
            ("trust.stranger",),
        ),
        Case(
            "stranger/open",
            "an open run with a stranger's notes",
            files(open_run().file, checkpoints(open_run(), (2,), MALLORY)),
            ("trust.stranger", "cassette.open"),
        ),
        Case(
            "stranger/mirror-beside",
            "a stranger's line beside the named one",
            files(run.file, checkpoints(run), manifest(run, (MALLORY, ALICE))),
        ),
        Case("stranger/no-key", "no key was named", good, ("trust.no-key",), keys=()),
        Case(
            "stranger/no-key-no-manifest",
            "no key was named, and the manifest is gone",
            files(run.file, checkpoints(run)),
            ("trust.no-key", "trust.no-manifest"),
            keys=(),
        ),
        Case("strip/all", "sealed, and no evidence at all", files(run.file), ("trust.no-evidence",)),
        Case(
            "strip/no-key",
            "no evidence, no key",
            files(run.file),
            ("trust.no-key", "trust.no-evidence"),
            keys=(),
        ),
        Case(
            "strip/manifest",
            "sealed, notes by the author, no manifest",
            files(run.file, checkpoints(run)),
            ("trust.no-manifest",),
        ),
        Case(
            "strip/mirror-notes",
            "the notes removed: the manifest covers all they did",
            files(run.file, None, manifest(run)),
        ),
    ]


def refused() -> list[Case]:
    """Exit 2: no verdict was possible."""
    run = plain()
    good = kept(run.file, run)
    tutorial = spelled(
        {"prev": "genesis", "key": "0f" * 8, "output": "Seven.", "meta": {}, "ts": 1, "hash": "ab" * 32}
    )
    newer = rewritten(0, b'"provtape/1"', b'"provtape/2"')
    folder: Files = {name: content for name, content in good.items() if not name.endswith(".ckpt")}
    return [
        Case(
            "error/key-small-order",
            "a named key of small order verifies anything elsewhere",
            good,
            ("key.refused",),
            keys=("alice.vkey", "small-order.vkey"),
        ),
        Case(
            "error/key-id",
            "a vkey whose id is not its key's",
            good,
            ("key.refused",),
            keys=("alice.vkey", "wrong-id.vkey"),
        ),
        Case(
            "error/key-rsa", "a key of another kind", good, ("key.refused",), keys=("alice.vkey", "rsa.ssh")
        ),
        Case(
            "error/evidence-is-folder",
            "a folder where the notes should be",
            {**folder, "cassette.jsonl.ckpt/readme.txt": b"a folder\n"},
            ("input.unreadable",),
        ),
        Case(
            "error/seen-absent",
            "the kept note that was named is not there",
            good,
            ("input.unreadable",),
            options={"seen": ["kept.note"]},
        ),
        Case("error/format", "a format that is not this one", kept(newer.file, newer), ("input.format",), 0),
        Case(
            "error/tutorial",
            "another format, which import reads",
            files(tutorial.encode() + b"\n"),
            ("input.tutorial",),
        ),
    ]
