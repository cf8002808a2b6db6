"""Every case of spec/vectors: both verifiers give the word, the exact codes in order, and the first finding that it states."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from verifiers import ROOT, codes, first, package, standalone

CASES = ROOT / "spec" / "vectors" / "cases"
VERIFIERS = {"package": package, "standalone": standalone}


def found() -> list[Path]:
    return sorted(path.parent for path in CASES.glob("*/*/case.json"))


def arguments(case: Path) -> list[str | Path]:
    """The command line that a case stands for."""
    stated = json.loads((case / "case.json").read_text())
    options = dict(stated["options"])
    words: list[str | Path] = [case / options.pop("target", "cassette.jsonl")]
    for key in stated["keys"]:
        words += ["--pubkey", CASES / "keys" / key]
    for option, value in options.items():
        for single in value if isinstance(value, list) else [value]:
            words.append(f"--{option}")
            if single is not True:
                words.append(case / single if option in ("seen", "manifest", "checkpoints") else str(single))
    return words


def test_there_are_many_cases() -> None:
    assert len(found()) >= 250


@pytest.mark.parametrize("name", VERIFIERS)
@pytest.mark.parametrize("case", found(), ids=lambda case: f"{case.parent.name}/{case.name}")
def test_case(case: Path, name: str) -> None:
    stated = json.loads((case / "case.json").read_text())
    report = VERIFIERS[name](*arguments(case))
    wanted = stated["first"] or {"code": None, "attack": None, "record": None}
    assert first(report) == (stated["verdict"], wanted["code"], wanted["attack"], wanted["record"])
    assert report["exit"] == stated["exit"]
    assert codes(report) == stated["codes"]
