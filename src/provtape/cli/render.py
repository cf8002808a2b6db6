"""What people read: a verdict in a few lines, characters that a terminal may show, a line of progress.

Decides words and order only. Everything shown may come from a hostile file, so it passes `printable`.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator, Mapping
from typing import Final, TextIO

from provtape.format.printable import printable
from provtape.format.verdict import Finding, Verdict

LIMITS: Final = (
    "limits: a signature shows that nothing changed since it was made, not that the answers are honest or the only ones; "
    "compare key and origin with the paper"
)
_COLOURS: Final = {"VERIFIED": "32", "FAILED": "31", "UNVERIFIED": "33", "ERROR": "31"}
_SHOWN: Final = 6


def colourful(stream: TextIO) -> bool:
    """Whether colour is wanted: a terminal, and no NO_COLOR."""
    return stream.isatty() and not os.environ.get("NO_COLOR")


def as_json(value: object) -> str:
    """One JSON object on one line, ASCII, as `--json` prints it; strings pass `printable` (spec V9)."""
    return json.dumps(_shown(value), ensure_ascii=True)


def _shown(value: object) -> object:
    if isinstance(value, dict):
        return {name: _shown(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_shown(item) for item in value]
    return printable(value) if isinstance(value, str) else value


def verdict_lines(verdict: Verdict, *, colour: bool = False) -> Iterator[str]:
    """A verdict as a reviewer reads it: the word, the facts, what was found, the limits.

    Args:
        verdict: What was decided.
        colour: Whether to colour the word (ANSI).
    """
    word = f"\x1b[1;{_COLOURS[verdict.word]}m{verdict.word}\x1b[0m" if colour else verdict.word
    cassettes = _rows(verdict.facts, "cassettes")
    attack = verdict.findings[0].attack if verdict.findings else None
    names = ", ".join(printable(str(row["name"])) for row in cassettes)
    yield "  ".join(part for part in (word, f"({attack})" if attack else "", names) if part)
    for row in cassettes:
        yield f"  {_facts(row, _rows(verdict.facts, 'subjects'))}"
        yield f"  {_named(row)}"
        yield from _runs(row)
    for finding in verdict.findings[:_SHOWN]:
        yield from _finding(finding)
    if len(verdict.findings) > _SHOWN:
        yield f"  and {len(verdict.findings) - _SHOWN} more, see --json"
    if verdict.word != "ERROR":
        yield f"  {LIMITS}"


def _finding(finding: Finding) -> Iterator[str]:
    places = (("record", finding.record), ("byte", finding.offset))
    place = ", ".join(f"{word} {value}" for word, value in places if value is not None)
    yield f"  - {printable(finding.message)} [{finding.code}{', ' + place if place else ''}]"
    if finding.hint:
        yield f"    {printable(finding.hint)}"


def _facts(row: Mapping[str, object], subjects: list[dict[str, object]]) -> str:
    """One line: how much, who covers what, code, scrubbing, enclosure, bound files."""
    counted = f"{_number(row['interactions'], 'interaction')} in {_number(row['records'], 'record')}"
    parts = [counted, "sealed" if row["sealed"] else "open"]
    if row["withheld"]:
        parts.append(f"{row['withheld']} withheld")
    parts += [_cover(key, int(str(row["records"]))) for key in _rows(row, "covers")]
    runs = _rows(row, "runs")
    if runs:
        parts += [
            "enclosed" if all(run["enclosed"] for run in runs) else "not enclosed",
        ]
    scrub = row["scrub"]
    if isinstance(scrub, dict):
        parts.append(f"scrubbed by rules `{printable(str(scrub['name']))}` ({str(scrub['sha256'])[:8]})")
    if row["ignore"]:
        parts.append(f"matching ignores {printable(', '.join(map(str, _list(row['ignore']))))}")
    if subjects:
        same = sum(subject["state"] == "same" for subject in subjects)
        parts.append(f"{same} of {_number(len(subjects), 'bound file')} as signed")
    return " · ".join(parts)


def _named(row: Mapping[str, object]) -> str:
    """What a paper names: the origin, and the commit."""
    runs = _rows(row, "runs")
    parts = (
        [f"origin {printable(str(row['origin']))}"]
        if row["origin"]
        else ["no origin: record 0 does not hold"]
    )
    return " · ".join([*parts, *([_codes(runs)] if runs else [])])


def _number(number: object, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def _cover(key: Mapping[str, object], records: int) -> str:
    name = printable(str(key["name"])) if key["name"] else f"key {str(key['fingerprint'])[:16]}"
    covered = int(str(key["records"]))
    if not covered:
        return f"{name} covers nothing"
    rest = f", {_number(records - covered, 'record')} in the uncovered tail" if covered < records else ""
    return f"{name} covers records 0 to {covered - 1}{rest}{', manifest' if key['manifest'] else ''}"


def _codes(runs: list[dict[str, object]]) -> str:
    states = {json.dumps(run["code"]) for run in runs}
    return _code(runs[-1]["code"]) if len(states) == 1 else f"{len(states)} states of code, see below"


def _code(code: object) -> str:
    if not isinstance(code, dict):
        return "no code named"
    return f"commit {code['commit']}{' (dirty)' if code['dirty'] else ''}"


def _runs(row: Mapping[str, object]) -> Iterator[str]:
    """When runs differ in code: which interactions stem from which."""
    runs = _rows(row, "runs")
    if len({json.dumps(run["code"]) for run in runs}) < 2:
        return
    for run in runs:
        yield f"  run at record {run['record']}: {_number(run['interactions'], 'interaction')}, {_code(run['code'])}"


def _rows(value: Mapping[str, object], name: str) -> list[dict[str, object]]:
    rows = value.get(name)
    return rows if isinstance(rows, list) else []


def _list(value: object) -> list[object]:
    return value if isinstance(value, list) else []


class Progress:
    """A percentage on a terminal, for what may last over a second; silent anywhere else."""

    def __init__(self, what: str, least: int = 64 * 1024 * 1024) -> None:
        self._what = what
        self._least = least
        self._shown = False

    def __call__(self, done: int, total: int) -> None:
        """Show how far it is; both in bytes."""
        if total >= self._least and sys.stderr.isatty():
            self._shown = True
            print(f"\r{self._what} {100 * done // total} %", end="", file=sys.stderr, flush=True)

    def end(self) -> None:
        """Clear the line."""
        if self._shown:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)
