"""The single-file verifier, run as a sceptic runs it: as a process, on files made by others."""

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
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

ROOT = Path(__file__).resolve().parents[2]
VERIFIER = ROOT / "src" / "provtape" / "verifier.py"
ANSWERS = ROOT.parent / "shared" / "known-answers"
ALICE = str(ANSWERS / "alice.pem")
CASES = sorted(path.parent.name for path in ANSWERS.glob("*/expected.json")) or [
    "known answers are not laid out"
]


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
    return Path(shutil.copytree(ANSWERS / "intact", tmp_path / "intact"))


@pytest.mark.parametrize("key", ["alice.pem", "alice.vkey", "alice.ssh"])
@pytest.mark.parametrize("case", CASES)
def test_known_answer(case: str, key: str) -> None:
    expected = json.loads((ANSWERS / case / "expected.json").read_text())
    _, report = run("cassette.jsonl", "--pubkey", f"../{key}", cwd=ANSWERS / case)
    attack = report["findings"][0]["attack"] if report["findings"] else None
    assert (report["verdict"], attack) == (expected["verdict"], expected["attack"])


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
    [(), ("--help",), ("cassette.jsonl", "--bogus"), ("cassette.jsonl", "--expect-records", "06")],
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
    rich = Path(shutil.copytree(ANSWERS / "intact-rich", tmp_path / "rich"))
    (rich / "scores.json").rename(tmp_path / "scores.json")
    (rich / "scores.json").symlink_to(tmp_path / "scores.json")
    exit_code, report = run("cassette.jsonl", "--pubkey", ALICE, cwd=rich)
    assert (exit_code, codes(report)) == (3, ["subject.missing"])
    exit_code, report = run("cassette.jsonl", "--pubkey", ALICE, "--only", cwd=rich)
    assert (exit_code, report["facts"]["subjects"][0]["state"]) == (0, "not asked")


def statement_of(folder: Path) -> dict:
    line = json.loads((folder / "cassette.jsonl.intoto.jsonl").read_text())
    return json.loads(base64.b64decode(line["payload"]))


def sign(statement: dict) -> str:
    """One manifest line by the key of the known answers, whose seed their README gives."""
    key = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
    payload = json.dumps(statement, ensure_ascii=False, separators=(",", ":")).encode()
    signature = key.sign(b"DSSEv1 28 application/vnd.in-toto+json %d %s" % (len(payload), payload))
    spki = bytes.fromhex("302a300506032b6570032100") + key.public_key().public_bytes_raw()
    signatures = [{"keyid": hashlib.sha256(spki).hexdigest(), "sig": base64.b64encode(signature).decode()}]
    line = {"payload": base64.b64encode(payload).decode(), "payloadType": "application/vnd.in-toto+json"}
    return json.dumps(line | {"signatures": signatures}, separators=(",", ":")) + "\n"


@pytest.fixture
def pair(tmp_path: Path) -> Path:
    """Two cassettes under one manifest, which binds a result as well."""
    first, second = statement_of(ANSWERS / "intact"), statement_of(ANSWERS / "intact-rich")
    for name, case, statement in (("a.jsonl", "intact", first), ("b.jsonl", "intact-rich", second)):
        shutil.copy(ANSWERS / case / "cassette.jsonl", tmp_path / name)
        shutil.copy(ANSWERS / case / "cassette.jsonl.ckpt", tmp_path / f"{name}.ckpt")
        statement["subject"][0]["name"] = statement["predicate"]["cassettes"][0]["name"] = name
    shutil.copy(ANSWERS / "intact-rich" / "scores.json", tmp_path)
    first["subject"] += second["subject"]
    first["predicate"]["cassettes"] += second["predicate"]["cassettes"]
    (tmp_path / "all.intoto.jsonl").write_text(sign(first))
    return tmp_path


def test_a_manifest_in_place_of_a_cassette_verifies_all_that_it_names(pair: Path) -> None:
    exit_code, report = run("all.intoto.jsonl", "--pubkey", ALICE, cwd=pair)
    assert (exit_code, [row["state"] for row in report["facts"]["subjects"]]) == (0, ["same"])
    exit_code, report = run("all.intoto.jsonl", "--pubkey", ALICE, "--expect-records", "6", cwd=pair)
    assert (exit_code, codes(report)) == (2, ["usage"])


def test_one_cassette_can_not_stand_in_for_another(pair: Path) -> None:
    for suffix in ("", ".ckpt"):
        shutil.copy(pair / f"a.jsonl{suffix}", pair / f"b.jsonl{suffix}")
    exit_code, report = run("all.intoto.jsonl", "--pubkey", ALICE, cwd=pair)
    assert (exit_code, codes(report)) == (1, ["manifest.origin"])


def test_of_several_cassettes_a_failed_one_decides(pair: Path) -> None:
    (pair / "a.jsonl").unlink()
    exit_code, report = run("all.intoto.jsonl", "--pubkey", ALICE, "--only", cwd=pair)
    assert (exit_code, codes(report)) == (3, ["subject.missing"])
    data = (pair / "b.jsonl").read_bytes()
    (pair / "b.jsonl").write_bytes(data.replace(b"pong", b"pang", 1))
    exit_code, report = run("all.intoto.jsonl", "--pubkey", ALICE, "--only", cwd=pair)
    assert (exit_code, codes(report)[0]) == (1, "chain.prev")
