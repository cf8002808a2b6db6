"""Verify a provtape/1 cassette: one file to read in one sitting. Python >= 3.11 and `cryptography`, nothing else.

    python -I verifier.py run.jsonl --pubkey 'lab.example/alice+0769061f+AQOh...'

Checks what `spec/` says, under its numbers: the records (C1 to C22), the signed notes in `run.jsonl.ckpt` (N1 to N9), the
signed manifest `run.jsonl.intoto.jsonl` and the files it binds (M1 to M13), your keys (K1 to K6), and the way from findings
to one word (V1 to V9): VERIFIED (exit 0), FAILED (1), ERROR (2), UNVERIFIED (3). A manifest in place of the cassette
verifies all that it names.

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
    sys.stderr.write("verifier: needs Python 3.11 or later\n")
    sys.exit(2)
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
from dataclasses import dataclass, field
from functools import cache
from typing import Any, BinaryIO, Final, NoReturn

RECORD_LIMIT: Final = 256 << 20  # C5
EVIDENCE_LIMIT: Final = 64 << 20  # N1, M1
OWN_MAX: Final = 2**53 - 1
PREFIX: Final = r"[a-z0-9.-]+(?:/[A-Za-z0-9._~-]+)*"  # N3
LIMITS: Final = "limits: a signer can invent responses or record again; another run by the same key verifies too; times are claims"

# ---- V1 to V3. The findings, in order: class, code, attack, message, hint ----
TABLE: Final = """
E|usage|-|the command line can not be understood|run it with --help
E|key.refused|-|a public key is refused (K5)|give a vkey, one PEM PUBLIC KEY, one ssh-ed25519 line, or a file with one of these
E|input.unreadable|-|a file can not be read or is no regular file|look at its name, kind and permissions
E|input.tutorial|-|this is another format, known from a tutorial, and no cassette|`provtape import` reads it
E|input.format|-|record 0 names a format that this verifier does not know (C12)|take a verifier made for that format
E|input.limit|-|larger than a reader takes (C5, N1, M1)|256 MiB a record, 64 MiB a file of evidence
E|internal|-|something unforeseen happened, so there is no verdict|please report it with the name of the exception
F|record.crlf|crlf|the record ends in CR LF (C2)|line ends were converted, as git does: get the file again, unconverted
F|checkpoint.crlf|crlf|a line of a note ends in CR LF (N1)|line ends were converted, as git does: get the file again, unconverted
F|manifest.crlf|crlf|a line of the manifest ends in CR LF (M1)|line ends were converted, as git does: get it again, unconverted
F|record.start|edit|the record does not start as every record does (C3, C22)|
F|record.seq|-|the record does not carry its own number (C4)|compare with a copy from the author
F|chain.prev|edit|prev is not the leaf of the record before (C9)|this record's prev or the record before was changed
F|record.json|edit|the record is no strict JSON (C6)|
F|record.spelling|edit|the record is not the one spelling of its value (C7)|
F|record.members|edit|the record does not have the members of its type (C13 to C21)|
F|record.place|edit|a record of this type can not stand here (C10)|
F|checkpoint.form|edit|there is something else than notes, or a malformed note (N1, N3, N5)|
F|checkpoint.id|edit|a named key made a signature whose name or key id was changed (N7)|
F|manifest.form|edit|the manifest is malformed (M1, M2, M6 to M9)|
F|manifest.id|edit|a named key made a signature that stands under another keyid (M5)|
F|manifest.unsealed|edit|the manifest speaks of a sealed cassette, this one has no end (M10)|
F|manifest.scrub|edit|the manifest names other scrub rules than record 0 (M11)|
F|manifest.code|edit|the manifest names other code than the last run (M11)|
F|manifest.digest|edit|the manifest names another file digest (M12)|
F|subject.digest|edit|a bound file is not the one that was signed (M13)|compare with a copy from the author
F|record.after-end|append|something follows the end (C11)|
F|manifest.append|append|the cassette has more records than the manifest says (M10)|
F|checkpoint.origin|splice|a note belongs to another cassette (N8)|
F|manifest.origin|splice|the manifest belongs to another cassette (M10)|
F|cassette.cut|torn|the last line is cut, and evidence reaches past it|get the whole file again
F|cassette.empty|truncate|there is no complete record (C10)|
F|checkpoint.records|truncate|a note names more records than there are (N8)|get the whole file again
F|manifest.records|truncate|the manifest names more records than there are (M10)|get the whole file again
F|evidence.fork|fork|named keys signed two histories of one origin and number|keep both files: together they prove it
F|checkpoint.root|rechain|a note's root is not that of the records (N8)|the change lies between this record and the note's number
F|manifest.root|rechain|the manifest's root is not that of the records (M10)|the change lies at this record or later
F|checkpoint.signature|forged|a note's signature does not verify under a named key (N6)|
F|manifest.signature|forged|a manifest signature does not verify under a named key (M5)|
F|expect.origin|-|the origin is not the expected one|this is another run
F|expect.commit|-|a run with interactions has not the expected commit|commits are given with all their digits
F|expect.records|-|the number of records is not the expected one|
U|cassette.torn|torn|the last line is cut, as after a crash, and no evidence reaches past it|provtape moves it aside and goes on
U|checkpoint.torn|torn|the last note is cut, as after a crash (N9)|the next note of the recorder heals it
U|trust.no-key|-|no key was named, so nothing says whose cassette this is|--pubkey, with the key from the author
U|trust.stranger|stranger|there is evidence, but none by a named key|compare key and fingerprint with the author's
U|trust.no-evidence|strip|there is neither a checkpoint file nor a manifest|ask the author for the manifest
U|trust.no-manifest|strip|the cassette is sealed, but there is no manifest|ask the author for the manifest
U|cassette.open|-|the cassette is not sealed: there is no end|the author seals it with provtape sign
U|cassette.withheld|-|interactions are withheld, by whoever made this file (C22)|--allow-withheld, if you accept that
U|subject.missing|-|a bound file is not there, no regular file, or behind a link (M13)|put it beside the manifest, or --only
"""
RULES: Final = {row.split("|")[1]: row.split("|") for row in TABLE.strip().split("\n")}
GROUPS: Final = {"ERROR": "E", "FAILED": "F", "UNVERIFIED": "U", "VERIFIED": ""}
EXITS: Final = {
    "FAILED": 1,
    "ERROR": 2,
    "UNVERIFIED": 3,
    "VERIFIED": 0,
}  # in the order of V2 for several cassettes


class StopError(Exception):
    """A finding of class E was made after which nothing more can be read."""


class Findings(dict[str, dict[str, Any]]):
    """What was found, at most once for each code (V1, V3)."""

    def make(self, code: str, record: int | None = None, offset: int | None = None, detail: str = "") -> None:
        """Note a finding, unless its code was found before."""
        _, _, attack, message, hint = RULES[code]
        finding = {
            "code": code,
            "attack": None if attack == "-" else attack,
            "record": record,
            "offset": offset,
        }
        self.setdefault(code, finding | {"message": message + detail, "hint": hint or None})

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
SSH: Final = b"\0\0\0\x0bssh-ed25519\0\0\0\x20"
VKEY: Final = re.compile(rf"({PREFIX})\+([0-9a-f]{{8}})\+([A-Za-z0-9+/]+=*)")
PEM: Final = re.compile(r"-----BEGIN PUBLIC KEY-----\s([A-Za-z0-9+/=\s]+)\s-----END PUBLIC KEY-----")


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


def unbase64(text: str) -> bytes | None:
    """Canonical base64 (spec/README) decoded, or None."""
    try:
        data = base64.b64decode(text, validate=True)
    except ValueError:
        return None
    return data if base64.b64encode(data).decode() == text else None


def note_id(name: str, public: bytes) -> bytes:
    """N5: the four bytes that stand before a signature in a note."""
    return hashlib.sha256(name.encode() + b"\n\x01" + public).digest()[:4]


@dataclass(frozen=True, slots=True)
class Key:
    """A key that the caller named; `fingerprint` is the keyid of M3, `path` says where it was read."""

    name: str | None
    public: bytes
    fingerprint: str
    path: str | None


def read_key(text: str) -> Key | None:
    """K2, K5: a key from its text or its file, None if refused. What looks like a key is never taken for a path."""
    literal = re.match(r"\s*(-----BEGIN|ssh-ed25519\s)", text) or VKEY.fullmatch(text.strip())
    path = None if literal else text
    if path is not None:
        try:
            with open_regular(path) as stream:
                text = stream.read(4096).decode()
        except (OSError, ValueError):
            return None
    text, name, public = text.strip(" \t\r\n"), None, b""
    if vkey := VKEY.fullmatch(text):
        name, typed = vkey[1], unbase64(vkey[3]) or b""
        if typed[:1] == b"\x01" and len(name) <= 255 and vkey[2] == note_id(name, typed[1:]).hex():
            public = typed[1:]
    elif pem := PEM.fullmatch(text):
        public = (unbase64("".join(pem[1].split())) or b"").removeprefix(SPKI)
    elif ssh := re.fullmatch(r"ssh-ed25519 +([A-Za-z0-9+/]+=*)(?:[ \t][^\n]*)?", text):
        public = (unbase64(ssh[1]) or b"").removeprefix(SSH)
    return (
        Key(name, public, hashlib.sha256(SPKI + public).hexdigest(), path)
        if is_strict_point(public)
        else None
    )


# ---- C6 and C7 ----

STRING: Final = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"')


def _refuse(_: str) -> NoReturn:
    raise ValueError("NaN or Infinity")


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise ValueError("a name stands twice")
    return members


def _integer(token: str) -> int | bytes:
    return int(token) if re.fullmatch("0|[1-9][0-9]{0,15}", token) else token.encode("ascii")


encode: Final = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), check_circular=False).encode
FAST: Final = json.JSONDecoder(parse_constant=_refuse)
EXACT: Final = (
    json.JSONDecoder(  # a number is converted if it is an own one, else it stays its token, as bytes
        parse_constant=_refuse, parse_int=_integer, parse_float=str.encode, object_pairs_hook=_unique
    )
)


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
        raise ValueError("nested too deep")
    try:
        value = FAST.decode(text)
        if encode(value) == text:  # so names were unique, no surrogate was alone and no number changed
            return value, True
    except ValueError:
        pass  # a syntax error, or an integer too long to convert: the exact reader tells which
    value = EXACT.decode(text)
    tokens = STRING.findall(text)
    strings = [FAST.decode(token) for token in tokens]
    "".join(strings).encode()  # refuses a lone surrogate that was written as an escape
    blank = re.search("[ \t\r\n]", STRING.sub("", text))
    return value, not blank and list(map(encode, strings)) == tokens


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
    "header": lambda value: (
        check("text[]")(value) and len(value) == 2 and not re.search("[A-Z]", value[0])
    ),  # C17
    "chunk": lambda value: check("own[]")(value) and len(value) == 2,
    "body": lambda value: body_size(value) > 0,
}


def body_size(body: Any) -> int:
    """C18: how many bytes a body stands for; 0 if it is none, or not the one spelling of its bytes."""
    name, text = next(iter(body.items())) if isinstance(body, dict) and len(body) == 1 else ("", None)
    if name not in ("text", "base64") or not isinstance(text, str):
        return 0
    if name == "text":
        return len(text.encode())
    data = unbase64(text) or b""
    try:
        return len(data.decode()) * 0  # UTF-8 had to be a text
    except UnicodeDecodeError:
        return len(data)


@cache
def check(kind: str) -> Callable[[Any], bool]:
    """What says of a value whether it is of this kind."""
    if kind[-1] == "?":
        return lambda value: value is None or check(kind[:-1])(value)
    if kind[-2:] == "[]":
        return lambda value: isinstance(value, list) and all(map(check(kind[:-2]), value))
    if kind in PATTERNS:
        whole = re.compile(PATTERNS[kind]).fullmatch
        return lambda value: isinstance(value, str) and whole(value) is not None
    row = re.search(rf"^{kind} (.*)$", SHAPES.replace("\n ", " "), re.M)
    if row is None:
        return LEAVES[kind]
    names = [member.split(":")[0] for member in row[1].split()]
    parts = [check(member.split(":")[1]) for member in row[1].split()]
    return lambda value: (
        isinstance(value, dict)
        and list(value) == names
        and all(part(member) for part, member in zip(parts, value.values(), strict=True))
    )


def has_members(kind: str, record: Any) -> bool:
    """C13 to C20: whether a record has the members of its type."""
    if not check(kind)(record):
        return False
    if kind == "open":
        return bool(
            hashlib.sha256(record["scrub"]["rules"].encode()).hexdigest() == record["scrub"]["sha256"]
        )
    if kind != "interaction":
        return True
    kind, answer = record["kind"], record["response"]
    if kind not in ("llm", "tool", "http") or not check(f"{kind}-request")(record["request"]):
        return False
    if not check(f"{kind}-response")(answer):
        return kind != "http" and check("error")(answer)
    sizes = answer["chunks"] if kind == "http" else None  # C19
    return sizes is None or sum(size for size, _ in sizes) == body_size(answer["body"])


# ---- files and the tree: C8, M13 ----


def open_regular(path: str, folder: int | None = None, flags: int = 0) -> BinaryIO:
    """Open a regular file to read, never waiting for one that is none (a pipe). Raises OSError, ValueError."""
    flags |= os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    stream = os.fdopen(os.open(path, flags, dir_fd=folder), "rb", buffering=1 << 20)
    if not stat.S_ISREG(os.fstat(stream.fileno()).st_mode):
        stream.close()
        raise OSError("no regular file")
    return stream


def open_below(folder: str, name: str) -> BinaryIO | None:
    """M13: a regular file below a folder, no link followed on the way; None if there is none."""
    *parents, last = name.split("/")
    nofollow, inside = getattr(os, "O_NOFOLLOW", 0), os.open in os.supports_dir_fd
    try:
        if not nofollow or not inside:
            steps = [os.path.join(folder, *name.split("/")[: n + 1]) for n in range(len(parents) + 1)]
            return None if any(map(os.path.islink, steps)) else open_regular(steps[-1])
        at = os.open(folder or ".", os.O_RDONLY | os.O_DIRECTORY)
        try:
            for part in parents:
                below = os.open(part, os.O_RDONLY | os.O_DIRECTORY | nofollow, dir_fd=at)
                os.close(at)
                at = below
            return open_regular(last, at, nofollow)
        finally:
            os.close(at)
    except OSError:
        return None


def roots(leaves: bytearray, sizes: set[int]) -> dict[int, str]:
    """C8: root(n) in hex for each of `sizes`, in one sweep (RFC 6962 section 2.1)."""
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


# ---- the bytes of the three files: C1 to C4, C12, C22, N1 to N5, M1 ----

WITHHELD: Final = re.compile(rb'\{"withheld":"([0-9a-f]{64})"\}\n')
START: Final = re.compile(
    rb'\{"prev":"([0-9a-f]{64})","seq":(0|[1-9]\d{0,15}),"type":"(open|run|interaction|end)",'
)
FORMAT: Final = re.compile(
    rb'\{"prev":"[0-9a-f]{64}","seq":(\d+),"type":"open","format":"([A-Za-z0-9._/-]{1,64})"'
)
NAME: Final = PREFIX.encode()
BEGUN: Final = rb"([1-9]\d{0,15})\n([A-Za-z0-9+/]{42}[AEIMQUYcgkosw048]=)\n"
NOTE: Final = re.compile(
    rb"(?=[^\n]{66,320}\n)(%b/[0-9a-f]{64})\n%b\n" % (NAME, BEGUN)
    + rb"((?:\xe2\x80\x94 (?=[^ \n]{1,255} )%b [A-Za-z0-9+/]+={0,2}\n){1,16})" % NAME
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
        lines = [
            (name, blob[:4], blob[4:]) for _, name, text in rows if len(blob := unbase64(text) or b"") > 4
        ]
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
        return bool(origin and rest) and line.startswith(rest)
    begun = re.fullmatch(rb"(?:([1-9]\d{0,15})\n|%b\n?)?" % BEGUN, rest[len(line) : rest.rfind(b"\n") + 1])
    return begun is not None and int(begun[1] or begun[2] or 1) <= OWN_MAX


def other_format(line: bytes) -> str:
    """C12: the code for a first line that is no provtape/1, or nothing."""
    named = FORMAT.match(line)
    if (
        named
        and START.match(line)
        and line.endswith(b"\n")
        and int(named[1]) <= OWN_MAX
        and named[2] != b"provtape/1"
    ):
        return "input.format"
    try:
        names = set(read_json(line)[0])
    except (ValueError, TypeError):
        return ""
    return "input.tutorial" if {"prev", "key", "output", "hash"} <= names and "seq" not in names else ""


def moved(numbers: array[int], records: int) -> str:
    """C4: the attack that numbers out of place speak of."""
    seen, beyond, twice = bytearray(records), set(), False
    for number in numbers:
        if number < records:
            twice, seen[number] = twice or seen[number] > 0, 1
        else:
            twice, _ = twice or number in beyond, beyond.add(number)
    return "insert" if twice else "drop" if beyond else "swap"


@dataclass(slots=True)
class Manifest:
    """What a manifest says (`statement` is None if it is malformed), and which named keys say so."""

    statement: Any = None
    named: bool = False
    by: set[int] = field(default_factory=set)
    strangers: int = 0


def read_manifest(data: bytes, keys: list[Key], found: Findings) -> Manifest:
    """M1 to M9."""
    manifest = Manifest()
    lines = [
        (unbase64(p.decode()) or b"", i.decode(), unbase64(s.decode()) or b"")
        for p, i, s in LINE.findall(data)
    ]
    good = len({line[0] for line in lines}) == 1 and len({line[1] for line in lines}) == len(lines)  # M2
    good &= sum(len(line[0]) for line in LINE.finditer(data)) == len(data) and all(line[2] for line in lines)
    try:
        statement, spelled = read_json(lines[0][0]) if good else (None, False)
        manifest.statement = statement if spelled and is_statement(statement) else None
    except ValueError:
        pass
    if manifest.statement is None:
        found.make("manifest.crlf" if b"\r\n" in data else "manifest.form")
    for payload, keyid, signature in lines:
        signed = b"DSSEv1 28 application/vnd.in-toto+json %d %b" % (len(payload), payload)  # M4
        holding = {at for at, key in enumerate(keys) if verify_signature(key.public, signature, signed)}
        own = {at for at, key in enumerate(keys) if key.fingerprint == keyid}
        manifest.by |= own & holding
        manifest.named |= bool(own)
        manifest.strangers += not own
        for code in ["manifest.signature"] * bool(own - holding) + ["manifest.id"] * bool(
            holding - own
        ):  # M5
            found.make(code)
    return manifest


def is_statement(value: Any) -> bool:
    """M6 to M9."""
    if not check("statement")(value):
        return False
    names, cassettes = [subject["name"] for subject in value["subject"]], value["predicate"]["cassettes"]
    first, once = [entry["name"] for entry in cassettes], len({name.lower() for name in names}) == len(names)
    return (
        once
        and len({entry["origin"] for entry in cassettes}) == len(first) > 0
        and first == names[: len(first)]
    )


# ---- one cassette and its evidence: C1 to C22, N6 to N9, M10 to M12, V4 to V8 ----


@dataclass(frozen=True, slots=True)
class Claim:
    """Evidence says: the first `number` records have this root. `by` are the named keys whose signature holds."""

    source: str
    number: int
    root: str
    by: set[int]


class Cassette:
    """One pass over a cassette, keeping 32 bytes of each record; then what the evidence says of it."""

    def __init__(self, name: str, keys: list[Key], manifest: Manifest | None) -> None:
        self.name, self.keys, self.manifest, self.found = name, keys, manifest, Findings()
        self.sha256, self.leaves = hashlib.sha256(), bytearray()
        self.numbers = array("Q")  # only once one of them is not its place
        self.records = self.size = self.interactions = self.withheld = self.strangers = 0
        self.torn = self.sealed = self.ended = self.broken = self.faulty = False
        self.opening: Any = None  # record 0, if nothing is wrong with it
        self.origin = ""
        self.runs: list[dict[str, Any]] = []
        self.code: Any = False  # of the last run; False while there is none that can be read
        self.claims: list[Claim] = []
        self.notes = self.counted = 0
        self.states: dict[str, str] = {}

    def read(self, stream: BinaryIO) -> bool:
        """C1, C5, C11, C12: read to the end; False where an error forbids it."""
        while line := stream.readline(RECORD_LIMIT + 1):
            self.sha256.update(line)
            self.torn = not line.endswith(b"\n")
            error = "input.limit" if len(line) > RECORD_LIMIT else "" if self.size else other_format(line)
            if error:
                self.found.make(error, None if error == "input.tutorial" else self.records, self.size)
                return False
            if self.ended:
                self.found.make("record.after-end", self.records, self.size)
            if not self.torn:
                self.take(line)
        if self.broken:
            self.found.pop("record.seq", None)
        elif self.numbers:
            self.found["record.seq"]["attack"] = moved(self.numbers, self.records)
        if not self.records:
            self.found.make("cassette.empty", 0, 0)
        return True

    def take(self, line: bytes) -> None:
        """C2 to C4, C8, C22: one record."""
        at, number, kind, leaf = self.records, self.records, "", hashlib.sha256(b"\0" + line).digest()
        if line.endswith(b"\r\n"):
            self.found.make("record.crlf", at, self.size)
        if at > 1 and (withheld := WITHHELD.fullmatch(line)):
            leaf, kind = bytes.fromhex(withheld[1].decode()), "interaction"
            self.withheld += 1
            self.found.make("cassette.withheld", at, self.size)
        elif (start := START.match(line)) and int(start[2]) <= OWN_MAX:
            number, kind = int(start[2]), start[3].decode()
            self.judge(line, start[1].decode(), kind, number)
        else:
            self.broken = True
            self.found.make("record.start", at, self.size)
        if number != at or self.numbers:
            self.numbers = self.numbers or array("Q", range(at))
            self.numbers.append(number)
            self.found.make("record.seq", at, self.size)
        self.interactions += kind == "interaction"
        if self.runs:
            self.runs[-1]["interactions"] += kind == "interaction"
        self.sealed, self.ended = kind == "end", self.ended or kind == "end"
        self.leaves += leaf
        if self.opening and not at:
            self.origin = f"{self.opening['prefix']}/{leaf.hex()}"  # N2
        self.records, self.size = at + 1, self.size + len(line)

    def judge(self, line: bytes, prev: str, kind: str, number: int) -> None:
        """C6, C7, C9, C10, C13 to C21; of all these only the first fault in the cassette is found (V4)."""
        at, known = self.records, False
        faults = [] if prev == (self.leaves[-32:].hex() or "0" * 64) else ["chain.prev"]
        try:
            value, spelled = read_json(line[:-1])
            known = has_members(kind, value)
            faults += ["record.spelling"] * (not spelled) + ["record.members"] * (not known)
        except ValueError:
            faults += ["record.json"]
        if (kind == "open") != (at == 0) or (at == 1 and kind != "run"):
            faults += ["record.place"]
        if faults and not self.faulty:
            self.found.make(faults[0], at, self.size)
        self.faulty |= bool(faults)
        if kind == "open" and at == number and not faults:
            self.opening = value
        if kind == "run":
            self.code = value["code"] if known else False
            if known:
                capture = {name: value["capture"][name] for name in ("road", "enclosed")}
                self.runs.append({"record": at, "interactions": 0} | capture | {"code": self.code})

    def hear_notes(self, data: bytes, beside: bool) -> None:
        """N1 to N9: a checkpoint file, or a note that was kept; content first, signatures apart from it (V5)."""
        notes, end = read_notes(data)
        if b"\r\n" in data:
            self.found.make("checkpoint.crlf")
        elif end < len(data) or not notes:
            torn = beside and not self.ended and is_torn_note(data[end:], self.origin, bool(notes))
            self.found.make("checkpoint.torn" if torn else "checkpoint.form")
        for note in notes:
            if self.origin and note.origin != self.origin:
                self.found.make("checkpoint.origin")
            by = self.signers(note, beside)
            if note.origin == self.origin:
                self.claims.append(Claim("checkpoint", note.number, note.root, by))
        self.notes += len(notes) * beside

    def signers(self, note: Note, beside: bool) -> set[int]:
        """N6, N7: which of the named keys signed a note."""
        by = set()
        for name, key_id, signature in note.lines:
            counting = 0
            for at, key in enumerate(self.keys):
                same = note_id(name, key.public) == key_id
                counts = same and key.name in (None, name)
                holds = counts == same and verify_signature(key.public, signature, note.text)
                counting += counts
                if counts and holds:
                    by.add(at)
                elif counts or holds:
                    self.found.make("checkpoint.signature" if counts else "checkpoint.id")
            self.strangers += not counting
            self.counted += counting * beside
        return by

    def hear_manifest(self, entry: Any) -> None:
        """M10 to M12: its entry, which must be that of this origin."""
        statement, n = self.manifest and self.manifest.statement, self.records
        if not self.manifest or not statement or not self.origin:
            return
        entries = statement["predicate"]["cassettes"]
        entry = next((row for row in [entry] * bool(entry) or entries if row["origin"] == self.origin), None)
        if not entry:
            return self.found.make("manifest.origin")
        if entry["scrub"] != {name: self.opening["scrub"][name] for name in ("name", "sha256")}:
            self.found.make("manifest.scrub", 0, 0)
        if self.code is not False and entry["code"] != self.code:
            self.found.make("manifest.code", self.runs[-1]["record"])
        if entry["records"] < n:
            self.found.make("manifest.append", entry["records"])
        if entry["records"] == n and not self.sealed:
            self.found.make("manifest.unsealed")
        digest = statement["subject"][entries.index(entry)]["digest"]["sha256"]
        right = entry["records"] == n and entry["root"] == roots(self.leaves, {n})[n]
        same = digest == self.sha256.hexdigest()
        self.states[entry["name"]] = "not asked" if self.withheld else "same" if same else "wrong"
        if right and not self.torn and not self.withheld and not same:
            self.found.make("manifest.digest")
        self.claims.append(Claim("manifest", entry["records"], entry["root"], self.manifest.by))
        return None

    def weigh(self) -> list[dict[str, Any]]:
        """N8, M10, V6, V7: the claims against the records; what each key covers."""
        n, right = self.records, roots(self.leaves, {claim.number for claim in self.claims})
        agreeing = [claim for claim in self.claims if right.get(claim.number) == claim.root]
        for source in ("checkpoint", "manifest"):
            numbers = {claim.number for claim in self.claims if claim.source == source}
            if max(numbers, default=0) > n:
                self.found.make("cassette.cut" if self.torn else f"{source}.records", n, self.size)
            wrong = [
                c.number for c in self.claims if c.source == source and right.get(c.number, c.root) != c.root
            ]
            if wrong:
                below = [claim.number for claim in agreeing if claim.number < min(wrong)]
                self.found.make(f"{source}.root", max(below, default=0))
        signed = {(claim.number, claim.root) for claim in self.claims if claim.by}
        if len(signed) > len({number for number, _ in signed}):
            self.found.make("evidence.fork")
        best = [max((c.number for c in agreeing if at in c.by), default=0) for at in range(len(self.keys))]
        by = self.manifest.by if self.manifest else set()
        return [
            {"name": key.name, "fingerprint": key.fingerprint, "records": best[at], "manifest": at in by}
            for at, key in enumerate(self.keys)
        ]

    def trust(self, noted: bool, options: Options) -> None:
        """Class U, and what the caller expects (V8)."""
        n, found, manifest = self.records, self.found, self.manifest
        stranger = not manifest.named if manifest else self.notes and not self.counted
        runs = [run for run in self.runs if run["interactions"]] or self.runs[-1:]
        commits = {run["code"] and run["code"]["commit"] for run in runs}
        for code, applies, record in (
            ("cassette.torn", self.torn and not self.ended and "cassette.cut" not in found, n),
            ("trust.no-key", not self.keys, None),
            ("trust.stranger", self.keys and stranger, None),
            ("trust.no-evidence", not manifest and not noted, None),
            (
                "trust.no-manifest",
                not manifest and noted and self.sealed and not (self.keys and stranger),
                None,
            ),
            ("cassette.open", not self.ended, n),
            ("expect.origin", options.expect_origin not in (None, self.origin), 0),
            (
                "expect.commit",
                options.expect_commit and commits != {options.expect_commit},
                runs and runs[0]["record"],
            ),
            ("expect.records", options.expect_records not in (None, str(n)), n),
        ):
            if applies:
                found.make(code, record if record != [] else None, self.size if record == n else None)
        if options.allow_withheld:
            found.pop("cassette.withheld", None)

    def facts(self, covers: list[dict[str, Any]]) -> dict[str, Any]:
        """What report.schema.json calls a cassette."""
        opening, n = self.opening or {"scrub": None, "match": {"ignore": []}}, self.records
        scrub = opening["scrub"] and {name: opening["scrub"][name] for name in ("name", "sha256")}
        strangers = self.strangers + (self.manifest.strangers if self.manifest else 0)
        return (
            {
                "name": self.name,
                "origin": self.origin or None,
                "records": n,
                "interactions": self.interactions,
            }
            | {"withheld": self.withheld, "sealed": self.sealed, "root": roots(self.leaves, {n}).get(n)}
            | {"sha256": self.sha256.hexdigest(), "scrub": scrub, "ignore": opening["match"]["ignore"]}
            | {"runs": self.runs, "covers": covers, "strangers": strangers}
        )


# ---- the command ----

Options = argparse.Namespace


def load(path: str, found: Findings, named: bool = True) -> bytes | None:
    """A file of evidence; None if it can not be had, which is an error unless it was neither named nor there."""
    try:
        with open_regular(path) as stream:
            data = stream.read(EVIDENCE_LIMIT + 1)
    except (OSError, ValueError):
        if named or os.path.lexists(path):
            found.make("input.unreadable", detail=f": {path}")
        return None
    if len(data) > EVIDENCE_LIMIT:
        found.make("input.limit", detail=f": {path}")
        return None
    return data


def examine(
    tape: Cassette, stream: BinaryIO, path: str, entry: Any, options: Options
) -> dict[str, Any] | None:
    """Make all findings of one cassette; its facts, or None if an error forbids to read it."""
    beside = load(options.checkpoints or f"{path}.ckpt", tape.found, options.checkpoints is not None)
    kept = [load(name, tape.found) for name in options.seen]
    try:
        with stream:
            whole = tape.read(stream)
    except OSError:
        whole = tape.found.make("input.unreadable", detail=f": {path}")
    if not whole:
        return None
    for data in [beside, *kept]:
        if data is not None:
            tape.hear_notes(data, data is beside)
    tape.hear_manifest(entry)
    covers = tape.weigh()
    tape.trust(beside is not None, options)
    return tape.facts(covers)


def subject_state(folder: str, subject: Any) -> str:
    """M13: how a bound file is found."""
    stream = open_below(folder, subject["name"])
    if stream is None:
        return "missing"
    with stream:
        digest = hashlib.file_digest(stream, "sha256").hexdigest()
    return "same" if digest == subject["digest"]["sha256"] else "wrong"


def verify(options: Options) -> dict[str, Any]:
    """The report (report.schema.json) on what the command line names."""
    shared, path = Findings(), options.cassette
    keys = [key for text in options.pubkey if (key := read_key(text)) or shared.make("key.refused")]
    try:
        stream = open_regular(path)
    except (OSError, ValueError):
        shared.make("input.unreadable", detail=f": {path}")
        return report(shared, [], [], [])
    whole = stream.read(12) == b'{"payload":"'
    stream.seek(0)
    place = path if whole else options.manifest or f"{path}.intoto.jsonl"
    data = load(place, shared, whole or options.manifest is not None)
    manifest = None if data is None else read_manifest(data, keys, shared)
    statement, folder = manifest and manifest.statement, os.path.dirname(place)
    entries = statement["predicate"]["cassettes"] if statement else []
    expected = (options.expect_origin, options.expect_commit, options.expect_records, options.checkpoints)
    if whole and (options.manifest or (len(entries) > 1 and (any(expected) or options.seen))):
        shared.make("usage", detail=": this option speaks of one cassette")
        return report(shared, [], [], [])
    tapes, rows, missing = [], [], {}
    for name, entry in [(entry["name"], entry) for entry in entries] if whole else [(path, None)]:
        source = open_below(folder, name) if whole else stream
        if source is None:
            shared.make("subject.missing", detail=f": {name}")
            missing[name] = "missing"
            continue
        tapes.append(Cassette(os.path.basename(name), keys, manifest))
        rows.append(examine(tapes[-1], source, os.path.join(folder, name) if whole else name, entry, options))
    own = {entry["name"]: "not asked" for entry in entries if whole or not tapes[0].states} | missing
    for tape in tapes:
        own |= tape.states
    asked = not options.only and (whole or bool(tapes[0].origin))
    subjects = []
    for subject in statement["subject"] if statement else []:
        name = subject["name"]
        state = own.get(name) or (subject_state(folder, subject) if asked else "not asked")
        if name not in own and state in ("missing", "wrong"):
            shared.make("subject.missing" if state == "missing" else "subject.digest", detail=f": {name}")
        subjects.append({"name": name, "state": state})
    return report(shared, tapes, [row for row in rows if row], subjects)


def report(shared: Findings, tapes: list[Cassette], rows: list[Any], subjects: list[Any]) -> dict[str, Any]:
    """V2, V3: one word for all cassettes, and the findings in order, the decisive one first."""
    for tape in tapes:
        tape.found.update({code: tape.found.get(code, finding) for code, finding in shared.items()})
        for finding in tape.found.values() if len(tapes) > 1 else ():
            finding["message"] = f"{tape.name}: {finding['message']}"
    found = sorted((tape.found for tape in tapes), key=lambda one: list(EXITS).index(one.word())) or [shared]
    word, merged = found[0].word(), Findings()
    for one in found:
        merged = Findings(one | merged)
    groups = [GROUPS[word], "E", "F", "U"]
    order = sorted(merged, key=lambda code: (groups.index(RULES[code][0]), list(RULES).index(code)))
    return {
        "schema": "provtape/report/1",
        "verdict": word,
        "exit": EXITS[word],
        "findings": [merged[code] for code in order],
        "facts": {"cassettes": rows, "subjects": subjects},
    }


def clean(value: Any) -> Any:
    """V9: a value as it may be printed."""
    if isinstance(value, str):
        hidden = ("Cc", "Cf", "Cs", "Co", "Zl", "Zp")
        return "".join(f"\\u{{{ord(c):x}}}" if unicodedata.category(c) in hidden else c for c in value)
    if isinstance(value, dict):
        return {clean(name): clean(part) for name, part in value.items()}
    return [clean(part) for part in value] if isinstance(value, list) else value


def sentence(row: Any) -> str:
    """The facts of one cassette in one line."""
    said = [
        f"{row['interactions']} interactions in {row['records']} records",
        "sealed" if row["sealed"] else "not sealed",
    ]
    said += [f"{row['withheld']} withheld, by whoever made this file"] * bool(row["withheld"]) + [
        f"origin {row['origin']}"
    ]
    for key in row["covers"]:
        signed = " and signed the manifest" * key["manifest"]
        said.append(
            f"{key['name'] or 'key'} ({key['fingerprint']}) covers the first {key['records']}{signed}"
        )
    said += [f"{row['strangers']} signature lines by keys that nobody named"] * bool(row["strangers"])
    for run in row["runs"]:
        code = run["code"] and f"commit {run['code']['commit']}{' dirty' * run['code']['dirty']}"
        enclosed = "enclosed" if run["enclosed"] else "not enclosed"
        said.append(
            f"run {run['record']}: {run['interactions']} interactions, {code or 'no commit'}, {enclosed}"
        )
    said += [f"scrub {row['scrub']['name']} {row['scrub']['sha256'][:16]}"] if row["scrub"] else []
    return f"{row['name']}: " + "; ".join(
        said + [f"ignored in match keys: {pointer}" for pointer in row["ignore"]]
    )


def render(shown: Any) -> str:
    """The report for people: the word, the facts, the findings, the limits."""
    lines = [shown["verdict"], *map(sentence, shown["facts"]["cassettes"])]
    for finding in shown["findings"]:
        where = [finding["code"]] + [f"record {finding['record']}"] * (finding["record"] is not None)
        where += [f"byte {finding['offset']}"] * (finding["offset"] is not None)
        voice = "verifier: " * (RULES[finding["code"]][0] == "E")
        lines.append(f"{voice}{', '.join(where)}: {finding['message']}")
        lines += [f"  hint: {finding['hint']}"] * (finding["hint"] is not None)
    return "\n".join([*lines, LIMITS])


class Parser(argparse.ArgumentParser):
    """A parser that raises ValueError where the line can not be understood."""

    def error(self, message: str) -> NoReturn:
        """Raise it."""
        raise ValueError(message)


def understand(arguments: list[str]) -> Options:
    """The options; ValueError if the command line can not be understood."""
    parser = Parser(prog="verifier", add_help=False, allow_abbrev=False)
    parser.add_argument("cassette")
    for name in ("--pubkey", "--seen"):
        parser.add_argument(name, action="append", default=[])
    for name in ("--manifest", "--checkpoints", "--expect-origin", "--expect-commit", "--expect-records"):
        parser.add_argument(name)
    for name in ("--only", "--allow-withheld", "--json"):
        parser.add_argument(name, action="store_true")
    options = parser.parse_args(arguments)
    if not check("own")(_integer(options.expect_records or "0")):
        raise ValueError("--expect-records takes a number")
    return options


def main(arguments: list[str]) -> int:
    """Verify, print, and return the exit code; nothing but a verdict of FAILED ever returns 1."""
    if "--help" in arguments and "--json" not in arguments:
        print(__doc__)
        return 0
    shared = Findings()
    try:
        sys.set_int_max_str_digits(4300)  # whatever the environment says
        try:
            options = understand(arguments)
        except ValueError as reason:
            shared.make("usage", detail=f": {reason}")
        result = report(shared, [], [], []) if shared else verify(options)
        rows = [
            (key["manifest"], row["sealed"]) for row in result["facts"]["cassettes"] for key in row["covers"]
        ]
        if result["exit"] == 0 and (True, True) not in rows:
            raise RuntimeError("a check was passed over")
    except BaseException as reason:
        shared.make("internal", detail=f": {type(reason).__name__}")
        result = report(shared, [], [], [])
    try:
        shown = clean(result)
        text = json.dumps(shown) if "--json" in arguments else render(shown)
        sys.stdout.write(
            text.encode(sys.stdout.encoding or "ascii", "backslashreplace").decode(sys.stdout.encoding) + "\n"
        )
        sys.stdout.flush()
    except BaseException:
        return 2
    return int(result["exit"])


if __name__ == "__main__":
    os._exit(
        main(sys.argv[1:])
    )  # not sys.exit: a stdout that can not be flushed would make another exit code
