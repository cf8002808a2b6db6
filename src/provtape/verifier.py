"""Verify a provtape/1 cassette: one file to read in one sitting. Python >= 3.11 and `cryptography`, nothing else.

    python -I verifier.py run.jsonl --pubkey 'lab.example/alice+0769061f+AQOh...'

Checks what `spec/` says, under its numbers: records (C1 to C22), signed notes in `run.jsonl.ckpt` (N1 to N9), the
signed manifest `run.jsonl.intoto.jsonl` and the files it binds (M1 to M13), your keys (K1 to K6), the way to one word
(V1 to V9): VERIFIED (exit 0), FAILED (1), ERROR (2), UNVERIFIED (3). Given a manifest, it verifies all cassettes in it.
Does not check, as no file can show it: that a model gave the answers (the key holder can invent, record again, sign
again; only a kept note narrows that: --seen); that this is the run you mean (--expect-origin); that the commit is what
ran; that a time is true. Take the key from its owner and this file from where you trust it, not from beside the run.
Options: --pubkey KEY (text or file), --seen F (both repeatable), --manifest F, --checkpoints F, --allow-withheld,
--only (no bound files), --expect-origin O, --expect-commit C, --expect-records N, --json.
"""
from __future__ import annotations

import sys

if sys.hexversion < 0x030B0000:
    sys.exit(sys.stderr.write("needs Python 3.11\n") and 2)
if __name__ == "__main__" and not sys.flags.safe_path:
    sys.path.pop(0)  # nothing is imported from the folder that this file was copied to
import argparse
import base64
import hashlib
import json
import os
import re
import unicodedata
from array import array
from contextlib import suppress
from itertools import accumulate
from typing import Any, Final, NamedTuple

RECORD_LIMIT, EVIDENCE_LIMIT, OWN_MAX = 256 << 20, 64 << 20, 2**53 - 1  # C5; N1, M1; an own number (README)
PREFIX: Final = r"[a-z0-9.-]+(?:/[A-Za-z0-9._~-]+)*"  # N3
# ---- V1 to V3. The findings, in order: class, attack, codes, message, hint ----
TABLE: Final = """
E|-|usage|the command line can not be understood|run it with --help
E|-|key.refused|a public key is refused (K5)|give a vkey, one PEM PUBLIC KEY, one ssh-ed25519 line, or a file with one of these
E|-|input.unreadable|a file can not be read or is no regular file|look at its name, kind and permissions
E|-|input.tutorial|this is another format, known from a tutorial, and no cassette|provtape import reads it
E|-|input.format|record 0 names a format that this verifier does not know (C12)|take a verifier made for that format
E|-|input.limit|larger than a reader takes (C5, N1, M1)|256 MiB a record, 64 MiB a file of evidence
E|-|internal|something unforeseen happened, so there is no verdict|please report it
F|crlf|record.crlf checkpoint.crlf manifest.crlf|a line ends in CR LF (C2, N1, M1)|get the file again, line ends unconverted
F|edit|record.start|the record does not start as every record does (C3, C22)|
F|-|record.seq|the record does not carry its own number (C4)|compare with a copy from the author
F|edit|chain.prev|prev is not the leaf of the record before (C9)|this record's prev, or the record before it, was changed
F|edit|record.json|the record is not strict JSON (C6)|
F|edit|record.spelling|the record is not the one spelling of its value (C7)|
F|edit|record.members|the record does not have the members of its type (C13 to C21)|
F|edit|record.place|a record of this type can not stand here (C10)|
F|edit|checkpoint.form|a note is malformed, or there is something else than notes (N1, N3, N5)|
F|edit|checkpoint.id|a named key made a signature whose name or key id was changed (N7)|
F|edit|manifest.form|the manifest is malformed (M1, M2, M6 to M9)|
F|edit|manifest.id|a named key made a signature that stands under another keyid (M5)|
F|edit|manifest.unsealed|the manifest speaks of a sealed cassette, but this one does not end (M10)|
F|edit|manifest.scrub manifest.code manifest.digest|the manifest says something else of this cassette (M11, M12)|
F|edit|subject.digest|a bound file is not the one that was signed (M13)|compare with a copy from the author
F|append|record.after-end manifest.append|there is more than was sealed (C11, M10)|
F|splice|checkpoint.origin manifest.origin|evidence of another cassette (N8, M10)|compare the origins
F|torn|cassette.cut|the last line is cut, and evidence reaches past it|get the whole file again
F|truncate|cassette.empty checkpoint.records manifest.records|records are missing (C10, N8, M10)|get the whole file again
F|fork|evidence.fork|named keys signed two histories of one origin and number|keep the files: together they prove it
F|rechain|checkpoint.root manifest.root|the root is not that of the records (N8, M10)|the change lies at this record or later
F|forged|checkpoint.signature manifest.signature|a signature of a named key does not verify (N6, M5)|
F|-|expect.origin expect.commit expect.records|not what the caller expects|compare with what the author published
U|torn|cassette.torn checkpoint.torn|the end is cut, as after a crash, and no evidence reaches past it (N9)|the recorder repairs it
U|-|trust.no-key|no key was named, so nothing says whose cassette this is|--pubkey, with the key from the author
U|stranger|trust.stranger|there is evidence, but none by a named key|compare key and fingerprint with the author's
U|strip|trust.no-evidence trust.no-manifest|no manifest, or no evidence at all, is here|ask the author for it
U|-|cassette.open|the cassette is not sealed: there is no end|the author seals it with provtape sign
U|-|cassette.withheld|interactions are withheld, by whoever made this file (C22)|--allow-withheld, if you accept that
U|-|subject.missing|a bound file is not there, no regular file, or behind a link (M13)|put it beside the manifest, or --only
"""
RULES: Final = {code: row.split("|") for row in TABLE.strip().split("\n") for code in row.split("|")[2].split()}
GROUPS: Final = {"ERROR": "E", "FAILED": "F", "UNVERIFIED": "U", "VERIFIED": ""}
EXITS: Final = {"FAILED": 1, "ERROR": 2, "UNVERIFIED": 3, "VERIFIED": 0}  # V2: order of several cassettes

class Findings(dict[str, dict[str, Any]]):
    """What was found, at most once for each code (V1, V3)."""
    def when(self, found: Any, code: str, record: Any = None, offset: Any = None, detail: str = "") -> None:
        """If something is found, note it, unless its code was noted before."""
        if found and code not in self:
            _, attack, _, message, hint = RULES[code]
            place = {"attack": None if attack == "-" else attack, "record": record, "offset": offset}
            self[code] = {"code": code} | place | {"message": message + detail, "hint": hint or None}
    def word(self) -> str:
        """V2: the first word that applies."""
        groups = {RULES[code][0] for code in self} | {""}
        return next(word for word, group in GROUPS.items() if group in groups)
# ---- K1 to K6 ----
P, L = 2**255 - 19, 2**252 + 27742317777372353535851937790883648493
SMALL_ORDER: Final = {0, 1, P - 1, 2707385501144840649318225287225658788936804267575313519463743609750303402022,
                      55188659117513257062467267217118295137698188065244968500265048394206261417927}  # fmt: skip
SPKI: Final = bytes.fromhex("302a300506032b6570032100")  # RFC 8410: before the 32 bytes in DER
SPELLINGS: Final = (  # K2, and what stands before the 32 bytes
    (rf"(?P<name>{PREFIX})\+(?P<id>[0-9a-f]{{8}})\+(?P<key>[A-Za-z0-9+/]+=*)", b"\x01"),
    (r"-----BEGIN PUBLIC KEY-----\r?\n(?P<key>[A-Za-z0-9+/=\r\n]+\n)-----END PUBLIC KEY-----", SPKI),
    (r"ssh-ed25519 (?P<key>[A-Za-z0-9+/]+=*)(?: [^\r\n]*)?", b"\0\0\0\x0bssh-ed25519\0\0\0\x20"),
)

class Key(NamedTuple):
    """A key that the caller named; `fingerprint` is the keyid of M3."""
    name: str | None
    public: bytes
    fingerprint: str

def is_strict_point(point: bytes) -> bool:
    """K4: y is reduced and not that of a point of small order."""
    y = int.from_bytes(point, "little") & (2**255 - 1)
    return len(point) == 32 and y < P and y not in SMALL_ORDER

def verify_signature(public: bytes, signature: bytes, message: bytes) -> bool:
    """K3: whether `signature` (64 bytes) by `public` (32 bytes) holds over `message`."""
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
    small = len(signature) == 64 and int.from_bytes(signature[32:], "little") < L
    if small and is_strict_point(public) and is_strict_point(signature[:32]):
        with suppress(InvalidSignature):
            Ed25519PublicKey.from_public_bytes(public).verify(signature, message)
            return True
    return False

def unbase64(text: str) -> bytes:
    """Canonical base64 (spec/README) decoded; nothing if it is not."""
    with suppress(ValueError):
        if base64.b64encode(data := base64.b64decode(text, validate=True)).decode() == text:
            return data
    return b""

def read_key(text: str, is_file: bool = False) -> Key | None:
    """K2, K5: a key from its text or its file, None if refused. What is a key is never taken for a path."""
    for form, before in SPELLINGS:
        if text.isascii() and (typed := re.fullmatch(form, text.strip(" \t\r\n"))):
            blob, name = unbase64("".join(typed["key"].split())), typed.groupdict().get("name")
            public, right = blob.removeprefix(before), hashlib.sha256(f"{name}\n".encode() + blob).hexdigest()[:8]  # N5
            named = not name or (len(name) <= 255 and typed["id"] == right)
            good = named and len(blob) == len(before) + 32 and is_strict_point(public)
            return Key(name, public, hashlib.sha256(SPKI + public).hexdigest()) if good else None
    text = "" if is_file else load(text, Findings()) or ""
    return read_key(text, True) if 0 < len(text) <= 4096 else None
STRING: Final = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"')
def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object whose names are unique."""
    if len(dict(pairs)) != len(pairs):
        raise ValueError
    return dict(pairs)

encode: Final = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), check_circular=False).encode
FAST: Final = json.JSONDecoder(parse_constant=int)  # int("NaN") raises ValueError, as every refusal here
EXACT: Final = json.JSONDecoder(  # an own number is converted, any other number stays its token
    parse_int=lambda token: int(token) if token.isdecimal() and len(token) < 17 else token.encode(),
    parse_float=str.encode, parse_constant=int, object_pairs_hook=unique)  # fmt: skip

def is_shallow(data: bytes) -> bool:
    """C6: at most 64 containers deep. Strings are cut out, then 64 times all innermost pairs."""
    plain = b"".join(data.replace(b"\\\\", b"").replace(b'\\"', b"").split(b'"')[::2])
    pairs = b"".join(re.findall(rb"[\[\]{}]+", plain)).translate(bytes.maketrans(b"{}", b"[]"))
    for _ in range(64):
        pairs = pairs.replace(b"[]", b"")
    return not pairs

def read_json(data: bytes) -> tuple[Any, bool]:
    """The value of a JSON text (ValueError where C6 is broken), and whether it is the one spelling (C7)."""
    text = data.decode()
    if data.count(b"[") + data.count(b"{") > 64 and not is_shallow(data):
        raise ValueError
    with suppress(ValueError):  # a syntax error, or an integer too long to convert: the exact reader tells which
        value = FAST.decode(text)
        if encode(value) == text:  # so names were unique, no surrogate was alone and no number changed
            return value, True
    value, tokens = EXACT.decode(text), STRING.findall(text)
    strings = [FAST.decode(token) for token in tokens]
    "".join(strings).encode()  # ValueError for a lone surrogate that was written as an escape
    return value, not re.search("[ \t\r\n]", STRING.sub("", text)) and list(map(encode, strings)) == tokens
# ---- C13 to C21, M6 to M8. The members of everything: `?` may be null, `[]` array of; all else is a pattern ----
SHAPES: Final = r"""
open prev:any seq:any type:any format:provtape/1 prefix:prefix nonce:random created:time recorder:text scrub:rules
 match:match previous:previous? meta:object; rules name:text sha256:hex64 rules:text
match headers:text[] ignore:text[]; previous origin:origin records:count root:hex64
run prev:any seq:any type:any started:time recorder:text code:code? command:text[]? environment:object capture:capture
 meta:object; code uri:text? commit:git tree:git dirty:flag
capture road:command|in-process|session|import enclosed:flag allow:text[] pass:text[] routes:object
interaction prev:any seq:any type:any kind:llm|tool|http key:hex64 request:any response:any started:time elapsed_ms:own
 scrubbed:scrubbed[] meta:object salt:random; scrubbed rule:text where:text count:own
llm-request model:text prompt:any params:any; llm-response output:any; error error:any; tool-response result:any
http-request method:text url:text headers:header[] body:body?; text-body text:text; base64-body base64:text
http-response ended:complete|client_left|upstream_broke|no_response error:text? status:own? headers:header[] body:body?
 chunks:chunk[]?; tool-request name:text arguments:any; end prev:any seq:any type:any closed:time meta:object
statement _type:https://in-toto\.io/Statement/v1 subject:subject[] predicateType:urn:provtape:manifest:v1
 predicate:predicate; subject name:path digest:digest; digest sha256:hex64
predicate cassettes:cassette[] inputs:input[] steps:step[] claims:claim[] recorder:text created:time
cassette name:text origin:origin records:count root:hex64 code:code? scrub:pack; pack name:text sha256:hex64
input name:text from:text; step id:text argv:text[] cwd:text cassettes:text[] writes:text[]
claim id:text text:text file:text pointer:text value:any tolerance:any steps:text[]
"""
SHAPE_ROWS: Final = [row.split() for row in SHAPES.replace("\n ", " ").replace("; ", "\n").strip().split("\n")]
MEMBERS: Final = {name: dict(member.split(":", 1) for member in members) for name, *members in SHAPE_ROWS}
SEGMENT: Final = r"(?!\.\.?(?:/|\Z))[A-Za-z0-9._-]+"
PATTERNS: Final = {
    "prefix": rf"(?=.{{1,255}}\Z){PREFIX}",
    "origin": rf"(?=.{{66,320}}\Z){PREFIX}/[0-9a-f]{{64}}",  # N2
    "hex64": "[0-9a-f]{64}",
    "git": "[0-9a-f]{40}|[0-9a-f]{64}",
    "time": r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{3}Z",  # C21
    "random": "[A-Za-z0-9_-]{21}[AQgw]",
    "path": rf"(?=.{{1,255}}\Z){SEGMENT}(?:/{SEGMENT})*",  # M7
}
TYPES: Final[dict[str, type]] = {"any": object, "text": str, "flag": bool, "object": dict}

def fits(kind: str, value: Any) -> bool:
    """Whether a value is of this kind."""
    if kind in TYPES:
        return isinstance(value, TYPES[kind])
    if kind in ("own", "count"):
        return type(value) is int and (1 if kind == "count" else 0) <= value <= OWN_MAX
    if members := MEMBERS.get(kind):
        named = isinstance(value, dict) and list(value) == list(members)
        return named and all(map(fits, members.values(), value.values()))
    if kind.endswith("?"):
        return value is None or fits(kind[:-1], value)
    if kind.endswith("[]"):
        return isinstance(value, list) and all(fits(kind[:-2], part) for part in value)
    if kind in ("header", "chunk"):  # C17, C19
        pair = fits("text[]" if kind == "header" else "own[]", value) and len(value) == 2
        return pair and not (kind == "header" and re.search("[A-Z]", value[0]))
    if kind == "body":
        return body_size(value) > 0
    return isinstance(value, str) and re.fullmatch(PATTERNS.get(kind, kind), value) is not None

def body_size(body: Any) -> int:
    """C18: how many bytes a body stands for; 0 if it is none, or not the one spelling of its bytes."""
    if fits("text-body", body):
        return len(body["text"].encode())
    data = unbase64(body["base64"]) if fits("base64-body", body) else b""
    return 0 if data.decode(errors="replace").encode() == data else len(data)

def has_members(kind: str, record: Any) -> bool:
    """C13 to C20: whether a record has the members of its type."""
    if not fits(kind, record) or kind not in ("open", "interaction"):
        return fits(kind, record)
    if kind == "open":
        return bool(hashlib.sha256(record["scrub"]["rules"].encode()).hexdigest() == record["scrub"]["sha256"])
    kind, answer = record["kind"], record["response"]
    known = fits(f"{kind}-response", answer) or (kind != "http" and fits("error", answer))
    sizes = answer["chunks"] if known and kind == "http" else None  # C19
    summed = sizes is None or sum(size for size, _ in sizes) == body_size(answer["body"])
    return known and summed and fits(f"{kind}-request", record["request"])
def open_regular(*steps: str) -> Any:
    """Open a regular file (a pipe would make us wait), with no link after the first step (M13). Raises OSError."""
    paths = list(accumulate(steps, os.path.join))
    if any(map(os.path.islink, paths[1:])) or not os.path.isfile(paths[-1]):
        raise OSError
    return open(paths[-1], "rb")

def load(path: str, found: Findings, named: bool = True) -> str | None:
    """A file of evidence, a character for each byte; None, and an error if it was named or is there, if unreadable."""
    try:
        with open_regular(path) as stream:
            text = stream.read(EVIDENCE_LIMIT + 1).decode("latin-1")
    except OSError:
        found.when(named or os.path.lexists(path), "input.unreadable", detail=f": {path}")
        return None
    found.when(len(text) > EVIDENCE_LIMIT, "input.limit", detail=f": {path}")
    return text if len(text) <= EVIDENCE_LIMIT else None
def roots(leaves: bytearray, sizes: set[int]) -> dict[int, str]:
    """C8: root(n) in hex for each of `sizes` that there is, in one sweep (RFC 6962 section 2.1)."""
    peaks: list[bytes] = []  # the roots of the perfect subtrees so far, the largest first
    found = {}
    for size in range(1, len(leaves) // 32 + 1):
        node, rest = bytes(leaves[32 * size - 32 : 32 * size]), size
        while rest % 2 == 0:
            node, rest = hashlib.sha256(b"\1" + peaks.pop() + node).digest(), rest // 2
        peaks.append(node)
        if size in sizes:
            for peak in reversed(peaks[:-1]):
                node = hashlib.sha256(b"\1" + peak + node).digest()
            found[size] = node.hex()
    return found
# ---- evidence: N1 to N5, N9, M1 to M9 ----
NUMBER: Final = r"([1-9][0-9]{0,15})\n"
ROOT: Final = r"([A-Za-z0-9+/]{42}[AEIMQUYcgkosw048]=)\n\n"
NOTE: Final = re.compile(
    rf"(?=[^\n]{{66,320}}\n)({PREFIX}/[0-9a-f]{{64}})\n{NUMBER}{ROOT}"
    rf"((?:\xe2\x80\x94 (?=[^ \n]{{1,255}} ){PREFIX} [A-Za-z0-9+/]+={{0,2}}\n){{1,16}})")
LINE: Final = re.compile(
    r'{"payload":"([A-Za-z0-9+/]+={0,2})","payloadType":"application/vnd\.in-toto\+json",'
    r'"signatures":\[{"keyid":"([0-9a-f]{64})","sig":"([A-Za-z0-9+/]{86}==)"}\]}\n')
Claim = tuple[str, int, str, set[Key]]  # what evidence says: its source, a number of records, their root, named signers
class Manifest(NamedTuple):
    """What the manifest says, which of the named keys say so, and how many lines are by others."""
    is_there: bool
    cassettes: list[Any]  # none if the manifest is malformed, nor subjects
    subjects: list[Any]
    by: set[Key]
    strangers: int

def read_manifest(text: str, keys: list[Key], found: Findings) -> Manifest:
    """M1 to M9."""
    lines = [line for p, keyid, s in LINE.findall(text) if all(line := (unbase64(p), keyid, unbase64(s)))]
    good = not LINE.sub("", text) and len(lines) == text.count("\n")  # M1
    good = good and len({line[0] for line in lines}) == 1 and len({line[1] for line in lines}) == len(lines)  # M2
    cassettes, subjects = list[Any](), list[Any]()
    with suppress(ValueError):
        statement, spelled = read_json(lines[0][0] if good else b"")
        if spelled and fits("statement", statement):
            cassettes, subjects = statement["predicate"]["cassettes"], statement["subject"]
    names, origins = [subject["name"] for subject in subjects], {entry["origin"] for entry in cassettes}
    once = len(origins) == len(cassettes) > 0 and len({name.lower() for name in names}) == len(names)  # M7, M8
    formed = once and [entry["name"] for entry in cassettes] == names[: len(cassettes)]  # M9
    found.when("\r\n" in text, "manifest.crlf")
    found.when(not formed and "\r\n" not in text, "manifest.form")
    owners, by = [{key for key in keys if key.fingerprint == keyid} for _, keyid, _ in lines], set()
    for own, (payload, _, signature) in zip(owners, lines, strict=True):
        signed = b"DSSEv1 28 application/vnd.in-toto+json %d %b" % (len(payload), payload)  # M4
        holding = {key for key in keys if verify_signature(key.public, signature, signed)}
        found.when(own - holding, "manifest.signature")  # M5
        found.when(holding - own, "manifest.id")
        by |= own & holding
    found.when(good and keys and not any(owners), "trust.stranger")
    return Manifest(True, cassettes if formed else [], subjects if formed else [], by, owners.count(set()))
# ---- one cassette: C1 to C22, V4 ----
WITHHELD: Final = re.compile(rb'\{"withheld":"([0-9a-f]{64})"\}\n')
START: Final = re.compile(rb'\{"prev":"([0-9a-f]{64})","seq":(0|[1-9]\d{0,15}),"type":"(open|run|interaction|end)",')
FORMAT: Final = re.compile(START.pattern + rb'"format":"([A-Za-z0-9._/-]{1,64})".*\n', re.S)

def other_format(line: bytes) -> str:
    """C12: the code for a first line that is no provtape/1, or nothing."""
    named, value = FORMAT.match(line), None
    if named and named[3] == b"open" and int(named[2]) <= OWN_MAX:
        return "" if named[4] == b"provtape/1" else "input.format"
    with suppress(ValueError):
        value, _ = read_json(line)
    names = set(value if isinstance(value, dict) else ())
    return "input.tutorial" if {"prev", "key", "output", "hash"} <= names and "seq" not in names else ""

class Cassette:
    """One pass over a cassette, keeping 41 bytes of each record; then what the evidence says of it."""
    def __init__(self, keys: list[Key], manifest: Manifest) -> None:
        self.keys, self.manifest, self.found, self.when = keys, manifest, (found := Findings()), found.when
        self.hash, self.leaves, self.numbers, self.kinds = hashlib.sha256(), bytearray(), array("Q"), bytearray()
        self.records, self.size, self.torn, self.sealed = 0, 0, False, False  # complete records, their bytes; V4
        self.opening: Any = None  # record 0, if nothing is wrong with it, and then its origin (N2)
        self.origin: str | None = None
        self.runs, self.facts = list[Any](), dict[str, Any]()  # report.schema.json
        self.claims, self.lines = list[Claim](), list[bool]()  # lines of the checkpoint file: which count (N6)
    def read(self, stream: Any) -> bool:
        """C1, C5, C11, C12: read to the end; False where an error forbids it."""
        while line := stream.readline(RECORD_LIMIT + 1):
            self.hash.update(line)
            self.torn = not line.endswith(b"\n")
            if error := "input.limit" if len(line) > RECORD_LIMIT else "" if self.size else other_format(line):
                self.when(True, error, None if error == "input.tutorial" else self.records, self.size)
                return False
            self.when(self.kinds.endswith(b"e"), "record.after-end", self.records, self.size)
            if not self.torn:
                self.take(line)
        if "record.start" in self.found:
            self.found.pop("record.seq", None)
        elif "record.seq" in self.found:  # C4
            moved = "swap" if max(self.numbers) < self.records else "drop"
            self.found["record.seq"]["attack"] = "insert" if len(set(self.numbers)) < self.records else moved
        self.when(not self.records, "cassette.empty", 0, 0)
        self.sealed = self.records > 0 and self.kinds.find(b"e") == self.records - 1
        for run, after in zip(self.runs, [*self.runs[1:], {"record": self.records}], strict=False):
            run["interactions"] = sum(self.kinds.count(kind, run["record"], after["record"]) for kind in (b"i", b"w"))
        return True
    def take(self, line: bytes) -> None:
        """C2 to C4, C8, C22: one record."""
        at, seq, kind, leaf = self.records, self.records, "?", hashlib.sha256(b"\0" + line).digest()
        withheld, start = at > 1 and WITHHELD.fullmatch(line), START.match(line)
        self.when(line.endswith(b"\r\n"), "record.crlf", at, self.size)
        if withheld:
            leaf, kind = bytes.fromhex(withheld[1].decode()), "withheld"
        elif start and int(start[2]) <= OWN_MAX:
            seq, kind = int(start[2]), start[3].decode()
            self.judge(line, start[1].decode(), kind, seq)
        self.when(kind == "withheld", "cassette.withheld", at, self.size)
        self.when(kind == "?", "record.start", at, self.size)
        self.when(seq != at, "record.seq", at, self.size)
        self.numbers.append(seq)
        self.kinds += kind[0].encode()
        self.leaves += leaf
        self.origin = f"{self.opening['prefix']}/{leaf.hex()}" if self.opening and not at else self.origin
        self.records, self.size = at + 1, self.size + len(line)
    def judge(self, line: bytes, prev: str, kind: str, seq: int) -> None:
        """C6, C7, C9, C10, C13 to C21; of all these only the first fault in the cassette is found (V4)."""
        at, value, spelled = self.records, None, False
        with suppress(ValueError):
            value, spelled = read_json(line[:-1])
        known = value is not None and has_members(kind, value)
        misplaced = (kind == "open") != (at == 0) or (at == 1 and kind != "run")
        faults = {"chain.prev": prev != (self.leaves[-32:].hex() or "0" * 64), "record.json": value is None}
        faults |= {"record.spelling": not spelled, "record.members": not known, "record.place": misplaced}
        fault = next((code for code, is_so in faults.items() if is_so), "")
        self.when(fault and not faults.keys() & self.found.keys(), fault, at, self.size)
        self.opening = value if kind == "open" and at == seq and not fault else self.opening
        if value and kind == "run" and spelled and known:
            road, enclosed, *_ = value["capture"].values()
            self.runs.append({"record": at, "road": road, "enclosed": enclosed, "code": value["code"]})
    def hear_notes(self, text: str, beside: bool) -> None:
        """N1 to N9: a checkpoint file, or a note that was kept; content, and apart from it signatures (V5)."""
        at, crlf = 0, "\r\n" in text
        while note := NOTE.match(text, at):
            rows = [row.split(" ") for row in note[4].split("\n")[:-1]]
            lines = [(name, blob[:4], blob[4:]) for _, name, line in rows if len(blob := unbase64(line)) > 4]
            if len({line[:2] for line in lines}) < len(rows) or int(note[2]) > OWN_MAX:
                break
            by, signed = set[Key](), text[at : note.end(3) + 1].encode()  # N4
            for name, key_id, signature in lines:
                right = {key: hashlib.sha256(f"{name}\n\x01".encode() + key.public).digest()[:4] for key in self.keys}
                near = {key for key in self.keys if base64.b64encode(right[key])[:5] == base64.b64encode(key_id)[:5]}
                holding = {key for key in self.keys if verify_signature(key.public, signature, signed)}
                counted = {key for key in self.keys if right[key] == key_id and key.name in (None, name)}
                self.when(counted - holding, "checkpoint.signature")  # N6
                self.when(any(right[key] != key_id for key in holding | near), "checkpoint.id")  # N7
                self.lines += [bool(counted)] * beside
                by |= counted & holding
            self.when(self.origin and note[1] != self.origin, "checkpoint.origin")
            if note[1] == self.origin:
                self.claims.append(("checkpoint", int(note[2]), unbase64(note[3]).hex(), by))
            at = note.end()
        first, rest = f"{self.origin}\n", text[at:]
        cut = re.fullmatch(rf"{re.escape(first)}(?:{NUMBER}(?:{ROOT}|{ROOT[:-2]})?)?[^\n]*", rest)  # N9
        begun = self.origin and (first.startswith(rest) or (cut and int(cut[1] or 1) <= OWN_MAX))
        torn = beside and not self.sealed and (begun or (at and re.fullmatch(r"\xe2[^\n]*", rest)))
        self.when(crlf, "checkpoint.crlf")
        self.when(not crlf and (rest or not at), "checkpoint.torn" if torn else "checkpoint.form")
    def hear_manifest(self, entry: Any) -> None:
        """M10 to M12: the entry of this origin (of the file's name, if the manifest was given for the cassette)."""
        when, n, entries, opened = self.when, self.records, self.manifest.cassettes, self.opening["scrub"]
        entry = next((row for row in ([entry] if entry else entries) if row["origin"] == self.origin), None)
        when(not entry, "manifest.origin")
        if entry:
            whole, run = entry["records"] == n, self.runs[-1] if self.runs else {"record": None, "code": entry["code"]}
            asked = whole and roots(self.leaves, {n})[n] == entry["root"] and not self.torn and b"w" not in self.kinds
            digest = self.manifest.subjects[entries.index(entry)]["digest"]["sha256"]
            when(whole and not self.kinds.endswith(b"e"), "manifest.unsealed")
            when(opened | entry["scrub"] != opened, "manifest.scrub", 0, 0)
            when(whole and entry["code"] != run["code"], "manifest.code", run["record"])
            when(asked and digest != self.hash.hexdigest(), "manifest.digest")
            when(entry["records"] < n, "manifest.append", entry["records"])
            self.claims.append(("manifest", entry["records"], entry["root"], self.manifest.by))
    def weigh(self) -> list[dict[str, Any]]:
        """N8, M10, V6, V7: the claims against the records; what each named key covers."""
        n, right = self.records, roots(self.leaves, {number for _, number, _, _ in self.claims})
        agreeing = [(number, by) for _, number, root, by in self.claims if right.get(number) == root]
        for source in ("checkpoint", "manifest"):
            claims = [(number, root) for claimed, number, root, _ in self.claims if claimed == source]
            beyond = "cassette.cut" if self.torn else f"{source}.records"
            self.when(any(number > n for number, _ in claims), beyond, n, self.size)
            wrong = [number for number, root in claims if right.get(number, root) != root]
            below = [number for number, _ in agreeing if number < min(wrong, default=0)]
            self.when(wrong, f"{source}.root", max(below, default=0))
        signed = {(number, root) for _, number, root, by in self.claims if by}
        self.when(len(signed) > len(dict(signed)), "evidence.fork")
        most = {key: max((number for number, by in agreeing if key in by), default=0) for key in self.keys}
        named = [{"name": key.name, "fingerprint": key.fingerprint, "records": most[key]} for key in self.keys]
        return [row | {"manifest": key in self.manifest.by} for key, row in zip(self.keys, named, strict=True)]
    def trust(self, noted: bool, options: argparse.Namespace) -> None:
        """Class U, and what the caller expects (V8)."""
        when, n, bare, ended = self.when, self.records, not self.manifest.is_there, b"e" in self.kinds
        strange = bare and self.keys and self.lines and not any(self.lines)
        when(self.torn and not ended and "cassette.cut" not in self.found, "cassette.torn", n, self.size)
        when(strange, "trust.stranger")
        when(bare and not noted, "trust.no-evidence")
        when(bare and noted and self.sealed and not strange, "trust.no-manifest")
        when(not ended, "cassette.open", n, self.size)
        self.found.pop("cassette.withheld" if options.allow_withheld else "", None)
        when(options.expect_origin not in (None, self.origin), "expect.origin", 0)
        when(options.expect_records not in (None, str(n)), "expect.records", n)
        asked = [run for run in self.runs if run["interactions"]] or self.runs[-1:] or [{"record": None, "code": None}]
        other = [run["record"] for run in asked if not run["code"] or run["code"]["commit"] != options.expect_commit]
        when(options.expect_commit is not None and other, "expect.commit", *other[:1])
    def examine(self, stream: Any, path: str, entry: Any, options: argparse.Namespace) -> None:
        """Make all findings, and the facts, unless an error forbids to read the cassette."""
        beside = load(f"{path}.ckpt" if (ckpt := options.checkpoints) is None else ckpt, self.found, ckpt is not None)
        kept = [load(name, self.found) for name in options.seen or []]
        if not self.read(stream):
            return
        for place, text in enumerate([beside, *kept]):
            if text is not None:
                self.hear_notes(text, place == 0)
        if self.origin and self.manifest.cassettes:
            self.hear_manifest(entry)
        covers, n, opening, withheld = self.weigh(), self.records, self.opening, self.kinds.count(b"w")
        self.trust(beside is not None, options)
        scrub = opening and {name: opening["scrub"][name] for name in ("name", "sha256")}
        self.facts = {"name": os.path.basename(path), "origin": self.origin, "records": n, "sealed": self.sealed}
        self.facts |= {"interactions": self.kinds.count(b"i") + withheld, "withheld": withheld, "runs": self.runs}
        self.facts |= {"root": roots(self.leaves, {n}).get(n), "sha256": self.hash.hexdigest(), "scrub": scrub}
        self.facts |= {"ignore": opening["match"]["ignore"] if opening else [], "covers": covers}
        self.facts["strangers"] = self.lines.count(False) + self.manifest.strangers
# ---- the command: M13, V2, V3, V8, V9 ----
def state_of(folder: str, subject: Any) -> str:
    """M13: whether a bound file is the one that was signed."""
    with suppress(OSError), open_regular(folder, *subject["name"].split("/")) as stream:
        return "same" if hashlib.file_digest(stream, "sha256").hexdigest() == subject["digest"]["sha256"] else "wrong"
    return "missing"

def verify(options: argparse.Namespace) -> dict[str, Any]:
    """The report (report.schema.json) on what the command line names."""
    shared, path, named, whole = Findings(), options.cassette, options.pubkey or [], False
    keys = [key for text in named if (key := read_key(text))]
    shared.when(len(keys) < len(named), "key.refused")
    shared.when(not named, "trust.no-key")
    with suppress(OSError), open_regular(path) as stream:
        whole = stream.read(12) == b'{"payload":"'  # a manifest in place of a cassette
    place = path if whole else f"{path}.intoto.jsonl" if options.manifest is None else options.manifest
    text, folder, cases = load(place, shared, whole or options.manifest is not None), os.path.dirname(place), list[Cassette]()
    manifest = Manifest(False, [], [], set(), 0) if text is None else read_manifest(text, keys, shared)
    single = [options.expect_origin, options.expect_commit, options.expect_records, options.checkpoints, options.seen]
    if whole and (options.manifest is not None or (len(manifest.cassettes) > 1 and single.count(None) < len(single))):
        raise SystemExit("an option that speaks of one cassette")
    for entry in manifest.cassettes if whole else [{}]:
        steps = [folder, *entry["name"].split("/")] if whole else [path]
        try:
            with open_regular(*steps) as stream:
                cases.append(Cassette(keys, manifest))
                cases[-1].examine(stream, os.path.join(*steps), entry, options)
        except OSError:
            shared.when(True, "subject.missing" if whole else "input.unreadable", detail=f": {os.path.join(*steps)}")
    found_here = [entry["name"] for entry in manifest.cassettes if entry["origin"] in {case.origin for case in cases}]
    own, states = {entry["name"] for entry in manifest.cassettes} if whole else set(found_here), []
    for subject in (subject for subject in manifest.subjects if subject["name"] not in own):
        state = state_of(folder, subject) if found_here and not options.only else "not asked"
        shared.when(state == "wrong", "subject.digest", detail=f": {subject['name']}")
        shared.when(state == "missing", "subject.missing", detail=f": {subject['name']}")
        states.append({"name": subject["name"], "state": state})
    return report(shared, [case.found for case in cases], [case.facts for case in cases if case.facts], states)

def report(shared: Findings, founds: Any = (), rows: Any = (), subjects: Any = ()) -> dict[str, Any]:
    """V2, V3: one word for all cassettes; the decisive finding first, the others in the order of the table."""
    founds = [Findings(shared | found) for found in founds] or [shared]
    word = next(word for word in EXITS if any(found.word() == word for found in founds))
    best = [found for found in founds if found.word() == word]
    merged = {code: finding for found in (*founds, *reversed(best)) for code, finding in found.items()}
    deciding = [code for code in RULES if RULES[code][0] == GROUPS[word] and any(code in found for found in best)]
    order = sorted(merged, key=lambda code: (code not in deciding[:1], list(RULES).index(code)))
    shown = {"schema": "provtape/report/1", "verdict": word, "exit": EXITS[word]}
    return shown | {"findings": [merged[code] for code in order], "facts": {"cassettes": rows, "subjects": subjects}}

def clean(value: Any) -> Any:
    """V9: a value as it may be printed."""
    if isinstance(value, str):
        return "".join(f"\\u{{{ord(c):x}}}" if unicodedata.category(c) in "Cc Cf Cs Co Zl Zp" else c for c in value)
    if isinstance(value, dict):
        return {name: clean(part) for name, part in value.items()}
    return list(map(clean, value)) if isinstance(value, (list, tuple)) else value

def render(shown: Any) -> str:
    """The report for people: the word, the facts, the findings (the first one names the attack), the limits."""
    lines = [shown["verdict"]]
    for row in shown["facts"]["cassettes"]:
        said = [f"{row['name']}: {row['interactions']} interactions in {row['records']} records, sealed: {row['sealed']}"]
        said += [f"{k['name'] or k['fingerprint']} covers {k['records']}{' and manifest' * k['manifest']}" for k in row["covers"]]
        lines.append("; ".join(said + [f"commit {run['code'] and run['code']['commit']}" for run in row["runs"]]))
    for code, attack, record, _, message, hint in (row.values() for row in shown["findings"]):
        place = f" ({attack})" * bool(attack) + f", record {record}" * (record is not None)
        lines.append(f"- {code}{place}: {message}" + f"\n  hint: {hint}" * bool(hint))
    return "\n".join([*lines, "limits: a signer can invent, record again; another run by this key verifies; times are claims"])

def understand(arguments: list[str]) -> argparse.Namespace:
    """The options. Raises SystemExit where the command line can not be understood (argparse says why on stderr)."""
    parser = argparse.ArgumentParser(prog="verifier", add_help=False, allow_abbrev=False)
    parser.add_argument("cassette", nargs="?", default="run.jsonl")
    words = "pubkey+ seen+ manifest checkpoints expect-origin expect-commit expect-records only! allow-withheld! json!"
    for word in words.split():
        parser.add_argument(f"--{word.rstrip('+!')}", action={"+": "append", "!": "store_true"}.get(word[-1], "store"))
    options = parser.parse_args(arguments)
    commit = options.expect_commit and options.expect_commit + "-" * options.allow_withheld  # V8: not both
    asked = f"{options.expect_records or 0} {commit or 'a' * 40} {options.expect_origin or 'a/' + 'a' * 64}"
    if not fits(r"(0|[1-9][0-9]{0,15}) ([0-9a-f]{40}|[0-9a-f]{64}) [^ ]+/[0-9a-f]{64}", asked):
        parser.error("--expect-* takes a number, a whole commit (without --allow-withheld), an origin")
    return options

def main(arguments: list[str]) -> int:
    """Verify, print, and return the exit code; nothing but a verdict of FAILED ever returns 1."""
    as_json, failed = "--json" in arguments, Findings()
    try:
        if "--help" in arguments and not as_json:
            return 0 * os.write(1, f"{__doc__}".encode())
        result = verify(understand(arguments))
        signed = [row["sealed"] and any(k["manifest"] for k in row["covers"]) for row in result["facts"]["cassettes"]]
        if result["exit"] == 0 and not (signed and all(signed)):
            raise AssertionError  # VERIFIED by no finding alone is not enough
    except BaseException as reason:  # a missing package, no memory, Ctrl-C: never a verdict
        unforeseen = ("internal", None, None, f": {type(reason).__name__}")
        failed.when(True, *(("usage",) if isinstance(reason, SystemExit) else unforeseen))
        result = report(failed)
    try:
        text = json.dumps(clean(result)) if as_json else render(clean(result))
        sys.stdout.write(text.encode("ascii", "backslashreplace").decode() + "\n")
        sys.stdout.flush()
    except BaseException:  # a closed stdout
        return 2
    return int(result["exit"])
if __name__ == "__main__":
    os._exit(main(sys.argv[1:]))  # not sys.exit: what can not be flushed any more would change the exit code
