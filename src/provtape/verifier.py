"""Verify a provtape/1 cassette: one file to read in one sitting. Python >= 3.11 and `cryptography`, nothing else.

    python -I verifier.py run.jsonl --pubkey 'lab.example/alice+0769061f+AQOh...'

Checks what `spec/` says, under its numbers: the records (C1 to C22), the signed notes in `run.jsonl.ckpt` (N1 to N9), the signed
manifest `run.jsonl.intoto.jsonl` and the files it binds (M1 to M13), your keys (K1 to K6), and the way from findings to one word
(V1 to V9): VERIFIED (exit 0), FAILED (1), ERROR (2), UNVERIFIED (3). A manifest in place of the cassette verifies all it names.

Does not check, because no file can show it: that a model gave the answers (the key holder can invent, record again and sign
again; only somebody who saw an earlier note narrows that); that this is the run you mean (another run by the same key is
VERIFIED too: --expect-origin); that the named commit is what ran; that a time is true. Take the key from the author and this
file from where you trust it, neither from the folder under review. Match keys are replay's business (Q1 to Q6).

Options: --pubkey KEY (text or file; repeatable)  --manifest F  --checkpoints F  --seen F (a note kept from an earlier day;
repeatable)  --only (leave bound files out)  --allow-withheld  --expect-origin O  --expect-commit C  --expect-records N  --json
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
import stat
import unicodedata
from array import array
from contextlib import suppress
from typing import Any, BinaryIO, Final, NamedTuple

RECORD_LIMIT: Final = 256 << 20  # C5
EVIDENCE_LIMIT: Final = 64 << 20  # N1, M1
OWN_MAX: Final = 2**53 - 1
PREFIX: Final = r"[a-z0-9.-]+(?:/[A-Za-z0-9._~-]+)*"  # N3
LIMITS: Final = "limits: a signer can invent responses or record again; another run by the same key verifies; times are claims"

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
U|strip|trust.no-evidence trust.no-manifest|there is no manifest|ask the author for it
U|-|cassette.open|the cassette is not sealed: there is no end|the author seals it with provtape sign
U|-|cassette.withheld|interactions are withheld, by whoever made this file (C22)|--allow-withheld, if you accept that
U|-|subject.missing|a bound file is not there, no regular file, or behind a link (M13)|put it beside the manifest, or --only
"""
ROWS: Final = [row.split("|") for row in TABLE.strip().split("\n")]
RULES: Final = {code: row for row in ROWS for code in row[2].split()}
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
P: Final = 2**255 - 19
L: Final = 2**252 + 27742317777372353535851937790883648493
SMALL_ORDER: Final = {0, 1, P - 1} | {
    2707385501144840649318225287225658788936804267575313519463743609750303402022,
    55188659117513257062467267217118295137698188065244968500265048394206261417927,
}
SPKI: Final = bytes.fromhex("302a300506032b6570032100")  # RFC 8410: before the 32 bytes in DER
SPELLINGS: Final = (  # K2, and what stands before the 32 bytes
    (rf"(?P<name>{PREFIX})\+(?P<id>[0-9a-f]{{8}})\+(?P<key>[A-Za-z0-9+/]+=*)", b"\x01"),
    (r"-----BEGIN PUBLIC KEY-----\s(?P<key>[A-Za-z0-9+/=\s]+)\s-----END PUBLIC KEY-----", SPKI),
    (r"ssh-ed25519 +(?P<key>[A-Za-z0-9+/]+=*)(?:[ \t][^\n]*)?", b"\0\0\0\x0bssh-ed25519\0\0\0\x20"),
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
        data = base64.b64decode(text, validate=True)
        return data if base64.b64encode(data).decode() == text else b""
    return b""

def note_id(name: str, public: bytes) -> bytes:
    """N5: the four bytes that stand before a signature in a note."""
    return hashlib.sha256(name.encode() + b"\n\x01" + public).digest()[:4]

def read_key(text: str, is_file: bool = False) -> Key | None:
    """K2, K5: a key from its text or its file, None if refused. What looks like a key is never taken for a path."""
    for form, before in SPELLINGS:
        if typed := re.fullmatch(form, text.strip(" \t\r\n")):
            blob, name = unbase64("".join(typed["key"].split())), typed.groupdict().get("name")
            public = blob.removeprefix(before)
            named = not name or (len(name) <= 255 and typed["id"] == note_id(name, public).hex())
            good = named and len(blob) == len(before) + 32 and is_strict_point(public)
            return Key(name, public, hashlib.sha256(SPKI + public).hexdigest()) if good else None
    if is_file or "-----BEGIN" in text or text.startswith("ssh-"):
        return None
    data = load(text, Findings())
    return read_key(data.decode(), True) if data and len(data) < 4096 and data.isascii() else None

# ---- C6 and C7 ----
STRING: Final = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"')

def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object whose names are unique."""
    if len(dict(pairs)) != len(pairs):
        raise ValueError
    return dict(pairs)

def number(token: str) -> int | bytes:
    """An own number converted; any other integer stays its token, as bytes."""
    return int(token) if re.fullmatch("0|[1-9][0-9]{0,15}", token) else token.encode("ascii")

encode: Final = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), check_circular=False).encode
FAST: Final = json.JSONDecoder(parse_constant=int)  # int("NaN") raises ValueError, as every refusal here
EXACT: Final = json.JSONDecoder(parse_constant=int, parse_int=number, parse_float=str.encode, object_pairs_hook=unique)

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

# ---- C13 to C21, M6 to M8. The members of everything: `?` may be null, `[]` array of; what has no row is a pattern ----
ROWS_OF_MEMBERS: Final = r"""
open prev:any seq:any type:any format:provtape/1 prefix:prefix nonce:random created:time recorder:text scrub:rules match:match
 previous:previous? meta:object
rules name:text sha256:hex64 rules:text
match headers:text[] ignore:text[]
previous origin:origin records:count root:hex64
run prev:any seq:any type:any started:time recorder:text code:code? command:text[]? environment:object capture:capture meta:object
code uri:text? commit:git tree:git dirty:flag
capture road:command|in-process|session|import enclosed:flag allow:text[] pass:text[] routes:object
interaction prev:any seq:any type:any kind:llm|tool|http key:hex64 request:any response:any started:time elapsed_ms:own
 scrubbed:scrubbed[] meta:object salt:random
scrubbed rule:text where:text count:own
llm-request model:text prompt:any params:any
llm-response output:any
tool-request name:text arguments:any
tool-response result:any
error error:any
http-request method:text url:text headers:header[] body:body?
http-response ended:complete|client_left|upstream_broke|no_response error:text? status:own? headers:header[] body:body? chunks:chunk[]?
text-body text:text
base64-body base64:text
end prev:any seq:any type:any closed:time meta:object
statement _type:https://in-toto\.io/Statement/v1 subject:subject[] predicateType:urn:provtape:manifest:v1 predicate:predicate
subject name:path digest:digest
digest sha256:hex64
predicate cassettes:cassette[] inputs:input[] steps:step[] claims:claim[] recorder:text created:time
cassette name:text origin:origin records:count root:hex64 code:code? scrub:pack
pack name:text sha256:hex64
input name:text from:text
step id:text argv:text[] cwd:text cassettes:text[] writes:text[]
claim id:text text:text file:text pointer:text value:any tolerance:any steps:text[]
"""
MEMBERS: Final = {
    row.split()[0]: dict(member.split(":", 1) for member in row.split()[1:])
    for row in ROWS_OF_MEMBERS.replace("\n ", " ").strip().split("\n")
}
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
LEAST: Final = {"own": 0, "count": 1}

def fits(kind: str, value: Any) -> bool:
    """Whether a value is of this kind."""
    if kind in TYPES:
        return isinstance(value, TYPES[kind])
    if kind in LEAST:
        return type(value) is int and LEAST[kind] <= value <= OWN_MAX
    if kind in MEMBERS:
        members = MEMBERS[kind]
        named = isinstance(value, dict) and list(value) == list(members)
        return named and all(fits(members[name], part) for name, part in value.items())
    if kind.endswith("?"):
        return value is None or fits(kind[:-1], value)
    if kind.endswith("[]"):
        return isinstance(value, list) and all(fits(kind[:-2], part) for part in value)
    if kind == "header":  # C17
        return fits("text[]", value) and len(value) == 2 and not re.search("[A-Z]", value[0])
    if kind == "chunk":  # C19
        return fits("own[]", value) and len(value) == 2
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
    if kind != "interaction" or not fits(kind, record):
        scrub = record["scrub"] if kind == "open" and fits(kind, record) else None
        return fits(kind, record) and (not scrub or hashlib.sha256(scrub["rules"].encode()).hexdigest() == scrub["sha256"])
    kind, answer = record["kind"], record["response"]
    known = fits(f"{kind}-response", answer) or (kind != "http" and fits("error", answer))
    sizes = answer["chunks"] if known and kind == "http" else None  # C19
    summed = sizes is None or sum(size for size, _ in sizes) == body_size(answer["body"])
    return known and summed and fits(f"{kind}-request", record["request"])

def is_statement(value: Any) -> bool:
    """M6 to M9: whether a payload is a statement of ours."""
    if not fits("statement", value):
        return False
    names, cassettes = [subject["name"] for subject in value["subject"]], value["predicate"]["cassettes"]
    first, origins = [entry["name"] for entry in cassettes], {entry["origin"] for entry in cassettes}
    once = len({name.lower() for name in names}) == len(names) and len(origins) == len(first) > 0
    return once and first == names[: len(first)]

# ---- files and the tree: C8, M13 ----
def open_regular(path: str) -> BinaryIO:
    """Open a regular file to read, never waiting for one that is none (a pipe). Raises OSError, ValueError."""
    handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise OSError
    return os.fdopen(handle, "rb", buffering=1 << 20)

def open_below(folder: str, name: str) -> BinaryIO:
    """M13: a regular file below a folder, reached through no link. Raises OSError."""
    parts = name.split("/")
    steps = [os.path.join(folder, *parts[: n + 1]) for n in range(len(parts))]
    if any(map(os.path.islink, steps)):
        raise OSError
    return open_regular(steps[-1])

def load(path: str, found: Findings, named: bool = True) -> bytes | None:
    """A file of evidence; None if it can not be had, which is an error unless it was neither named nor there."""
    try:
        with open_regular(path) as stream:
            data = stream.read(EVIDENCE_LIMIT + 1)
    except (OSError, ValueError):
        found.when(named or os.path.lexists(path), "input.unreadable", detail=f": {path}")
        return None
    found.when(len(data) > EVIDENCE_LIMIT, "input.limit", detail=f": {path}")
    return data if len(data) <= EVIDENCE_LIMIT else None

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
BEGUN: Final = rb"([1-9]\d{0,15})\n([A-Za-z0-9+/]{42}[AEIMQUYcgkosw048]=)\n"
NOTE: Final = re.compile(
    rb"(?=[^\n]{66,320}\n)(%b/[0-9a-f]{64})\n%b\n" % (PREFIX.encode(), BEGUN)
    + rb"((?:\xe2\x80\x94 (?=[^ \n]{1,255} )%b [A-Za-z0-9+/]+={0,2}\n){1,16})" % PREFIX.encode()
)
LINE: Final = re.compile(
    rb'\{"payload":"([A-Za-z0-9+/]+={0,2})","payloadType":"application/vnd\.in-toto\+json",'
    rb'"signatures":\[\{"keyid":"([0-9a-f]{64})","sig":"([A-Za-z0-9+/]{86}==)"\}\]\}\n'
)

class Note(NamedTuple):
    """A note; `text` is what was signed, `lines` are name, key id and signature."""

    origin: str
    number: int
    root: str
    text: bytes
    lines: list[tuple[str, bytes, bytes]]

class Manifest(NamedTuple):
    """What a manifest says (None if malformed), which of the named keys say so, and how many lines are by others."""

    statement: Any
    by: set[Key]
    strangers: int

class Claim(NamedTuple):
    """What evidence of either source says of the cassette: the root of so many records, by these of the named keys."""

    source: str
    number: int
    root: str
    by: set[Key]

def read_notes(data: bytes) -> tuple[list[Note], int]:
    """N1 to N5: the notes at the beginning, and how many bytes they take."""
    notes: list[Note] = []
    at = 0
    while note := NOTE.match(data, at):
        rows = [row.split(" ") for row in note[4].decode().split("\n")[:-1]]
        lines = [(name, blob[:4], blob[4:]) for _, name, text in rows if len(blob := unbase64(text)) > 4]
        if len({line[:2] for line in lines}) < len(rows) or int(note[2]) > OWN_MAX:
            break
        root = base64.b64decode(note[3]).hex()
        notes.append(Note(note[1].decode(), int(note[2]), root, data[at : note.end(3) + 1], lines))
        at = note.end()
    return notes, at

def is_torn_note(rest: bytes, origin: str | None, after_note: bool) -> bool:
    """N9: whether bytes are the beginning of a note that was cut."""
    line = f"{origin}\n".encode()
    if after_note and rest.startswith(b"\xe2") and b"\n" not in rest:
        return True
    if not origin or not rest.startswith(line):
        return bool(origin) and line.startswith(rest)
    begun = re.fullmatch(rb"(?:([1-9]\d{0,15})\n|%b\n?)?" % BEGUN, rest[len(line) : rest.rfind(b"\n") + 1])
    return begun is not None and int(begun[1] or begun[2] or 1) <= OWN_MAX

def read_manifest(data: bytes, keys: list[Key], found: Findings) -> Manifest:
    """M1 to M9."""
    matches = list(LINE.finditer(data))
    lines = [(unbase64(m[1].decode()), m[2].decode(), unbase64(m[3].decode())) for m in matches]
    good = sum(len(match[0]) for match in matches) == len(data) and all(line[0] and line[2] for line in lines)  # M1
    good &= len({line[0] for line in lines}) == 1 and len({line[1] for line in lines}) == len(lines)  # M2
    statement, spelled = None, False
    with suppress(ValueError):
        statement, spelled = read_json(lines[0][0] if good else b"")
    statement = statement if spelled and is_statement(statement) else None
    found.when(b"\r\n" in data, "manifest.crlf")
    found.when(statement is None and b"\r\n" not in data, "manifest.form")
    owners, by = [{key for key in keys if key.fingerprint == keyid} for _, keyid, _ in lines], set()
    for own, (payload, _, signature) in zip(owners, lines, strict=True):
        signed = b"DSSEv1 28 application/vnd.in-toto+json %d %b" % (len(payload), payload)  # M4
        holding = {key for key in keys if verify_signature(key.public, signature, signed)}
        found.when(own - holding, "manifest.signature")  # M5
        found.when(holding - own, "manifest.id")
        by |= own & holding
    found.when(good and keys and not any(owners), "trust.stranger")
    return Manifest(statement, by, owners.count(set()))

# ---- one cassette: C1 to C22, V4 ----
WITHHELD: Final = re.compile(rb'\{"withheld":"([0-9a-f]{64})"\}\n')
START: Final = re.compile(rb'\{"prev":"([0-9a-f]{64})","seq":(0|[1-9]\d{0,15}),"type":"(open|run|interaction|end)",')
FORMAT: Final = re.compile(START.pattern + rb'"format":"([A-Za-z0-9._/-]{1,64})".*\n', re.S)

def other_format(line: bytes) -> str:
    """C12: the code for a first line that is no provtape/1, or nothing."""
    named = FORMAT.match(line)
    if named and named[3] == b"open" and int(named[2]) <= OWN_MAX:
        return "" if named[4] == b"provtape/1" else "input.format"
    names = set()
    with suppress(ValueError):
        value, _ = read_json(line)
        names = set(value) if isinstance(value, dict) else set()
    return "input.tutorial" if {"prev", "key", "output", "hash"} <= names and "seq" not in names else ""

class Cassette:
    """One pass over a cassette, keeping 40 bytes of each record; then what the evidence says of it."""

    def __init__(self, path: str, keys: list[Key], manifest: Manifest | None) -> None:
        self.name, self.keys, self.manifest, self.found = os.path.basename(path), keys, manifest, Findings()
        self.hash, self.leaves, self.numbers = hashlib.sha256(), bytearray(), array("Q")
        self.records = self.size = self.interactions = self.withheld = self.ends = 0
        self.torn = self.sealed = False  # V4
        self.opening: Any = None  # record 0, if nothing is wrong with it, and then its origin (N2)
        self.origin: str | None = None
        self.runs: list[dict[str, Any]] = []
        self.claims: list[Claim] = []
        self.lines: list[bool] = []  # of the checkpoint file: whether each line counts for a named key

    def read(self, stream: BinaryIO) -> bool:
        """C1, C5, C11, C12: read to the end; False where an error forbids it."""
        while line := stream.readline(RECORD_LIMIT + 1):
            self.hash.update(line)
            self.torn = not line.endswith(b"\n")
            error = "input.limit" if len(line) > RECORD_LIMIT else "" if self.size else other_format(line)
            if error:
                self.found.when(True, error, None if error == "input.tutorial" else self.records, self.size)
                return False
            self.found.when(self.ends, "record.after-end", self.records, self.size)
            if not self.torn:
                self.take(line)
        if "record.start" in self.found:
            self.found.pop("record.seq", None)
        elif "record.seq" in self.found:  # C4
            moved = "swap" if max(self.numbers) < self.records else "drop"
            self.found["record.seq"]["attack"] = "insert" if len(set(self.numbers)) < self.records else moved
        self.found.when(not self.records, "cassette.empty", 0, 0)
        return True

    def take(self, line: bytes) -> None:
        """C2 to C4, C8, C22: one record."""
        at, seq, kind, leaf = self.records, self.records, "", hashlib.sha256(b"\0" + line).digest()
        withheld, start = at > 1 and WITHHELD.fullmatch(line), START.match(line)
        self.found.when(line.endswith(b"\r\n"), "record.crlf", at, self.size)
        if withheld:
            leaf, kind = bytes.fromhex(withheld[1].decode()), "interaction"
            self.withheld += 1
            self.found.when(True, "cassette.withheld", at, self.size)
        elif start and int(start[2]) <= OWN_MAX:
            seq, kind = int(start[2]), start[3].decode()
            self.judge(line, start[1].decode(), kind, seq)
        else:
            self.found.when(True, "record.start", at, self.size)
        self.found.when(seq != at, "record.seq", at, self.size)
        self.numbers.append(seq)
        self.interactions += kind == "interaction"
        if self.runs:
            self.runs[-1]["interactions"] += kind == "interaction"
        self.sealed, self.ends = kind == "end" and not self.ends, self.ends + (kind == "end")
        self.leaves += leaf
        if self.opening and not at:
            self.origin = f"{self.opening['prefix']}/{leaf.hex()}"
        self.records, self.size = at + 1, self.size + len(line)

    def judge(self, line: bytes, prev: str, kind: str, seq: int) -> None:
        """C6, C7, C9, C10, C13 to C21; of all these only the first fault in the cassette is found (V4)."""
        at, value, spelled = self.records, None, False
        with suppress(ValueError):
            value, spelled = read_json(line[:-1])
        known = value is not None and has_members(kind, value)
        faults = {
            "chain.prev": prev != (self.leaves[-32:].hex() or "0" * 64),
            "record.json": value is None,
            "record.spelling": not spelled,
            "record.members": not known,
            "record.place": (kind == "open") != (at == 0) or (at == 1 and kind != "run"),
        }
        fault = next((code for code, is_so in faults.items() if is_so), "")
        self.found.when(fault and not faults.keys() & self.found.keys(), fault, at, self.size)
        if kind == "open" and at == seq and not fault:
            self.opening = value
        if value and kind == "run" and spelled and known:
            capture = {name: value["capture"][name] for name in ("road", "enclosed")}
            self.runs.append({"record": at, "interactions": 0} | capture | {"code": value["code"]})

    def hear_notes(self, data: bytes, beside: bool) -> None:
        """N1 to N9: a checkpoint file, or a note that was kept; content, and apart from it signatures (V5)."""
        notes, end = read_notes(data)
        torn = beside and not self.sealed and is_torn_note(data[end:], self.origin, bool(notes))
        bad = b"\r\n" not in data and (end < len(data) or not notes)
        self.found.when(b"\r\n" in data, "checkpoint.crlf")
        self.found.when(bad, "checkpoint.torn" if torn else "checkpoint.form")
        for note in notes:
            by = self.signers(note, beside)
            self.found.when(self.origin and note.origin != self.origin, "checkpoint.origin")
            if note.origin == self.origin:
                self.claims.append(Claim("checkpoint", note.number, note.root, by))

    def signers(self, note: Note, beside: bool) -> set[Key]:
        """N6, N7: which of the named keys signed a note."""
        by: set[Key] = set()
        for name, key_id, signature in note.lines:
            right = {key: note_id(name, key.public) for key in self.keys}
            counted = {key for key in self.keys if right[key] == key_id and key.name in (None, name)}
            holding = {key for key in self.keys if verify_signature(key.public, signature, note.text)}
            near = {key for key in self.keys if base64.b64encode(right[key])[:5] == base64.b64encode(key_id)[:5]}
            self.found.when(counted - holding, "checkpoint.signature")
            self.found.when(any(right[key] != key_id for key in holding | near), "checkpoint.id")
            by |= counted & holding
            self.lines += [bool(counted)] * beside
        return by

    def hear_manifest(self, entry: Any) -> None:
        """M10 to M12: the entry of this origin (of the given name, if the manifest was given in place of a cassette)."""
        if not self.manifest or not self.manifest.statement or not self.origin:
            return
        when, n, entries = self.found.when, self.records, self.manifest.statement["predicate"]["cassettes"]
        entry = next((row for row in ([entry] if entry else entries) if row["origin"] == self.origin), None)
        when(not entry, "manifest.origin")
        if entry:
            whole, run = entry["records"] == n, self.runs[-1] if self.runs else {"record": None, "code": entry["code"]}
            right = whole and roots(self.leaves, {n})[n] == entry["root"]
            digest = self.manifest.statement["subject"][entries.index(entry)]["digest"]["sha256"]
            when(whole and not self.sealed, "manifest.unsealed")
            when(any(entry["scrub"][name] != self.opening["scrub"][name] for name in entry["scrub"]), "manifest.scrub", 0, 0)
            when(whole and entry["code"] != run["code"], "manifest.code", run["record"])
            asked = right and not self.torn and not self.withheld
            when(asked and digest != self.hash.hexdigest(), "manifest.digest")
            when(entry["records"] < n, "manifest.append", entry["records"])
            self.claims.append(Claim("manifest", entry["records"], entry["root"], self.manifest.by))

    def weigh(self) -> list[Claim]:
        """N8, M10, V6: the claims against the records; those that agree."""
        n, right = self.records, roots(self.leaves, {claim.number for claim in self.claims})
        agreeing = [claim for claim in self.claims if right.get(claim.number) == claim.root]
        for source in ("checkpoint", "manifest"):
            claims = [claim for claim in self.claims if claim.source == source]
            beyond = "cassette.cut" if self.torn else f"{source}.records"
            self.found.when(any(claim.number > n for claim in claims), beyond, n, self.size)
            wrong = [claim.number for claim in claims if right.get(claim.number, claim.root) != claim.root]
            below = [claim.number for claim in agreeing if claim.number < min(wrong, default=0)]
            self.found.when(wrong, f"{source}.root", max(below, default=0))
        signed = {(claim.number, claim.root) for claim in self.claims if claim.by}
        self.found.when(len(signed) > len(dict(signed)), "evidence.fork")
        return agreeing

    def trust(self, noted: bool, options: argparse.Namespace) -> None:
        """Class U, and what the caller expects (V8)."""
        when, n, bare = self.found.when, self.records, not self.manifest
        strange = bare and self.keys and self.lines and not any(self.lines)
        when(self.torn and not self.ends and "cassette.cut" not in self.found, "cassette.torn", n, self.size)
        when(strange, "trust.stranger")
        when(bare and not noted, "trust.no-evidence")
        when(bare and noted and self.sealed and not strange, "trust.no-manifest")
        when(not self.ends, "cassette.open", n, self.size)
        if options.allow_withheld:
            self.found.pop("cassette.withheld", None)
        when(options.expect_origin not in (None, self.origin), "expect.origin", 0)
        when(options.expect_records not in (None, str(n)), "expect.records", n)
        if options.expect_commit is not None:
            asked = [run for run in self.runs if run["interactions"]] or self.runs[-1:]
            other = [run for run in asked if not run["code"] or run["code"]["commit"] != options.expect_commit]
            when(other or not asked, "expect.commit", other[0]["record"] if other else None)

    def examine(self, stream: BinaryIO, path: str, entry: Any, options: argparse.Namespace) -> dict[str, Any] | None:
        """Make all findings; the facts (report.schema.json), or None if an error forbids to read the cassette."""
        beside = load(options.checkpoints or f"{path}.ckpt", self.found, options.checkpoints is not None)
        kept = [load(name, self.found) for name in options.seen]
        if not self.read(stream):
            return None
        for place, data in enumerate([beside, *kept]):
            if data is not None:
                self.hear_notes(data, place == 0)
        self.hear_manifest(entry)
        agreeing, manifest = self.weigh(), self.manifest or Manifest(None, set(), 0)
        self.trust(beside is not None, options)
        covers = []
        for key in self.keys:  # V7
            most = max((claim.number for claim in agreeing if key in claim.by), default=0)
            covers.append({"name": key.name, "fingerprint": key.fingerprint, "records": most, "manifest": key in manifest.by})
        scrub = self.opening and {name: self.opening["scrub"][name] for name in ("name", "sha256")}
        same = ("name", "origin", "records", "interactions", "withheld", "sealed", "runs")
        return {name: getattr(self, name) for name in same} | {
            "root": roots(self.leaves, {self.records}).get(self.records),
            "sha256": self.hash.hexdigest(),
            "scrub": scrub,
            "ignore": self.opening["match"]["ignore"] if self.opening else [],
            "covers": covers,
            "strangers": self.lines.count(False) + manifest.strangers,
        }

# ---- the command: M13, V2, V3, V8, V9 ----
def bind(found: Findings, folder: str, subjects: list[Any], asked: bool) -> list[dict[str, str]]:
    """M13: the state of each bound file."""
    states = []
    for subject in subjects:
        name, state, digest = subject["name"], "missing" if asked else "not asked", hashlib.sha256()
        if asked:
            with suppress(OSError), open_below(folder, name) as stream:
                while data := stream.read(1 << 20):
                    digest.update(data)
                state = "same" if digest.hexdigest() == subject["digest"]["sha256"] else "wrong"
        found.when(state == "wrong", "subject.digest", detail=f": {name}")
        found.when(state == "missing", "subject.missing", detail=f": {name}")
        states.append({"name": name, "state": state})
    return states

def verify(options: argparse.Namespace) -> dict[str, Any]:
    """The report (report.schema.json) on what the command line names."""
    shared, path, whole = Findings(), options.cassette, False
    keys = [key for text in options.pubkey if (key := read_key(text))]
    shared.when(len(keys) < len(options.pubkey), "key.refused")
    shared.when(not options.pubkey, "trust.no-key")
    with suppress(OSError, ValueError), open_regular(path) as stream:
        whole = stream.read(12) == b'{"payload":"'  # a manifest in place of a cassette
    place = path if whole else options.manifest or f"{path}.intoto.jsonl"
    data = load(place, shared, whole or options.manifest is not None)
    manifest = None if data is None else read_manifest(data, keys, shared)
    statement, folder = manifest.statement if manifest else None, os.path.dirname(place)
    entries = statement["predicate"]["cassettes"] if statement else []
    single = [options.expect_origin, options.expect_commit, options.expect_records, options.checkpoints, *options.seen]
    if whole and (options.manifest or (len(entries) > 1 and any(option is not None for option in single))):
        shared.when(True, "usage", detail=": an option that speaks of one cassette")
        return report(shared, [], [], [])
    founds, rows = [], []
    for entry in entries if whole else [None]:
        where = os.path.join(folder, entry["name"]) if whole else path
        try:
            with open_below(folder, entry["name"]) if whole else open_regular(path) as stream:
                tape = Cassette(where, keys, manifest)
                founds.append(tape.found)
                rows.append(tape.examine(stream, where, entry, options))
        except (OSError, ValueError):
            shared.when(True, "subject.missing" if whole else "input.unreadable", detail=f": {where}")
    facts = [row for row in rows if row]
    origins = {row["origin"] for row in facts}
    own = {entry["name"] for entry in entries if whole or entry["origin"] in origins}
    others = [subject for subject in statement["subject"] if subject["name"] not in own] if statement else []
    asked = not options.only and any(entry["origin"] in origins for entry in entries)
    return report(shared, founds, facts, bind(shared, folder, others, asked))

def report(shared: Findings, founds: list[Findings], rows: list[Any], subjects: list[Any]) -> dict[str, Any]:
    """V2, V3: one word for all cassettes; the decisive finding first, the others in the order of the table."""
    for found in founds:
        found.update({code: finding for code, finding in shared.items() if code not in found})
    founds = founds or [shared]
    word = next(word for word in EXITS if any(found.word() == word for found in founds))
    founds.sort(key=lambda found: found.word() != word)
    merged = {code: finding for found in reversed(founds) for code, finding in found.items()}
    deciding = {code for found in founds if found.word() == word for code in found if RULES[code][0] == GROUPS[word]}
    first = [code for code in RULES if code in deciding][:1]
    order = first + [code for code in RULES if code in merged and code not in first]
    shown = {"schema": "provtape/report/1", "verdict": word, "exit": EXITS[word]}
    return shown | {"findings": [merged[code] for code in order], "facts": {"cassettes": rows, "subjects": subjects}}

def clean(value: Any) -> Any:
    """V9: a value as it may be printed."""
    if isinstance(value, str):
        hidden = ("Cc", "Cf", "Cs", "Co", "Zl", "Zp")
        return "".join(f"\\u{{{ord(c):x}}}" if unicodedata.category(c) in hidden else c for c in value)
    if isinstance(value, dict):
        return {name: clean(part) for name, part in value.items()}
    return [clean(part) for part in value] if isinstance(value, list) else value

def render(shown: Any) -> str:
    """The report for people: the word and the attack, the facts, the findings, the limits."""
    attack = shown["findings"][0]["attack"] if shown["findings"] else None
    lines = [f"{shown['verdict']} ({attack})" if attack else shown["verdict"]]
    for row in shown["facts"]["cassettes"]:
        said = [f"{row['name']}: {row['records']} records, {'' if row['sealed'] else 'not '}sealed, origin {row['origin']}"]
        said += [f"{row['interactions']} interactions ({row['withheld']} withheld)"]
        said += [f"{key['name'] or key['fingerprint']} covers the first {key['records']}" for key in row["covers"]]
        said += [f"run {run['record']} at commit {(run['code'] or {}).get('commit')}" for run in row["runs"]]
        lines.append("; ".join([*said, *(f"match keys ignore {pointer}" for pointer in row["ignore"])]))
    for finding in shown["findings"]:
        place = [f"{name} {finding[name]}" for name in ("record", "offset") if finding[name] is not None]
        lines.append(f"- {', '.join([finding['code'], *place])}: {finding['message']}")
        lines += [f"  hint: {finding['hint']}"] * (finding["hint"] is not None)
    return "\n".join([*lines, LIMITS])

def understand(arguments: list[str]) -> argparse.Namespace | None:
    """The options, or None if the command line can not be understood (argparse says why on stderr)."""
    parser = argparse.ArgumentParser(prog="verifier", add_help=False, allow_abbrev=False)
    parser.add_argument("cassette")
    for name in ("--pubkey", "--seen"):
        parser.add_argument(name, action="append", default=[])
    for name in ("--manifest", "--checkpoints", "--expect-origin", "--expect-commit", "--expect-records"):
        parser.add_argument(name)
    for name in ("--only", "--allow-withheld", "--json"):
        parser.add_argument(name, action="store_true")
    with suppress(SystemExit):
        options = parser.parse_args(arguments)
        return options if fits("own", number(options.expect_records or "0")) else None
    return None

def main(arguments: list[str]) -> int:
    """Verify, print, and return the exit code; nothing but a verdict of FAILED ever returns 1."""
    shared, as_json = Findings(), "--json" in arguments
    try:
        sys.set_int_max_str_digits(4300)  # whatever the environment says
        if "--help" in arguments and not as_json:
            return 0 * sys.stdout.write(f"{__doc__}")
        options = understand(arguments)
        shared.when(options is None, "usage")
        result = verify(options) if options else report(shared, [], [], [])
        rows = result["facts"]["cassettes"]
        signed = [row["sealed"] and any(key["manifest"] for key in row["covers"]) for row in rows]
        if result["exit"] == 0 and not (signed and all(signed)):
            raise AssertionError  # VERIFIED by no finding alone is not enough
    except BaseException as reason:  # a missing package, no memory, Ctrl-C: never a verdict
        shared.clear()
        shared.when(True, "internal", detail=f": {type(reason).__name__} {getattr(reason, 'name', '')}")
        result = report(shared, [], [], [])
    try:
        text = json.dumps(clean(result)) if as_json else render(clean(result))
        coding = sys.stdout.encoding or "ascii"
        sys.stdout.write(text.encode(coding, "backslashreplace").decode(coding) + "\n")
        sys.stdout.flush()
    except BaseException:  # a closed stdout
        return 2
    return int(result["exit"])

if __name__ == "__main__":
    os._exit(main(sys.argv[1:]))  # not sys.exit: what can not be flushed any more would change the exit code
