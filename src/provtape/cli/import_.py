"""`provtape import`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def import_(
    source: Annotated[Path, typer.Argument(help="A cassette in the tutorial's format.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="The cassette to make.")] = Path("run.jsonl"),
    key: Annotated[
        Path | None, typer.Option(help="A private key that signs checkpoints along the way.")
    ] = None,
    name: Annotated[str | None, typer.Option(help="The signer's name, if no .pub file says it.")] = None,
) -> int:
    """Turn a tutorial's cassette (prev, key, output, hash) into one that can be signed.

    Example: provtape import seed.jsonl -o run.jsonl
    """
    from provtape.cli.sign import signer
    from provtape.convert import tutorial

    who = signer(key.expanduser(), name, output) if key else None
    report = tutorial.import_file(source, output, signer=who)
    typer.echo(str(report))
    typer.echo(f"wrote {output}; next: provtape sign {output} --key …")
    return 0
