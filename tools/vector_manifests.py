"""manifests.json: manifests beside the `intact/plain` cassette, and the codes that each gets."""

from __future__ import annotations

from collections.abc import Iterator

from vector_evidence import (
    PAYLOAD_TYPE,
    encoded,
    entry,
    envelope,
    enveloped,
    statement,
    subject,
)
from vector_keys import ALICE, BOB, MALLORY, fingerprint
from vector_record import Cassette
from vector_stories import other, plain
from vector_text import Json, b64, sha256, spelled

RUN = plain()


def _text(run: Cassette = RUN) -> bytes:
    return spelled(statement([entry(run)], [subject("cassette.jsonl", run.file)])).encode()


PAYLOAD = _text()


KEYID = fingerprint(ALICE.public)


SIGNED = enveloped(PAYLOAD)


def _swap(old: bytes, new: bytes) -> bytes:
    """A well-signed payload with `old`, which stands once, exchanged."""
    assert PAYLOAD.count(old) == 1, (old, PAYLOAD.count(old))
    return enveloped(PAYLOAD.replace(old, new))


def _named(*names: str) -> bytes:
    """A well-signed manifest with more subjects."""
    subjects = [subject("cassette.jsonl", RUN.file), *(subject(name, b"") for name in names)]
    return enveloped(spelled(statement([entry(RUN)], subjects)).encode())


def _with(member: str, *rows: Json) -> bytes:
    return enveloped(
        spelled(
            statement([entry(RUN)], [subject("cassette.jsonl", RUN.file)], **{member: list(rows)})
        ).encode()
    )


def _unpadded() -> bytes:
    """A well-signed line whose payload needs two characters of padding and has none."""
    recorder = "v" * (15 + (1 - len(PAYLOAD) + 1) % 3)
    line = _swap(b'"recorder":"vector builder 1"', f'"recorder":"{recorder}"'.encode())
    assert line.count(b'=="') == 2
    return line.replace(b'=="', b'"', 1)


STEP: dict[str, Json] = {"id": "a", "argv": ["b"], "cwd": ".", "cassettes": ["cassette.jsonl"], "writes": []}


CLAIM: dict[str, Json] = {
    "id": "a",
    "text": "b",
    "file": "c",
    "pointer": "/d",
    "value": {"e": 1},
    "tolerance": 0,
    "steps": ["a"],
}


def good_manifests() -> Iterator[tuple[str, str, bytes]]:
    """Name, rule, file: no finding about them."""
    yield "one line", "M1", SIGNED
    yield "two lines", "M2", enveloped(PAYLOAD, (ALICE, BOB))
    yield (
        "a stranger's line that does not verify",
        "M5",
        SIGNED + envelope(PAYLOAD, fingerprint(BOB.public), bytes(64)),
    )
    yield "an input", "M8", _with("inputs", {"name": "a", "from": ""})
    yield "a step", "M8", _with("steps", STEP)
    yield "a claim", "M8", _with("claims", CLAIM)
    yield "a claim with any JSON", "M8", _with("claims", CLAIM | {"value": None, "tolerance": ["1", {}]})


def bad_envelopes() -> Iterator[tuple[str, str, bytes]]:
    """Name, rule, file: lines that are none, or do not belong together."""
    sig = b64(ALICE.sign(encoded(PAYLOAD)))
    body, kind = b64(PAYLOAD), PAYLOAD_TYPE
    one = f'{{"keyid":"{KEYID}","sig":"{sig}"}}'

    def line(payload: str = body, kind: str = kind, signatures: str = f"[{one}]", more: str = "") -> bytes:
        return f'{{"payload":"{payload}","payloadType":"{kind}","signatures":{signatures}{more}}}\n'.encode()

    assert line() == SIGNED
    yield "an empty file", "M1", b""
    yield "a line feed alone", "M1", b"\n"
    yield "the last line feed is missing", "M1", SIGNED[:-1]
    yield "an empty line after it", "M1", SIGNED + b"\n"
    yield "a word after it", "M1", SIGNED + b"signed\n"
    yield "a blank in the line", "M1", SIGNED.replace(b",", b", ", 1)
    yield "a member more", "M1", line(more=',"note":""')
    yield (
        "members in another order",
        "M1",
        b'{"payloadType":"'
        + kind.encode()
        + b'","payload":"'
        + body.encode()
        + b'","signatures":['
        + one.encode()
        + b"]}\n",
    )
    yield "another payload type", "M1", line(kind="application/json")
    yield "no signature", "M1", line(signatures="[]")
    yield "two signatures in one line", "M1", line(signatures=f"[{one},{one}]")
    yield "keyid in upper case", "M1", line(signatures=f'[{{"keyid":"{KEYID.upper()}","sig":"{sig}"}}]')
    yield "no payload", "M1", line(payload="")
    yield "payload in base64url", "M1", line(payload=body[:-4] + "_-_-")
    yield "payload without padding", "M1", _unpadded()
    yield "signature of 63 bytes", "M1", envelope(PAYLOAD, KEYID, ALICE.sign(encoded(PAYLOAD))[:63])
    yield "signature of 65 bytes", "M1", envelope(PAYLOAD, KEYID, ALICE.sign(encoded(PAYLOAD)) + b"\x00")
    yield "one keyid twice", "M2", SIGNED + SIGNED
    yield "two payloads", "M2", SIGNED + enveloped(_text(other()), (BOB,))


def bad_payloads() -> Iterator[tuple[str, str, bytes]]:
    """Name, rule, file: well-signed payloads of the wrong shape."""
    yield "payload is no JSON", "M6", enveloped(PAYLOAD[:-1])
    yield "payload is an array", "M6", enveloped(b"[]")
    yield "one name twice", "M6", _swap(b'"inputs":[]', b'"inputs":[],"inputs":[]')
    yield "a blank", "M6", _swap(b'"inputs":[]', b'"inputs": []')
    yield "a line feed at the end", "M6", enveloped(PAYLOAD + b"\n")
    yield "a needless escape", "M6", _swap(b"manifest:v1", b"manifest:\\u00761")
    yield "a member more", "M6", _swap(b'{"_type"', b'{"note":"","_type"')
    yield "another statement type", "M6", _swap(b"Statement/v1", b"Statement/v0.1")
    yield "another predicate type", "M6", _swap(b"manifest:v1", b"manifest:v2")
    yield "a digest more", "M7", _swap(b'"digest":{', b'"digest":{"md5":"",')
    yield (
        "a digest in upper case",
        "M7",
        enveloped(PAYLOAD.replace(sha256(RUN.file).hex().encode(), sha256(RUN.file).hex().upper().encode())),
    )
    yield "no subject", "M9", enveloped(spelled(statement([entry(RUN)], [])).encode())
    climbing = (
        "../a",
        "a/../b",
        "./a",
        "a/./b",
        "/a",
        "a/",
        "a//b",
        "",
        "a\\b",
        "C:a",
        "a b",
        "\u00e9",
        "a\u0000",
        "a" * 256,
    )
    for number, name in enumerate(climbing):
        yield f"subject name {number}: {name if len(name) < 9 else '256 letters'}", "M7", _named(name)
    yield "one subject twice", "M7", _named("a", "a")
    yield "two subjects that differ in case", "M7", _named("a/b", "A/b")
    yield (
        "no cassettes",
        "M8",
        enveloped(spelled(statement([], [subject("cassette.jsonl", RUN.file)])).encode()),
    )
    yield (
        "one origin twice",
        "M8",
        enveloped(
            spelled(
                statement(
                    [entry(RUN), entry(RUN, "b")],
                    [subject("cassette.jsonl", RUN.file), subject("b", RUN.file)],
                )
            ).encode()
        ),
    )
    yield "cassette of no records", "M8", _swap(b'"records":6', b'"records":0')
    yield "number with a fraction", "M8", _swap(b'"records":6', b'"records":6.0')
    yield "origin without a leaf", "M8", _swap(RUN.origin.encode(), b"lab.example/alice")
    yield "root in base64", "M8", _swap(RUN.root(6).hex().encode(), b64(RUN.root(6)).encode())
    yield "code without dirty", "M8", _swap(b',"dirty":false', b"")
    yield "scrub with rules", "M8", _swap(b'"scrub":{', b'"scrub":{"rules":"",')
    yield "no claims", "M8", _swap(b'"claims":[],', b"")
    yield "created without milliseconds", "M8", _swap(b"10:00:00.000Z", b"10:00:00Z")
    yield "an input without from", "M8", _with("inputs", {"name": "a"})
    yield (
        "a step without cwd",
        "M8",
        _with("steps", {name: value for name, value in STEP.items() if name != "cwd"}),
    )
    yield "a step with a command line", "M8", _with("steps", STEP | {"argv": "b"})
    yield (
        "a claim without steps",
        "M8",
        _with("claims", {name: value for name, value in CLAIM.items() if name != "steps"}),
    )
    yield "a claim with a number for an id", "M8", _with("claims", CLAIM | {"id": 1})
    yield (
        "the first subject is another file",
        "M9",
        enveloped(
            spelled(
                statement([entry(RUN)], [subject("a", b""), subject("cassette.jsonl", RUN.file)])
            ).encode()
        ),
    )


def bad_signatures() -> Iterator[tuple[str, str, bytes, str]]:
    """Name, rule, file, the one code: lines of the right form whose signature or keyid is not."""
    right = ALICE.sign(encoded(PAYLOAD))
    forged, moved = "manifest.signature", "manifest.id"
    yield "all lines end in CR LF", "M1", SIGNED.replace(b"\n", b"\r\n"), "manifest.crlf"
    yield (
        "a length in another spelling",
        "M4",
        envelope(PAYLOAD, KEYID, ALICE.sign(encoded(PAYLOAD).replace(b"DSSEv1 28", b"DSSEv1 028"))),
        forged,
    )
    yield "payload signed alone", "M4", envelope(PAYLOAD, KEYID, ALICE.sign(PAYLOAD)), forged
    yield (
        "payload signed in base64",
        "M4",
        envelope(PAYLOAD, KEYID, ALICE.sign(encoded(b64(PAYLOAD).encode()))),
        forged,
    )
    yield "another key's signature", "M5", envelope(PAYLOAD, KEYID, MALLORY.sign(encoded(PAYLOAD))), forged
    yield "keyid of another key", "M5", envelope(PAYLOAD, fingerprint(BOB.public), right), moved
    yield "keyid of the bare key", "M3", envelope(PAYLOAD, sha256(ALICE.public).hex(), right), moved


def manifests_file() -> list[Json]:
    """Rows of manifests.json; `codes` are all `manifest.*` findings with Alice's vkey named."""
    rows: list[tuple[str, str, bytes, list[str]]] = [(*row, []) for row in good_manifests()]
    rows += [(*row, ["manifest.form"]) for row in (*bad_envelopes(), *bad_payloads())]
    rows += [(name, rule, data, [code]) for name, rule, data, code in bad_signatures()]
    return [
        {"name": name, "rule": rule, "codes": codes, "base64": b64(data)} for name, rule, data, codes in rows
    ]
