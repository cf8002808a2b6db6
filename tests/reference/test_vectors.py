"""Published test sets: strict Ed25519 and strict JSON decide as they must, in both verifiers where both have the function."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from provtape import verifier
from provtape.errors import FormatError, ProvtapeError
from provtape.format import checkpoint, envelope, keys, manifest, strict

VERIFY = {"package": keys.verify_signature, "standalone": verifier.verify_signature}
Verify = Callable[[bytes, bytes, bytes], bool]


@pytest.fixture(params=VERIFY)
def verify(request: pytest.FixtureRequest) -> Verify:
    return VERIFY[request.param]


def test_cctv_accepts_exactly_43_of_914(reference: Path, verify: Verify) -> None:
    cases = json.loads((reference / "vectors/cctv-ed25519/ed25519vectors.json").read_text())
    answers = [verify(bytes.fromhex(c["key"]), bytes.fromhex(c["sig"]), c["msg"].encode()) for c in cases]
    assert (len(answers), sum(answers)) == (914, 43)


def test_wycheproof_all_151(reference: Path, verify: Verify) -> None:
    groups = json.loads((reference / "vectors/wycheproof/ed25519_test.json").read_text())["testGroups"]
    seen = 0
    for group in groups:
        public = bytes.fromhex(group["publicKey"]["pk"])
        for case in group["tests"]:
            answer = verify(public, bytes.fromhex(case["sig"]), bytes.fromhex(case["msg"]))
            assert answer == (case["result"] == "valid"), case["tcId"]
            seen += 1
    assert seen == 151


def test_rfc8032_signatures_hold(reference: Path, verify: Verify) -> None:
    lines = (reference / "vectors/rfc8032/sign.input.first256").read_text().splitlines()
    for line in lines:
        _, public, message, signed, _ = line.split(":")
        assert verify(bytes.fromhex(public), bytes.fromhex(signed)[:64], bytes.fromhex(message))
    assert len(lines) == 256


def test_speccheck_no_weak_case_is_accepted(reference: Path, verify: Verify) -> None:
    cases = json.loads((reference / "vectors/ed25519-speccheck/cases.json").read_text())
    answers = [
        verify(bytes.fromhex(c["pub_key"]), bytes.fromhex(c["signature"]), bytes.fromhex(c["message"]))
        for c in cases
    ]
    assert [place for place, answer in enumerate(answers) if answer] == [3]


def test_json_suite(reference: Path) -> None:
    refused_on_purpose = {"y_object_duplicated_key.json", "y_object_duplicated_key_and_value.json"}
    files = sorted((reference / "vectors/json-test-suite").glob("test_*/*.json"))
    assert len(files) == 340
    for file in files:
        try:
            strict.parse(file.read_bytes())
            accepted = True
        except FormatError:
            accepted = False
        if file.name.startswith("y_"):
            assert accepted == (file.name not in refused_on_purpose), file.name
        elif file.name.startswith("n_"):
            assert not accepted, file.name


def test_no_input_raises_anything_but_a_provtape_error(reference: Path) -> None:
    readers = (
        strict.parse,
        strict.read,
        envelope.parse_file,
        manifest.parse,
        keys.parse_public,
        checkpoint.parse_file,
    )
    for file in sorted((reference / "vectors/json-test-suite").glob("test_*/*.json")):
        for read in readers:
            try:
                read(file.read_bytes())
            except ProvtapeError:
                continue


def test_published_notes_verify(reference: Path) -> None:
    """Three notes of other projects: key ids and signatures are computed as everybody computes them."""
    published = json.loads((reference / "vectors/signed-note/notes.json").read_text())["notes"]
    assert len(published) == 3
    for case in published:
        name, identity, key = case["vkey"].split("+", 2)
        raw = base64.b64decode(key)[1:]
        text, _, line = case["note"].rpartition("\n\n")
        blob = base64.b64decode(line.split()[-1])
        assert keys.key_id(name, raw) == bytes.fromhex(identity) == blob[:4]
        assert keys.verify_signature(raw, blob[4:], text.encode() + b"\n")
        assert not keys.verify_signature(raw, blob[4:], text.encode())


def test_a_published_checkpoint_is_read_whole(reference: Path) -> None:
    case = json.loads((reference / "vectors/signed-note/notes.json").read_text())["notes"][2]
    (found,), rest = checkpoint.parse_file(case["note"].encode())
    key = keys.parse_public(case["vkey"].encode())
    assert (found.records, rest) == (10, b"")
    assert [line.counts_for(key) and line.verifies(key, found.note.text) for line in found.note.lines] == [
        True
    ]
