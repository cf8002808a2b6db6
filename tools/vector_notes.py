"""notes.json: checkpoint files beside the `intact/plain` cassette, and the codes that each gets."""

from __future__ import annotations

from collections.abc import Iterator

from vector_evidence import DASH, checkpoints, note, note_line, note_text, signed
from vector_keys import ALICE, MALLORY, RIG, Signer, key_id, signer
from vector_stories import other, plain
from vector_text import Json, b64

RUN = plain()


TEXT = note_text(RUN.origin, 6, RUN.root(6))


GOOD = note(RUN, 6)


LINE = GOOD.rpartition(b"\n\n")[2]


HEAD = TEXT + b"\n"


def _line(name: str, body: bytes | str) -> bytes:
    return f"{DASH} {name} {body if isinstance(body, str) else b64(body)}\n".encode()


def _by(one: Signer, text: bytes = TEXT, name: str | None = None) -> bytes:
    name = name or one.name
    return note_line(name, key_id(name, one.public), one.sign(text))


def _number(number: str) -> bytes:
    """A well-signed note with another number line."""
    return signed(note_text(RUN.origin, number, RUN.root(6)), (ALICE,))


def good_notes() -> Iterator[tuple[str, str, bytes]]:
    """Name, rule, file: no finding about them."""
    sixteen = [signer(f"rig.example/r{number}") for number in range(15)]
    yield "one note", "N1", GOOD
    yield "three notes", "N1", checkpoints(RUN)
    yield "two notes over one number", "N1", GOOD + GOOD
    yield "sixteen lines", "N1", note(RUN, 6, ALICE, *sixteen)
    yield "a line of five bytes", "N1", HEAD + LINE + _line("rig.example/other", b"\x01\x02\x03\x04\x05")
    yield "a line of a thousand bytes", "N1", HEAD + LINE + _line("rig.example/other", bytes(1000))
    yield "a name of one letter", "N3", HEAD + _by(RIG, name="r") + LINE
    yield "a name of 255 bytes", "N3", HEAD + _by(RIG, name="r" * 255) + LINE
    yield "a name with all characters", "N3", HEAD + LINE + _by(RIG, name="a-0.z/A.~_-9/b")
    yield "one name, two keys", "N5", HEAD + LINE + _by(RIG, name=ALICE.name)
    yield "one key, two names", "N7", HEAD + LINE + _by(ALICE, name="lab.example/alice-2")
    yield "a stranger's line that does not verify", "N6", HEAD + LINE + _by(RIG, b"other\n")


def bad_notes() -> Iterator[tuple[str, str, bytes, str]]:
    """Name, rule, file, the one code."""
    form, forged, renamed = "checkpoint.form", "checkpoint.signature", "checkpoint.id"
    origin, root = RUN.origin.encode(), b64(RUN.root(6)).encode()
    body = key_id(ALICE.name, ALICE.public) + ALICE.sign(TEXT)
    seventeen = [signer(f"rig.example/r{number}") for number in range(16)]
    upper = RUN.origin[:-64] + RUN.origin[-64:].upper()
    odd = HEAD + b"\xe2\x80\x93" + LINE[3:]
    yield "an empty file", "N1", b"", form
    yield "a line feed alone", "N1", b"\n", form
    yield "a word before the note", "N1", b"notes\n" + GOOD, form
    yield "an empty line between notes", "N1", GOOD + b"\n" + GOOD, form
    yield "a fourth line of text", "N1", signed(TEXT + b"more\n", (ALICE,)), form
    yield "no line", "N1", HEAD, form
    yield "seventeen lines", "N1", note(RUN, 6, ALICE, *seventeen), form
    yield "the last line feed is missing", "N1", GOOD[:-1], form
    yield "a hyphen in place of the dash", "N1", HEAD + b"-" + LINE[3:], form
    yield "a shorter dash", "N1", odd, form
    yield "two blanks after the dash", "N1", GOOD.replace(DASH.encode() + b" ", DASH.encode() + b"  "), form
    yield "a blank at the end of a line", "N1", GOOD[:-1] + b" \n", form
    yield "number 0", "N1", _number("0"), form
    yield "number with a leading zero", "N1", _number("06"), form
    yield "number with a sign", "N1", _number("+6"), form
    yield "number 2^53", "N1", _number("9007199254740992"), form
    yield "leaf in upper case", "N1", signed(note_text(upper, 6, RUN.root(6)), (ALICE,)), form
    yield "leaf of 63 digits", "N1", signed(note_text(RUN.origin[:-1], 6, RUN.root(6)), (ALICE,)), form
    yield "root of 31 bytes", "N1", signed(note_text(RUN.origin, 6, RUN.root(6)[:31]), (ALICE,)), form
    yield "root of 33 bytes", "N1", signed(note_text(RUN.origin, 6, RUN.root(6) + b"\x00"), (ALICE,)), form
    yield (
        "root with bits to spare",
        "N1",
        GOOD.replace(b"0=\n", b"1=\n", 1) if b"0=\n" in GOOD else _spare(GOOD, root),
        form,
    )
    yield "root without padding", "N1", GOOD.replace(root, root[:-1]), form
    yield "a line of four bytes", "N1", HEAD + LINE + _line("rig.example/other", b"\x01\x02\x03\x04"), form
    yield "a line in base64url", "N1", HEAD + LINE + _line("rig.example/other", "_-_-_-_-"), form
    yield "a line without padding", "N1", HEAD + LINE + _line("rig.example/other", "AQIDBAU"), form
    yield "a line with bits to spare", "N1", HEAD + LINE + _line("rig.example/other", "AQIDBAV="), form
    yield (
        "a prefix in upper case",
        "N3",
        signed(note_text("Lab" + RUN.origin[3:], 6, RUN.root(6)), (ALICE,)),
        form,
    )
    yield "a name in upper case", "N3", HEAD + LINE + _by(RIG, name="Rig.example"), form
    yield "a name with an empty segment", "N3", HEAD + LINE + _by(RIG, name="rig.example//a"), form
    yield "a name of 256 bytes", "N3", HEAD + LINE + _by(RIG, name="r" * 256), form
    yield "one line twice", "N5", HEAD + LINE + LINE, form
    yield "one name and id, two signatures", "N5", HEAD + LINE + _line(ALICE.name, body[:-1] + b"\x00"), form
    yield "all lines end in CR LF", "N1", GOOD.replace(b"\n", b"\r\n"), "checkpoint.crlf"
    yield "one line ends in CR LF", "N1", GOOD[:-1] + b"\r\n", "checkpoint.crlf"
    yield "a signature of 63 bytes", "N6", HEAD + _line(ALICE.name, body[:-1]), forged
    yield "a signature of another text", "N6", HEAD + _by(ALICE, b"other\n"), forged
    yield (
        "a signature of the text with its empty line",
        "N6",
        HEAD + note_line(ALICE.name, body[:4], ALICE.sign(HEAD)),
        forged,
    )
    yield (
        "a signature of another key",
        "N6",
        HEAD + note_line(ALICE.name, body[:4], MALLORY.sign(TEXT)),
        forged,
    )
    yield "another name", "N7", HEAD + _line("lab.example/carol", body), renamed
    yield "another id", "N7", HEAD + _line(ALICE.name, b"\x00\x00\x00\x01" + body[4:]), renamed
    yield "another origin", "N8", note(other(), 6), "checkpoint.origin"
    yield "another root", "N8", signed(note_text(RUN.origin, 6, RUN.root(5)), (ALICE,)), "checkpoint.root"
    yield (
        "a greater number",
        "N8",
        signed(note_text(RUN.origin, 7, RUN.root(6)), (ALICE,)),
        "checkpoint.records",
    )
    yield (
        "another root, by a stranger",
        "N8",
        GOOD + signed(note_text(RUN.origin, 4, RUN.root(6)), (MALLORY,)),
        "checkpoint.root",
    )
    yield "the beginning of a note, in a sealed cassette", "N9", GOOD + origin[:9], form


def _spare(text: bytes, root: bytes) -> bytes:
    """The root with one of the two unused bits of its last character set."""
    alphabet = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
    last = alphabet.index(root[-2])
    return text.replace(root, root[:-2] + alphabet[last + 1 : last + 2] + b"=")


def notes_file() -> list[Json]:
    """Rows of notes.json; `codes` are all `checkpoint.*` findings with Alice's vkey named."""
    rows: list[Json] = [
        {"name": name, "rule": rule, "codes": [], "base64": b64(data)} for name, rule, data in good_notes()
    ]
    for name, rule, data, code in bad_notes():
        rows.append({"name": name, "rule": rule, "codes": [code], "base64": b64(data)})
    return rows
