"""What is said when a request has no answer, and what is remembered of it until the session ends.

Decides the words. One line names the key, the nearest record and the places that differ; the words that changed, from scrubbed
texts, stand in a note below it. Does not decide that it is a miss (`decide`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from provtape.errors import Exhausted, Miss, Missed
from provtape.matching.nearest import Nearest

KEPT: Final = 20

_AGAIN: Final = (
    'record it (mode "auto" adds what is missing); name a member that changes each time in `ignore`'
)


@dataclass(frozen=True, slots=True)
class Missing:
    """A miss that is remembered.

    Attributes:
        message: One line, without content.
        detail: The difference, one line for each place; scrubbed texts.
    """

    message: str
    detail: tuple[str, ...] = ()

    def note(self) -> str:
        """The detail as a note below an exception."""
        return "\n".join(f"  {line}" for line in self.detail)


def unknown(name: str, kind: str, key: str, near: Nearest | None, loaded: int) -> tuple[Miss, Missing]:
    """A request that was never recorded.

    Args:
        name: The cassette's file name.
        kind: The request's kind.
        key: The key that was looked up.
        near: The nearest recorded request, if there is any to compare with.
        loaded: How many interactions the cassette holds.
    """
    said = near.line() if near else _nothing_near(kind, loaded)
    message = f"{name}: no recorded {kind} request has the key {key}; {said}"
    missing = Missing(message, tuple(change.line() for change in near.changes) if near else ())
    return _noted(Miss(message, _AGAIN), missing), missing


def used_up(name: str, key: str, recorded: int, asked: int, seq: int) -> tuple[Miss, Missing]:
    """A request that was recorded, but not as often as it was asked.

    Args:
        name: The cassette's file name.
        key: Its key.
        recorded: How often it was recorded.
        asked: How often it was asked for, this time included.
        seq: The last record that answered it.
    """
    times = "once" if recorded == 1 else f"{recorded} times"
    message = f"{name}: recorded {times} (last in record {seq}), call {asked} asked for: key {key}"
    hint = "record again with as many calls, or open the session with repeat=True"
    missing = Missing(message)
    return Exhausted(message, hint), missing


def missed(name: str, count: int, remembered: Sequence[Missing]) -> Missed:
    """The error at the end of a session in which requests missed."""
    what = "1 request missed" if count == 1 else f"{count} requests missed"
    first = f"; first: {remembered[0].message}" if remembered else ""
    error = Missed(f"{name}: {what}{first}", _AGAIN)
    for missing in remembered:
        error.add_note("\n".join(filter(None, (missing.message, missing.note()))))
    return error


def _noted(error: Miss, missing: Missing) -> Miss:
    if missing.detail:
        error.add_note(missing.note())
    return error


def _nothing_near(kind: str, loaded: int) -> str:
    if not loaded:
        return "nothing at all is recorded in it"
    return f"no {kind} request is recorded around here to compare it with"
