"""Cases in which nobody cheated: verified ones, open ones, bound files, and several cassettes under one manifest."""

from __future__ import annotations

from typing import Final

from vector_case import Case, Files, files, kept, whole
from vector_evidence import checkpoints, manifest, note
from vector_keys import ALICE, BOB, RIG
from vector_record import FIRST, SECOND, Cassette
from vector_stories import continued, no_calls, odd_numbers, open_run, plain, rich, unicode
from vector_text import Json

SCORES: Final = b'{"correct": 2, "of": 3}\n'


QUESTIONS: Final = b"Which gas do plants take in?\n"


CLAIMS: Final[dict[str, Json]] = {
    "inputs": [{"name": "inputs/questions.txt", "from": "https://data.example/questions"}],
    "steps": [
        {
            "id": "bench",
            "argv": ["python", "bench.py"],
            "cwd": ".",
            "cassettes": ["cassette.jsonl"],
            "writes": ["scores.json"],
        }
    ],
    "claims": [
        {
            "id": "table-1",
            "text": "two of three are right",
            "file": "scores.json",
            "pointer": "/correct",
            "value": 2,
            "tolerance": None,
            "steps": ["bench"],
        }
    ],
}


def bound(run: Cassette, present: dict[str, bytes], code: Json = FIRST) -> Files:
    """`run` under a manifest that binds scores and questions, with `present` beside it."""
    promised = {"scores.json": SCORES, "inputs/questions.txt": QUESTIONS}
    signed = manifest(run, bound=promised, predicate=CLAIMS, code=code)
    return files(run.file, checkpoints(run, (2, len(run.records))), signed, **present)


def intact() -> list[Case]:
    """VERIFIED, each for its own reason."""
    run = plain()
    good = kept(run.file, run)
    three = {"scores.json": SCORES, "inputs/questions.txt": QUESTIONS}
    stranger = checkpoints(run, (2, 4), RIG)
    cosigned = note(run, 6, ALICE, RIG)
    return [
        Case("intact/plain", "sealed; notes at 2, 4 and 6 and a manifest by the named key", good),
        Case(
            "intact/rich",
            "two runs of two commits, HTTP streamed, broken and unanswered, tools, a bound result and an input",
            bound(rich(), three, SECOND),
        ),
        Case(
            "intact/pem",
            "the key named as PEM has no name: its notes count by the key id",
            good,
            keys=("alice.pem",),
        ),
        Case("intact/ssh", "the key named as an OpenSSH line", good, keys=("alice.ssh",)),
        Case(
            "intact/one-key-twice",
            "the same key named in two spellings",
            good,
            keys=("alice.vkey", "alice.pem"),
        ),
        Case(
            "intact/manifest-only",
            "no checkpoint file: the manifest alone carries the verdict",
            files(run.file, None, manifest(run)),
        ),
        Case(
            "intact/two-signers",
            "a second signer's line beside the author's; one of the two is named",
            files(run.file, checkpoints(run), manifest(run, (ALICE, BOB))),
        ),
        Case(
            "intact/two-signers-named",
            "two lines, both signers named",
            files(run.file, checkpoints(run), manifest(run, (ALICE, BOB))),
            keys=("alice.vkey", "bob.vkey"),
        ),
        Case(
            "intact/cosigned-note",
            "a recorder's key signed the last note beside the author; nobody named it and it changes nothing",
            files(run.file, checkpoints(run, (2, 4)) + cosigned, manifest(run)),
        ),
        Case(
            "intact/recorder-notes",
            "all notes by a recorder's key that nobody named, the manifest by the author",
            files(run.file, stranger, manifest(run)),
        ),
        Case(
            "intact/unicode",
            "U+2028, U+0085, U+2029, DEL and CR LF inside strings end no record",
            whole(unicode(), code=None),
        ),
        Case(
            "intact/odd-numbers",
            "1e400, -0, five thousand digits and containers 64 deep are any JSON",
            whole(odd_numbers(), code=None),
        ),
        Case("intact/no-calls", "a run that asked nothing", whole(no_calls(), code=None)),
        Case(
            "intact/continued",
            "record 0 names the sealed cassette it goes on from",
            whole(continued(), code=None),
        ),
        Case(
            "intact/note-twice",
            "one note stands twice in the file, word for word",
            files(run.file, checkpoints(run, (2, 6, 6)), manifest(run)),
        ),
        Case(
            "intact/notes-any-order",
            "notes need not be sorted",
            files(run.file, checkpoints(run, (6, 2)), manifest(run)),
        ),
        Case(
            "intact/seen",
            "a note kept from an earlier day: what it covers is still there",
            files(run.file, checkpoints(run, (6,)), manifest(run), **{"kept.note": note(run, 4)}),
            options={"seen": ["kept.note"]},
        ),
        Case(
            "intact/evidence-elsewhere",
            "evidence under other names, named by the caller",
            {
                "cassette.jsonl": run.file,
                "notes/all.ckpt": checkpoints(run),
                "notes/signed.jsonl": manifest(run),
            },
            options={"checkpoints": "notes/all.ckpt", "manifest": "notes/signed.jsonl"},
        ),
    ]


def unsealed() -> list[Case]:
    """Runs that are not over."""
    run = open_run()
    notes = checkpoints(run, (2, 4))
    return [
        Case(
            "open/uncovered-tail",
            "one record after the last note, no end: an uncovered tail is no tampering",
            files(run.file, notes),
            ("cassette.open",),
            5,
        ),
        Case(
            "open/no-evidence",
            "an open run before its first note",
            files(run.file),
            ("trust.no-evidence", "cassette.open"),
        ),
        Case(
            "open/first-record-only",
            "the writer made record 0 and no more; record 1 need not be there",
            files(run.records[0]),
            ("trust.no-evidence", "cassette.open"),
        ),
        Case(
            "open/covered-to-the-end",
            "a note on the last record does not seal",
            files(run.file, checkpoints(run, (2, 5))),
            ("cassette.open",),
            5,
        ),
    ]


def subjects() -> list[Case]:
    """Bound files that are changed, missing or something else."""
    run = plain()
    scores, questions = {"scores.json": SCORES}, {"inputs/questions.txt": QUESTIONS}
    wrong = {"scores.json": SCORES.replace(b"2", b"3", 1)}
    folder = {"scores.json/readme.txt": b"a folder, not the file\n"}
    return [
        Case(
            "edit/subject-changed",
            "the bound result was changed",
            bound(run, wrong | questions),
            ("subject.digest",),
        ),
        Case(
            "edit/subject-changed-and-missing",
            "one bound file changed, another gone",
            bound(run, wrong),
            ("subject.digest", "subject.missing"),
        ),
        Case("missing/subject", "the bound result is not there", bound(run, questions), ("subject.missing",)),
        Case(
            "missing/both-subjects", "two missing files are one finding", bound(run, {}), ("subject.missing",)
        ),
        Case(
            "missing/subject-is-folder",
            "a folder of that name is no regular file",
            bound(run, folder | questions),
            ("subject.missing",),
        ),
        Case("missing/only", "missing, and not asked for", bound(run, questions), options={"only": True}),
        Case(
            "missing/only-changed",
            "changed, and not asked for",
            bound(run, wrong | questions),
            options={"only": True},
        ),
        Case("missing/mirror-present", "both bound files are there", bound(run, scores | questions)),
    ]
