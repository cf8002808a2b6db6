"""Records, the chain, the tree and the honest cassettes that all cases start from (spec/cassette.md, spec/key.md)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from vector_text import Json, Raw, ordered, sha256, spelled, url64

ZEROS: Final = "0" * 64
PREFIX: Final = "lab.example/alice"
RULES: Final = 'format = "provtape-scrub/1"\nname = "vectors"\n'
SCRUB: Final[Mapping[str, str]] = {"name": "vectors", "sha256": sha256(RULES.encode()).hex()}
MATCH: Final = ("anthropic-beta", "anthropic-version", "openai-beta")
FIRST: Final[dict[str, Json]] = {
    "uri": "https://git.example/lab/bench",
    "commit": "3a" * 20,
    "tree": "5c" * 20,
    "dirty": False,
}
SECOND: Final[dict[str, Json]] = {
    "uri": "https://git.example/lab/bench",
    "commit": "7e" * 20,
    "tree": "91" * 20,
    "dirty": True,
}

Body = tuple[str, Mapping[str, Json]]


def at(second: int) -> str:
    """A fixed time, `second` seconds into the vectors' day."""
    return f"2026-03-14T09:{second // 60:02d}:{second % 60:02d}.250Z"


def nonce(label: str) -> str:
    """Sixteen bytes in base64url that look drawn and are not."""
    return url64(sha256(f"provtape vectors nonce {label}".encode())[:16])


def leaf(record: bytes) -> bytes:
    """Rule C8."""
    return sha256(b"\x00" + record)


def root(leaves: Sequence[bytes]) -> bytes:
    """RFC 6962 section 2.1, over leaf hashes (rule C8)."""
    if len(leaves) < 2:
        return leaves[0] if leaves else sha256(b"")
    split = 1 << (len(leaves) - 1).bit_length() - 1
    return sha256(b"\x01" + root(leaves[:split]) + root(leaves[split:]))


def record(prev: str, seq: int, body: Body) -> bytes:
    """One record with its LF (rules C1, C3, C7)."""
    kind, members = body
    return (spelled({"prev": prev, "seq": seq, "type": kind, **members}) + "\n").encode()


def chain(bodies: Iterable[Body]) -> tuple[bytes, ...]:
    """The records of `bodies`, each linked to the one before (rule C9)."""
    records: list[bytes] = []
    for number, body in enumerate(bodies):
        records.append(record(leaf(records[-1]).hex() if records else ZEROS, number, body))
    return tuple(records)


def relink(records: Iterable[bytes]) -> tuple[bytes, ...]:
    """The same records with every `prev` recomputed: what a forger with a script does."""
    linked: list[bytes] = []
    for old in records:
        prev = leaf(linked[-1]).hex() if linked else ZEROS
        linked.append(old[:9] + prev.encode() + old[73:])
    return tuple(linked)


def renumber(records: Iterable[bytes]) -> tuple[bytes, ...]:
    """The same records numbered from 0 and linked anew."""
    numbered = []
    for number, old in enumerate(records):
        head, rest = old.split(b',"seq":', 1)
        numbered.append(head + b',"seq":' + str(number).encode() + rest[rest.index(b",") :])
    return relink(numbered)


def match_key(identity: Json) -> str:
    """Rule Q1."""
    return sha256(b"provtape/1 key\n" + spelled(ordered(identity)).encode()).hex()


def opening(label: str, **changed: Json) -> Body:
    """An `open` record (rule C13)."""
    members: dict[str, Json] = {
        "format": "provtape/1",
        "prefix": PREFIX,
        "nonce": nonce(label),
        "created": at(0),
        "recorder": "vector builder 1",
        "scrub": {**SCRUB, "rules": RULES},
        "match": {"headers": MATCH, "ignore": []},
        "previous": None,
        "meta": {},
    }
    return "open", members | changed


def running(second: int = 1, **changed: Json) -> Body:
    """A `run` record (rule C14)."""
    capture = {"road": "session", "enclosed": False, "allow": [], "pass": [], "routes": {}}
    members: dict[str, Json] = {
        "started": at(second),
        "recorder": "vector builder 1",
        "code": None,
        "command": None,
        "environment": {"python": "3.13.1"},
        "capture": capture,
        "meta": {},
    }
    return "run", members | changed


def interaction(
    kind: str, identity: Json, request: Json, response: Json, second: int, **changed: Json
) -> Body:
    """An `interaction` record (rule C15) with the match key of `identity`."""
    members: dict[str, Json] = {
        "kind": kind,
        "key": match_key(identity),
        "request": request,
        "response": response,
        "started": at(second),
        "elapsed_ms": 40 + second,
        "scrubbed": [],
        "meta": {},
        "salt": nonce(f"salt {kind} {second}"),
    }
    return "interaction", members | changed


def llm(prompt: Json, output: Json, second: int, **changed: Json) -> Body:
    """A model call (rule C16)."""
    request = {"model": "tiny-1", "prompt": prompt, "params": {"temperature": Raw("0.70")}}
    return interaction("llm", {"kind": "llm", **request}, request, {"output": output}, second, **changed)


def tool(name: str, arguments: Json, response: Json, second: int) -> Body:
    """A tool call (rule C16)."""
    request = {"name": name, "arguments": arguments}
    return interaction("tool", {"kind": "tool", **request}, request, response, second)


def http(url: str, body: Json, identity_body: Json, response: Json, second: int) -> Body:
    """An HTTP exchange (rule C17)."""
    version = ("anthropic-version", "2023-06-01")
    request = {
        "method": "POST",
        "url": url,
        "headers": [("content-type", "application/json"), version],
        "body": body,
    }
    identity = {"kind": "http", "method": "POST", "url": url, "headers": [version], "body": identity_body}
    return interaction("http", identity, request, response, second)


def ending(second: int = 50) -> Body:
    """An `end` record (rule C20)."""
    return "end", {"closed": at(second), "meta": {}}


@dataclass(frozen=True, slots=True)
class Cassette:
    """Records, each with its LF, and a torn tail."""

    records: tuple[bytes, ...]
    tail: bytes = b""

    @property
    def file(self) -> bytes:
        """The whole file."""
        return b"".join(self.records) + self.tail

    @property
    def leaves(self) -> tuple[bytes, ...]:
        """The leaf of every record (rules C8, C22)."""
        held = b'{"withheld":"'
        return tuple(
            bytes.fromhex(r[13:77].decode()) if r.startswith(held) else leaf(r) for r in self.records
        )

    @property
    def origin(self) -> str:
        """Rule N2."""
        return f"{PREFIX}/{self.leaves[0].hex()}"

    def root(self, number: int) -> bytes:
        """The root of the first `number` records."""
        return root(self.leaves[:number])
