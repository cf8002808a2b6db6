"""DSSE envelopes, one per line (spec M1 to M5; DSSE v1).

Decides the one spelling of a line, the bytes that are signed, and whose key a line claims. What the payload says is `manifest`'s
matter.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from provtape.errors import FormatError
from provtape.format.keys import PublicKey, decode_base64, verify_signature

PAYLOAD_TYPE: Final = "application/vnd.in-toto+json"
MAX_FILE: Final = 64 * 1024 * 1024
_HEAD: Final = b'{"payload":"'
_LINE: Final = re.compile(
    rb'\{"payload":"([A-Za-z0-9+/]+={0,2})","payloadType":"application/vnd\.in-toto\+json",'
    rb'"signatures":\[\{"keyid":"([0-9a-f]{64})","sig":"([A-Za-z0-9+/]{86}==)"\}\]\}\n'
)


@dataclass(frozen=True, slots=True)
class Envelope:
    """One line: one key's signature (64 bytes) over the payload; `keyid` is its fingerprint."""

    payload: bytes
    keyid: str
    signature: bytes

    def verifies(self, key: PublicKey) -> bool:
        """Whether the signature holds for that key, whatever keyid the line names (spec M4, K3)."""
        return verify_signature(key.raw, self.signature, pae(self.payload))


def pae(payload: bytes) -> bytes:
    """The bytes that are signed: DSSE's pre-authentication encoding (spec M4)."""
    return f"DSSEv1 {len(PAYLOAD_TYPE)} {PAYLOAD_TYPE} {len(payload)} ".encode() + payload


def looks_like(head: bytes) -> bool:
    """Whether a file that starts with these bytes is meant as a manifest."""
    return head.startswith(_HEAD)


def parse_file(data: bytes) -> list[Envelope]:
    """Read a manifest file: one or more lines with one payload (spec M1, M2).

    Raises:
        FormatError: Code `manifest.form` or `manifest.crlf`.
    """
    if b"\r\n" in data:
        raise FormatError("a line of the manifest ends in CR LF", "manifest.crlf")
    if not data.endswith(b"\n"):
        raise FormatError("the manifest is empty or its last line is cut", "manifest.form")
    lines = [_line(number, line) for number, line in enumerate(data.split(b"\n")[:-1], 1)]
    if len({line.payload for line in lines}) != 1:
        raise FormatError("the lines of the manifest differ in what they sign", "manifest.form")
    if len({line.keyid for line in lines}) != len(lines):
        raise FormatError("two lines of the manifest name the same key", "manifest.form")
    return lines


def write(payload: bytes, key: PublicKey, signature: bytes) -> bytes:
    """One line, LF included; `signature` is over `pae(payload)`."""
    return (
        _HEAD
        + base64.b64encode(payload)
        + b'","payloadType":"%s","signatures":[{"keyid":"%s","sig":"%s"}]}\n'
        % (PAYLOAD_TYPE.encode(), key.fingerprint.encode(), base64.b64encode(signature))
    )


def signers(lines: Sequence[Envelope]) -> set[str]:
    """The keyids that lines name; whether their signatures hold is another question."""
    return {line.keyid for line in lines}


def _line(number: int, line: bytes) -> Envelope:
    match = _LINE.fullmatch(line + b"\n")
    payload = decode_base64(match[1]) if match else None
    signature = decode_base64(match[3]) if match else None
    if match is None or payload is None or signature is None:
        raise FormatError(
            f"line {number} of the manifest is not the one spelling of an envelope", "manifest.form"
        )
    return Envelope(payload, match[2].decode(), signature)
