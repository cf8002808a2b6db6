"""Whose key: private key files, made, loaded and used (spec K1, DESIGN 2.4).

Decides how a private key reaches the disk, which files are taken as one, and when a key lies too near a cassette to be
trusted for it. The public half is always derived from the private one. Not decided here: how public keys are spelled
(`format.keys`).
"""

from __future__ import annotations

import os
import shlex
import stat
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from provtape.errors import KeyRefused, ProvenanceError
from provtape.format.keys import PublicKey, is_name, parse_public
from provtape.provenance.git import Git, reason, says_no_repository, shown

MAX_KEY_FILE: Final = 64 * 1024
MAX_PASSPHRASE: Final = 1023  # OpenSSL's

# Put together here, so that no file of the repository looks like a private key to a scanner.
_BEGIN: Final = b"-----BEGIN %s-----"
_END: Final = b"-----END %s-----"
_PLAIN: Final = b"PRIVATE" + b" KEY"
_ENCRYPTED: Final = b"ENCRYPTED " + _PLAIN
_OPENSSH: Final = b"OPENSSH " + _PLAIN


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class SigningKey:
    """An Ed25519 private key that signs and shows nothing but its fingerprint.

    Attributes:
        public: The public half, 32 bytes, derived from the private one.
    """

    public: bytes
    _private: Ed25519PrivateKey

    @classmethod
    def of(cls, private: Ed25519PrivateKey) -> SigningKey:
        """The signing key around a private key of the library."""
        return cls(private.public_key().public_bytes_raw(), private)

    def sign(self, message: bytes) -> bytes:
        """The signature of a message: R ‖ S, 64 bytes (RFC 8032 §5.1.6)."""
        return self._private.sign(message)

    def __repr__(self) -> str:
        return f"SigningKey(fingerprint={PublicKey(self.public).fingerprint!r})"


def generate(path: Path, name: str, *, passphrase: bytes | None = None) -> PublicKey:
    """Make a key: the private half at `path` (PKCS#8 PEM, mode 0600 from its first byte), the vkey line beside it.

    Args:
        path: A new file; its directory exists. The public half goes to the same stem with `.pub`.
        name: The key's name (spec N3), e.g. `lab.example/alice`.
        passphrase: Encrypts the private half; 1 to 1023 bytes.

    Returns:
        The public key with its name.

    Raises:
        KeyRefused: The name is none, a file or link is there already, git would pick the private key up, or it can not
            be written.
    """
    beside = public_path(path)
    _refuse_to_make(path, beside, name, passphrase)
    _refuse_where_git_looks(path)
    private = Ed25519PrivateKey.generate()
    public = PublicKey(private.public_key().public_bytes_raw(), name)
    _write_new(path, _pem(private, passphrase), 0o600)
    try:
        _write_new(beside, public.vkey.encode() + b"\n", 0o644)
    except KeyRefused:
        path.unlink()
        raise
    return public


def load(path: Path, passphrase: Callable[[], bytes] | None = None) -> SigningKey:
    """Load a private key: PKCS#8 PEM or an OpenSSH private key, Ed25519, readable by its owner alone.

    Args:
        path: A regular file of at most 64 KiB with one key and nothing else.
        passphrase: Asked once, and only if the key is encrypted.

    Raises:
        KeyRefused: Anything else; the message never holds a byte of the file.
    """
    data = _read(path, private=True).strip()
    if data.startswith((b"ssh-", b"-----BEGIN PUBLIC")):
        raise KeyRefused(f"{shown(path)} holds a public key", "name the private key file")
    label = next((one for one in (_PLAIN, _ENCRYPTED, _OPENSSH) if data.startswith(_BEGIN % one)), None)
    if label is None or not data.endswith(_END % label) or data.count(b"-----BEGIN ") != 1:
        raise KeyRefused(
            f"{shown(path)} is no private key", "give one PKCS#8 PEM or OpenSSH key and nothing else"
        )
    private = _open(path, data, label, passphrase)
    if not isinstance(private, Ed25519PrivateKey):
        raise KeyRefused(f"{shown(path)} holds a key of another algorithm: only Ed25519 is used")
    return SigningKey.of(private)


def public_path(path: Path) -> Path:
    """Where the public half of a private key file lies: the same stem with `.pub`."""
    return path.parent / (path.stem + ".pub")


def name_beside(path: Path, public: bytes) -> str | None:
    """The name in the vkey beside a private key file, if that vkey is of this very key; else None.

    Args:
        path: The private key file.
        public: Its derived public half, 32 bytes.
    """
    try:
        found = parse_public(_read(public_path(path), private=False))
    except KeyRefused:
        return None
    return found.name if found.raw == public else None


def inside_tree(key_path: Path, cassette_path: Path) -> bool:
    """Whether a key file lies where the cassette came from, so that whoever made the one could make the other.

    True in or below the cassette's directory and in the same git work tree, by either's name as given or with its links
    resolved. No git is run: the repository may be under review.
    """
    for key in _spellings(key_path):
        for cassette in _spellings(cassette_path):
            roots = (cassette.parent, _repository(cassette), _repository(key))
            if any(root and key.is_relative_to(root) and cassette.is_relative_to(root) for root in roots):
                return True
    return False


def _spellings(path: Path) -> Iterator[Path]:
    yield Path(os.path.abspath(path))
    yield Path(os.path.realpath(path))
    yield Path(os.path.realpath(path.parent), path.name)


def _repository(path: Path) -> Path | None:
    """The nearest directory above that holds a `.git`."""
    return next((one for one in path.parents if os.path.lexists(one / ".git")), None)


def _refuse_to_make(path: Path, beside: Path, name: str, passphrase: bytes | None) -> None:
    """Refuse what can be told before anything is made."""
    if not is_name(name):
        raise KeyRefused("not a key name", "use a domain and words, in lower case, e.g. lab.example/alice")
    if passphrase is not None and not 0 < len(passphrase) <= MAX_PASSPHRASE:
        raise KeyRefused(
            f"a passphrase has 1 to {MAX_PASSPHRASE} bytes", "give another, or make the key without"
        )
    for one in (path, beside):
        if os.path.lexists(one):
            hint = "a key is never overwritten: choose another name"
            raise KeyRefused(f"{shown(one)} is there already", hint)
    if beside == path:
        raise KeyRefused("the private key can not be named .pub", "choose another name, e.g. alice.key")


def _refuse_where_git_looks(path: Path) -> None:
    """Refuse a path inside a git directory, or in a work tree that does not ignore it."""
    directory = Path(os.path.realpath(path.parent))
    if not directory.is_dir():
        raise KeyRefused(f"{shown(directory)} is not a directory", "make it first")
    if any(_is_git_directory(one) for one in (directory, *directory.parents)):
        raise KeyRefused(
            f"{shown(path)} lies inside a git directory", "keep private keys outside of repositories"
        )
    if _repository(directory / path.name) is None:
        return
    try:
        # `./` in front, so that no name is taken for pathspec magic.
        status, said = Git(directory).status("check-ignore", "--quiet", "--", b"./" + os.fsencode(path.name))
    except ProvenanceError as error:
        raise KeyRefused(
            f"it can not be told whether git would pick up {shown(path)}: {error.message}"
        ) from None
    if status == 0 or says_no_repository(said):
        return
    if status == 1:
        hint = (
            "keep private keys outside of the repository, e.g. in your home directory, or have git ignore it"
        )
        raise KeyRefused(f"git would pick up {shown(path)}", hint)
    raise KeyRefused(f"it can not be told whether git would pick up {shown(path)}: {reason(said)}")


def _is_git_directory(directory: Path) -> bool:
    bare = (
        (directory / "HEAD").is_file() and (directory / "objects").is_dir() and (directory / "refs").is_dir()
    )
    return directory.name == ".git" or bare


def _pem(private: Ed25519PrivateKey, passphrase: bytes | None) -> bytes:
    encryption: serialization.KeySerializationEncryption = serialization.NoEncryption()
    if passphrase is not None:
        encryption = serialization.BestAvailableEncryption(passphrase)
    return private.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, encryption)


def _write_new(path: Path, content: bytes, mode: int) -> None:
    """Write a file that was not there, durably; on a failure nothing is left of it."""
    try:
        directory = os.open(path.absolute().parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError as error:
        raise KeyRefused(f"{shown(path)} can not be written: {error.strerror}") from None
    try:
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        descriptor = os.open(path.name, flags, mode, dir_fd=directory)
        try:
            with open(descriptor, "wb") as file:
                # A umask can only take bits away; the mode is set before there is a byte to read.
                os.fchmod(descriptor, mode)
                file.write(content)
                file.flush()
                os.fsync(descriptor)
        except OSError:
            os.unlink(path.name, dir_fd=directory)
            raise
        os.fsync(directory)
    except OSError as error:
        raise KeyRefused(f"{shown(path)} can not be written: {error.strerror}") from None
    finally:
        os.close(directory)


def _read(path: Path, *, private: bool) -> bytes:
    """A small regular file; a private one only if nobody but its owner can read or change it."""
    try:
        # Not blocking: a pipe would wait for a writer. The descriptor is asked, so nothing can be swapped in between.
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            found = os.fstat(descriptor)
            if not stat.S_ISREG(found.st_mode):
                raise KeyRefused(f"{shown(path)} is not a regular file")
            with open(descriptor, "rb", closefd=False) as file:
                data = file.read(MAX_KEY_FILE + 1)
            if private and found.st_mode & 0o077 and b"PRIVATE KEY" in data:
                raise KeyRefused(f"{shown(path)} is open to others", _chmod(path))
        finally:
            os.close(descriptor)
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else "a name holds a zero byte"
        raise KeyRefused(f"{shown(path)} can not be read: {why}") from None
    if len(data) > MAX_KEY_FILE:
        raise KeyRefused(f"{shown(path)} is larger than a key file, 64 KiB")
    return data


def _chmod(path: Path) -> str:
    name = str(path)
    return f"chmod 600 {shlex.quote(name)}" if name.isprintable() else "chmod 600 that file"


def _open(path: Path, data: bytes, label: bytes, passphrase: Callable[[], bytes] | None) -> object:
    """The private key in one PEM block, of whatever algorithm; the passphrase is asked only if it is needed."""
    read = serialization.load_ssh_private_key if label == _OPENSSH else serialization.load_pem_private_key
    needed = label == _ENCRYPTED
    try:
        if not needed:
            return read(data, None)
    except TypeError:  # the library's word for: encrypted, and no passphrase given
        needed = True
    except UnsupportedAlgorithm:
        raise KeyRefused(f"{shown(path)} holds a key of another algorithm: only Ed25519 is used") from None
    except Exception:  # OpenSSL raises many kinds, and their text may hold parts of the file
        raise KeyRefused(f"{shown(path)} is a damaged private key") from None
    if passphrase is None:
        raise KeyRefused(f"{shown(path)} is encrypted", "a passphrase is needed")
    word = passphrase()
    try:
        return read(data, word)
    except UnsupportedAlgorithm:
        hint = "pip install bcrypt, or use a key in PKCS#8 PEM"
        raise KeyRefused(f"{shown(path)} is encrypted in a way that can not be undone here", hint) from None
    except Exception:
        raise KeyRefused(f"{shown(path)}: wrong passphrase, or a damaged private key") from None
