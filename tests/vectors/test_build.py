"""The builder of the vectors reproduces what is committed, byte for byte, and leans on nothing that could share a fault."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TOOLS = ROOT / "tools"
VECTORS = ROOT / "spec" / "vectors"
CASES = sorted((VECTORS / "cases").glob("*/*/case.json"))


def build(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(TOOLS / "build_vectors.py"), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def imported(source: Path) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(ast.parse(source.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names.add((node.module or "").partition(".")[0])
    return names


def test_the_committed_vectors_are_what_the_builder_makes() -> None:
    result = build("--check")
    assert (result.returncode, result.stderr) == (0, "")


def test_a_changed_a_missing_and_a_foreign_file_are_each_named(tmp_path: Path) -> None:
    assert build("--out", str(tmp_path / "vectors")).returncode == 0
    plain = tmp_path / "vectors" / "cases" / "intact" / "plain"
    note = plain / "cassette.jsonl.ckpt"
    note.write_bytes(note.read_bytes()[:-1])
    (plain / "case.json").unlink()
    (plain / "extra.txt").write_bytes(b"")
    result = build("--check", "--out", str(tmp_path / "vectors"))
    assert result.returncode == 1
    assert [line.rpartition("/")[2] for line in result.stderr.splitlines()] == [
        "case.json",
        "cassette.jsonl.ckpt",
        "extra.txt",
    ]


def test_the_builder_imports_the_standard_library_and_cryptography_only() -> None:
    own = {path.stem for path in TOOLS.glob("vector_*.py")}
    used = imported(TOOLS / "build_vectors.py").union(*(imported(TOOLS / f"{name}.py") for name in own))
    assert used - own - set(sys.stdlib_module_names) == {"cryptography"}


def test_every_code_that_a_file_can_show_has_a_case() -> None:
    table = re.findall(r"^\| `([a-z.-]+)` \|", (ROOT / "spec" / "verdict.md").read_text("utf-8"), re.M)
    shown = {code for path in CASES for code in json.loads(path.read_bytes())["codes"]}
    not_in_a_file = {"internal", "input.limit"}
    assert set(table) - not_in_a_file == shown


def test_every_attack_comes_first_in_some_case() -> None:
    attacks = {"crlf", "edit", "swap", "insert", "drop", "append", "splice", "torn", "truncate", "fork"}
    attacks |= {"rechain", "forged", "stranger", "strip"}
    firsts = [json.loads(path.read_bytes())["first"] for path in CASES]
    assert {first["attack"] for first in firsts if first and first["attack"]} == attacks


def test_no_private_key_is_among_the_vectors() -> None:
    for path in VECTORS.rglob("*"):
        if path.is_file():
            assert b"PRIVATE" + b" KEY" not in path.read_bytes(), path


def transcript(page: Path) -> list[tuple[str, list[str]]]:
    """The commands of a page's `console` blocks, each with the lines that follow it."""
    commands: list[tuple[str, list[str]]] = []
    for block in re.findall(r"^```console\n(.*?)^```$", page.read_text("utf-8"), re.M | re.S):
        for line in block.splitlines():
            if line.startswith("$ "):
                commands.append((line[2:], []))
            else:
                commands[-1][1].append(line)
    return commands


@pytest.mark.parametrize("name", ["cassette", "checkpoint", "manifest", "keys", "verdict", "key"])
def test_the_worked_example_of_a_page_says_what_a_shell_says(name: str) -> None:
    told = transcript(ROOT / "spec" / f"{name}.md")
    script = "".join(f"{command}\nprintf '\\036'\n" for command, _ in told)
    ran = subprocess.run(["sh"], input=script, capture_output=True, text=True, check=False, cwd=ROOT)
    assert ran.stderr == ""
    shown = [output.splitlines() for output in ran.stdout.split("\036")[:-1]]
    assert len(told) > 4
    assert list(zip((command for command, _ in told), shown, strict=True)) == told
