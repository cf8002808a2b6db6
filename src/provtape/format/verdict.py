"""Findings and the word they come to (spec V1 to V3, and the table of codes).

Decides order, attack names and exit codes. The table below is the one of `spec/verdict.md`; a test compares them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final, Literal, NoReturn

Word = Literal["VERIFIED", "FAILED", "UNVERIFIED", "ERROR"]

SCHEMA: Final = "provtape/report/1"
EXIT: Final[dict[Word, int]] = {"VERIFIED": 0, "FAILED": 1, "ERROR": 2, "UNVERIFIED": 3}
_WORD_OF: Final[dict[str, Word]] = {"E": "ERROR", "F": "FAILED", "U": "UNVERIFIED"}
_SEVERAL: Final[tuple[Word, ...]] = ("FAILED", "ERROR", "UNVERIFIED", "VERIFIED")

_TABLE: Final = """
E usage                -
E key.refused          -
E input.unreadable     -
E input.tutorial       -
E input.format         -
E input.limit          -
E internal             -
F record.crlf          crlf
F checkpoint.crlf      crlf
F manifest.crlf        crlf
F record.start         edit
F record.seq           swap insert drop
F chain.prev           edit
F record.json          edit
F record.spelling      edit
F record.members       edit
F record.place         edit
F checkpoint.form      edit
F checkpoint.id        edit
F manifest.form        edit
F manifest.id          edit
F manifest.unsealed    edit
F manifest.scrub       edit
F manifest.code        edit
F manifest.digest      edit
F subject.digest       edit
F record.after-end     append
F manifest.append      append
F checkpoint.origin    splice
F manifest.origin      splice
F cassette.cut         torn
F cassette.empty       truncate
F checkpoint.records   truncate
F manifest.records     truncate
F evidence.fork        fork
F checkpoint.root      rechain
F manifest.root        rechain
F checkpoint.signature forged
F manifest.signature   forged
F expect.origin        -
F expect.commit        -
F expect.records       -
U cassette.torn        torn
U checkpoint.torn      torn
U trust.no-key         -
U trust.stranger       stranger
U trust.no-evidence    strip
U trust.no-manifest    strip
U cassette.open        -
U cassette.withheld    -
U subject.missing      -
"""


@dataclass(frozen=True, slots=True)
class Code:
    """One row of the table: where it stands in the order, its class and the attack names it may carry."""

    rank: int
    severity: str
    attacks: tuple[str, ...]


def _codes() -> dict[str, Code]:
    rows = [line.split() for line in _TABLE.strip().splitlines()]
    return {
        name: Code(rank, severity, tuple(attack for attack in attacks if attack != "-"))
        for rank, (severity, name, *attacks) in enumerate(rows)
    }


CODES: Final = _codes()


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was found: never the content of a prompt, response or key.

    Attributes:
        code: A stable code of the table in spec/verdict.md.
        message: One sentence.
        hint: What to do, or None.
        record: The record's number, where there is one.
        offset: Its byte offset in the cassette.
        attack: The attack's name; for most codes the table decides.
    """

    code: str
    message: str
    hint: str | None = None
    record: int | None = None
    offset: int | None = None
    attack: str | None = None

    def named(self) -> Finding:
        """The finding with the attack name that its code stands for."""
        attacks = CODES[self.code].attacks
        if self.attack is not None or len(attacks) != 1:
            return self
        return Finding(self.code, self.message, self.hint, self.record, self.offset, attacks[0])

    def members(self) -> dict[str, object]:
        """The finding as a JSON value, names in order."""
        return {
            "code": self.code,
            "attack": self.attack,
            "record": self.record,
            "offset": self.offset,
            "message": self.message,
            "hint": self.hint,
        }


@dataclass(frozen=True, slots=True)
class Verdict:
    """A word, the findings it rests on (the decisive one first), and the facts that were seen.

    It has no truth value, so that it can not be ignored by accident: ask `verified`.
    """

    word: Word
    findings: tuple[Finding, ...] = ()
    facts: dict[str, object] = field(default_factory=dict)

    @property
    def verified(self) -> bool:
        """Whether the word is VERIFIED."""
        return self.word == "VERIFIED"

    @property
    def exit(self) -> int:
        """The exit code: 0 VERIFIED, 1 FAILED, 2 ERROR, 3 UNVERIFIED."""
        return EXIT[self.word]

    def __bool__(self) -> NoReturn:
        raise TypeError("a verdict has no truth value: ask .verified")

    def report(self) -> dict[str, object]:
        """The report of spec/report.schema.json as a JSON value."""
        return {
            "schema": SCHEMA,
            "verdict": self.word,
            "exit": self.exit,
            "findings": [finding.members() for finding in self.findings],
            "facts": self.facts or {"cassettes": [], "subjects": []},
        }


def decide(findings: Iterable[Finding], facts: dict[str, object] | None = None) -> Verdict:
    """From findings to one word (spec V2, V3).

    Args:
        findings: In any order; of several with one code the first is kept.
        facts: What was seen, as spec/report.schema.json says.
    """
    kept: dict[str, Finding] = {}
    for finding in findings:
        kept.setdefault(finding.code, finding.named())
    ordered = sorted(kept.values(), key=lambda finding: CODES[finding.code].rank)
    word = _WORD_OF[CODES[ordered[0].code].severity] if ordered else "VERIFIED"
    return Verdict(word, tuple(ordered), facts or {})


def together(verdicts: Iterable[Verdict]) -> Word:
    """The word for several cassettes: FAILED before ERROR before UNVERIFIED before VERIFIED (spec V2)."""
    words = {verdict.word for verdict in verdicts}
    return next(word for word in _SEVERAL if word in words)
