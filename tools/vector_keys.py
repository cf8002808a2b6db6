"""Who signs the vectors, and every spelling of a public key (spec/keys.md).

Signers have fixed seeds, so that all signatures are the same on every build. The seeds guard nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from vector_text import b64, sha256

SPKI: Final = bytes.fromhex("302a300506032b6570032100")
SSH: Final = b"\x00\x00\x00\x0bssh-ed25519\x00\x00\x00\x20"


@dataclass(frozen=True, slots=True)
class Signer:
    """A name and a seed of 32 bytes."""

    name: str
    seed: bytes

    @property
    def public(self) -> bytes:
        """The public key, 32 bytes."""
        return Ed25519PrivateKey.from_private_bytes(self.seed).public_key().public_bytes_raw()

    def sign(self, message: bytes) -> bytes:
        """RFC 8032, 64 bytes."""
        return Ed25519PrivateKey.from_private_bytes(self.seed).sign(message)


def signer(name: str) -> Signer:
    """The signer whose seed is drawn from the last part of `name`."""
    return Signer(name, sha256(f"provtape vectors {name.rsplit('/', 1)[-1]}".encode()))


ALICE: Final = signer("lab.example/alice")
BOB: Final = signer("lab.example/bob")
RIG: Final = signer("rig.example/recorder-7")
MALLORY: Final = signer("elsewhere.example/mallory")


def key_id(name: str, public: bytes) -> bytes:
    """Four bytes (rule N5)."""
    return sha256(name.encode() + b"\n\x01" + public)[:4]


def vkey(name: str, public: bytes) -> str:
    """C2SP signed-note (rule K2)."""
    return f"{name}+{key_id(name, public).hex()}+{b64(bytes([1]) + public)}"


def pem(public: bytes) -> str:
    """SubjectPublicKeyInfo, RFC 8410 (rule K2)."""
    return f"-----BEGIN PUBLIC KEY-----\n{b64(SPKI + public)}\n-----END PUBLIC KEY-----\n"


def ssh(public: bytes, comment: str = "") -> str:
    """One OpenSSH line (rule K2)."""
    return f"ssh-ed25519 {b64(SSH + public)} {comment}".rstrip() + "\n"


def fingerprint(public: bytes) -> str:
    """The keyid of a manifest line (rule M3)."""
    return sha256(SPKI + public).hex()
