"""A cassette as text for people: one line for each record, or one record whole.

Decides what of a record is worth a line. Everything shown is content of a hostile file and passes `printable`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from provtape.cassette.reader import lines, open_regular
from provtape.errors import FormatError, InputError
from provtape.format import chain, strict
from provtape.format.printable import printable

_WIDTH: Final = 60


def listing(cassette: Path) -> Iterator[str]:
    """One line for each record: number, type, what was asked, what came."""
    with open_regular(cassette) as file:
        for number, (_, line) in enumerate(lines(file)):
            yield f"{number:>5}  {_line(line)}"


def one(cassette: Path, number: int) -> Iterator[str]:
    """One record, its members on lines of their own and its texts unfolded.

    Raises:
        InputError: There is no such record.
        FormatError: It is not readable as JSON.
    """
    with open_regular(cassette) as file:
        for place, (_, line) in enumerate(lines(file)):
            if place == number and line.endswith(b"\n"):
                yield from _whole(strict.parse(line), 0)
                return
    raise InputError(f"{cassette.name} has no record {number}", "`provtape show` without a number lists them")


def _line(line: bytes) -> str:
    start = chain.start(line)
    if not line.endswith(b"\n"):
        return f"torn tail of {len(line)} bytes"
    if start is None:
        return "withheld" if chain.withheld(line) else "not a record"
    try:
        record = strict.parse(line)
    except FormatError as error:
        return f"{start.type:<12} not readable: {error.message}"
    return f"{start.type:<12} {_summary(start.type, record)}" if isinstance(record, dict) else "not a record"


def _summary(type_: str, record: dict[str, object]) -> str:
    if type_ == "open":
        return f"{_short(record.get('prefix'))}  {_short(record.get('created'))}"
    if type_ == "run":
        code, command = record.get("code"), record.get("command")
        commit = str(code.get("commit"))[:12] if isinstance(code, dict) else "no code"
        return f"{commit}  {_short(' '.join(map(str, command)) if isinstance(command, list) else None)}"
    if type_ == "end":
        return _short(record.get("closed"))
    return (
        f"{_short(record.get('kind')):<5} {_asked(record.get('request'))} → {_came(record.get('response'))}"
    )


def _asked(request: object) -> str:
    if not isinstance(request, dict):
        return "?"
    first = request.get("model", request.get("name", request.get("method")))
    second = request.get("prompt", request.get("arguments", request.get("url")))
    return f"{_short(first, 20)}  {_short(second)}"


def _came(response: object) -> str:
    if not isinstance(response, dict):
        return "?"
    if "status" in response:
        return f"{_short(response['status'])} {_short(response.get('ended'))}"
    return _short(response.get("output", response.get("result", {"error": response.get("error")})))


def _short(value: object, width: int = _WIDTH) -> str:
    if value is None:
        return "-"
    text = value if isinstance(value, str) else strict.dumps(value).decode()
    text = " ".join(text.split())
    return printable(text if len(text) <= width else text[: width - 1] + "…")


def _whole(value: object, depth: int) -> Iterator[str]:
    """Nested values, two blanks a level; text with line breaks stands on lines of its own."""
    pad = "  " * depth
    if isinstance(value, dict) and value:
        for name, child in value.items():
            yield from _member(f"{pad}{printable(name)}:", child, depth)
    elif isinstance(value, list) and value:
        for child in value:
            yield from _member(f"{pad}-", child, depth)
    else:
        yield f"{pad}{_scalar(value)}"


def _member(head: str, child: object, depth: int) -> Iterator[str]:
    if isinstance(child, dict | list) and child:
        yield head
        yield from _whole(child, depth + 1)
    elif isinstance(child, str) and "\n" in child and not isinstance(child, strict.Number):
        yield f"{head} |"
        yield from (f"{'  ' * (depth + 1)}{printable(line)}" for line in child.split("\n"))
    else:
        yield f"{head} {_scalar(child)}"


def _scalar(value: object) -> str:
    if isinstance(value, str):
        return printable(value)
    return printable(json.dumps(value))
