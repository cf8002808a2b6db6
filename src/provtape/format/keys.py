"""Ed25519 public keys and signatures, strictly (spec K1 to K6, N5).

Decides which spellings name a key and which signatures verify. Libraries differ on weak points and unreduced numbers; the
rules here are refused before OpenSSL is asked, so that a yes from provtape is a yes from openssl, Go and browsers. Private keys
are not handled here (`provenance.keyfile`).
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
from dataclasses import dataclass
from typing import Final

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import load_der_public_key

from provtape.errors import KeyRefused

NAME: Final = r"[a-z0-9.-]+(?:/[A-Za-z0-9._~-]+)*"
MAX_NAME: Final = 255
MAX_TEXT: Final = 4096

_P: Final = 2**255 - 19
_L: Final = 2**252 + 27742317777372353535851937790883648493
_SMALL_ORDER: Final = frozenset(
    (
        0,
        1,
        _P - 1,
        2707385501144840649318225287225658788936804267575313519463743609750303402022,
        55188659117513257062467267217118295137698188065244968500265048394206261417927,
    )
)
_SPKI: Final = bytes.fromhex("302a300506032b6570032100")
_SSH: Final = b"\x00\x00\x00\x0bssh-ed25519\x00\x00\x00\x20"
_VKEY: Final = re.compile(rf"({NAME})\+([0-9a-f]{{8}})\+([A-Za-z0-9+/]+={{0,2}})")
_PEM: Final = re.compile(r"-----BEGIN PUBLIC KEY-----\r?\n([A-Za-z0-9+/=\r\n]+\n)-----END PUBLIC KEY-----")
_SSH_LINE: Final = re.compile(r"ssh-ed25519 ([A-Za-z0-9+/]+={0,2})(?: [^\r\n]*)?")


@dataclass(frozen=True, slots=True)
class PublicKey:
    """A public key as its caller named it.

    Attributes:
        raw: The 32 bytes of RFC 8032 §5.1.5.
        name: The name that came with a vkey; PEM and ssh keys have none.
    """

    raw: bytes
    name: str | None = None

    @property
    def der(self) -> bytes:
        """SubjectPublicKeyInfo, DER (RFC 8410 §4)."""
        return _SPKI + self.raw

    @property
    def fingerprint(self) -> str:
        """Hex SHA-256 of `der`: the keyid of a manifest line (spec M3)."""
        return hashlib.sha256(self.der).hexdigest()

    @property
    def pem(self) -> str:
        """One PEM block `PUBLIC KEY` with its final LF."""
        return f"-----BEGIN PUBLIC KEY-----\n{_b64(self.der)}\n-----END PUBLIC KEY-----\n"

    @property
    def ssh(self) -> str:
        """One `ssh-ed25519` line without LF; the name is its comment."""
        line = f"ssh-ed25519 {_b64(_SSH + self.raw)}"
        return f"{line} {self.name}" if self.name else line

    @property
    def vkey(self) -> str:
        """The C2SP signed-note vkey; only for a key with a name."""
        if self.name is None:
            raise KeyRefused("a key without a name has no vkey form")
        return f"{self.name}+{key_id(self.name, self.raw).hex()}+{_b64(bytes([1]) + self.raw)}"

    def answers_to(self, name: str, identity: bytes) -> bool:
        """Whether a note line with this name and key id counts for this key (spec N6)."""
        return self.name in (None, name) and identity == key_id(name, self.raw)


def _b64(data: bytes) -> str:
    return base64.b64encode(data).decode()


def is_name(text: str) -> bool:
    """Whether text is a key name or prefix (spec N3)."""
    return len(text) <= MAX_NAME and re.fullmatch(NAME, text) is not None


def key_id(name: str, raw: bytes) -> bytes:
    """The 4 bytes that a note line carries for this name and key (spec N5, C2SP signed-note)."""
    return hashlib.sha256(name.encode() + b"\n\x01" + raw).digest()[:4]


def verify_signature(public: bytes, signature: bytes, message: bytes) -> bool:
    """Whether an Ed25519 signature holds under the strict rule (spec K3, K4).

    Args:
        public: 32 bytes; any other length is no key and verifies nothing.
        signature: R ‖ S, 64 bytes.
        message: The signed bytes.
    """
    if len(public) != 32 or len(signature) != 64 or _is_weak(public) or _is_weak(signature[:32]):
        return False
    if int.from_bytes(signature[32:], "little") >= _L:
        return False
    try:
        Ed25519PublicKey.from_public_bytes(public).verify(signature, message)
    except (InvalidSignature, ValueError):
        return False
    return True


def parse_public(data: bytes) -> PublicKey:
    """Read a public key: a vkey, one PEM block, or one `ssh-ed25519` line (spec K2).

    Raises:
        KeyRefused: Another spelling, another algorithm, or a weak key; the message says which.
    """
    if len(data) > MAX_TEXT:
        raise KeyRefused("a public key file holds one key and nothing else; this is larger than 4 KiB")
    try:
        text = data.decode("ascii").strip(" \t\r\n")
    except UnicodeDecodeError:
        raise KeyRefused("not a public key: not ASCII text") from None
    if "PRIVATE KEY-----" in text:
        raise KeyRefused("this is a private key", "name the public key, e.g. the .pub file beside it")
    name, raw = _spelled(text)
    if len(raw) != 32:
        raise KeyRefused(f"an Ed25519 public key has 32 bytes, this one {len(raw)}")
    if _is_weak(raw):
        raise KeyRefused("a weak key: a point of small order or an unreduced coordinate")
    return PublicKey(raw, name)


def decode_base64(text: str | bytes) -> bytes | None:
    """The bytes of canonical base64 (RFC 4648 §4, padded), or None if it is not canonical."""
    data = text.encode("ascii", "replace") if isinstance(text, str) else text
    try:
        decoded = binascii.a2b_base64(data, strict_mode=True)
    except binascii.Error:
        return None
    return decoded if binascii.b2a_base64(decoded, newline=False) == data else None


def _spelled(text: str) -> tuple[str | None, bytes]:
    if match := _VKEY.fullmatch(text):
        return match[1], _vkey_bytes(match)
    if match := _PEM.fullmatch(text):
        return None, _pem_bytes(match[1])
    if match := _SSH_LINE.fullmatch(text):
        blob = decode_base64(match[1]) or b""
        if not blob.startswith(_SSH):
            raise KeyRefused("an ssh-ed25519 line whose base64 is no Ed25519 key")
        return None, blob[len(_SSH) :]
    raise KeyRefused(
        "not a public key",
        "give a vkey (name+id+base64), a PEM block PUBLIC KEY or an ssh-ed25519 line, or a file that holds one",
    )


def _vkey_bytes(match: re.Match[str]) -> bytes:
    blob = decode_base64(match[3])
    if blob is None or blob[:1] != b"\x01" or len(match[1]) > MAX_NAME:
        raise KeyRefused("a vkey of another algorithm, or cut: only Ed25519 (type 1) is used")
    if match[2] != key_id(match[1], blob[1:]).hex():
        raise KeyRefused("the id of this vkey does not belong to its name and key", "copy it again, whole")
    return blob[1:]


def _pem_bytes(body: str) -> bytes:
    der = decode_base64("".join(body.split()))
    if der is None:
        raise KeyRefused("a PEM block whose base64 does not hold")
    if not der.startswith(_SPKI):
        try:
            load_der_public_key(der)
        except Exception as error:  # OpenSSL raises many kinds; all mean: no key
            raise KeyRefused("a PEM block that holds no public key") from error
        raise KeyRefused("a public key of another algorithm: only Ed25519 is used")
    return der[len(_SPKI) :]


def _is_weak(point: bytes) -> bool:
    y = int.from_bytes(point, "little") & (2**255 - 1)
    return y >= _P or y in _SMALL_ORDER
