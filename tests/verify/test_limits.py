"""What a verdict does not show. These are not faults to mend but limits to know; the README states each."""

from __future__ import annotations

from pathlib import Path

import workbench
from provtape import signing
from provtape.cassette.writer import Writer
from provtape.format.keys import PublicKey
from verifiers import both, first


def signed(folder: Path, *, nonce: object = 0, interactions: int = 3) -> tuple[Path, Path]:
    """An honest cassette, signed; and the key's file."""
    folder.mkdir()
    signer = workbench.signer()
    cassette = workbench.honest(folder / "run.jsonl", interactions, signer, nonce=nonce)
    signing.sign(cassette, signer, clock=workbench.clock)
    (folder / "key.pub").write_text(signer.public.vkey)
    return cassette, folder / "key.pub"


def test_limit_the_key_holder_can_record_and_sign_again(tmp_path: Path) -> None:
    one, key = signed(tmp_path / "one", nonce=1)
    two, _ = signed(tmp_path / "two", nonce=2, interactions=4)
    assert both(one, "--pubkey", key)["verdict"] == both(two, "--pubkey", key)["verdict"] == "VERIFIED"
    origin = both(one, "--pubkey", key)["facts"]["cassettes"][0]["origin"]
    assert first(both(two, "--pubkey", key, "--expect-origin", origin))[:2] == ("FAILED", "expect.origin")


def test_limit_two_endings_show_only_together(tmp_path: Path) -> None:
    signer, folders = workbench.signer(), [tmp_path / "one", tmp_path / "two"]
    for answer, folder in enumerate(folders):
        folder.mkdir()
        path, opening, run = folder / "run.jsonl", workbench.opening(), workbench.run()
        with Writer.create(path, opening, run, prefix=workbench.PREFIX, signer=signer) as writer:
            writer.append(workbench.interaction("which?", f"ending {answer}"))
            writer.seal(workbench.end())
        signing.sign(path, signer, clock=workbench.clock)
    one, two = (folder / "run.jsonl" for folder in folders)
    key, kept = tmp_path / "key.pub", two.with_name("run.jsonl.ckpt")
    key.write_text(signer.public.vkey)
    assert both(one, "--pubkey", key)["verdict"] == "VERIFIED"
    assert both(two, "--pubkey", key)["verdict"] == "VERIFIED"
    assert first(both(one, "--pubkey", key, "--seen", kept))[2] == "fork"


def test_limit_whole_notes_can_be_dropped_under_a_manifest(tmp_path: Path) -> None:
    cassette, key = signed(tmp_path / "one")
    notes = cassette.with_name("run.jsonl.ckpt")
    data = notes.read_bytes()
    first_note = data[: data.index(b"\n", data.index("—".encode())) + 1]
    notes.write_bytes(first_note)
    assert both(cassette, "--pubkey", key)["verdict"] == "VERIFIED"
    notes.unlink()
    assert both(cassette, "--pubkey", key)["verdict"] == "VERIFIED"


def test_limit_a_line_by_a_key_nobody_named_can_not_be_checked(tmp_path: Path) -> None:
    cassette, key = signed(tmp_path / "one")
    witness = workbench.signer("witness.example", 2)
    signing.sign(cassette, witness, clock=workbench.clock)
    manifest = cassette.with_name("run.jsonl.intoto.jsonl")
    ours, theirs = manifest.read_bytes().splitlines(keepends=True)
    manifest.write_bytes(ours + theirs.replace(b'"sig":"', b'"sig":"AAAA')[: -len(b'"}]}\n') - 4] + b'"}]}\n')
    report = both(cassette, "--pubkey", key)
    assert (report["verdict"], report["facts"]["cassettes"][0]["strangers"] > 0) == ("FAILED", True)
    manifest.write_bytes(ours + _other_signature(theirs))
    assert both(cassette, "--pubkey", key)["verdict"] == "VERIFIED"
    witness_key = tmp_path / "witness.pub"
    witness_key.write_text(PublicKey(witness.public.raw, witness.name).vkey)
    named = both(cassette, "--pubkey", key, "--pubkey", witness_key)
    assert first(named)[2] == "forged"


def _other_signature(line: bytes) -> bytes:
    place = line.index(b'"sig":"') + 10
    return line[:place] + (b"B" if line[place : place + 1] == b"A" else b"A") + line[place + 1 :]


def test_limit_times_are_claims(tmp_path: Path) -> None:
    signer = workbench.signer()
    cassette = tmp_path / "run.jsonl"
    old = "1999-01-01T00:00:00.000Z"
    opening, run = workbench.opening(created=old), workbench.run(started="2099-12-31T23:59:59.999Z")
    with Writer.create(cassette, opening, run, prefix=workbench.PREFIX, signer=signer) as writer:
        writer.seal(workbench.end(closed=old))
    signing.sign(cassette, signer, clock=workbench.clock)
    key = tmp_path / "key.pub"
    key.write_text(signer.public.vkey)
    assert both(cassette, "--pubkey", key)["verdict"] == "VERIFIED"


def test_an_empty_kept_note_is_no_note(tmp_path: Path) -> None:
    cassette, key = signed(tmp_path / "one")
    empty = tmp_path / "empty"
    empty.write_bytes(b"")
    assert first(both(cassette, "--pubkey", key, "--seen", empty))[:2] == ("FAILED", "checkpoint.form")


def test_withheld_lines_and_an_expected_commit_do_not_go_together(tmp_path: Path) -> None:
    """A withheld line could be a run of another commit: the question has no answer, so neither verifier gives one."""
    cassette, key = signed(tmp_path / "one")
    words = ("--allow-withheld", "--expect-commit", "0" * 40)
    assert first(both(cassette, "--pubkey", key, *words))[:2] == ("ERROR", "usage")


def test_a_number_too_large_for_a_chunk_is_a_fault_and_no_crash(tmp_path: Path) -> None:
    response = {
        "ended": "complete",
        "error": None,
        "status": 200,
        "headers": [],
        "body": {"text": "x"},
        "chunks": [[1, 10**25]],
    }
    request = {"method": "GET", "url": "http://a.example/", "headers": [], "body": None}
    record = workbench.interaction(kind="http", request=request, response=response)
    with Writer.create(
        tmp_path / "run.jsonl", workbench.opening(), workbench.run(), prefix=workbench.PREFIX
    ) as writer:
        writer.append(record)
    key = tmp_path / "key.pub"
    key.write_text(workbench.signer().public.vkey)
    assert first(both(tmp_path / "run.jsonl", "--pubkey", key)) == ("FAILED", "record.members", "edit", 2)
