"""An author signs: what comes to be, and what is refused. Every story ends with both verifiers."""

from __future__ import annotations

import base64
import json
import os
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import workbench
from provtape import Call, Session, signing, this_run
from provtape.cassette.notes import Signer
from provtape.errors import CassetteLocked, CassetteSealed, ScrubError, SigningError
from verifiers import both, codes, first

ALICE = workbench.signer()
BOB = workbench.signer("lab.example/bob", 2)


def key_file(folder: Path, *signers: object) -> list[str | Path]:
    """`--pubkey` for each signer."""
    words: list[str | Path] = []
    for signer in signers:
        words += ["--pubkey", signer.public.vkey]
    return words


def test_an_open_cassette_is_sealed_noted_and_bound(tmp_path: Path) -> None:
    cassette = workbench.honest(tmp_path / "run.jsonl", sealed=False)
    scores = tmp_path / "out" / "scores.json"
    scores.parent.mkdir()
    scores.write_text("{}")
    done = signing.sign(cassette, ALICE, [scores], clock=workbench.clock)
    assert (done.sealed_now, done.torn, done.patch, done.verdict.word) == (True, 0, None, "VERIFIED")
    report = both(cassette, *key_file(tmp_path, ALICE))
    assert report["verdict"] == "VERIFIED"
    assert report["facts"]["subjects"] == [{"name": "out/scores.json", "state": "same"}]
    scores.write_text("{ }")
    assert first(both(cassette, *key_file(tmp_path, ALICE)))[:3] == ("FAILED", "subject.digest", "edit")
    assert both(cassette, *key_file(tmp_path, ALICE), "--only")["verdict"] == "VERIFIED"


def test_nothing_is_added_to_what_was_signed(tmp_path: Path) -> None:
    cassette = workbench.honest(tmp_path / "run.jsonl", sealed=False)
    signing.sign(cassette, ALICE, clock=workbench.clock)
    with pytest.raises(CassetteSealed):
        Session.open(cassette, "auto", live=lambda call: "more")


def test_a_second_signer_adds_a_line_under_the_same_payload(tmp_path: Path) -> None:
    cassette = workbench.honest(tmp_path / "run.jsonl")
    signing.sign(cassette, ALICE, clock=workbench.clock)
    before = cassette.read_bytes()
    signing.sign(cassette, BOB, clock=workbench.clock)
    assert cassette.read_bytes() == before
    lines = [json.loads(line) for line in (tmp_path / "run.jsonl.intoto.jsonl").read_text().splitlines()]
    assert len(lines) == 2
    assert lines[0]["payload"] == lines[1]["payload"]
    for signers in ((ALICE,), (BOB,), (ALICE, BOB)):
        report = both(cassette, *key_file(tmp_path, *signers))
        assert report["verdict"] == "VERIFIED"
        assert all(row["manifest"] for row in report["facts"]["cassettes"][0]["covers"])
    with pytest.raises(SigningError, match="has signed the manifest already"):
        signing.sign(cassette, BOB, clock=workbench.clock)
    with pytest.raises(SigningError, match="files are fixed"):
        signing.sign(cassette, workbench.signer("x.example", 3), [tmp_path / "late"], clock=workbench.clock)


def test_a_changed_cassette_is_not_signed(tmp_path: Path) -> None:
    cassette = workbench.honest(tmp_path / "run.jsonl")
    cassette.write_bytes(cassette.read_bytes().replace(b"answer 1", b"answer 7"))
    before = sorted(tmp_path.iterdir())
    with pytest.raises(SigningError, match="record 4"):
        signing.sign(cassette, ALICE, clock=workbench.clock)
    assert sorted(tmp_path.iterdir()) == before


def test_a_rechained_cassette_with_its_old_notes_is_not_signed(tmp_path: Path) -> None:
    cassette = workbench.honest(tmp_path / "run.jsonl", signer=BOB)
    other = workbench.honest(tmp_path / "other.jsonl", 4)
    os.replace(other, cassette)
    with pytest.raises(SigningError, match="a checkpoint"):
        signing.sign(cassette, ALICE, clock=workbench.clock)


def test_a_torn_tail_is_moved_aside_and_said(tmp_path: Path) -> None:
    cassette = workbench.honest(tmp_path / "run.jsonl", sealed=False)
    with open(cassette, "ab") as file:
        file.write(b'{"prev":"00')
    done = signing.sign(cassette, ALICE, clock=workbench.clock)
    assert done.torn == 11
    assert (tmp_path / "run.jsonl.torn").read_bytes().rstrip(b"\n") == b'{"prev":"00'
    assert both(cassette, *key_file(tmp_path, ALICE))["verdict"] == "VERIFIED"


@pytest.mark.parametrize(
    ("place", "said"),
    [
        ("../outside.json", "can not be bound by name"),
        ("with blank.json", "can not be bound by name"),
        ("größe.json", "can not be bound by name"),
        ("missing.json", "no regular file"),
        ("folder", "no regular file"),
        ("link.json", "no regular file"),
        ("linked/inside.json", "no regular file"),
        ("run.jsonl", "bound already"),
    ],
)
def test_a_file_that_a_reviewer_could_not_find_is_not_bound(tmp_path: Path, place: str, said: str) -> None:
    desk = tmp_path / "desk"
    desk.mkdir()
    cassette = workbench.honest(desk / "run.jsonl", sealed=False)
    for name in ("../outside.json", "with blank.json", "größe.json"):
        (desk / name).write_text("{}")
    (desk / "folder").mkdir()
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "inside.json").write_text("{}")
    (desk / "link.json").symlink_to(tmp_path / "outside.json")
    (desk / "linked").symlink_to(tmp_path / "elsewhere")
    before = cassette.read_bytes()
    with pytest.raises(SigningError, match=said):
        signing.sign(cassette, ALICE, [desk / place], clock=workbench.clock)
    assert cassette.read_bytes() == before
    assert not (desk / "run.jsonl.intoto.jsonl").exists()


def test_a_subject_behind_a_link_is_missing(tmp_path: Path) -> None:
    cassette = workbench.honest(tmp_path / "run.jsonl")
    scores = tmp_path / "scores.json"
    scores.write_text("{}")
    signing.sign(cassette, ALICE, [scores], clock=workbench.clock)
    scores.rename(tmp_path / "real.json")
    scores.symlink_to("real.json")
    assert first(both(cassette, *key_file(tmp_path, ALICE)))[:2] == ("UNVERIFIED", "subject.missing")
    scores.unlink()
    os.mkfifo(scores)
    assert first(both(cassette, *key_file(tmp_path, ALICE)))[:2] == ("UNVERIFIED", "subject.missing")


def git(folder: Path, *words: str) -> str:
    environment = os.environ | {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    person = ["-c", "user.name=Ada", "-c", "user.email=ada@lab.example"]
    done = subprocess.run(
        ["git", *person, *words], cwd=folder, env=environment, capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    folder = tmp_path / "code"
    folder.mkdir()
    git(folder, "init", "--quiet")
    (folder / "bench.py").write_text("print(1)\n")
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--message", "one")
    return folder


def record(folder: Path, mode: str = "record") -> Path:
    cassette = folder / "run.jsonl"
    with Session.open(
        cassette, mode, live=lambda call: "yes", signer=ALICE, **this_run(cassette, folder)
    ) as session:
        session.ask(Call("m", f"question {mode}"))
    return cassette


def test_clean_code_is_bound_by_commit(repository: Path) -> None:
    cassette = record(repository)
    signing.sign(cassette, ALICE, clock=workbench.clock, directory=repository)
    commit = git(repository, "rev-parse", "HEAD")
    keys = key_file(repository, ALICE)
    assert both(cassette, *keys, "--expect-commit", commit)["verdict"] == "VERIFIED"
    assert codes(both(cassette, *keys, "--expect-commit", "0" * 40)) == ["expect.commit"]
    code = both(cassette, *keys)["facts"]["cassettes"][0]["runs"][0]["code"]
    assert (code["commit"], code["dirty"]) == (commit, False)


def test_dirty_code_is_refused_or_its_difference_is_bound(repository: Path, tmp_path: Path) -> None:
    (repository / "bench.py").write_text("print(2)\n")
    (repository / "untracked.py").write_text("print(3)\n")
    cassette = record(repository)
    with pytest.raises(SigningError, match="not what its commit holds"):
        signing.sign(cassette, ALICE, clock=workbench.clock, directory=repository)
    done = signing.sign(cassette, ALICE, clock=workbench.clock, directory=repository, allow_dirty=True)
    assert done.patch == repository / "run.jsonl.patch"
    report = both(cassette, *key_file(repository, ALICE))
    assert report["verdict"] == "VERIFIED"
    assert report["facts"]["subjects"] == [{"name": "run.jsonl.patch", "state": "same"}]
    clone = tmp_path / "clone"
    git(tmp_path, "clone", "--quiet", str(repository), str(clone))
    git(clone, "apply", "--index", str(done.patch))
    assert git(clone, "write-tree") == report["facts"]["cassettes"][0]["runs"][0]["code"]["tree"]


def test_runs_that_differ_in_code_are_told_apart(repository: Path) -> None:
    cassette = record(repository)
    old = git(repository, "rev-parse", "HEAD")
    (repository / "bench.py").write_text("print(4)\n")
    git(repository, "commit", "--quiet", "--all", "--message", "two")
    record(repository, "auto")
    signing.sign(cassette, ALICE, clock=workbench.clock, directory=repository)
    new = git(repository, "rev-parse", "HEAD")
    report = both(cassette, *key_file(repository, ALICE))
    runs = report["facts"]["cassettes"][0]["runs"]
    assert [(run["code"]["commit"], run["interactions"]) for run in runs] == [(old, 1), (new, 1)]
    assert codes(both(cassette, *key_file(repository, ALICE), "--expect-commit", new)) == ["expect.commit"]
    payload = json.loads((repository / "run.jsonl.intoto.jsonl").read_text())["payload"]
    statement = json.loads(base64.b64decode(payload))
    assert statement["predicate"]["cassettes"][0]["code"]["commit"] == new


def test_a_withheld_copy_is_not_signed(tmp_path: Path) -> None:
    cassette = workbench.honest(tmp_path / "run.jsonl")
    lines = cassette.read_bytes().splitlines(keepends=True)
    lines[3] = b'{"withheld":"%s"}\n' % workbench.leaves(cassette)[3].hex().encode()
    cassette.write_bytes(b"".join(lines))
    with pytest.raises(SigningError, match="withheld"):
        signing.sign(cassette, ALICE, clock=workbench.clock)


def test_a_name_with_a_secret_does_not_reach_the_manifest(tmp_path: Path) -> None:
    cassette = tmp_path / "run.jsonl"
    with Session.open(cassette, "record", live=lambda call: "yes", literals=()) as session:
        session.ask(Call("m", "q"))
    secret = "ghp_" + "Ab3Cd5Ef7Gh9Jk2Mn4Pq6Rs8Tu1Vw0XyAb3C"
    result = tmp_path / f"{secret}.json"
    result.write_text("{}")
    with pytest.raises(ScrubError) as refusal:
        signing.sign(cassette, ALICE, [result], clock=workbench.clock)
    assert secret not in str(refusal.value)
    assert not (tmp_path / "run.jsonl.intoto.jsonl").exists()


def untouched(cassette: Path, before: bytes) -> bool:
    """Whether a refusal left the cassette open and without evidence."""
    return (
        cassette.read_bytes() == before and not cassette.with_name(f"{cassette.name}.intoto.jsonl").exists()
    )


@pytest.mark.parametrize(
    ("names", "said"),
    [
        (["a.json", "a.json"], "bound twice"),
        (["a.json", "A.json"], "bound twice"),
        (["run.jsonl.ckpt"], "is evidence"),
        (["run.jsonl.torn"], "is evidence"),
        (["alice.key"], "is a private key"),
    ],
)
def test_what_can_be_known_before_is_refused_before_anything_is_sealed(
    tmp_path: Path, names: list[str], said: str
) -> None:
    cassette = workbench.honest(tmp_path / "run.jsonl", sealed=False, signer=ALICE)
    (tmp_path / "run.jsonl.torn").write_text("torn")
    for name in ("a.json", "A.json"):
        (tmp_path / name).write_text("{}")
    (tmp_path / "alice.key").write_text("-" * 5 + "BEGIN" + " PRIVATE KEY" + "-" * 5 + "\n")
    before = cassette.read_bytes()
    with pytest.raises(SigningError, match=said):
        signing.sign(cassette, ALICE, [tmp_path / name for name in names], clock=workbench.clock)
    assert untouched(cassette, before)


def test_a_cassette_whose_name_no_manifest_can_hold_is_refused_before(tmp_path: Path) -> None:
    cassette = workbench.honest(tmp_path / "a b.jsonl", sealed=False)
    before = cassette.read_bytes()
    with pytest.raises(SigningError, match="own name"):
        signing.sign(cassette, ALICE, clock=workbench.clock)
    assert untouched(cassette, before)


def test_an_earlier_dirty_run_is_not_signed_in_silence(repository: Path) -> None:
    (repository / "bench.py").write_text("print(2)\n")
    cassette = record(repository)
    git(repository, "commit", "--quiet", "--all", "--message", "two")
    record(repository, "auto")
    with pytest.raises(SigningError, match="not what its commit holds"):
        signing.sign(cassette, ALICE, clock=workbench.clock, directory=repository)


def test_signers_at_one_time_lose_no_line(tmp_path: Path) -> None:
    """Each either adds its line or is told that somebody else is at it; none believes what is not so."""
    cassette = workbench.honest(tmp_path / "run.jsonl")
    signing.sign(cassette, ALICE, clock=workbench.clock)
    signers = [workbench.signer(f"witness.example/{number}", number) for number in range(2, 8)]

    def add(signer: Signer) -> bool:
        try:
            signing.sign(cassette, signer, clock=workbench.clock)
        except CassetteLocked:
            return False
        return True

    with ThreadPoolExecutor(len(signers)) as pool:
        done = list(pool.map(add, signers))
    assert any(done)
    for signer, added in zip(signers, done, strict=True):
        assert (both(cassette, *key_file(tmp_path, signer))["verdict"] == "VERIFIED") == added
