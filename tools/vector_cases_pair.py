"""Cases of two cassettes under one manifest."""

from __future__ import annotations

from vector_case import Case, Files
from vector_cases_intact import SCORES
from vector_evidence import checkpoints, entry, enveloped, statement, subject
from vector_stories import changed, held, other, plain
from vector_text import spelled


def pair(second: bytes | None, first: bytes | None = None) -> Files:
    """Two cassettes under one manifest: the second one as given, the first one too if it is not as it was signed."""
    one, two = plain(), other()
    subjects = [
        subject("one.jsonl", one.file),
        subject("two.jsonl", two.file),
        subject("scores.json", SCORES),
    ]
    payload = statement([entry(one, "one.jsonl"), entry(two, "two.jsonl", code=None)], subjects)
    made: dict[str, bytes | None] = {
        "one.jsonl": one.file if first is None else first,
        "one.jsonl.ckpt": checkpoints(one),
        "two.jsonl": second,
        "two.jsonl.ckpt": checkpoints(two, (6,)),
        "scores.json": SCORES,
        "paper.intoto.jsonl": enveloped(spelled(payload).encode()),
    }
    return {name: content for name, content in made.items() if content is not None}


def pairs() -> list[Case]:
    """The manifest is verified itself, or stands beside one of its cassettes."""
    newer = other().file.replace(b'"provtape/1"', b'"provtape/2"')
    whole = {"target": "paper.intoto.jsonl"}
    return [
        Case(
            "intact/two-cassettes",
            "the manifest itself is verified: both cassettes and the result",
            pair(other().file),
            options={"target": "paper.intoto.jsonl"},
        ),
        Case(
            "intact/one-of-two-cassettes",
            "one cassette under a manifest of two: the other one is a subject like any other",
            pair(other().file),
            options={"target": "one.jsonl", "manifest": "paper.intoto.jsonl"},
        ),
        Case(
            "missing/other-cassette",
            "the other cassette of the manifest is not there",
            pair(None),
            ("subject.missing",),
            options={"target": "one.jsonl", "manifest": "paper.intoto.jsonl"},
        ),
        Case(
            "missing/other-cassette-only",
            "the other cassette is not there, and not asked for",
            pair(None),
            options={"target": "one.jsonl", "manifest": "paper.intoto.jsonl", "only": True},
        ),
        Case(
            "rechain/one-of-two-cassettes",
            "a manifest of two is verified; the second cassette's last record was changed",
            pair(other().file.replace(b'"closed":"2026', b'"closed":"2025')),
            ("checkpoint.root", "manifest.root"),
            0,
            options={"target": "paper.intoto.jsonl"},
        ),
        Case(
            "edit/beside-unknown-format",
            "a manifest of two: one cassette edited, the other of an unknown format; FAILED goes before ERROR",
            pair(newer, changed(3, b"Seven", b"Eight")),
            ("chain.prev", "input.format", "checkpoint.root", "manifest.root"),
            4,
            options={"target": "paper.intoto.jsonl"},
        ),
        Case(
            "withheld/one-of-two-cassettes",
            "a withheld copy under a manifest of two: its file digest is not asked, neither for itself nor beside the other",
            pair(other().file, held({3: None})),
            options=whole | {"allow-withheld": True},
        ),
        Case(
            "expect/two-cassettes",
            "an expectation speaks of one cassette, and the manifest of two",
            pair(other().file),
            ("usage",),
            options=whole | {"expect-records": 6},
        ),
    ]
