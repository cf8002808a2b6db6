"""Does it hold: from files to a verdict (spec/verdict.md).

`verify` opens files and asks `checks`; it never raises for what is wrong with a cassette, and its verdict has no truth value.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from provtape.cassette.reader import open_regular
from provtape.errors import LimitError, ProvtapeError
from provtape.format import chain, envelope, foreign
from provtape.format.manifest import Subject
from provtape.format.suffix import CHECKPOINTS, MANIFEST
from provtape.format.verdict import CODES, Finding, Verdict, decide, together
from provtape.verify import evidence as files
from provtape.verify.case import Case, Evidence, Question
from provtape.verify.checks import check, unsupplied
from provtape.verify.scan import Progress, scan

__all__ = ["Question", "Verdict", "verify"]


@dataclass(frozen=True, slots=True)
class Sources:
    """Where evidence is, when it is not beside the cassette.

    Attributes:
        seen: Kept notes.
        along: Cassettes that are verified along with this one, and so are no subjects like others.
        named: The name by which the manifest, given in its place, led to the cassette.
    """

    manifest: Path | None = None
    checkpoints: Path | None = None
    seen: tuple[Path, ...] = ()
    along: frozenset[str] = frozenset()
    named: str | None = None


NOTHING_ASKED: Final = Question()
BESIDE: Final = Sources()


def verify(
    path: Path,
    question: Question = NOTHING_ASKED,
    sources: Sources = BESIDE,
    *,
    workers: int = 1,
    progress: Progress | None = None,
) -> Verdict:
    """Verify a cassette, or every cassette and file of a manifest given in its place.

    Args:
        path: A cassette or a manifest.
        question: The keys the caller trusts, and what it expects or forgoes.
        sources: Evidence that is not beside the cassette.
        workers: Processes for large cassettes; a library call leaves it at 1.
        progress: Called with bytes done and bytes in all.

    Returns:
        A verdict; what can not be read is the word ERROR, never an exception.
    """
    try:
        if sources.named is None and envelope.looks_like(_head(path)):
            return _whole(path, question, sources, workers, progress)
        return _one(path, question, sources, workers, progress)
    except ProvtapeError as error:
        return refused(error)


def refused(error: ProvtapeError) -> Verdict:
    """The verdict ERROR for something that can not be read."""
    code = "input.limit" if isinstance(error, LimitError) else getattr(error, "code", "internal")
    return decide([Finding(code, error.message, error.hint)])


def _one(
    path: Path, question: Question, sources: Sources, workers: int, progress: Progress | None
) -> Verdict:
    manifest = sources.manifest or files.beside(path, MANIFEST)
    evidence = files.gather(sources.checkpoints or files.beside(path, CHECKPOINTS), manifest, sources.seen)
    other = _foreign(path)
    if other:
        return decide([other])
    found = scan(path, _sizes(evidence), workers=workers, progress=progress)
    case = Case(path.name, found, evidence, question, {}, sources.along, sources.named)
    subjects = _supplied(case, manifest.parent) if manifest and not question.only else {}
    return check(replace(case, subjects=subjects))


def _supplied(case: Case, folder: Path) -> dict[str, str | None]:
    return {row.name: files.digest_below(folder, row.name) for row in case.others}


def _whole(
    path: Path, question: Question, sources: Sources, workers: int, progress: Progress | None
) -> Verdict:
    """Every cassette and subject of a manifest, each cassette found beside it by its name."""
    evidence = files.gather(None, path)
    if sources.manifest:
        return decide(
            [
                Finding(
                    "usage", "a manifest was given in place of a cassette, and --manifest as well", "name one"
                )
            ]
        )
    if evidence.manifest is None:
        return decide(evidence.findings)
    if len(evidence.manifest.cassettes) > 1 and (_expects(question) or sources.checkpoints or sources.seen):
        message = (
            "--expect-*, --checkpoints and --seen speak of one cassette, and this manifest names several"
        )
        return decide([Finding("usage", message, "name one cassette instead of the manifest")])
    cassettes = evidence.manifest.subjects[: len(evidence.manifest.cassettes)]
    along = frozenset(subject.name for subject in cassettes)
    where = Sources(path, sources.checkpoints, sources.seen, along)
    return _joined([_named(path, row, evidence, question, where, workers, progress) for row in cassettes])


def _expects(question: Question) -> bool:
    expected = (question.expect_origin, question.expect_commit, question.expect_records)
    return any(value is not None for value in expected)


def _named(
    manifest: Path,
    subject: Subject,
    evidence: Evidence,
    question: Question,
    sources: Sources,
    workers: int,
    progress: Progress | None,
) -> Verdict:
    cassette = manifest.parent / subject.name
    if not files.is_below(manifest.parent, subject.name):
        return unsupplied(subject.name, evidence, question)
    return verify(
        cassette, question, replace(sources, named=subject.name), workers=workers, progress=progress
    )


def _joined(verdicts: Sequence[Verdict]) -> Verdict:
    """One verdict on several cassettes: the word of V2, the finding that decides it first, then the rest in order."""
    if len(verdicts) == 1:
        return verdicts[0]
    word = together(verdicts)
    deciding = [verdict.findings[0] for verdict in verdicts if verdict.word == word and verdict.findings]
    first = sorted(deciding, key=lambda finding: CODES[finding.code].rank)[:1]
    rest = decide([*first, *(finding for verdict in verdicts for finding in verdict.findings)])
    others = tuple(finding for finding in rest.findings if finding not in first)
    cassettes = [row for verdict in verdicts for row in _rows(verdict, "cassettes")]
    subjects = {str(row["name"]): row for verdict in verdicts for row in _rows(verdict, "subjects")}
    return Verdict(word, (*first, *others), {"cassettes": cassettes, "subjects": list(subjects.values())})


def _rows(verdict: Verdict, name: str) -> list[dict[str, object]]:
    rows = verdict.facts.get(name, [])
    return rows if isinstance(rows, list) else []


def _sizes(evidence: Evidence) -> set[int]:
    notes = (*(evidence.notes or ()), *evidence.kept)
    entries = evidence.manifest.cassettes if evidence.manifest else ()
    return {note.records for note in notes} | {entry.records for entry in entries}


def _head(path: Path) -> bytes:
    with open_regular(path) as file:
        return file.read(64)


def _foreign(path: Path) -> Finding | None:
    """A file that is another format altogether: said by name, and no verdict (C12, `input.tutorial`)."""
    with open_regular(path) as file:
        line = file.readline(chain.MAX_RECORD)
    name = foreign.other_format(line) if line.endswith(b"\n") else None
    if name is not None:
        message = f"{path.name} is of the format {name}; this verifier knows {chain.FORMAT}"
        return Finding("input.format", message, "use a provtape that knows it", 0, 0)
    if foreign.is_tutorial(line):
        message = f"{path.name} is a cassette in a tutorial's format, which can not be signed or verified"
        return Finding("input.tutorial", message, f"provtape import {path.name} -o run.jsonl")
    return None
