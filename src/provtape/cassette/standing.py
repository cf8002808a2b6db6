"""Where an open cassette stands when a process goes on with it (DESIGN 2.1, 2.2, 7).

Decides whether it may be gone on with: it holds from its first record on, is not sealed, and no note beside it says otherwise.
Reads only; what is torn is moved by the writer.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from provtape.cassette.disk import beside
from provtape.cassette.notes import stated
from provtape.cassette.walk import Walk
from provtape.errors import CassetteError, CassetteExists, CassetteSealed, RulesDiffer
from provtape.format import strict
from provtape.format.chain import FORMAT, Chain, leaf
from provtape.format.checkpoint import Checkpoint, origin
from provtape.format.keys import is_name
from provtape.format.record import Object, Scrubbed
from provtape.format.suffix import BESIDE, CHECKPOINTS
from provtape.format.tree import Frontier


@dataclass(frozen=True, slots=True)
class Standing:
    """A cassette that may be gone on with.

    Attributes:
        opening: Record 0.
        origin: The cassette's origin (spec N2).
        chain: Where it ends.
        frontier: The tree over its leaves.
        size: Bytes of its whole records.
        torn: The torn tail behind them (empty: there is none).
    """

    opening: Object
    origin: str
    chain: Chain
    frontier: Frontier
    size: int
    torn: bytes

    @property
    def prefix(self) -> str:
        """The prefix that record 0 names."""
        return str(self.opening["prefix"])


def beginning(path: Path, opening: Scrubbed, prefix: str) -> Standing:
    """Where a cassette stands that is to begin with this record 0.

    Args:
        path: Where it is to be made.
        opening: Record 0.
        prefix: The prefix it has to name.

    Raises:
        CassetteExists: Evidence of an older cassette of that name is there.
        CassetteError: Record 0 does not name that prefix, or it is none (spec N3).
    """
    named = f'"type":"open","format":"{FORMAT}","prefix":"{prefix}",'
    if not is_name(prefix) or not opening.data.startswith(named.encode()):
        raise CassetteError(f"{path.name}: record 0 does not name this prefix (N3, C13)")
    for suffix in BESIDE:
        if os.path.lexists(beside(path, suffix)):
            raise CassetteExists(
                f"{path.name}: evidence of an older cassette of that name is there: {path.name}{suffix}",
                "move it away or give another name",
            )
    first = leaf(Chain().link(opening.data))
    return Standing({"prefix": prefix}, origin(prefix, first), Chain(), Frontier(), 0, b"")


def check_rules(
    path: Path, standing: Standing, scrub: Mapping[str, object], match: Mapping[str, object]
) -> None:
    """Refuse to go on under other rules than those of record 0 (DESIGN 2.1).

    Raises:
        RulesDiffer: The message says which differ.
    """
    for name, rules in (("scrub", scrub), ("match", match)):
        if strict.dumps(rules) != strict.dumps(standing.opening[name]):
            raise RulesDiffer(
                f"{path.name}: the {name} rules are not those of record 0",
                "record into a new cassette, or use the rules of this one",
            )


def take_up(file: BinaryIO, path: Path) -> Standing:
    """Walk a cassette from its first byte and say where it stands.

    Args:
        file: The cassette, at its first byte.
        path: Where it is; its checkpoint file is looked for beside it.

    Raises:
        CassetteSealed: It ends with `end`.
        CassetteError: It holds no record, is damaged (the message names record and rule), or a note disagrees with it.
        LimitError: A line or the checkpoint file is larger than a reader takes.
    """
    walk, frontier = Walk(file, path.name), Frontier()
    steps = iter(walk)
    first = next(steps, None)
    if first is None:
        raise CassetteError(f"{path.name}: holds no whole record", "move it away and record again")
    opening = walk.members(first)
    name = origin(str(opening["prefix"]), first.leaf)
    notes = _notes(path, name)
    frontier.append(first.leaf)
    _agree(notes.pop(1, []), frontier, path)
    for stored in steps:
        frontier.append(stored.leaf)
        if found := notes.pop(frontier.size, None):
            _agree(found, frontier, path)
    if walk.sealed:
        raise CassetteSealed(f"{path.name}: sealed: it takes nothing more", "record into a new cassette")
    if notes:
        raise _contradicted(path, f"a note names {min(notes)} records, but {frontier.size} are there")
    return Standing(opening, name, walk.chain, frontier, walk.size, walk.torn)


def _notes(path: Path, name: str) -> dict[int, list[Checkpoint]]:
    beside_it = beside(path, CHECKPOINTS)
    if not os.path.lexists(beside_it):
        return {}
    notes: dict[int, list[Checkpoint]] = {}
    for checkpoint in stated(beside_it, name)[0]:
        if checkpoint.origin != name:
            raise _contradicted(path, "a note names another origin")
        notes.setdefault(checkpoint.records, []).append(checkpoint)
    return notes


def _agree(notes: list[Checkpoint], frontier: Frontier, path: Path) -> None:
    if notes and any(checkpoint.root != frontier.root() for checkpoint in notes):
        raise _contradicted(path, f"the note at {frontier.size} records states another root")


def _contradicted(path: Path, what: str) -> CassetteError:
    return CassetteError(f"{path.name}{CHECKPOINTS}: {what} (N8)", "run provtape verify on the cassette")
