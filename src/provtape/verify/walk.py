"""The cassette read in order, record by record (spec C1 to C22, V4): the exact, careful road.

Decides which findings the records themselves give, and what a verdict needs to know of them. Bytes come in as lines; no file is
opened. `scan` takes the fast road first and comes here when anything at all is out of the ordinary.
"""

from __future__ import annotations

from array import array
from dataclasses import dataclass, field

from provtape.errors import FormatError
from provtape.format import chain, checkpoint, strict
from provtape.format.record import Object, check_record
from provtape.format.tree import Roots
from provtape.format.verdict import Finding

_CRLF_HINT = "git or an editor converted line endings; take the file as published and keep `*.jsonl -text` in .gitattributes"


@dataclass(slots=True)
class Run:
    """A `run` record and how many interactions stand under it."""

    record: int
    members: Object
    interactions: int = 0

    @property
    def code(self) -> object:
        """The value of `code`: null or uri, commit, tree, dirty."""
        return self.members["code"]


@dataclass(slots=True)
class Tally:
    """What a cassette holds, gathered in one pass; memory grows with its runs only."""

    roots: Roots
    opening: Object | None = None
    first_leaf: bytes = b""
    last_leaf: bytes = b""
    runs: list[Run] = field(default_factory=list)
    end: int | None = None
    last_end: int | None = None
    interactions: int = 0
    withheld: int = 0
    first_withheld: int | None = None

    @property
    def records(self) -> int:
        """The number of complete records so far."""
        return self.roots.size

    @property
    def sealed(self) -> bool:
        """Whether the last record is the first `end`."""
        return self.end is not None and self.end == self.records - 1

    @property
    def ends_with_end(self) -> bool:
        """Whether the last record is an `end`, be it the first or not (spec M10)."""
        return self.last_end is not None and self.last_end == self.records - 1

    @property
    def origin(self) -> str | None:
        """The origin (spec N2), or None while record 0 does not hold."""
        if self.opening is None:
            return None
        return checkpoint.origin(str(self.opening["prefix"]), self.first_leaf)

    def leaves(self, leaves: bytes) -> None:
        """Add the leaves of the next records, 32 bytes each."""
        if not leaves:
            return
        if not self.records:
            self.first_leaf = leaves[:32]
        self.last_leaf = leaves[-32:]
        self.roots.extend(leaves)

    def special(self, record: int, type_: str, value: Object) -> None:
        """Take note of an `open`, `run` or `end` that holds its form."""
        if type_ == "open" and record == 0:
            self.opening = value
        elif type_ == "run":
            self.runs.append(Run(record, value))
        elif type_ == "end":
            self.end = record if self.end is None else self.end
            self.last_end = record

    def count(self, interactions: int) -> None:
        """Add interactions under the last run."""
        self.interactions += interactions
        if self.runs:
            self.runs[-1].interactions += interactions

    def withhold(self, record: int) -> None:
        """Take note of a withheld line (spec C22); it stands for an interaction."""
        self.withheld += 1
        if self.first_withheld is None:
            self.first_withheld = record
        self.count(1)


@dataclass(frozen=True, slots=True)
class Scan:
    """What the records of a cassette say: the input of `checks`.

    Attributes:
        tally: Counts, runs, roots.
        complete: Bytes of the complete records.
        tail: Bytes of the torn tail.
        sha256: Hex digest of the whole file.
        findings: What the records themselves gave.
    """

    tally: Tally
    complete: int
    tail: int
    sha256: str
    findings: tuple[Finding, ...]


class Walk:
    """Takes a cassette's lines in order and makes the findings of V4 as it goes."""

    def __init__(self, tally: Tally) -> None:
        self.tally = tally
        self.findings: list[Finding] = []
        self._numbers = array("Q")
        self._starts = True
        self._broken = False
        self._offset = 0
        self._after: tuple[int, int] | None = None
        self._moved: tuple[int, int] | None = None

    def line(self, offset: int, line: bytes) -> None:
        """Take the next complete record, LF included."""
        record, tally = self.tally.records, self.tally
        if line.endswith(b"\r\n"):
            self._add("record.crlf", f"record {record} ends in CR LF", record, offset, _CRLF_HINT)
        if tally.end is not None and self._after is None:
            self._after = (record, offset)
        withheld = chain.withheld(line) if record > 1 else None
        leaf = chain.leaf(line) if withheld is None else withheld
        if withheld is None:
            self._record(record, offset, line)
        else:
            self._numbers.append(record)
            tally.withhold(record)
        if self._moved is None and self._numbers[-1:] != array("Q", [record]):
            self._moved = (record, offset)
        tally.leaves(leaf)

    def result(self, tail: int, sha256: str, complete: int) -> Scan:
        """The whole, once the last line was taken.

        Args:
            tail: Bytes after the last LF.
            sha256: Hex digest of the whole file.
            complete: Bytes of the complete records.
        """
        if tail and self.tally.end is not None and self._after is None:
            self._after = (self.tally.records, complete)
        if self._after is not None:
            hint = "take the sealed cassette as published; to go on after `end`, start a new one"
            message = f"something follows record {self.tally.end}, which is `end`"
            self._add("record.after-end", message, *self._after, hint)
        if not self.tally.records:
            self._add("cassette.empty", "there is no complete record", 0, 0, "take the cassette as published")
        if self._starts:
            self._order()
        return Scan(self.tally, complete, tail, sha256, tuple(self.findings))

    def _record(self, record: int, offset: int, line: bytes) -> None:
        start = chain.start(line)
        if start is None:
            self._starts = False
            message = f"record {record} does not start as a record does"
            self._add(
                "record.start", message, record, offset, "the line was edited or is no record; see spec C3"
            )
            return
        self._numbers.append(start.seq)
        if start.type == "interaction":
            self.tally.count(1)
        elif start.type == "end":
            self.tally.special(record, "end", {})
        if not self._broken or start.type in ("open", "run"):
            self._content(record, offset, line, start)

    def _content(self, record: int, offset: int, line: bytes, start: chain.Start) -> None:
        """The first rule of V4 that this record breaks; after the first in the cassette, only what `open` and `run` say."""
        expected = self.tally.last_leaf.hex() if record else chain.GENESIS
        fault, value = None, None
        if start.prev != expected.encode():
            fault = FormatError(_link_message(record), "chain.prev", _link_hint(record))
        try:
            value = check_record(start.type, strict.read(line[:-1]))
        except FormatError as error:
            fault = fault or FormatError(f"record {record}: {error.message}", error.code)
        if not fault and ((start.type == "open") != (record == 0) or (record == 1 and start.type != "run")):
            message = f"record {record}: a record of type {start.type} may not stand here"
            fault = FormatError(
                message, "record.place", "record 0 is `open`, record 1 is `run`; see spec C10"
            )
        if value is not None and (start.type == "run" or (start.type == "open" and not fault)):
            self.tally.special(record, start.type, value)
        if fault and not self._broken:
            self._broken = True
            hint = fault.hint or "the record was changed or badly written"
            self._add(fault.code, fault.message, record, offset, hint)

    def _order(self) -> None:
        numbers = self._numbers
        if self._moved is None:
            return
        wrong, offset = self._moved
        attack = _attack(numbers)
        message = f"record {wrong} is numbered {numbers[wrong]}"
        hints = {
            "swap": "records were reordered",
            "insert": "a record stands twice",
            "drop": "a record is missing",
        }
        self.findings.append(Finding("record.seq", message, hints[attack], wrong, offset, attack))

    def _add(self, code: str, message: str, record: int, offset: int, hint: str) -> None:
        self.findings.append(Finding(code, message, hint, record, offset))


def _attack(numbers: array[int]) -> str:
    ordered = array("Q", sorted(numbers))
    if all(place == number for place, number in enumerate(ordered)):
        return "swap"
    twice = any(ordered[place] == ordered[place + 1] for place in range(len(ordered) - 1))
    return "insert" if twice else "drop"


def _link_message(record: int) -> str:
    if record == 0:
        return "record 0: `prev` is not 64 zeros"
    return f"record {record}: `prev` is not the leaf of record {record - 1}"


def _link_hint(record: int) -> str:
    return (
        "something stood before it"
        if record == 0
        else f"record {record - 1} was changed, or the link on record {record}"
    )
