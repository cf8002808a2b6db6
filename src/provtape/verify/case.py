"""One case: what was scanned, what stands beside it, and what the caller asks.

Values only, and the questions about them that both `checks` and `facts` put. No file is opened.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from provtape.format.checkpoint import Checkpoint
from provtape.format.envelope import Envelope
from provtape.format.keys import PublicKey
from provtape.format.manifest import Entry, Manifest, Subject
from provtape.format.record import Object
from provtape.format.verdict import Finding
from provtape.verify.signatures import Signed, judge
from provtape.verify.walk import Scan


@dataclass(frozen=True, slots=True)
class Evidence:
    """What stands beside a cassette, read and checked for form.

    Attributes:
        notes: The checkpoint file's notes; None when there is no such file.
        rest: What follows its last complete note, or an empty file; None when the file is notes and nothing else.
        kept: Notes the caller kept from an earlier day.
        envelopes: The manifest's lines; None when there is no manifest.
        manifest: Their one payload, when it holds its form.
        findings: What is wrong with the form.
    """

    notes: tuple[Checkpoint, ...] | None = None
    rest: bytes | None = None
    kept: tuple[Checkpoint, ...] = ()
    envelopes: tuple[Envelope, ...] | None = None
    manifest: Manifest | None = None
    findings: tuple[Finding, ...] = ()


@dataclass(frozen=True, slots=True)
class Question:
    """What the caller wants to know: the keys it trusts, and where it asks for more or for less."""

    keys: tuple[PublicKey, ...] = ()
    only: bool = False
    allow_withheld: bool = False
    expect_origin: str | None = None
    expect_commit: str | None = None
    expect_records: int | None = None


@dataclass(frozen=True, slots=True)
class Case:
    """One cassette, its evidence and the question about it.

    Attributes:
        name: File name, for the report.
        subjects: For every bound file but the cassette: its digest as found, or None if it was not supplied.
        along: Names of cassettes verified along with this one, which are no subjects like others.
        named: The name under which the manifest led to this cassette, if it was given in the cassette's place.
    """

    name: str
    scan: Scan
    evidence: Evidence
    question: Question
    subjects: Mapping[str, str | None]
    along: frozenset[str] = frozenset()
    named: str | None = None

    @property
    def entry(self) -> Entry | None:
        """The manifest's entry for this cassette, found by its origin; it must be the one that led here (M10)."""
        origin, manifest = self.scan.tally.origin, self.evidence.manifest
        entry = manifest.entry(origin) if manifest and origin else None
        return entry if entry and self.named in (None, entry.name) else None

    @property
    def notes(self) -> tuple[Checkpoint, ...]:
        """All notes: the checkpoint file's and the kept ones."""
        return (*(self.evidence.notes or ()), *self.evidence.kept)

    def signatures(self) -> tuple[Signed, ...]:
        """What each named key has signed, in the order of the keys."""
        return tuple(judge(key, self.notes, self.evidence.envelopes or ()) for key in self.question.keys)

    @property
    def statements(self) -> tuple[Checkpoint, ...]:
        """The notes, kept ones included, that speak of this cassette's origin."""
        return tuple(note for note in self.notes if note.origin == self.scan.tally.origin)

    def holds(self, records: int, root: bytes) -> bool:
        """Whether `root` is root(records) of this cassette."""
        return self.scan.tally.roots.found.get(records) == root

    @property
    def scrub(self) -> Object | None:
        """Record 0's `scrub` without the rules' text."""
        scrub = self.scan.tally.opening["scrub"] if self.scan.tally.opening else None
        return {"name": scrub["name"], "sha256": scrub["sha256"]} if isinstance(scrub, dict) else None

    @property
    def others(self) -> tuple[Subject, ...]:
        """The files bound beside this cassette; none if the manifest does not speak of this cassette (M13)."""
        statement, entry = self.evidence.manifest, self.entry
        if statement is None or entry is None:
            return ()
        return tuple(
            row for row in statement.subjects if row.name != entry.name and row.name not in self.along
        )

    def states(self) -> Iterator[tuple[str, str]]:
        """Each of `others` by name, and whether it is the same, wrong, missing, or not asked for."""
        if self.entry is None and self.evidence.manifest is not None:
            yield from (
                (row.name, "not asked")
                for row in self.evidence.manifest.subjects
                if row.name not in self.along
            )
        for subject in self.others:
            found = self.subjects.get(subject.name)
            if self.question.only:
                yield subject.name, "not asked"
            elif found is None:
                yield subject.name, "missing"
            else:
                yield subject.name, "same" if found == subject.sha256 else "wrong"

    def stated(self, signed: Signed) -> Iterator[tuple[int, bytes]]:
        """What a key states of this cassette, number and root, in lines that verify."""
        for note in signed.notes:
            if note.origin == self.scan.tally.origin:
                yield note.records, note.root
        if self.entry and signed.manifest:
            yield self.entry.records, bytes.fromhex(self.entry.root)
