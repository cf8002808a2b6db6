"""A large cassette for measurements, and the same answers in the tutorial's format.

    python bench/workload.py FOLDER [INTERACTIONS]

Writes `large.jsonl` with checkpoint file and manifest (2.5 KB per interaction, streamed chat answers), `large.pub`, and
`tutorial.jsonl` with equally many bytes. Built by hand from the format floor, so that making it takes seconds.
"""

from __future__ import annotations

import hashlib
import json
import random
import sys
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from provtape.format import checkpoint, envelope, manifest, note, strict
from provtape.format.chain import Chain
from provtape.format.keys import PublicKey
from provtape.format.tree import Frontier

NAME = "lab.example/bench"
RULES = 'format = "provtape-scrub/1"\nname = "bench"\n'
TIME = "2026-01-01T00:00:00.000Z"
ASCII = (
    "the",
    "model",
    "answers",
    "with",
    "tokens",
    '"quoted"',
    "json",
    "and",
    "a",
    "longer",
    "tail\n",
    "1.0",
    "explanation",
    "because",
)
WORDS = (
    "the",
    "model",
    "Größe",
    "answers",
    "with",
    "tokens",
    "“quoted”",
    "json",
    "and",
    "a",
    "tail\n",
    "1.0",
    "日本",
)


def _members() -> list[dict[str, object]]:
    rules = {"name": "bench", "sha256": hashlib.sha256(RULES.encode()).hexdigest(), "rules": RULES}
    opening = {
        "type": "open",
        "format": "provtape/1",
        "prefix": NAME,
        "nonce": "A" * 22,
        "created": TIME,
        "recorder": "bench",
    }
    opening |= {"scrub": rules, "match": {"headers": [], "ignore": []}, "previous": None, "meta": {}}
    capture = {"road": "command", "enclosed": True, "allow": [], "pass": [], "routes": {}}
    run = {
        "type": "run",
        "started": TIME,
        "recorder": "bench",
        "code": None,
        "command": None,
        "environment": {},
    }
    return [opening, run | {"capture": capture, "meta": {}}]


def interaction(rng: random.Random, place: int) -> dict[str, object]:
    """One chat call of about 2.4 KB; every fourth is streamed, every fifth holds text beyond ASCII, as recorded traffic does."""
    words = WORDS if place % 5 == 0 else ASCII
    prompt = " ".join(rng.choices(words, k=70))
    asked = {"model": "m", "temperature": 0.7, "messages": [{"role": "user", "content": prompt}]}
    body, chunks = _streamed(rng, words) if place % 4 == 0 else (_plain(rng, words), None)
    headers = [
        ["content-type", "application/json"],
        ["date", "Thu, 01 Jan 2026 00:00:00 GMT"],
        ["x-request-id", "req_1"],
    ]
    request = {"method": "POST", "url": "https://api.example/v1/chat/completions", "headers": headers}
    request |= {"body": {"text": json.dumps(asked, ensure_ascii=False)}}
    response = {"ended": "complete", "error": None, "status": 200, "headers": headers, "body": {"text": body}}
    members = {"type": "interaction", "kind": "http", "key": rng.randbytes(32).hex(), "request": request}
    members |= {"response": response | {"chunks": chunks}, "started": TIME, "elapsed_ms": 90, "scrubbed": []}
    return members | {"meta": {}, "salt": "A" * 22}


def _streamed(rng: random.Random, words: tuple[str, ...]) -> tuple[str, list[list[int]]]:
    events = [
        f'data: {{"choices":[{{"delta":{{"content":"{rng.choice(words).strip()} "}}}}]}}\n\n'
        for _ in range(18)
    ]
    return "".join(events), [[len(event.encode()), 5 * place] for place, event in enumerate(events)]


def _plain(rng: random.Random, words: tuple[str, ...]) -> str:
    message = {"role": "assistant", "content": " ".join(rng.choices(words, k=160))}
    answer = {"id": "chatcmpl-1", "object": "chat.completion", "choices": [{"index": 0, "message": message}]}
    return json.dumps(answer | {"usage": {"prompt_tokens": 70, "completion_tokens": 160}}, ensure_ascii=False)


def write(folder: Path, interactions: int) -> None:
    """Write the three files."""
    key = Ed25519PrivateKey.from_private_bytes(hashlib.sha256(b"provtape bench").digest())
    public = PublicKey(key.public_key().public_bytes_raw(), NAME)
    rng, chain, frontier, digest = random.Random(7), Chain(), Frontier(), hashlib.sha256()
    records = _members()
    bodies = [interaction(rng, place) for place in range(1000)]
    origin = ""
    with open(folder / "large.jsonl", "wb") as file:
        for place in range(interactions + 3):
            members = records[place] if place < 2 else bodies[place % 1000]
            if place == interactions + 2:
                members = {"type": "end", "closed": TIME, "meta": {}}
            line = chain.link(strict.dumps(members)[1:] + b"\n")
            chain = chain.extend(line)
            frontier.append(bytes.fromhex(chain.last))
            digest.update(line)
            file.write(line)
            origin = origin or checkpoint.origin(NAME, bytes.fromhex(chain.last))
    text = checkpoint.text(origin, chain.records, frontier.root())
    (folder / "large.jsonl.ckpt").write_bytes(note.write(text, NAME, public, key.sign(text)))
    scrub = {"name": "bench", "sha256": hashlib.sha256(RULES.encode()).hexdigest()}
    entry = manifest.Entry("large.jsonl", origin, chain.records, frontier.root().hex(), None, scrub)
    statement = manifest.statement(
        [manifest.Subject("large.jsonl", digest.hexdigest())], [entry], recorder="bench", created=TIME
    )
    payload = strict.dumps(statement)
    (folder / "large.jsonl.intoto.jsonl").write_bytes(
        envelope.write(payload, public, key.sign(envelope.pae(payload)))
    )
    (folder / "large.pub").write_text(public.vkey + "\n")
    _tutorial(folder / "tutorial.jsonl", bodies, interactions)


def _tutorial(path: Path, bodies: list[dict[str, object]], interactions: int) -> None:
    prev = "genesis"
    outputs = [json.dumps(body, ensure_ascii=False) for body in bodies]
    with open(path, "w", encoding="utf-8", newline="\n") as file:
        for place in range(interactions):
            covered = {"prev": prev, "key": "0" * 16, "output": outputs[place % 1000], "meta": {}}
            prev = hashlib.sha256(
                json.dumps(covered, sort_keys=True, ensure_ascii=False).encode()
            ).hexdigest()
            file.write(json.dumps(covered | {"ts": 0, "hash": prev}, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    write(Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 100_000)
