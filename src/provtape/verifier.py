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
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from typing import Any, BinaryIO, Final

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

def is_strict_point(point: bytes) -> bool:
    """K4: y is reduced and not that of a point of small order."""
    y = int.from_bytes(point, "little") & (2**255 - 1)
    return len(point) == 32 and y < P and y not in SMALL_ORDER

def verify_signature(public: bytes, signature: bytes, message: bytes) -> bool:
    """K3: whether `signature` (64 bytes) by `public` (32 bytes) holds over `message`."""
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    if len(signature) != 64 or int.from_bytes(signature[32:], "little") >= L:
        return False
    if not is_strict_point(public) or not is_strict_point(signature[:32]):
        return False
    try:
        Ed25519PublicKey.from_public_bytes(public).verify(signature, message)
    except InvalidSignature:
        return False
    return True

def unbase64(text: str) -> bytes:
    """Canonical base64 (spec/README) decoded; nothing if it is not."""
    try:
        data = base64.b64decode(text, validate=True)
    except ValueError:
        return b""
    return data if base64.b64encode(data).decode() == text else b""

def note_id(name: str, public: bytes) -> bytes:
    """N5: the four bytes that stand before a signature in a note."""
    return hashlib.sha256(name.encode() + b"\n\x01" + public).digest()[:4]

@dataclass(frozen=True, slots=True)
class Key:
    """A key that the caller named; `fingerprint` is the keyid of M3."""

    name: str | None
    public: bytes
    fingerprint: str

def read_key(text: str, is_file: bool = False) -> Key | None:
    """K2, K5: a key from its text or its file, None if refused. What looks like a key is never taken for a path."""
    for form, before in SPELLINGS:
        if typed := re.fullmatch(form, text.strip(" \t\r\n")):
            blob, name = unbase64("".join(typed["key"].split())), typed.groupdict().get("name")
            public = blob.removeprefix(before)
            wrong = name and (len(name) > 255 or typed["id"] != note_id(name, public).hex())
            if wrong or len(blob) != len(before) + 32 or not is_strict_point(public):
                return None
            return Key(name, public, hashlib.sha256(SPKI + public).hexdigest())
    if is_file or "-----BEGIN" in text or text.startswith("ssh-"):
        return None
    data = load(text, Findings())
    return read_key(data.decode(), True) if data and len(data) < 4096 and data.isascii() else None

def warn_of_key(key: Key, text: str, cassette: str) -> None:
    """K6: say on stderr that a key came from a file in the folder of the cassette, where a forger may have put it."""
    folder = os.path.join(os.path.dirname(os.path.realpath(cassette)), "")
    if os.path.isfile(text) and os.path.realpath(text).startswith(folder) and sys.stderr:
        with suppress(OSError):
            sys.stderr.write(f"a key lies beside the cassette: compare {key.fingerprint} with the author's fingerprint\n")

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

# ---- C13 to C21, M6 to M8. The members of everything: `?` may be null, `[]` array of ----

SHAPES: Final = """
open prev:any seq:any type:any format:format prefix:prefix nonce:random created:time recorder:text scrub:rules match:match
 previous:previous? meta:object
rules name:text sha256:hex64 rules:text
match headers:text[] ignore:text[]
previous origin:origin records:count root:hex64
run prev:any seq:any type:any started:time recorder:text code:code? command:text[]? environment:object capture:capture meta:object
code uri:text? commit:git tree:git dirty:flag
capture road:road enclosed:flag allow:text[] pass:text[] routes:object
interaction prev:any seq:any type:any kind:text key:hex64 request:any response:any started:time elapsed_ms:own
 scrubbed:scrubbed[] meta:object salt:random
scrubbed rule:text where:text count:own
llm-request model:text prompt:any params:any
llm-response output:any
tool-request name:text arguments:any
tool-response result:any
error error:any
http-request method:text url:text headers:header[] body:body?
http-response ended:ended error:text? status:own? headers:header[] body:body? chunks:chunk[]?
end prev:any seq:any type:any closed:time meta:object
statement _type:statement-type subject:subject[] predicateType:predicate-type predicate:predicate
subject name:path digest:digest
digest sha256:hex64
predicate cassettes:cassette[] inputs:input[] steps:step[] claims:claim[] recorder:text created:time
cassette name:text origin:origin records:count root:hex64 code:code? scrub:pack
pack name:text sha256:hex64
input name:text from:text
step id:text argv:text[] cwd:text cassettes:text[] writes:text[]
claim id:text text:text file:text pointer:text value:any tolerance:any steps:text[]
"""
SEGMENT: Final = r"(?!\.\.?(?:/|\Z))[A-Za-z0-9._-]+"
PATTERNS: Final = {
    "format": "provtape/1",  # C12
    "prefix": rf"(?=.{{1,255}}\Z){PREFIX}",
    "origin": rf"(?=.{{66,320}}\Z){PREFIX}/[0-9a-f]{{64}}",  # N2
    "hex64": "[0-9a-f]{64}",
    "git": "[0-9a-f]{40}|[0-9a-f]{64}",
    "time": r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{3}Z",  # C21
    "random": "[A-Za-z0-9_-]{21}[AQgw]",
    "road": "command|in-process|session|import",
    "ended": "complete|client_left|upstream_broke|no_response",
    "path": rf"(?=.{{1,255}}\Z){SEGMENT}(?:/{SEGMENT})*",  # M7
    "statement-type": r"https://in-toto\.io/Statement/v1",
    "predicate-type": "urn:provtape:manifest:v1",
}
LEAVES: Final[dict[str, Callable[[Any], bool]]] = {
    "any": lambda value: True,
    "text": lambda value: isinstance(value, str),
    "flag": lambda value: isinstance(value, bool),
    "object": lambda value: isinstance(value, dict),
    "own": lambda value: type(value) is int and 0 <= value <= OWN_MAX,
    "count": lambda value: type(value) is int and 0 < value <= OWN_MAX,
    "header": lambda value: is_pair(value, str) and not re.search("[A-Z]", value[0]),  # C17
    "chunk": lambda value: is_pair(value, int) and 0 <= min(value) <= max(value) <= OWN_MAX,
    "body": lambda value: body_size(value) > 0,
}

def is_pair(value: Any, kind: type) -> bool:
    """An array of two."""
    return isinstance(value, list) and [type(part) for part in value] == [kind, kind]

def body_size(body: Any) -> int:
    """C18: how many bytes a body stands for; 0 if it is none, or not the one spelling of its bytes."""
    for kind in ("text", "base64"):
        if isinstance(body, dict) and list(body) == [kind] and isinstance(body[kind], str):
            data = body[kind].encode() if kind == "text" else unbase64(body[kind])
            is_utf8 = data.decode(errors="replace").encode() == data
            return len(data) if is_utf8 == (kind == "text") else 0
    return 0

@cache
def check(kind: str) -> Callable[[Any], bool]:
    """What says of a value whether it is of this kind."""
    if kind[-1] == "?":
        return lambda value: value is None or check(kind[:-1])(value)
    if kind[-2:] == "[]":
        return lambda value: isinstance(value, list) and all(map(check(kind[:-2]), value))
    if kind in PATTERNS:
        return lambda value: isinstance(value, str) and re.fullmatch(PATTERNS[kind], value) is not None
    row = re.search(rf"^{kind} (.*)$", SHAPES.replace("\n ", " "), re.M)
    if row is None:
        return LEAVES[kind]
    members = {name: check(part) for name, part in (member.split(":") for member in row[1].split())}

    def has_shape(value: Any) -> bool:
        named = isinstance(value, dict) and list(value) == list(members)
        return named and all(members[name](part) for name, part in value.items())

    return has_shape

def has_members(kind: str, record: Any) -> bool:
    """C13 to C20: whether a record has the members of its type."""
    if not check(kind)(record):
        return False
    if kind == "open":
        return bool(hashlib.sha256(record["scrub"]["rules"].encode()).hexdigest() == record["scrub"]["sha256"])
    if kind != "interaction":
        return True
    kind, answer = record["kind"], record["response"]
    if kind not in ("llm", "tool", "http") or not check(f"{kind}-request")(record["request"]):
        return False
    if not check(f"{kind}-response")(answer):
        return kind != "http" and check("error")(answer)
    sizes = answer["chunks"] if kind == "http" else None  # C19
    return sizes is None or sum(size for size, _ in sizes) == body_size(answer["body"])

def is_statement(value: Any) -> bool:
    """M6 to M9: whether a payload is a statement of ours."""
    if not check("statement")(value):
        return False
    names, cassettes = [subject["name"] for subject in value["subject"]], value["predicate"]["cassettes"]
    first, origins = [entry["name"] for entry in cassettes], {entry["origin"] for entry in cassettes}
    once = len({name.lower() for name in names}) == len(names) and len(origins) == len(first) > 0
    return once and first == names[: len(first)]

# ---- files and the tree: C8, M13 ----

def open_regular(path: str, folder: int | None = None, flags: int = 0) -> BinaryIO:
    """Open a regular file to read, never waiting for one that is none (a pipe). Raises OSError, ValueError."""
    flags |= os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    handle = os.open(path, flags, dir_fd=folder)
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise OSError
    return os.fdopen(handle, "rb", buffering=1 << 20)

def open_below(folder: str, name: str) -> BinaryIO:
    """M13: a regular file below a folder, no link followed on the way. Raises OSError."""
    *parents, last = name.split("/")
    handles, nofollow = [], getattr(os, "O_NOFOLLOW", 0)
    if os.open not in os.supports_dir_fd or not nofollow:
        steps = [os.path.join(folder, *parents[:n], part) for n, part in enumerate([*parents, last])]
        return open_regular("" if any(map(os.path.islink, steps)) else steps[-1])
    try:
        handles.append(os.open(folder or ".", os.O_RDONLY | os.O_DIRECTORY))
        for part in parents:
            handles.append(os.open(part, os.O_RDONLY | os.O_DIRECTORY | nofollow, dir_fd=handles[-1]))
        return open_regular(last, handles[-1], nofollow)
    finally:
        for handle in handles:
            os.close(handle)

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

@dataclass(frozen=True, slots=True)
class Note:
    """A note; `text` is what was signed, `lines` are name, key id and signature."""

    origin: str
    number: int
    root: str
    text: bytes
    lines: list[tuple[str, bytes, bytes]]

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

def is_torn_note(rest: bytes, origin: str, after_note: bool) -> bool:
    """N9: whether bytes are the beginning of a note that was cut."""
    line = f"{origin}\n".encode()
    if after_note and rest.startswith(b"\xe2") and b"\n" not in rest:
        return True
    if not origin or not rest.startswith(line):
        return bool(origin) and line.startswith(rest)
    begun = re.fullmatch(rb"(?:([1-9]\d{0,15})\n|%b\n?)?" % BEGUN, rest[len(line) : rest.rfind(b"\n") + 1])
    return begun is not None and int(begun[1] or begun[2] or 1) <= OWN_MAX

@dataclass(frozen=True, slots=True)
class Manifest:
    """What a manifest says (None if malformed), which of the named keys say so, and how many lines are by others."""

    statement: Any
    by: set[int]
    strangers: int
    is_strange: bool

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
    owners = [{at for at, key in enumerate(keys) if key.fingerprint == keyid} for _, keyid, _ in lines]
    by = set()
    for own, (payload, _, signature) in zip(owners, lines, strict=True):
        signed = b"DSSEv1 28 application/vnd.in-toto+json %d %b" % (len(payload), payload)  # M4
        holding = {at for at, key in enumerate(keys) if verify_signature(key.public, signature, signed)}
        found.when(own - holding, "manifest.signature")  # M5
        found.when(holding - own, "manifest.id")
        by |= own & holding
    return Manifest(statement, by, owners.count(set()), good and not any(owners))

# ---- one cassette: C1 to C22, V4 ----

WITHHELD: Final = re.compile(rb'\{"withheld":"([0-9a-f]{64})"\}\n')
START: Final = re.compile(rb'\{"prev":"([0-9a-f]{64})","seq":(0|[1-9]\d{0,15}),"type":"(open|run|interaction|end)",')
FORMAT: Final = re.compile(START.pattern + rb'"format":"([A-Za-z0-9._/-]{1,64})".*\n', re.S)

def other_format(line: bytes) -> str:
    """C12: the code for a first line that is no provtape/1, or nothing."""
    named = FORMAT.match(line)
    if named and named[3] == b"open" and int(named[2]) <= OWN_MAX:
        return "" if named[4] == b"provtape/1" else "input.format"
    try:
        value, _ = read_json(line)
    except ValueError:
        return ""
    names = set(value) if isinstance(value, dict) else set()
    return "input.tutorial" if {"prev", "key", "output", "hash"} <= names and "seq" not in names else ""

class Cassette:
    """One pass over a cassette, keeping 32 bytes of each record; then what the evidence says of it."""

    def __init__(self, name: str, keys: list[Key], manifest: Manifest | None) -> None:
        self.name, self.keys, self.manifest, self.found = os.path.basename(name), keys, manifest, Findings()
        self.sha256, self.leaves, self.numbers = hashlib.sha256(), bytearray(), array("Q")
        self.records = self.size = self.interactions = self.withheld = self.ends = 0
        self.strangers = self.notes = self.counted = 0  # of the checkpoint file: lines by others, notes, lines that count
        self.torn = self.broken = self.faulty = False
        self.last = self.origin = ""  # the type of the last record; N2, if record 0 is as it should be
        self.opening: Any = None  # that record 0
        self.runs: list[dict[str, Any]] = []  # V4
        # what evidence of this origin says: its source, a number of records, their root, which of the keys signed
        self.claims: list[tuple[str, int, str, set[int]]] = []

    def read(self, stream: BinaryIO) -> bool:
        """C1, C5, C11, C12: read to the end; False where an error forbids it."""
        while line := stream.readline(RECORD_LIMIT + 1):
            self.sha256.update(line)
            self.torn = not line.endswith(b"\n")
            error = "input.limit" if len(line) > RECORD_LIMIT else "" if self.size else other_format(line)
            if error:
                self.found.when(True, error, None if error == "input.tutorial" else self.records, self.size)
                return False
            self.found.when(self.ends, "record.after-end", self.records, self.size)
            if not self.torn:
                self.take(line)
        if self.numbers and self.broken:
            del self.found["record.seq"]
        elif self.numbers:  # C4
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
            self.broken = True
            self.found.when(True, "record.start", at, self.size)
        if seq != at or self.numbers:  # all numbers are kept once one of them is not its place
            self.numbers = self.numbers or array("Q", range(at))
            self.numbers.append(seq)
            self.found.when(True, "record.seq", at, self.size)
        self.interactions += kind == "interaction"
        if self.runs:
            self.runs[-1]["interactions"] += kind == "interaction"
        self.last, self.ends = kind, self.ends + (kind == "end")
        self.leaves += leaf
        if self.opening and not at:
            self.origin = f"{self.opening['prefix']}/{leaf.hex()}"  # N2
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
        self.found.when(fault and not self.faulty, fault, at, self.size)
        self.faulty |= bool(fault)
        if kind == "open" and at == seq and not fault:
            self.opening = value
        if value and kind == "run" and spelled and known:
            capture = {name: value["capture"][name] for name in ("road", "enclosed")}
            self.runs.append({"record": at, "interactions": 0} | capture | {"code": value["code"]})

    @property
    def sealed(self) -> bool:
        """V4: the last record is the first `end`."""
        return self.last == "end" and self.ends == 1

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
                self.claims.append(("checkpoint", note.number, note.root, by))
        self.notes += len(notes) * beside

    def signers(self, note: Note, beside: bool) -> set[int]:
        """N6, N7: which of the named keys signed a note."""
        by = set()
        for name, key_id, signature in note.lines:
            counted = False
            for at, key in enumerate(self.keys):
                right, holds = note_id(name, key.public), verify_signature(key.public, signature, note.text)
                near = base64.b64encode(right)[:5] == base64.b64encode(key_id)[:5]
                self.found.when(key_id != right and (holds or near), "checkpoint.id")
                if key_id == right and key.name in (None, name):
                    counted = True
                    self.found.when(not holds, "checkpoint.signature")
                    by |= {at} if holds else set()
            self.strangers += beside and not counted
            self.counted += beside and counted
        return by

    def hear_manifest(self, entry: Any) -> None:
        """M10 to M12: the entry of this origin (of the given name, if the manifest was given in place of a cassette)."""
        if not self.manifest or not self.manifest.statement or not self.origin:
            return
        when, n, entries = self.found.when, self.records, self.manifest.statement["predicate"]["cassettes"]
        entry = next((row for row in ([entry] if entry else entries) if row["origin"] == self.origin), None)
        when(not entry, "manifest.origin")
        if entry:
            n_signed, last = entry["records"], self.runs[-1] if self.runs else {"record": None, "code": entry["code"]}
            scrub = {name: self.opening["scrub"][name] for name in ("name", "sha256")}
            digest = self.manifest.statement["subject"][entries.index(entry)]["digest"]["sha256"]
            right = n_signed == n and roots(self.leaves, {n})[n] == entry["root"]
            when(n_signed == n and self.last != "end", "manifest.unsealed")
            when(entry["scrub"] != scrub, "manifest.scrub", 0, 0)
            when(n_signed == n and entry["code"] != last["code"], "manifest.code", last["record"])
            asked = right and not self.torn and not self.withheld
            when(asked and digest != self.sha256.hexdigest(), "manifest.digest")
            when(n_signed < n, "manifest.append", n_signed)
            self.claims.append(("manifest", n_signed, entry["root"], self.manifest.by))

    def weigh(self) -> list[dict[str, Any]]:
        """N8, M10, V6, V7: the claims against the records; what each key covers."""
        n, right = self.records, roots(self.leaves, {number for _, number, _, _ in self.claims})
        agreeing = [claim for claim in self.claims if right.get(claim[1]) == claim[2]]
        for source in ("checkpoint", "manifest"):
            numbers = [number for claimed, number, _, _ in self.claims if claimed == source]
            beyond = "cassette.cut" if self.torn else f"{source}.records"
            self.found.when(max(numbers, default=0) > n, beyond, n, self.size)
            wrong = [c[1] for c in self.claims if c[0] == source and right.get(c[1], c[2]) != c[2]]
            below = [number for _, number, _, _ in agreeing if number < min(wrong, default=0)]
            self.found.when(wrong, f"{source}.root", max(below, default=0))
        signed = {(number, root) for _, number, root, by in self.claims if by}
        self.found.when(len(signed) > len({number for number, _ in signed}), "evidence.fork")
        return [
            {"name": key.name, "fingerprint": key.fingerprint}
            | {"records": max((number for _, number, _, by in agreeing if at in by), default=0)}
            | {"manifest": self.manifest is not None and at in self.manifest.by}
            for at, key in enumerate(self.keys)
        ]

    def trust(self, noted: bool, options: argparse.Namespace) -> None:
        """Class U, and what the caller expects (V8)."""
        when, n, bare = self.found.when, self.records, not self.manifest
        strange = self.keys and (self.manifest.is_strange if self.manifest else self.notes and not self.counted)
        when(self.torn and not self.ends and "cassette.cut" not in self.found, "cassette.torn", n, self.size)
        when(not self.keys, "trust.no-key")
        when(strange, "trust.stranger")
        when(bare and not noted, "trust.no-evidence")
        when(bare and noted and self.sealed and not strange, "trust.no-manifest")
        when(not self.ends, "cassette.open", n, self.size)
        if options.allow_withheld:
            self.found.pop("cassette.withheld", None)
        when(options.expect_origin not in (None, self.origin), "expect.origin", 0)
        when(options.expect_records not in (None, n), "expect.records", n)
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
        covers, n = self.weigh(), self.records
        self.trust(beside is not None, options)
        opening = self.opening or {"scrub": None, "match": {"ignore": []}}
        scrub = opening["scrub"] and {name: opening["scrub"][name] for name in ("name", "sha256")}
        return (
            {"name": self.name, "origin": self.origin or None, "records": n}
            | {"interactions": self.interactions, "withheld": self.withheld}
            | {"sealed": self.sealed, "root": roots(self.leaves, {n}).get(n)}
            | {"sha256": self.sha256.hexdigest(), "scrub": scrub, "ignore": opening["match"]["ignore"]}
            | {"runs": self.runs, "covers": covers}
            | {"strangers": self.strangers + (self.manifest.strangers if self.manifest else 0)}
        )

# ---- the command: M13, V2, V3, V8, V9 ----

def bind(found: Findings, folder: str, subjects: list[Any], asked: bool) -> list[dict[str, str]]:
    """M13: the state of each bound file."""
    states = []
    for subject in subjects:
        name, state = subject["name"], "not asked"
        if asked:
            state, digest = "missing", hashlib.sha256()
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
    read = [(read_key(text), text) for text in options.pubkey]
    keys = [key for key, _ in read if key]
    shared.when(len(keys) < len(read), "key.refused")
    for key, text in read:
        if key:
            warn_of_key(key, text, path)
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
    founds.sort(key=lambda found: found.word() == word)  # last, so that their places are the ones kept
    merged = {code: finding for found in founds for code, finding in found.items()}
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
    lines = [" ".join([shown["verdict"], *[finding["attack"] or "" for finding in shown["findings"][:1]]]).rstrip()]
    for row in shown["facts"]["cassettes"]:
        said = [f"{row['interactions']} interactions ({row['withheld']} withheld) in {row['records']} records"]
        said += ["sealed" if row["sealed"] else "not sealed", f"origin {row['origin']}"]
        for key in row["covers"]:
            signed = " and signed the manifest" * key["manifest"]
            said.append(f"{key['name'] or 'key'} ({key['fingerprint']}) covers the first {key['records']}{signed}")
        for run in row["runs"]:
            code = f"{run['code']['commit']}{' (dirty)' * run['code']['dirty']}" if run["code"] else "none"
            said.append(f"run at record {run['record']}: {run['interactions']} interactions, commit {code}")
        said += [f"match keys ignore {pointer}" for pointer in row["ignore"]]
        lines.append(f"{row['name']}: {'; '.join(said)}; {row['strangers']} signature lines by others")
    for finding in shown["findings"]:
        record = f", record {finding['record']}" * (finding["record"] is not None)
        offset = f", byte {finding['offset']}" * (finding["offset"] is not None)
        lines.append(f"- {finding['code']}{record}{offset}: {finding['message']}")
        lines += [f"  hint: {finding['hint']}"] * (finding["hint"] is not None)
    return "\n".join([*lines, LIMITS])

def own_number(text: str) -> int:
    """What --expect-records takes."""
    if not check("own")(number(text)):
        raise ValueError
    return int(text)

def understand(arguments: list[str]) -> argparse.Namespace | None:
    """The options, or None if the command line can not be understood (argparse says why on stderr)."""
    parser = argparse.ArgumentParser(prog="verifier", add_help=False, allow_abbrev=False)
    parser.add_argument("cassette")
    parser.add_argument("--expect-records", type=own_number)
    for name in ("--pubkey", "--seen"):
        parser.add_argument(name, action="append", default=[])
    for name in ("--manifest", "--checkpoints", "--expect-origin", "--expect-commit"):
        parser.add_argument(name)
    for name in ("--only", "--allow-withheld", "--json"):
        parser.add_argument(name, action="store_true")
    try:
        return parser.parse_args(arguments)
    except SystemExit:
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
