"""The members of the records that a session writes besides interactions: `open` and `run` (spec C13, C14).

Decides what a session says about itself, and which values of the environment are taken for secrets. Takes clocks and randomness as
arguments. Does not write (`cassette.writer`) or scrub (`scrub.door`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from provtape.format.chain import FORMAT
from provtape.format.record import Code, Object
from provtape.format.recorder import RECORDER
from provtape.format.stamp import stamp
from provtape.matching.identity import Match
from provtape.scrub.rules import Rules

SHORTEST_LITERAL: Final = 8

_SECRET_NAME: Final = re.compile(r"key|token|secret|password", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Capture:
    """How calls reach a session that records HTTP (spec C14).

    Attributes:
        enclosed: The kernel leaves the command no way around the recorder.
        allow: Host services that are let through, `HOST:PORT`.
        passed: Hosts that are relayed and not recorded.
        routes: Route names and the base URLs they stand for.
    """

    enclosed: bool = False
    allow: Sequence[str] = ()
    passed: Sequence[str] = ()
    routes: Mapping[str, str] = field(default_factory=dict)

    def members(self, road: str) -> Object:
        """The value of `capture`, its names in order."""
        return {
            "road": road,
            "enclosed": self.enclosed,
            "allow": list(self.allow),
            "pass": list(self.passed),
            "routes": dict(self.routes),
        }


def opening(prefix: str, rules: Rules, match: Match, *, nonce: str, now: datetime) -> Object:
    """The members of record 0 after `type`.

    Args:
        prefix: What the cassette's origin begins with (spec N3).
        rules: The scrub rules it binds.
        match: The match rules it binds.
        nonce: 16 random bytes as 22 base64url characters.
        now: The time in UTC.
    """
    return {
        "format": FORMAT,
        "prefix": prefix,
        "nonce": nonce,
        "created": stamp(now),
        "recorder": RECORDER,
        "scrub": scrub_members(rules),
        "match": match.members(),
        "previous": None,
        "meta": {},
    }


def scrub_members(rules: Rules) -> Object:
    """The value of `scrub` in record 0."""
    return {"name": rules.name, "sha256": rules.sha256, "rules": rules.text}


def run(
    *,
    now: datetime,
    road: str,
    capture: Capture | None = None,
    code: Code | None = None,
    command: Sequence[str] | None = None,
    environment: Mapping[str, object] | None = None,
    meta: Mapping[str, object] | None = None,
) -> Object:
    """The members of a `run` after `type`: who records from here on."""
    return {
        "started": stamp(now),
        "recorder": RECORDER,
        "code": code.members() if code else None,
        "command": None if command is None else list(command),
        "environment": dict(environment or {}),
        "capture": (capture or Capture()).members(road),
        "meta": dict(meta or {}),
    }


def secret_values(environment: Mapping[bytes, bytes]) -> tuple[bytes, ...]:
    """The values of variables whose names say key, token, secret or password, from 8 bytes on, each once, longest first.

    >>> secret_values({b"API_KEY": b"0123456789", b"HOME": b"/home/alice", b"TOKEN": b"short"})
    (b'0123456789',)
    """
    values = {
        value
        for name, value in environment.items()
        if len(value) >= SHORTEST_LITERAL and _SECRET_NAME.search(name.decode("utf-8", "replace"))
    }
    return tuple(sorted(values, key=lambda value: (-len(value), value)))
