"""Attacks on a published cassette, as somebody who has the files, provtape and a key of their own could make them.

Decides what each attack does to a copy, and which word both verifiers must say of it. Nothing here sees the signer's private key:
an attack gets one folder, the copy. Does not run a verifier (`tour`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from provtape.cassette.notes import Signer
from provtape.errors import InputError
from provtape.format.chain import Chain, start
from provtape.format.keys import PublicKey
from provtape.provenance import keyfile
from provtape.signing import sign

CASSETTE: Final = "run.jsonl"
EVIDENCE: Final = (f"{CASSETTE}.ckpt", f"{CASSETTE}.intoto.jsonl")
RESULT: Final = "scores.json"
SCRIPT: Final = "bench.py"
FORGED_KEY: Final = "mallory.key"
NAME: Final = "demo.example/alice"

_ANSWER: Final = re.compile(rb'"response":\{"output":"((?:[^"\\]|\\.)*)"\}')
_LETTER: Final = re.compile(rb'"response":\{"output":"(?:[^"\\A-Za-z0-9]|\\.)*([A-Za-z0-9])')
_INVENTED: Final = b"An answer that no model gave."
_QUESTION: Final = ("capital of France", "capital of Italy")


@dataclass(frozen=True, slots=True)
class Attack:
    """An attack, and what must be said of it.

    Attributes:
        name: Its folder's name.
        title: A few words.
        story: What is done to the copy, in one sentence.
        make: Does it to the copy in this folder.
        word: What both verifiers must say.
        named: The name that both must give it; None where the cassette itself is untouched.
    """

    name: str
    title: str
    story: str
    make: Callable[[Path], None]
    word: str
    named: str | None

    @property
    def is_forgery(self) -> bool:
        """Whether the published files were changed, so that VERIFIED would be a defeat."""
        return self.named is not None


def flip_byte(folder: Path) -> None:
    """Flip one bit of one byte in a recorded answer.

    Raises:
        InputError: No answer has a letter or digit.
    """
    path = folder / CASSETTE
    data = bytearray(path.read_bytes())
    found = _LETTER.search(data)
    if found is None:
        raise InputError(f"{CASSETTE}: no answer has a letter to change")
    place = found.start(1)
    data[place] ^= (
        0x20 if data[place] >= ord("A") else 0x01
    )  # the other case of a letter, the digit beside a digit
    path.write_bytes(data)


def rechain(folder: Path) -> None:
    """Replace an answer, then compute every link after it again, so that the chain holds.

    Raises:
        InputError: There is no answer to replace.
    """
    path = folder / CASSETTE
    records = _records(path)
    answers = ((number, _ANSWER.search(record)) for number, record in enumerate(records))
    number, found = next(((number, found) for number, found in answers if found), (0, None))
    if found is None:
        raise InputError(f"{CASSETTE}: no answer to replace")
    records[number] = records[number][: found.start(1)] + _INVENTED + records[number][found.end(1) :]
    path.write_bytes(b"".join(_chained(records)))


def resign(folder: Path) -> None:
    """Replace an answer, compute the links again, throw the evidence away and sign with another key under the author's name.

    Raises:
        InputError: There is no answer to replace.
        KeyRefused: The new key can not be made here.
        SigningError: It can not be signed.
    """
    rechain(folder)
    for name in EVIDENCE:
        (folder / name).unlink()
    keyfile.generate(folder / FORGED_KEY, NAME)
    private = keyfile.load(folder / FORGED_KEY)
    forger = Signer(NAME, PublicKey(private.public, NAME), private.sign)
    sign(folder / CASSETTE, forger, [folder / RESULT], clock=lambda: datetime.now(UTC))


def cut(folder: Path) -> None:
    """Cut off the end and the last answer, at a line's end, so that nothing looks torn."""
    path = folder / CASSETTE
    path.write_bytes(b"".join(_records(path)[:-2]))


def change_prompt(folder: Path) -> None:
    """Change a question in the script, and leave the cassette alone.

    Raises:
        InputError: The script has no such question.
    """
    path = folder / SCRIPT
    text = path.read_text("utf-8")
    if text.count(_QUESTION[0]) != 1:
        raise InputError(f"{SCRIPT}: the question to change is not there")
    path.write_text(text.replace(*_QUESTION), "utf-8")


ATTACKS: Final[tuple[Attack, ...]] = (
    Attack(
        "byte",
        "one byte",
        "One bit of one letter in a recorded answer is flipped.",
        flip_byte,
        "FAILED",
        "edit",
    ),
    Attack(
        "rechained",
        "edited and chained again",
        "An answer is replaced and every link after it computed again: the chain holds.",
        rechain,
        "FAILED",
        "rechain",
    ),
    Attack(
        "resigned",
        "signed by somebody else",
        "The same, and then signed as a whole with a forger's key, under the author's name.",
        resign,
        "UNVERIFIED",
        "stranger",
    ),
    Attack(
        "cut",
        "the end cut off",
        "The last two records are removed, at a line's end: no half line is left.",
        cut,
        "FAILED",
        "truncate",
    ),
    Attack(
        "prompt",
        "another question",
        "bench.py asks about Italy instead of France; the cassette is untouched.",
        change_prompt,
        "VERIFIED",
        None,
    ),
)


def _records(path: Path) -> list[bytes]:
    return [record + b"\n" for record in path.read_bytes().split(b"\n")[:-1]]


def _chained(records: Sequence[bytes]) -> list[bytes]:
    chain, chained = Chain(), []
    for record in records:
        record = chain.link(_after_links(record))
        chain = chain.extend(record)
        chained.append(record)
    return chained


def _after_links(record: bytes) -> bytes:
    """A record from `"type"` on: what stands behind link and number."""
    if start(record) is None:
        raise InputError(f"{CASSETTE}: a record does not start as every record does")
    return record[record.index(b'"type":') :]
