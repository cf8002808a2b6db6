"""The single-file verifier, run as a sceptic runs it: as a process, on the cases of the spec."""

import ast
import base64
import hashlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
VERIFIER = ROOT / "src" / "provtape" / "verifier.py"
CASES = ROOT / "spec" / "vectors" / "cases"
ALICE = str(CASES / "keys" / "alice.pem")


def run(*arguments: str, cwd: Path, python: tuple[str, ...] = ("-I",)) -> tuple[int, dict]:
    """Run the verifier with `--json`; its exit code and the one object on stdout."""
    command = [sys.executable, *python, str(VERIFIER), *arguments, "--json"]
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)
    report = json.loads(done.stdout)
    assert done.returncode == report["exit"]
    return done.returncode, report


def codes(report: dict) -> list[str]:
    return [finding["code"] for finding in report["findings"]]


@pytest.fixture
def intact(tmp_path: Path) -> Path:
    """A copy of the intact case that a test may change."""
    return Path(shutil.copytree(CASES / "intact" / "plain", tmp_path / "intact"))


def test_it_imports_nothing_but_the_standard_library_and_cryptography() -> None:
    names = set()
    for node in ast.walk(ast.parse(VERIFIER.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0
            names.add(node.module or "")
    assert {name.split(".")[0] for name in names} - set(sys.stdlib_module_names) == {"cryptography"}


def test_without_cryptography_there_is_no_verdict(intact: Path) -> None:
    exit_code, report = run("cassette.jsonl", "--pubkey", ALICE, cwd=intact, python=("-I", "-S"))
    assert (exit_code, codes(report)) == (2, ["internal"])


def test_a_closed_stdout_is_no_verdict(intact: Path) -> None:
    script = f"exec '{sys.executable}' -I '{VERIFIER}' cassette.jsonl >&-"
    assert (
        subprocess.run(["sh", "-c", script], cwd=intact, check=False, stderr=subprocess.DEVNULL).returncode
        == 2
    )


@pytest.mark.parametrize(
    "arguments",
    [("a", "b"), ("--help",), ("cassette.jsonl", "--bogus"), ("cassette.jsonl", "--expect-records", "06")],
)
def test_a_line_that_can_not_be_understood_still_gets_its_object(
    intact: Path, arguments: tuple[str, ...]
) -> None:
    exit_code, report = run(*arguments, cwd=intact)
    assert (exit_code, codes(report)) == (2, ["usage"])


def test_a_key_of_small_order_is_refused(intact: Path) -> None:
    blob = b"\x01" + b"\x01" + bytes(31)
    key_id = hashlib.sha256(b"lab\n" + blob).hexdigest()[:8]
    exit_code, report = run(
        "cassette.jsonl", "--pubkey", f"lab+{key_id}+{base64.b64encode(blob).decode()}", cwd=intact
    )
    assert (exit_code, codes(report)[0]) == (2, "key.refused")


def test_a_pipe_in_place_of_evidence_does_not_block(intact: Path) -> None:
    (intact / "cassette.jsonl.ckpt").unlink()
    os.mkfifo(intact / "cassette.jsonl.ckpt")
    exit_code, report = run("cassette.jsonl", "--pubkey", ALICE, cwd=intact)
    assert (exit_code, codes(report)) == (2, ["input.unreadable"])


def test_a_withheld_copy_needs_leave(intact: Path) -> None:
    records = (intact / "cassette.jsonl").read_bytes().split(b"\n")
    leaf = hashlib.sha256(b"\0" + records[3] + b"\n").hexdigest()
    records[3] = b'{"withheld":"%s"}' % leaf.encode()
    (intact / "cassette.jsonl").write_bytes(b"\n".join(records))
    exit_code, report = run("cassette.jsonl", "--pubkey", ALICE, cwd=intact)
    assert (exit_code, codes(report)) == (3, ["cassette.withheld"])
    exit_code, report = run("cassette.jsonl", "--pubkey", ALICE, "--allow-withheld", cwd=intact)
    assert (exit_code, report["facts"]["cassettes"][0]["withheld"]) == (0, 1)


def test_a_linked_result_counts_as_missing_unless_left_out(tmp_path: Path) -> None:
    rich = Path(shutil.copytree(CASES / "intact" / "rich", tmp_path / "rich"))
    (rich / "scores.json").rename(tmp_path / "scores.json")
    (rich / "scores.json").symlink_to(tmp_path / "scores.json")
    exit_code, report = run("cassette.jsonl", "--pubkey", ALICE, cwd=rich)
    assert (exit_code, codes(report)) == (3, ["subject.missing"])
    exit_code, report = run("cassette.jsonl", "--pubkey", ALICE, "--only", cwd=rich)
    assert (exit_code, report["facts"]["subjects"][0]["state"]) == (0, "not asked")


@pytest.fixture
def pair(tmp_path: Path) -> Path:
    """Two cassettes under one manifest, which binds a result as well."""
    return Path(shutil.copytree(CASES / "intact" / "two-cassettes", tmp_path / "pair"))


def test_a_manifest_in_place_of_a_cassette_verifies_all_that_it_names(pair: Path) -> None:
    exit_code, report = run("paper.intoto.jsonl", "--pubkey", ALICE, cwd=pair)
    assert (exit_code, [row["state"] for row in report["facts"]["subjects"]]) == (0, ["same"])
    exit_code, report = run("paper.intoto.jsonl", "--pubkey", ALICE, "--expect-records", "6", cwd=pair)
    assert (exit_code, codes(report)) == (2, ["usage"])


def test_one_cassette_can_not_stand_in_for_another(pair: Path) -> None:
    for suffix in ("", ".ckpt"):
        shutil.copy(pair / f"one.jsonl{suffix}", pair / f"two.jsonl{suffix}")
    exit_code, report = run("paper.intoto.jsonl", "--pubkey", ALICE, cwd=pair)
    assert (exit_code, codes(report)) == (1, ["manifest.origin"])


def test_of_several_cassettes_a_failed_one_decides(pair: Path) -> None:
    (pair / "one.jsonl").unlink()
    exit_code, report = run("paper.intoto.jsonl", "--pubkey", ALICE, "--only", cwd=pair)
    assert (exit_code, codes(report)) == (3, ["subject.missing"])
    lines = (pair / "two.jsonl").read_bytes().splitlines(keepends=True)
    lines[2] = lines[2].replace(b'"elapsed_ms":', b'"elapsed_ms":1', 1)
    (pair / "two.jsonl").write_bytes(b"".join(lines))
    exit_code, report = run("paper.intoto.jsonl", "--pubkey", ALICE, "--only", cwd=pair)
    assert (exit_code, codes(report)[0]) == (1, "chain.prev")
