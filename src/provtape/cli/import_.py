"""`provtape import`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def import_(
    source: Annotated[Path, typer.Argument(help="A cassette in the tutorial's format.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="The cassette to make.")] = Path("run.jsonl"),
) -> int:
    """Turn a tutorial's cassette (prev, key, output, hash) into one that can be signed.

    Example: provtape import seed.jsonl -o run.jsonl
    """
    from provtape.convert import tutorial

    report = tutorial.import_file(source, output)
    typer.echo(report)
    return 0
