"""Cassettes made by others from the spec: both verifiers give the verdict that was written down, the attack first."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from verifiers import PROGRAMS, as_program, both, first

KEYS = ("alice.pem", "alice.ssh", "alice.vkey")


def cases(reference: Path) -> list[Path]:
    found = sorted(path.parent for path in (reference / "known-answers").glob("*/expected.json"))
    assert len(found) >= 30
    return found


@pytest.mark.parametrize("key", KEYS)
def test_both_verifiers_give_every_known_answer(reference: Path, key: str) -> None:
    for case in cases(reference):
        expected = json.loads((case / "expected.json").read_text())
        report = both(case / "cassette.jsonl", "--pubkey", reference / "known-answers" / key)
        word, _, attack, _ = first(report)
        assert (word, attack) == (expected["verdict"], expected["attack"]), case.name


@pytest.mark.parametrize("program", PROGRAMS)
def test_as_programs_run_in_the_folder(reference: Path, program: str) -> None:
    exits = {"VERIFIED": 0, "FAILED": 1, "UNVERIFIED": 3}
    for case in cases(reference)[::4]:
        expected = json.loads((case / "expected.json").read_text())
        command = [*PROGRAMS[program], "cassette.jsonl", "--pubkey", "../alice.pem"]
        code, report = as_program(command, case)
        assert (code, report["verdict"]) == (exits[expected["verdict"]], expected["verdict"]), case.name


def test_leaves_and_match_key_of_the_readme(reference: Path) -> None:
    from provtape.format import chain, strict
    from provtape.matching.identity import Match, key

    folder = reference / "known-answers"
    rows = [
        line.split() for line in (folder / "README.md").read_text().splitlines() if line.startswith("    ")
    ]
    lines = (folder / "intact" / "cassette.jsonl").read_bytes().splitlines(keepends=True)
    assert [chain.leaf(line).hex() for line in lines] == [digest for _, digest in rows[:-1]]
    record = strict.read(lines[3][:-1])
    assert isinstance(record, dict)
    found = key("llm", record["request"], Match())
    assert (found, found) == (record["key"], rows[-1][1])
