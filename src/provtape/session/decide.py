"""What a request gets: a recorded answer, the live one, or a miss.

Decides from four values and nothing else. Does not decide which requests are the same (`matching`) and touches no file.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

Mode = Literal["record", "replay", "auto"]
MODES: Final[tuple[Mode, ...]] = ("record", "replay", "auto")


@dataclass(frozen=True, slots=True)
class Serve:
    """Give the answer that was recorded as number `n` for this key, counted from 0."""

    n: int


@dataclass(frozen=True, slots=True)
class Live:
    """Ask the model, and record its answer."""


@dataclass(frozen=True, slots=True)
class MissedRequest:
    """The request was never recorded."""


@dataclass(frozen=True, slots=True)
class UsedUp:
    """The request was recorded `recorded` times, and each of these answers was given away."""

    recorded: int


Decision = Serve | Live | MissedRequest | UsedUp


def decide(mode: Mode, recorded: int, asked: int, *, repeat: bool = False) -> Decision:
    """What the next request with one key gets (DESIGN: repeats).

    Args:
        mode: `record` always goes live, `replay` never does, `auto` only for what is not recorded.
        recorded: How many answers the cassette had for this key when the session began.
        asked: How often this key was asked for before in this session.
        repeat: In replay, begin again with the first answer when all were given.

    >>> decide("replay", recorded=2, asked=1)
    Serve(n=1)
    >>> decide("replay", recorded=2, asked=2)
    UsedUp(recorded=2)
    >>> decide("auto", recorded=2, asked=2)
    Live()
    """
    if mode == "record":
        return Live()
    if asked < recorded:
        return Serve(asked)
    if mode == "auto":
        return Live()
    if not recorded:
        return MissedRequest()
    return Serve(asked % recorded) if repeat else UsedUp(recorded)
