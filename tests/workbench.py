"""The one workbench of the test-suite: records made by hand, signers, and an honest cassette to begin a story with."""

from __future__ import annotations

import base64
import hashlib
import json
from datetime import UTC, datetime
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from provtape.cassette.notes import Signer
from provtape.cassette.writer import Writer
from provtape.format.keys import PublicKey
from provtape.format.record import Scrubbed

PREFIX = "lab.example/alice"
TIME = "2026-11-20T09:30:00.000Z"
RULES = 'format = "provtape-scrub/1"\nname = "none"\n'
SCRUB: dict[str, object] = {
    "name": "none",
    "sha256": hashlib.sha256(RULES.encode()).hexdigest(),
    "rules": RULES,
}
MATCH: dict[str, object] = {"headers": ["anthropic-version"], "ignore": []}


def spelled(value: object) -> bytes:
    """The one spelling, by the standard library."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


def scrubbed(type_: str, members: dict[str, object]) -> Scrubbed:
    """A record as it leaves the door: from `"type"` to its LF."""
    return Scrubbed(spelled({"type": type_, **members})[1:] + b"\n")


def random22(seed: object) -> str:
    """16 bytes that look random, as 22 base64url characters."""
    digest = hashlib.sha256(repr(seed).encode()).digest()[:16]
    return base64.urlsafe_b64encode(digest).decode().rstrip("=")


def opening(*, prefix: str = PREFIX, nonce: object = 0, **changes: object) -> Scrubbed:
    """Record 0."""
    members: dict[str, object] = {
        "format": "provtape/1",
        "prefix": prefix,
        "nonce": random22(nonce),
        "created": TIME,
        "recorder": "workbench",
        "scrub": SCRUB,
        "match": MATCH,
        "previous": None,
        "meta": {},
    }
    return scrubbed("open", members | changes)


def run(**changes: object) -> Scrubbed:
    """A run without code."""
    members: dict[str, object] = {
        "started": TIME,
        "recorder": "workbench",
        "code": None,
        "command": None,
        "environment": {},
        "capture": {"road": "session", "enclosed": False, "allow": [], "pass": [], "routes": {}},
        "meta": {},
    }
    return scrubbed("run", members | changes)


def key(prompt: object) -> str:
    """A match key: 64 hex digits that belong to a prompt."""
    return hashlib.sha256(repr(prompt).encode()).hexdigest()


def interaction(prompt: object = "say one", output: object = "one", **changes: object) -> Scrubbed:
    """An interaction of kind llm."""
    members: dict[str, object] = {
        "kind": "llm",
        "key": key(prompt),
        "request": {"model": "m", "prompt": prompt, "params": {"temperature": 1}},
        "response": {"output": output},
        "started": TIME,
        "elapsed_ms": 3,
        "scrubbed": [],
        "meta": {},
        "salt": random22((prompt, output)),
    }
    return scrubbed("interaction", members | changes)


def end(**changes: object) -> Scrubbed:
    """The last record."""
    members: dict[str, object] = {"closed": TIME, "meta": {}}
    return scrubbed("end", members | changes)


def signer(name: str = PREFIX, seed: int = 1) -> Signer:
    """A signer whose key comes from a number."""
    private = Ed25519PrivateKey.from_private_bytes(bytes([seed]) * 32)
    return Signer(name, PublicKey(private.public_key().public_bytes_raw(), name), private.sign)


def honest(
    path: Path, interactions: int = 3, signer: Signer | None = None, *, sealed: bool = True, nonce: object = 0
) -> Path:
    """An honest cassette: record 0, one run, some interactions (`say 0` answered by `answer 0`, and so on), and its end.

    Args:
        path: The cassette to make.
        interactions: How many.
        signer: Signs checkpoints along the way.
        sealed: Whether it gets its `end`.
        nonce: Tells one cassette from another; the same number makes the same bytes.
    """
    with Writer.create(path, opening(nonce=nonce), run(), prefix=PREFIX, signer=signer) as writer:
        for number in range(interactions):
            writer.append(interaction(f"say {number}", f"answer {number}"))
        if sealed:
            writer.seal(end())
    return path


def records(path: Path) -> list[dict[str, object]]:
    """The records of a cassette, checked without provtape: LF framing, links by hashlib, numbers, one JSON object a line."""
    *lines, torn = path.read_bytes().split(b"\n")
    assert torn == b"", "a torn tail"
    found, prev = [], "0" * 64
    for number, line in enumerate(lines):
        record = json.loads(line)
        assert line == spelled(record), f"record {number} is not in the one spelling"
        assert (record["prev"], record["seq"]) == (prev, number), f"record {number} is not linked"
        prev = hashlib.sha256(b"\x00" + line + b"\n").hexdigest()
        found.append(record)
    return found


def leaves(path: Path) -> list[bytes]:
    """The leaves of a cassette, by hashlib."""
    return [hashlib.sha256(b"\x00" + line).digest() for line in path.read_bytes().splitlines(keepends=True)]


def root(leaves: list[bytes]) -> bytes:
    """The tree hash of RFC 6962, by its own recursion."""
    if len(leaves) < 2:
        return leaves[0] if leaves else hashlib.sha256(b"").digest()
    half = 1 << (len(leaves) - 1).bit_length() - 1
    return hashlib.sha256(b"\x01" + root(leaves[:half]) + root(leaves[half:])).digest()


def clock() -> datetime:
    """A time that stands still, for signing."""
    return datetime(2026, 11, 20, 9, 30, tzinfo=UTC)
