"""Whose code, machine and command a run is: what a program hands to its session when it starts.

Decides nothing: it gathers what `worktree` and `environment` say of the working directory.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TypedDict

from provtape.format.record import Code
from provtape.provenance.environment import environment
from provtape.provenance.worktree import code, with_evidence


class ThisRun(TypedDict):
    """Arguments of `Session.open` that say who is recording."""

    code: Code | None
    environment: dict[str, object]
    command: Sequence[str]


def this_run(
    cassette: str | Path, directory: str | Path = ".", *, results: Iterable[str | Path] = ()
) -> ThisRun:
    """The code, machine and command of this process, for `Session.open(cassette, mode, **this_run(cassette))`.

    For the one who records: it runs git, and in a repository under review others chose its filters. Do not call it in a replay.

    Args:
        cassette: The cassette; it and its evidence are no part of the code.
        directory: Where the code is.
        results: Files that the run writes and that are to be bound: no code either.

    Raises:
        ProvenanceError: There is a repository whose state can not be named honestly.
    """
    place = Path(directory)
    return {
        "code": code(place, (*with_evidence(Path(cassette)), *map(Path, results))),
        "environment": environment(place),
        "command": list(sys.orig_argv),
    }
