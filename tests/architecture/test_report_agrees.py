"""The page of verdicts, the table in the code, the schema and the cases say the same."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from house import ROOT

from provtape.format.keys import parse_public
from provtape.format.verdict import CODES, EXIT
from provtape.verify import Question, Sources, verify

SPEC = ROOT / "spec"
CASES_FOLDER = SPEC / "vectors" / "cases"
CASES = sorted(CASES_FOLDER.glob("*/*/case.json"))
SCHEMA = json.loads((SPEC / "report.schema.json").read_text("utf-8"))
# No file of the repository can bring these about: one takes 64 MiB, the other a fault of ours.
NO_CASE = {"input.limit", "internal"}
# What the command line refuses before anything is verified.
BEFORE = {"key.refused", "usage"}


def page_rows() -> list[tuple[str, str, tuple[str, ...]]]:
    """(class, code, attacks) as `spec/verdict.md` lists them."""
    rows, severity = [], ""
    for line in (SPEC / "verdict.md").read_text("utf-8").splitlines():
        if found := re.fullmatch(r"Class ([EFU])", line):
            severity = found[1]
        if found := re.match(r"\| `([a-z.-]+)` \| ([a-z, ]+) \|", line):
            attacks = tuple(word for word in found[2].split(", ") if word != "null")
            rows.append((severity, found[1], attacks))
    return rows


def test_the_page_and_the_code_have_one_table() -> None:
    table = [(code.severity, name, code.attacks) for name, code in CODES.items()]
    assert page_rows() == table
    assert [code.rank for code in CODES.values()] == list(range(len(table)))


def test_the_page_and_the_schema_have_the_same_attack_names() -> None:
    sentence = re.search(r"`attack` is always one of (.*?) or null", (SPEC / "verdict.md").read_text("utf-8"))
    assert sentence is not None
    named = re.findall(r"`([a-z]+)`", sentence[1])
    listed = [name for name in SCHEMA["$defs"]["finding"]["properties"]["attack"]["enum"] if name]
    assert named == listed
    assert set(named) == {attack for code in CODES.values() for attack in code.attacks}


def test_every_attack_name_has_a_folder_of_cases() -> None:
    folders = {path.parent.parent.name for path in CASES}
    assert {attack for code in CODES.values() for attack in code.attacks} <= folders


def test_every_code_is_met_by_a_case() -> None:
    met = {code for path in CASES for code in json.loads(path.read_text("utf-8"))["codes"]}
    assert met <= CODES.keys()
    assert CODES.keys() - met == NO_CASE


def codes(path: Path) -> set[str]:
    return set(json.loads(path.read_text("utf-8"))["codes"])


def report(path: Path) -> dict[str, Any]:
    """What the package says of a case, as `verify --json` prints it."""
    case, folder = json.loads(path.read_text("utf-8")), path.parent
    options: dict[str, Any] = case["options"]
    keys = tuple(parse_public((CASES_FOLDER / "keys" / name).read_bytes()) for name in case["keys"])
    expected = (options.get(f"expect-{name}") for name in ("origin", "commit", "records"))
    question = Question(keys, "only" in options, "allow-withheld" in options, *expected)
    evidence = (folder / options[name] if name in options else None for name in ("manifest", "checkpoints"))
    sources = Sources(*evidence, tuple(folder / name for name in options.get("seen", [])))
    verdict = verify(folder / options.get("target", "cassette.jsonl"), question, sources)
    found: dict[str, Any] = json.loads(json.dumps(verdict.report()))
    return found


def accepted(value: object) -> bool:
    return bool(jsonschema.Draft202012Validator(SCHEMA).is_valid(value))


@pytest.mark.parametrize(
    "path", [path for path in CASES if not codes(path) & BEFORE], ids=lambda path: "/".join(path.parts[-3:-1])
)
def test_the_schema_accepts_every_report(path: Path) -> None:
    assert accepted(report(path))


def without(name: str) -> Callable[[dict[str, Any]], object]:
    return lambda value: value.pop(name)


def set_to(name: str, changed: object) -> Callable[[dict[str, Any]], object]:
    return lambda value: value.update({name: changed})


@pytest.mark.parametrize(
    "change",
    [
        without("facts"),
        without("exit"),
        set_to("exit", 0),
        set_to("verdict", "VERIFIED"),
        set_to("verdict", "OK"),
        set_to("findings", []),
        set_to("note", "one member more"),
        lambda value: value["findings"][0].pop("hint"),
        lambda value: value["findings"][0].update(attack="sabotage"),
        lambda value: value["findings"][0].update(record=-1),
        lambda value: value["facts"]["cassettes"][0].pop("origin"),
        lambda value: value["facts"]["cassettes"][0].update(root="abc"),
    ],
)
def test_the_schema_refuses_a_report_that_is_none(change: Callable[[dict[str, Any]], object]) -> None:
    good = report(CASES_FOLDER / "edit" / "output" / "case.json")
    assert accepted(good)
    bad = copy.deepcopy(good)
    change(bad)
    assert not accepted(bad)


def test_words_and_exit_codes_go_together() -> None:
    pairs = [
        tuple(part["properties"][name]["const"] for name in ("verdict", "exit")) for part in SCHEMA["oneOf"]
    ]
    assert dict(pairs) == EXIT
