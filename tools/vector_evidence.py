"""Notes and manifests about a cassette (spec/checkpoint.md, spec/manifest.md)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from vector_keys import ALICE, Signer, fingerprint, key_id
from vector_record import FIRST, SCRUB, Cassette
from vector_text import Json, b64, sha256, spelled

PAYLOAD_TYPE: Final = "application/vnd.in-toto+json"
DASH: Final = "\u2014"


def note_text(origin: str, number: int | str, root: bytes) -> bytes:
    """What a note signs (rule N4)."""
    return f"{origin}\n{number}\n{b64(root)}\n".encode()


def note_line(name: str, identity: bytes, signature: bytes) -> bytes:
    """One signature line (rules N1, N5)."""
    return f"{DASH} {name} {b64(identity + signature)}\n".encode()


def signed(text: bytes, signers: Iterable[Signer]) -> bytes:
    """A note over `text`."""
    lines = (note_line(s.name, key_id(s.name, s.public), s.sign(text)) for s in signers)
    return text + b"\n" + b"".join(lines)


def note(cassette: Cassette, number: int, *signers: Signer) -> bytes:
    """The honest note over the first `number` records, by Alice if nobody is named."""
    return signed(note_text(cassette.origin, number, cassette.root(number)), signers or (ALICE,))


def checkpoints(cassette: Cassette, numbers: Iterable[int] = (2, 4, 6), *signers: Signer) -> bytes:
    """A checkpoint file with a note at each of `numbers`."""
    return b"".join(note(cassette, number, *signers) for number in numbers)


def entry(
    cassette: Cassette, name: str = "cassette.jsonl", code: Json = FIRST, scrub: Json = SCRUB
) -> dict[str, Json]:
    """What a manifest says of one cassette (rule M8)."""
    number = len(cassette.records)
    return {
        "name": name,
        "origin": cassette.origin,
        "records": number,
        "root": cassette.root(number).hex(),
        "code": code,
        "scrub": scrub,
    }


def subject(name: str, content: bytes) -> dict[str, Json]:
    """A file bound by its digest (rule M7)."""
    return {"name": name, "digest": {"sha256": sha256(content).hex()}}


def statement(entries: Sequence[Json], subjects: Sequence[Json], **changed: Json) -> dict[str, Json]:
    """The payload of a manifest; `changed` are members of its predicate (rules M6 to M9)."""
    predicate: dict[str, Json] = {
        "cassettes": entries,
        "inputs": [],
        "steps": [],
        "claims": [],
        "recorder": "vector builder 1",
        "created": "2026-03-14T10:00:00.000Z",
    }
    return {
        "_type": "https://in-toto.io/Statement/v1",
        "subject": subjects,
        "predicateType": "urn:provtape:manifest:v1",
        "predicate": predicate | changed,
    }


def encoded(payload: bytes) -> bytes:
    """DSSE pre-authentication encoding (rule M4)."""
    return f"DSSEv1 {len(PAYLOAD_TYPE)} {PAYLOAD_TYPE} {len(payload)} ".encode() + payload


def envelope(payload: bytes, keyid: str, signature: bytes) -> bytes:
    """One line of a manifest (rule M1)."""
    line: Json = {
        "payload": b64(payload),
        "payloadType": PAYLOAD_TYPE,
        "signatures": [{"keyid": keyid, "sig": b64(signature)}],
    }
    return spelled(line).encode() + b"\n"


def enveloped(payload: bytes, signers: Iterable[Signer] = (ALICE,)) -> bytes:
    """A manifest file: one line for each signer."""
    return b"".join(envelope(payload, fingerprint(s.public), s.sign(encoded(payload))) for s in signers)


def manifest(
    cassette: Cassette,
    signers: Iterable[Signer] = (ALICE,),
    bound: Mapping[str, bytes] | None = None,
    predicate: Mapping[str, Json] | None = None,
    code: Json = FIRST,
    scrub: Json = SCRUB,
) -> bytes:
    """The honest manifest of one cassette; `bound` are files besides."""
    subjects = [subject("cassette.jsonl", cassette.file)]
    subjects += [subject(name, content) for name, content in (bound or {}).items()]
    payload = statement([entry(cassette, code=code, scrub=scrub)], subjects, **(predicate or {}))
    return enveloped(spelled(payload).encode(), signers)
