"""Other people's programs read what provtape wrote: openssl, ssh-keygen, sha256sum and securesystemslib, really run."""

from __future__ import annotations

import base64
import hashlib
import json
import subprocess
from pathlib import Path

import pytest
from securesystemslib.dsse import Envelope
from securesystemslib.exceptions import VerificationError
from securesystemslib.signer import SSlibKey

import workbench
from provtape import signing
from provtape.format import keys


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A signed cassette with a bound file, and its public key as PEM and ssh."""
    folder = tmp_path_factory.mktemp("foreign")
    signer = workbench.signer()
    cassette = workbench.honest(folder / "run.jsonl", 3, signer)
    (folder / "scores.json").write_text('{"score": 3}\n')
    signing.sign(cassette, signer, [folder / "scores.json"], clock=workbench.clock)
    (folder / "alice.pem").write_text(signer.public.pem)
    (folder / "alice.ssh").write_text(signer.public.ssh + "\n")
    return folder


def shell(folder: Path, line: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["sh", "-c", line], cwd=folder, capture_output=True, text=True, timeout=60)


def openssl(folder: Path, message: bytes, signature: bytes) -> subprocess.CompletedProcess[str]:
    (folder / "message").write_bytes(message)
    (folder / "signature").write_bytes(signature)
    return shell(
        folder, "openssl pkeyutl -verify -pubin -inkey alice.pem -rawin -in message -sigfile signature"
    )


def test_openssl_checks_a_note(folder: Path) -> None:
    text, _, line = (folder / "run.jsonl.ckpt").read_bytes().rpartition(b"\n\n")
    signed = text[text.rfind(workbench.PREFIX.encode()) :] + b"\n"
    signature = base64.b64decode(line.split()[-1])[4:]
    assert openssl(folder, signed, signature).returncode == 0
    assert openssl(folder, signed.replace(b"\n6\n", b"\n5\n"), signature).returncode != 0


def test_openssl_checks_a_manifest(folder: Path) -> None:
    line = json.loads((folder / "run.jsonl.intoto.jsonl").read_text())
    payload = base64.b64decode(line["payload"])
    signed = b"DSSEv1 28 application/vnd.in-toto+json %d %s" % (len(payload), payload)
    signature = base64.b64decode(line["signatures"][0]["sig"])
    assert openssl(folder, signed, signature).returncode == 0
    assert openssl(folder, signed + b" ", signature).returncode != 0


def test_openssl_derives_the_keyid(folder: Path) -> None:
    line = json.loads((folder / "run.jsonl.intoto.jsonl").read_text())
    done = shell(folder, "openssl pkey -pubin -in alice.pem -outform DER | sha256sum")
    assert done.stdout.split()[0] == line["signatures"][0]["keyid"]


def test_ssh_keygen_reads_the_public_key(folder: Path) -> None:
    done = shell(folder, "ssh-keygen -l -f alice.ssh")
    assert done.returncode == 0, done.stderr
    assert "ED25519" in done.stdout
    raw = keys.parse_public((folder / "alice.pem").read_bytes()).raw
    blob = b"\x00\x00\x00\x0bssh-ed25519\x00\x00\x00\x20" + raw
    fingerprint = base64.b64encode(hashlib.sha256(blob).digest()).decode().rstrip("=")
    assert f"SHA256:{fingerprint}" in done.stdout


def test_securesystemslib_verifies_the_envelope(folder: Path) -> None:
    line = json.loads((folder / "run.jsonl.intoto.jsonl").read_text())
    raw = keys.parse_public((folder / "alice.pem").read_bytes()).raw
    keyid = line["signatures"][0]["keyid"]
    key = SSlibKey(keyid, "ed25519", "ed25519", {"public": raw.hex()})
    accepted = Envelope.from_dict(json.loads(json.dumps(line))).verify([key], 1)
    assert list(accepted) == [keyid]
    forged = dict(line, payload=base64.b64encode(base64.b64decode(line["payload"]) + b" ").decode())
    with pytest.raises(VerificationError):
        Envelope.from_dict(forged).verify([key], 1)


def test_sha256sum_reproduces_prev_and_the_subject_digests(folder: Path) -> None:
    lines = (folder / "run.jsonl").read_text().splitlines()
    for number in range(1, len(lines)):
        done = shell(folder, f"{{ printf '\\0'; sed -n {number}p run.jsonl; }} | sha256sum")
        assert done.stdout.split()[0] == json.loads(lines[number])["prev"]
    payload = base64.b64decode(json.loads((folder / "run.jsonl.intoto.jsonl").read_text())["payload"])
    for subject in json.loads(payload)["subject"]:
        done = shell(folder, f"sha256sum {subject['name']}")
        assert done.stdout.split()[0] == subject["digest"]["sha256"]
