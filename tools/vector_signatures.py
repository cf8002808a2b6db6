"""keys.json and signatures.json: which keys are taken, which signatures verify (spec/keys.md)."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from typing import Final

from vector_curve import BASE, IDENTITY, SMALL_Y, TORSION, L, P, Point, add, challenge, encode, scalar, times
from vector_keys import ALICE, BOB, SPKI, SSH, fingerprint, key_id, pem, signer, ssh, vkey
from vector_text import Json, b64, sha256

NAME: Final = "lab.example/alice"
MESSAGE: Final = b"provtape vectors\n"
Row = tuple[str, str, bytes, bytes, bytes, bool]


def _vkey(body: bytes, name: str = NAME, identity: str | None = None) -> str:
    """A vkey whose id fits `body`, algorithm byte included, unless told otherwise."""
    drawn = sha256(name.encode() + b"\n" + body)[:4].hex()
    return f"{name}+{identity or drawn}+{b64(body)}"


def _block(body: bytes, label: str = "PUBLIC KEY") -> str:
    text = b64(body)
    lines = "\n".join(text[i : i + 64] for i in range(0, len(text), 64))
    return f"-----BEGIN {label}-----\n{lines}\n-----END {label}-----\n"


def _url_spelled() -> str:
    """A vkey of the other alphabet, of the first key whose base64 differs in it."""
    for number in range(100):
        public = signer(f"rig.example/{number}").public
        text = b64(b"\x01" + public)
        if "/" in text and "+" not in text:
            return f"{NAME}+{key_id(NAME, public).hex()}+{text.replace('/', '_')}"
    raise AssertionError("no such key")


def _taken() -> Iterator[tuple[str, str]]:
    """Name and text of keys that are Alice's."""
    public = ALICE.public
    plain = vkey(NAME, public)
    yield "vkey", plain
    yield "vkey with a line feed", plain + "\n"
    yield "vkey with blanks around", "\n  " + plain + " \n\n"
    yield "vkey under a name of one letter", vkey("a", public)
    yield "vkey under a name of 255 bytes", vkey("a" * 255, public)
    yield "vkey under a name with all characters", vkey("a-0.z/A.~_-9/b", public)
    yield "PEM", pem(public)
    yield "PEM without the last line feed", pem(public)[:-1]
    yield "PEM with white space around", "\n \n" + pem(public) + "\n \n"
    yield "ssh", ssh(public)
    yield "ssh with a comment", ssh(public, "alice@lab.example")
    yield "ssh with a comment of two words", ssh(public, "alice of lab.example")
    yield "ssh with blanks around", "\n " + ssh(public) + "\n"


def _spelled_wrong() -> Iterator[tuple[str, str]]:
    """Texts that name no key."""
    public, typed = ALICE.public, b"\x01" + ALICE.public
    plain, block, line = vkey(NAME, public), pem(public), ssh(public)
    other = key_id(NAME, BOB.public).hex()
    blob = SSH + public
    yield "nothing", ""
    yield "blanks", " \n"
    yield "a file name", "alice.pub"
    yield "vkey with the id of another key", _vkey(typed, identity=other)
    yield "vkey with the id of another name", plain.replace("alice", "carol", 1)
    yield "vkey with an upper-case id", _vkey(typed, identity=key_id(NAME, public).hex().upper())
    yield "vkey with an id of seven digits", _vkey(typed, identity=key_id(NAME, public).hex()[1:])
    yield "vkey without an id", f"{NAME}+{b64(typed)}"
    yield "vkey of another algorithm", _vkey(b"\x02" + public)
    yield "vkey without the algorithm", _vkey(public)
    yield "vkey of 31 bytes", _vkey(typed[:-1])
    yield "vkey of 33 bytes", _vkey(typed + b"\x00")
    yield "vkey without a name", _vkey(typed, "")
    yield "vkey with an upper-case name", _vkey(typed, "Lab.example")
    yield "vkey with an empty segment", _vkey(typed, "lab.example//alice")
    yield "vkey with a slash at the end", _vkey(typed, "lab.example/")
    yield "vkey with a blank in the name", _vkey(typed, "lab example")
    yield "vkey with a name beyond ASCII", _vkey(typed, "l\u00e4b.example")
    yield "vkey with a name of 256 bytes", _vkey(typed, "a" * 256)
    yield "vkey in base64url", _url_spelled()
    yield "vkey with a padding too many", plain + "="
    yield "vkey with a word after it", plain + " alice"
    yield "two vkeys", plain + "\n" + vkey("lab.example/bob", BOB.public)
    yield "PEM of another label", _block(SPKI + public, "CERTIFICATE")
    yield "PEM of two blocks", block + pem(BOB.public)
    yield "PEM after a word", "alice\n" + block
    yield "PEM before a word", block + "alice\n"
    yield "PEM of an X25519 key", _block(bytes.fromhex("302a300506032b656e032100") + public)
    yield "PEM of an Ed448 key", _block(bytes.fromhex("3043300506032b6571033a00") + public + bytes(25))
    yield "PEM of 31 bytes", _block(bytes.fromhex("3029300506032b6570032000") + public[:31])
    yield "PEM with bytes after the key", _block(SPKI + public + b"\x00")
    yield "PEM of the bare key", _block(public)
    yield "PEM without its end", block[: block.index("-----END")]
    yield "ssh of another type", f"ssh-rsa {b64(blob)}"
    yield "ssh of another type inside", f"ssh-ed25519 {b64(blob.replace(b'ed25519', b'ed25518'))}"
    yield "ssh of 31 bytes", f"ssh-ed25519 {b64(SSH[:-1] + bytes([31]) + public[:31])}"
    yield "ssh with bytes after the key", f"ssh-ed25519 {b64(blob + bytes(1))}"
    yield "ssh with options", 'command="true" ' + line
    yield "two ssh lines", line + ssh(BOB.public)
    yield "ssh without a key", "ssh-ed25519"


def _weak() -> Iterator[tuple[str, bytes]]:
    """Name and bytes of keys that K4 refuses."""
    for y in SMALL_Y:
        for sign in (0, 1):
            yield f"y of small order, {y}, sign {sign}", (y | sign << 255).to_bytes(32, "little")
    for more in range(19):
        yield f"y = p + {more}", (P + more).to_bytes(32, "little")
    yield "all bits", b"\xff" * 32


def keys_file() -> list[Json]:
    """Rows of keys.json: text as a person would give it."""
    good = {"ok": True, "public": ALICE.public.hex(), "fingerprint": fingerprint(ALICE.public)}
    bad = {"ok": False, "public": None, "fingerprint": None}
    rows: list[Mapping[str, Json]] = [
        {"name": name, "rule": "K2", "text": text, **good} for name, text in _taken()
    ]
    rows += [{"name": name, "rule": "K2", "text": text, **bad} for name, text in _spelled_wrong()]
    for name, public in _weak():
        rows += [
            {"name": f"{name}, {road}", "rule": "K4", "text": text, **bad}
            for road, text in (("vkey", _vkey(b"\x01" + public)), ("PEM", pem(public)), ("ssh", ssh(public)))
        ]
    return list(rows)


def _draw(label: str) -> int:
    return int.from_bytes(hashlib.sha512(f"provtape vectors {label}".encode()).digest(), "little") % L


def _sum(factor: int, torsion: int) -> Point:
    return add(times(factor, BASE), times(torsion, TORSION))


def _made(secret: int, public: bytes, commitment: bytes, nonce: int, message: bytes) -> bytes:
    """R and the S that fits it, whatever R is."""
    return commitment + ((nonce + challenge(commitment, public, message) * secret) % L).to_bytes(32, "little")


def _ordinary() -> Iterator[Row]:
    """Honest signatures and what is left of them after one change."""
    public, good = ALICE.public, ALICE.sign(MESSAGE)
    number = int.from_bytes(good[32:], "little")

    def row(
        name: str,
        rule: str,
        signature: bytes,
        message: bytes = MESSAGE,
        key: bytes = public,
        ok: bool = False,
    ) -> Row:
        return name, rule, key, message, signature, ok

    def scalar_of(value: int) -> bytes:
        return good[:32] + value.to_bytes(32, "little")

    yield row("honest", "K3", good, ok=True)
    yield row("honest, nothing signed", "K3", ALICE.sign(b""), b"", ok=True)
    yield row("honest, another key", "K3", BOB.sign(MESSAGE), key=BOB.public, ok=True)
    yield row("another message", "K3", good, MESSAGE + b"\n")
    yield row("another key's", "K3", BOB.sign(MESSAGE))
    yield row("one bit of R", "K3", bytes([good[0] ^ 1]) + good[1:])
    yield row("sign bit of R", "K3", good[:31] + bytes([good[31] ^ 0x80]) + good[32:])
    yield row("one bit of S", "K3", good[:32] + bytes([good[32] ^ 1]) + good[33:])
    yield row("63 bytes", "K3", good[:-1])
    yield row("65 bytes", "K3", good + b"\x00")
    yield row("no bytes", "K3", b"")
    yield row("S and R exchanged", "K3", good[32:] + good[:32])
    yield row("S + L", "K3", scalar_of(number + L))
    yield row("S + 8L", "K3", scalar_of(number + 8 * L))
    yield row("S = L", "K3", scalar_of(L))
    yield row("S = 2^256 - 1", "K3", scalar_of(2**256 - 1))
    yield row("S with its top bit", "K3", scalar_of(number | 1 << 255))
    yield row("key of 31 bytes", "K1", good, key=public[:31])
    yield row("key of 33 bytes", "K1", good, key=public + b"\x00")


def _small() -> Iterator[Row]:
    """Equations that hold with a point of small order in them: refused before OpenSSL is asked (rule K4)."""
    secret, public = scalar(ALICE.seed), ALICE.public
    for times_of in range(8):
        commitment = encode(times(times_of, TORSION))
        yield (
            f"R of small order, {times_of}",
            "K4",
            public,
            MESSAGE,
            _made(secret, public, commitment, 0, MESSAGE),
            False,
        )
    nonce = _draw("nonce small")
    for times_of in range(8):
        weak = encode(times(times_of, TORSION))
        yield f"key of small order, {times_of}", "K4", weak, MESSAGE, _fits_weak(times_of, nonce), False
    one = encode(IDENTITY)
    yield "key and R are the neutral element, S = 0", "K4", one, MESSAGE, one + bytes(32), False
    again = (P + 1).to_bytes(32, "little")
    yield (
        "R is the neutral element, spelled p + 1",
        "K4",
        public,
        MESSAGE,
        _made(secret, public, again, 0, MESSAGE),
        False,
    )
    yield (
        "key is the neutral element, spelled p + 1",
        "K4",
        again,
        MESSAGE,
        _made(0, again, encode(times(nonce, BASE)), nonce, MESSAGE),
        False,
    )


def _fits_weak(times_of: int, nonce: int) -> bytes:
    """A signature under a key of small order, R moved until the torsion cancels."""
    weak = encode(times(times_of, TORSION))
    for torsion in range(8):
        commitment = encode(_sum(nonce, torsion))
        if (torsion + challenge(commitment, weak, MESSAGE) * times_of) % 8 == 0:
            return commitment + nonce.to_bytes(32, "little")
    return encode(times(nonce, BASE)) + nonce.to_bytes(32, "little")


def _mixed() -> Iterator[Row]:
    """Keys and R with a part of small order: K4 takes them, and the cofactorless equation decides."""
    secret, nonce = scalar(ALICE.seed) % L, _draw("nonce mixed")
    mixed, pure = encode(_sum(secret, 1)), ALICE.public
    straight, bent = encode(times(nonce, BASE)), encode(_sum(nonce, 1))
    holds = next(m for m in _messages() if challenge(straight, mixed, m) % 8 == 0)
    fails = next(m for m in _messages() if challenge(straight, mixed, m) % 8 == 4)
    cancels = next(m for m in _messages() if challenge(bent, mixed, m) % 8 == 7)
    yield (
        "key of mixed order, k a multiple of 8",
        "K3",
        mixed,
        holds,
        _made(secret, mixed, straight, nonce, holds),
        True,
    )
    yield (
        "key of mixed order, k not a multiple of 8",
        "K3",
        mixed,
        fails,
        _made(secret, mixed, straight, nonce, fails),
        False,
    )
    yield (
        "key and R of mixed order, the parts cancel",
        "K3",
        mixed,
        cancels,
        _made(secret, mixed, bent, nonce, cancels),
        True,
    )
    yield "R of mixed order", "K3", pure, MESSAGE, _made(secret, pure, bent, nonce, MESSAGE), False


def _messages() -> Iterator[bytes]:
    for number in range(1000):
        yield f"provtape vectors message {number}\n".encode()


def signatures_file() -> list[Json]:
    """Rows of signatures.json, everything in hex."""
    rows = [*_ordinary(), *_small(), *_mixed()]
    return [
        {
            "name": name,
            "rule": rule,
            "public": key.hex(),
            "message": message.hex(),
            "signature": signature.hex(),
            "ok": ok,
        }
        for name, rule, key, message, signature, ok in rows
    ]
