"""What a case is: files on disk, how they are verified, and the exact report they must get (spec/verdict.md)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from vector_evidence import checkpoints, manifest
from vector_record import FIRST, Cassette
from vector_text import Json, spelled

# The tables of verdict.md, in their order. The attack of record.seq depends on the numbers.
ERROR: Final = (
    "usage",
    "key.refused",
    "input.unreadable",
    "input.tutorial",
    "input.format",
    "input.limit",
    "internal",
)
FAILED: Final = {
    "record.crlf": "crlf",
    "checkpoint.crlf": "crlf",
    "manifest.crlf": "crlf",
    "record.start": "edit",
    "record.seq": None,
    "chain.prev": "edit",
    "record.json": "edit",
    "record.spelling": "edit",
    "record.members": "edit",
    "record.place": "edit",
    "checkpoint.form": "edit",
    "checkpoint.id": "edit",
    "manifest.form": "edit",
    "manifest.id": "edit",
    "manifest.unsealed": "edit",
    "manifest.scrub": "edit",
    "manifest.code": "edit",
    "manifest.digest": "edit",
    "subject.digest": "edit",
    "record.after-end": "append",
    "manifest.append": "append",
    "checkpoint.origin": "splice",
    "manifest.origin": "splice",
    "cassette.cut": "torn",
    "cassette.empty": "truncate",
    "checkpoint.records": "truncate",
    "manifest.records": "truncate",
    "evidence.fork": "fork",
    "checkpoint.root": "rechain",
    "manifest.root": "rechain",
    "checkpoint.signature": "forged",
    "manifest.signature": "forged",
    "expect.origin": None,
    "expect.commit": None,
    "expect.records": None,
}
UNVERIFIED: Final = {
    "cassette.torn": "torn",
    "checkpoint.torn": "torn",
    "trust.no-key": None,
    "trust.stranger": "stranger",
    "trust.no-evidence": "strip",
    "trust.no-manifest": "strip",
    "cassette.open": None,
    "cassette.withheld": None,
    "subject.missing": None,
}
ORDER: Final = (*ERROR, *FAILED, *UNVERIFIED)

Files = dict[str, bytes]


@dataclass(frozen=True, slots=True)
class Case:
    """One folder under `cases/`.

    Attributes:
        path: `<attack>/<name>`.
        why: What happened to the files, in words, and why the report is what it is.
        files: Name below the folder, and bytes.
        codes: All findings, the decisive one first.
        record: The record of the first finding.
        attack: The attack of the first finding where the tables leave a choice.
        keys: Files below `cases/keys/`, each named with `--pubkey`.
        options: Other options of `verify`; `target` is the file to verify, `cassette.jsonl` if absent.
    """

    path: str
    why: str
    files: Files
    codes: tuple[str, ...] = ()
    record: int | None = None
    attack: str | None = None
    keys: tuple[str, ...] = ("alice.vkey",)
    options: Mapping[str, Json] = field(default_factory=dict)

    @property
    def verdict(self) -> str:
        """The word (rule V2); under a manifest of several, FAILED goes before ERROR."""
        if not self.codes:
            return "VERIFIED"
        if self.codes[0] in FAILED:
            return "FAILED"
        return "ERROR" if self.codes[0] in ERROR else "UNVERIFIED"

    def row(self) -> bytes:
        """`case.json`."""
        self._sane()
        first: Json = None
        if self.codes:
            code = self.codes[0]
            attack = self.attack or FAILED.get(code) or UNVERIFIED.get(code)
            first = {"code": code, "attack": attack, "record": self.record}
        members: dict[str, Json] = {
            "keys": self.keys,
            "options": self.options,
            "verdict": self.verdict,
            "exit": {"VERIFIED": 0, "FAILED": 1, "ERROR": 2, "UNVERIFIED": 3}[self.verdict],
            "codes": self.codes,
            "first": first,
            "why": self.why,
        }
        lines = (f"  {spelled(name)}: {spelled(value)}" for name, value in members.items())
        return ("{\n" + ",\n".join(lines) + "\n}\n").encode()

    def _sane(self) -> None:
        """A slip in writing a case down stops the build: unknown codes, or codes out of order (rule V3)."""
        numbers = [ORDER.index(code) for code in self.codes[1:]]
        assert numbers == sorted(set(numbers)), (self.path, self.codes)
        same = [code for code in self.codes if (code in FAILED) == (self.codes[0] in FAILED)]
        assert not self.codes or self.codes[0] == min(same, key=ORDER.index), (self.path, self.codes)


def files(cassette: bytes, ckpt: bytes | None = None, statement: bytes | None = None, **more: bytes) -> Files:
    """A cassette with the evidence that lies beside it."""
    beside = {
        "cassette.jsonl": cassette,
        "cassette.jsonl.ckpt": ckpt,
        "cassette.jsonl.intoto.jsonl": statement,
    }
    return {name: content for name, content in (beside | more).items() if content is not None}


def kept(cassette: bytes, run: Cassette, numbers: tuple[int, ...] = (2, 4, 6), code: Json = FIRST) -> Files:
    """The bytes of `cassette` beside the honest evidence of `run`, by Alice."""
    return files(cassette, checkpoints(run, numbers), manifest(run, code=code))


def whole(run: Cassette, code: Json = FIRST) -> Files:
    """`run` beside evidence made for it, by Alice: notes at 2 and at the end, manifest."""
    return kept(run.file, run, (2, len(run.records)), code)
