"""`provtape show`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def show(
    cassette: Annotated[Path, typer.Argument(help="The cassette.")] = Path("run.jsonl"),
    record: Annotated[int | None, typer.Argument(help="The number of one record to show whole.")] = None,
) -> int:
    """List what a cassette holds, or show one record so that a person can read it. Verifies nothing.

    Example: provtape show run.jsonl 3
    """
    from provtape.cli import reading

    for line in reading.listing(cassette) if record is None else reading.one(cassette, record):
        typer.echo(line)
    return 0
