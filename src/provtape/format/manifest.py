"""The signed statement about cassettes and files (spec M6 to M9; in-toto Statement v1).

Decides which members a payload has and how one is built. Whether it agrees with the files is `verify`'s matter.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from provtape.errors import FormatError
from provtape.format import strict
from provtape.format.forms import (
    Object,
    check_code,
    is_count,
    is_hex64,
    is_origin,
    is_str,
    is_strings,
    is_time,
    members,
)

STATEMENT: Final = "https://in-toto.io/Statement/v1"
PREDICATE: Final = "urn:provtape:manifest:v1"
MAX_SUBJECT: Final = 255
_SUBJECT: Final = re.compile(r"[A-Za-z0-9._-]+(?:/[A-Za-z0-9._-]+)*")


@dataclass(frozen=True, slots=True)
class Subject:
    """A file that the manifest binds: its name below the manifest's folder and the SHA-256 of its bytes, in hex."""

    name: str
    sha256: str


@dataclass(frozen=True, slots=True)
class Entry:
    """What the manifest says of one cassette (spec M8); `root` in hex, `code` and `scrub` as JSON values."""

    name: str
    origin: str
    records: int
    root: str
    code: object
    scrub: Object

    def members(self) -> Object:
        """The value in `predicate.cassettes`, its names in order."""
        return {
            "name": self.name,
            "origin": self.origin,
            "records": self.records,
            "root": self.root,
            "code": self.code,
            "scrub": self.scrub,
        }


@dataclass(frozen=True, slots=True)
class Manifest:
    """A payload that holds its form: the bound files, cassettes first, and one entry for each cassette."""

    subjects: tuple[Subject, ...]
    cassettes: tuple[Entry, ...]

    def entry(self, origin: str) -> Entry | None:
        """The entry of the cassette with this origin; names of files decide nothing."""
        return next((entry for entry in self.cassettes if entry.origin == origin), None)

    def subject(self, name: str) -> Subject:
        """The subject with this name."""
        return next(subject for subject in self.subjects if subject.name == name)


def is_subject_name(name: str) -> bool:
    """Whether a name may stand in a manifest (spec M7): ASCII segments, none empty, `.` or `..`."""
    segments = name.split("/")
    return len(name) <= MAX_SUBJECT and bool(_SUBJECT.fullmatch(name)) and not {".", ".."} & set(segments)


def parse(payload: bytes) -> Manifest:
    """Read the payload of an envelope.

    Raises:
        FormatError: Code `manifest.form`; the message names the member.
    """
    try:
        return _statement(strict.read(payload))
    except FormatError as error:
        raise FormatError(f"manifest: {error.message}", "manifest.form") from None


def statement(
    subjects: Sequence[Subject], cassettes: Sequence[Entry], *, recorder: str, created: str
) -> Object:
    """The value of a payload, names in order, without inputs, steps and claims."""
    return {
        "_type": STATEMENT,
        "subject": [{"name": subject.name, "digest": {"sha256": subject.sha256}} for subject in subjects],
        "predicateType": PREDICATE,
        "predicate": {
            "cassettes": [entry.members() for entry in cassettes],
            "inputs": [],
            "steps": [],
            "claims": [],
            "recorder": recorder,
            "created": created,
        },
    }


def _statement(value: object) -> Manifest:
    top = members(value, ("_type", "subject", "predicateType", "predicate"), "the statement")
    _need(top["_type"] == STATEMENT and top["predicateType"] == PREDICATE, "_type or predicateType")
    subjects = tuple(_subject(row) for row in _rows(top["subject"], "subject"))
    _need(
        len({subject.name.lower() for subject in subjects}) == len(subjects), "subject: a name stands twice"
    )
    predicate = members(
        top["predicate"], ("cassettes", "inputs", "steps", "claims", "recorder", "created"), "predicate"
    )
    entries = tuple(_entry(row) for row in _rows(predicate["cassettes"], "cassettes"))
    _need(bool(entries), "cassettes: none")
    _need(len({entry.origin for entry in entries}) == len(entries), "cassettes: an origin stands twice")
    first = tuple(subject.name for subject in subjects[: len(entries)])
    _need(first == tuple(entry.name for entry in entries), "subject: the cassettes are not the first")
    _lists(predicate)
    _need(is_str(predicate["recorder"]) and is_time(predicate["created"]), "recorder or created")
    return Manifest(subjects, entries)


def _subject(row: object) -> Subject:
    subject = members(row, ("name", "digest"), "subject")
    digest = members(subject["digest"], ("sha256",), "digest")
    _need(is_str(subject["name"]) and is_subject_name(str(subject["name"])), "subject.name")
    _need(is_hex64(digest["sha256"]), "digest.sha256")
    return Subject(str(subject["name"]), str(digest["sha256"]))


def _entry(row: object) -> Entry:
    entry = members(row, ("name", "origin", "records", "root", "code", "scrub"), "cassettes")
    records = entry["records"]
    _need(is_str(entry["name"]) and is_origin(entry["origin"]), "cassettes: name or origin")
    if not isinstance(records, int) or not is_count(records) or records == 0:
        raise _wrong("cassettes.records")
    _need(is_hex64(entry["root"]), "cassettes.root")
    check_code(entry["code"], "cassettes.code")
    scrub = members(entry["scrub"], ("name", "sha256"), "cassettes.scrub")
    _need(is_str(scrub["name"]) and is_hex64(scrub["sha256"]), "cassettes.scrub")
    return Entry(str(entry["name"]), str(entry["origin"]), records, str(entry["root"]), entry["code"], scrub)


def _lists(predicate: Object) -> None:
    """Inputs, steps and claims are checked for form; `reproduce` gives them meaning."""
    for row in _rows(predicate["inputs"], "inputs"):
        _strings(members(row, ("name", "from"), "inputs"), ("name", "from"))
    for row in _rows(predicate["steps"], "steps"):
        step = members(row, ("id", "argv", "cwd", "cassettes", "writes"), "steps")
        _strings(step, ("id", "cwd"))
        _need(all(is_strings(step[name]) for name in ("argv", "cassettes", "writes")), "steps")
    for row in _rows(predicate["claims"], "claims"):
        claim = members(row, ("id", "text", "file", "pointer", "value", "tolerance", "steps"), "claims")
        _strings(claim, ("id", "text", "file", "pointer"))
        _need(is_strings(claim["steps"]), "claims.steps")


def _rows(value: object, where: str) -> list[object]:
    if not isinstance(value, list):
        raise _wrong(where)
    return value


def _strings(value: Object, names: tuple[str, ...]) -> None:
    for name in names:
        _need(is_str(value[name]), name)


def _need(condition: bool, where: str) -> None:
    if not condition:
        raise _wrong(where)


def _wrong(where: str) -> FormatError:
    return FormatError(f"{where} is not as the format says", "manifest.form")
