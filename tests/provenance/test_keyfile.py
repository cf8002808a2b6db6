"""The story of a private key: nobody else reads it, git never takes it, and foreign tools agree with it."""

from __future__ import annotations

import base64
import os
import stat
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, x25519
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from gitstage import Repository

from provtape.errors import KeyRefused
from provtape.format.keys import PublicKey, parse_public, verify_signature
from provtape.provenance import keyfile
from provtape.provenance.keyfile import SigningKey, generate, inside_tree, load, name_beside

NAME = "lab.example/alice"


def run(*command: str | Path, stdin: bytes = b"") -> bytes:
    done = subprocess.run(command, input=stdin, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode(errors="replace")
    return done.stdout


def mode(path: Path) -> int:
    return stat.S_IMODE(path.lstat().st_mode)


def private_file(path: Path, content: bytes, bits: int = 0o600) -> Path:
    path.write_bytes(content)
    path.chmod(bits)
    return path


@contextmanager
def umask(bits: int) -> Iterator[None]:
    before = os.umask(bits)
    try:
        yield
    finally:
        os.umask(before)


def test_a_made_key_loads_signs_and_has_its_name_beside_it(tmp_path: Path) -> None:
    path = tmp_path / "alice.key"

    public = generate(path, NAME)

    key = load(path)
    assert key.public == public.raw
    assert verify_signature(public.raw, key.sign(b"message"), b"message")
    assert (tmp_path / "alice.pub").read_text() == public.vkey + "\n"
    assert parse_public((tmp_path / "alice.pub").read_bytes()) == public
    assert name_beside(path, key.public) == NAME
    assert sorted(one.name for one in tmp_path.iterdir()) == ["alice.key", "alice.pub"]


@pytest.mark.parametrize("bits", [0o000, 0o022, 0o077, 0o277, 0o777])
def test_the_mode_is_0600_whatever_the_umask(tmp_path: Path, bits: int) -> None:
    with umask(bits):
        generate(tmp_path / "alice.key", NAME)

    assert mode(tmp_path / "alice.key") == 0o600
    assert mode(tmp_path / "alice.pub") == 0o644


def test_the_longest_passphrase_is_one(tmp_path: Path) -> None:
    public = generate(tmp_path / "alice.key", NAME, passphrase=b"x" * keyfile.MAX_PASSPHRASE)
    assert load(tmp_path / "alice.key", lambda: b"x" * keyfile.MAX_PASSPHRASE).public == public.raw


def test_the_mode_is_0600_before_the_first_byte(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "alice.key"
    seen: list[tuple[int, int]] = []
    made, changed = os.open, os.fchmod

    def look(*_: object) -> None:
        if path.exists():
            seen.append((mode(path) & 0o077, path.stat().st_size))

    def open_and_look(*arguments: object, **named: object) -> int:
        descriptor: int = made(*arguments, **named)  # type: ignore[arg-type]  # handed through as they came
        look()
        return descriptor

    def change_and_look(descriptor: int, bits: int) -> None:
        changed(descriptor, bits)
        look()

    monkeypatch.setattr(os, "open", open_and_look)
    monkeypatch.setattr(os, "fchmod", change_and_look)
    with umask(0):
        generate(path, NAME)

    assert seen[:2] == [(0, 0), (0, 0)]
    assert all(open_to_others == 0 for open_to_others, _ in seen)


def test_nothing_is_ever_overwritten(tmp_path: Path) -> None:
    generate(tmp_path / "alice.key", NAME)
    before = (tmp_path / "alice.key").read_bytes(), (tmp_path / "alice.pub").read_bytes()

    with pytest.raises(KeyRefused, match="there already"):
        generate(tmp_path / "alice.key", NAME)
    with pytest.raises(KeyRefused, match="there already"):
        generate(tmp_path / "alice.other", NAME)
    with pytest.raises(KeyRefused, match=r"named \.pub"):
        generate(tmp_path / "bob.pub", NAME)

    assert ((tmp_path / "alice.key").read_bytes(), (tmp_path / "alice.pub").read_bytes()) == before
    assert sorted(one.name for one in tmp_path.iterdir()) == ["alice.key", "alice.pub"]


@pytest.mark.parametrize("lure", ["alice.key", "alice.pub"])
def test_a_link_in_the_way_leads_nowhere(tmp_path: Path, lure: str) -> None:
    (tmp_path / lure).symlink_to(tmp_path / "stolen")

    with pytest.raises(KeyRefused, match="there already"):
        generate(tmp_path / "alice.key", NAME)

    assert [one.name for one in tmp_path.iterdir()] == [lure]


@pytest.mark.parametrize("lure", ["alice.key", "alice.pub"])
def test_a_link_put_there_at_the_last_moment_leads_nowhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lure: str
) -> None:
    def too_late(path: Path) -> None:
        (path.parent / lure).symlink_to(tmp_path / "stolen")

    monkeypatch.setattr(keyfile, "_refuse_where_git_looks", too_late)

    with pytest.raises(KeyRefused, match="can not be written"):
        generate(tmp_path / "alice.key", NAME)

    assert [one.name for one in tmp_path.iterdir()] == [lure], "and no half of a pair stays behind"


def test_a_full_disk_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(KeyRefused, match="No space left"):
        generate(tmp_path / "alice.key", NAME)
    assert list(tmp_path.iterdir()) == []


def test_names_and_places_that_are_refused(tmp_path: Path) -> None:
    for name in ("", "Lab", "lab example", "lab.example/", "a+b", "x" * 256, "lab\n"):
        with pytest.raises(KeyRefused, match="not a key name"):
            generate(tmp_path / "alice.key", name)
    with pytest.raises(KeyRefused, match="is not a directory"):
        generate(tmp_path / "missing" / "alice.key", NAME)
    for passphrase in (b"", b"x" * 1024):
        with pytest.raises(KeyRefused, match="a passphrase has"):
            generate(tmp_path / "alice.key", NAME, passphrase=passphrase)
    with pytest.raises(KeyRefused, match="there already"):
        generate(tmp_path, NAME)
    assert list(tmp_path.iterdir()) == []


def test_where_git_would_pick_it_up(repository: Repository, tmp_path: Path) -> None:
    (tmp_path / "alias").symlink_to(repository.path, target_is_directory=True)
    for place in (repository.path, repository.path / "data", tmp_path / "alias"):
        with pytest.raises(KeyRefused, match="git would pick up") as caught:
            generate(place / "alice.key", NAME)
        assert caught.value.hint is not None
    for place in (repository.path / ".git", repository.path / ".git" / "refs"):
        with pytest.raises(KeyRefused, match="inside a git directory"):
            generate(place / "alice.key", NAME)
    assert not list(repository.path.rglob("alice.*"))


def test_a_bare_repository_is_a_git_directory(repository: Repository, tmp_path: Path) -> None:
    repository.git("clone", "--quiet", "--bare", str(repository.path), str(tmp_path / "bare"))
    with pytest.raises(KeyRefused, match="inside a git directory"):
        generate(tmp_path / "bare" / "alice.key", NAME)


def test_ignored_is_allowed_but_not_if_it_is_tracked(repository: Repository) -> None:
    repository.write(".gitignore", "*.key\n:odd\n")
    generate(repository.path / "alice.key", NAME)
    assert load(repository.path / "alice.key").public

    repository.write("bob.key", "once committed\n")
    repository.git("add", "--force", "bob.key")
    repository.commit()
    (repository.path / "bob.key").unlink()
    with pytest.raises(KeyRefused, match="git would pick up"):
        generate(repository.path / "bob.key", NAME)
    with pytest.raises(KeyRefused, match="git would pick up"):
        generate(repository.path / ":(top)bob.pem", NAME)


def test_when_git_can_not_be_asked_the_answer_is_no(
    repository: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / ".git").write_text("gitdir: /nowhere\n")
    with pytest.raises(KeyRefused, match="can not be told"):
        generate(tmp_path / "broken" / "alice.key", NAME)

    (tmp_path / "hollow" / ".git").mkdir(parents=True)
    generate(tmp_path / "hollow" / "alice.key", NAME)  # git sees no repository in an empty .git

    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(KeyRefused, match="can not be told"):
        generate(repository.path / "alice.key", NAME)
    generate(tmp_path / "alice.key", NAME)  # and where there is no .git, git is not needed


def test_a_passphrase_is_asked_once_and_only_if_needed(tmp_path: Path) -> None:
    path = tmp_path / "alice.key"
    public = generate(path, NAME, passphrase=b"correct horse")
    asked: list[bytes] = []

    def answer() -> bytes:
        asked.append(b"correct horse")
        return asked[-1]

    assert load(path, answer).public == public.raw
    assert len(asked) == 1
    with pytest.raises(KeyRefused, match="is encrypted"):
        load(path)
    with pytest.raises(KeyRefused, match="wrong passphrase"):
        load(path, lambda: b"battery staple")
    with pytest.raises(KeyRefused, match="wrong passphrase"):
        load(path, lambda: b"")

    generate(tmp_path / "bob.key", NAME)
    load(tmp_path / "bob.key", answer)
    assert len(asked) == 1


@pytest.mark.parametrize("bits", [0o640, 0o604, 0o620, 0o602, 0o610, 0o601, 0o644, 0o777])
def test_a_key_that_is_open_to_others_is_refused(tmp_path: Path, bits: int) -> None:
    path = tmp_path / "alice.key"
    generate(path, NAME)
    path.chmod(bits)
    with pytest.raises(KeyRefused, match="open to others") as caught:
        load(path)
    assert caught.value.hint is not None
    assert caught.value.hint.startswith("chmod 600 ")

    path.chmod(0o400)
    assert load(path).public


def test_only_regular_files_of_a_key_s_size(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe", 0o600)
    for path, reason in {
        tmp_path / "missing": "No such file",
        tmp_path: "not a regular file",
        tmp_path / "pipe": "not a regular file",
        Path("/dev/null"): "not a regular file",
        private_file(tmp_path / "large", b"-" * (keyfile.MAX_KEY_FILE + 1)): "64 KiB",
        tmp_path / "zero\0": "zero byte",
    }.items():
        with pytest.raises(KeyRefused, match=reason):
            load(path)


def pem(private: object, form: serialization.PrivateFormat) -> bytes:
    assert isinstance(private, x25519.X25519PrivateKey | ec.EllipticCurvePrivateKey | Ed25519PrivateKey)
    return private.private_bytes(serialization.Encoding.PEM, form, serialization.NoEncryption())


def test_other_algorithms_and_garbage_are_refused(tmp_path: Path) -> None:
    good = pem(Ed25519PrivateKey.generate(), serialization.PrivateFormat.PKCS8)
    curve = ec.generate_private_key(ec.SECP256R1())
    lines = good.splitlines(keepends=True)
    for content, reason in (
        (pem(curve, serialization.PrivateFormat.PKCS8), "another algorithm"),
        (pem(curve, serialization.PrivateFormat.OpenSSH), "another algorithm"),
        (pem(x25519.X25519PrivateKey.generate(), serialization.PrivateFormat.PKCS8), "another algorithm"),
        (pem(curve, serialization.PrivateFormat.TraditionalOpenSSL), "no private key"),
        (good + good, "no private key"),
        (b"text before\n" + good, "no private key"),
        (good + b"text after\n", "no private key"),
        (good[:-5], "no private key"),
        (lines[0] + lines[2], "damaged"),
        (lines[0] + b"AAAA\n" + lines[2], "damaged"),
        (good.replace(b"PRIVATE", b"OPENSSH PRIVATE"), "damaged"),
        (b"", "no private key"),
        (b"\xff\x00" * 100, "no private key"),
        (PublicKey(curve.public_key().public_bytes(*_RAW_POINT)[:32]).pem.encode(), "holds a public key"),
        (b"ssh-ed25519 AAAA", "holds a public key"),
    ):
        path = private_file(tmp_path / "some.key", content)
        with pytest.raises(KeyRefused, match=reason) as caught:
            load(path)
        assert "\n" not in str(caught.value)
        assert caught.value.__cause__ is None


_RAW_POINT = (serialization.Encoding.X962, serialization.PublicFormat.CompressedPoint)


def test_no_message_and_no_repr_holds_the_key(tmp_path: Path) -> None:
    path = tmp_path / "alice.key"
    generate(path, NAME)
    text = path.read_text().splitlines()[1]
    seed = base64.b64decode(text)[-32:]

    key = load(path)

    assert repr(key) == f"SigningKey(fingerprint='{PublicKey(key.public).fingerprint}')"
    assert str(key) == repr(key)
    for shape in (seed.hex(), base64.b64encode(seed).decode(), repr(seed)):
        assert shape not in repr(key)
    with pytest.raises(AttributeError):
        key.public = b""  # type: ignore[misc]  # frozen: that is what is tested


def test_the_file_beside_is_never_believed(tmp_path: Path) -> None:
    path = tmp_path / "alice.key"
    public = generate(path, NAME)
    other = PublicKey(SigningKey.of(Ed25519PrivateKey.generate()).public, "lab.example/mallory")
    beside = tmp_path / "alice.pub"

    beside.write_text(other.vkey + "\n")
    assert load(path).public == public.raw
    assert name_beside(path, public.raw) is None

    for content in (b"", b"\xff" * 99, public.pem.encode(), public.ssh.encode(), b"x" * 100_000):
        beside.write_bytes(content)
        assert name_beside(path, public.raw) is None
    beside.unlink()
    assert name_beside(path, public.raw) is None
    os.mkfifo(beside)
    assert name_beside(path, public.raw) is None
    beside.unlink()
    beside.write_text(PublicKey(public.raw, "lab.example/renamed").vkey)
    assert name_beside(path, public.raw) == "lab.example/renamed"


def test_ssh_keygen_s_key_loads_and_it_reads_ours(tmp_path: Path) -> None:
    path = tmp_path / "id"
    run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "", "-f", path)

    key = load(path)

    assert parse_public((tmp_path / "id.pub").read_bytes()).raw == key.public
    ours = tmp_path / "ours.pub"
    ours.write_text(PublicKey(key.public, NAME).ssh + "\n")
    theirs = run("ssh-keygen", "-l", "-f", tmp_path / "id.pub").split()
    assert run("ssh-keygen", "-l", "-f", ours).split()[:2] == theirs[:2]
    assert name_beside(path, key.public) is None, "an ssh line has no name"

    run("ssh-keygen", "-q", "-t", "ecdsa", "-N", "", "-f", tmp_path / "other")
    with pytest.raises(KeyRefused, match="another algorithm"):
        load(tmp_path / "other")


def test_an_encrypted_key_of_ssh_keygen_needs_its_passphrase(tmp_path: Path) -> None:
    path = tmp_path / "id"
    run("ssh-keygen", "-q", "-t", "ed25519", "-N", "correct horse", "-f", path)

    with pytest.raises(KeyRefused, match="is encrypted"):
        load(path)
    with pytest.raises(KeyRefused, match=r"wrong passphrase|can not be undone here"):
        load(path, lambda: b"battery staple")


def test_openssl_s_key_loads_and_it_verifies_our_signature(tmp_path: Path) -> None:
    path = tmp_path / "key.pem"
    run("openssl", "genpkey", "-algorithm", "ed25519", "-out", path)
    path.chmod(0o600)

    key = load(path)

    (tmp_path / "public.pem").write_bytes(run("openssl", "pkey", "-in", path, "-pubout"))
    assert (tmp_path / "public.pem").read_text() == PublicKey(key.public).pem
    (tmp_path / "message").write_bytes(b"what was said\n")
    (tmp_path / "signature").write_bytes(key.sign(b"what was said\n"))
    verify = ("openssl", "pkeyutl", "-verify", "-pubin", "-inkey", tmp_path / "public.pem", "-rawin")
    said = run(*verify, "-in", tmp_path / "message", "-sigfile", tmp_path / "signature")
    assert b"Verified Successfully" in said


def test_openssl_reads_what_we_wrote(tmp_path: Path) -> None:
    public = generate(tmp_path / "plain.key", NAME)
    secret = generate(tmp_path / "closed.key", NAME, passphrase=b"correct horse")

    assert run("openssl", "pkey", "-in", tmp_path / "plain.key", "-pubout").decode() == public.pem
    closed = ("openssl", "pkey", "-in", tmp_path / "closed.key", "-passin", "pass:correct horse", "-pubout")
    assert run(*closed).decode() == secret.pem


def test_an_encrypted_key_of_openssl_loads(tmp_path: Path) -> None:
    path = tmp_path / "key.pem"
    run("openssl", "genpkey", "-algorithm", "ed25519", "-aes256", "-pass", "pass:correct horse", "-out", path)
    path.chmod(0o600)

    public = PublicKey(load(path, lambda: b"correct horse").public).pem
    assert run("openssl", "pkey", "-in", path, "-passin", "pass:correct horse", "-pubout").decode() == public


def test_a_key_beside_the_cassette_is_a_hint_only(repository: Repository, tmp_path: Path) -> None:
    cassette = repository.path / "runs" / "run.jsonl"
    outside = tmp_path / "keys" / "alice.pub"
    outside.parent.mkdir()
    outside.write_text("key\n")
    for key in (
        "runs/alice.pub",
        "runs/keys/deep/alice.pub",
        "alice.pub",
        "keys/alice.pub",
        ".git/alice.pub",
    ):
        assert inside_tree(repository.path / key, cassette)
    assert not inside_tree(outside, cassette)
    assert not inside_tree(tmp_path / "runs.pub", cassette)
    assert not inside_tree(tmp_path / "alice.pub", tmp_path / "plain" / "run.jsonl"), (
        "above it, and no repository"
    )
    assert inside_tree(tmp_path / "plain" / "keys" / "alice.pub", tmp_path / "plain" / "run.jsonl")


def test_links_do_not_take_a_key_out_of_the_tree(
    repository: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cassette = repository.write("run.jsonl", "{}\n")
    repository.write("alice.pub", "key\n")
    (tmp_path / "mine.pub").symlink_to(repository.path / "alice.pub")
    (tmp_path / "theirs.pub").write_text("key\n")
    (repository.path / "linked.pub").symlink_to(tmp_path / "theirs.pub")
    (tmp_path / "alias").symlink_to(repository.path, target_is_directory=True)
    (tmp_path / "loop").symlink_to(tmp_path / "loop")

    assert inside_tree(tmp_path / "mine.pub", cassette), "a link from outside to the key inside"
    assert inside_tree(repository.path / "linked.pub", cassette), "a link inside, wherever it leads"
    assert inside_tree(tmp_path / "alias" / "alice.pub", cassette)
    assert inside_tree(repository.path / "alice.pub", tmp_path / "alias" / "run.jsonl")
    assert not inside_tree(tmp_path / "theirs.pub", cassette)
    assert not inside_tree(tmp_path / "loop", cassette)
    monkeypatch.chdir(repository.path)
    assert inside_tree(Path("alice.pub"), Path("run.jsonl"))
    assert not inside_tree(Path("../theirs.pub"), Path("run.jsonl"))


def test_a_submodule_s_cassette_and_the_key_above_it(repository: Repository, library: Repository) -> None:
    repository.git("submodule", "--quiet", "add", str(library.path), "vendored")

    assert inside_tree(repository.path / "alice.pub", repository.path / "vendored" / "run.jsonl")
    assert inside_tree(repository.path / "vendored" / "alice.pub", repository.path / "run.jsonl")
