"""`provtape serve`."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Annotated

import typer


def serve(
    cassette: Annotated[Path, typer.Argument(help="The cassette.")] = Path("run.jsonl"),
    host: Annotated[
        str, typer.Option(help="The address to listen on; loopback unless you say otherwise.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="0 takes a free one.")] = 8020,
    pubkey: Annotated[
        list[str] | None,
        typer.Option(metavar="KEY", help="The author's key, as for `provtape verify`. Repeatable."),
    ] = None,
    strict: Annotated[
        bool, typer.Option("--strict", help="Give each answer once instead of going round.")
    ] = False,
    pace: Annotated[
        str, typer.Option(help="How fast streams play: none, recorded, or a factor such as 2.")
    ] = "none",
) -> int:
    """Answer recorded requests over HTTP for reviewers; an unknown one gets 422 and the nearest recorded request.

    Provider paths work as they were called; POST / takes the tutorial's {"prompt", "model", "params"}. A reviewer who sends the
    header x-provtape-session gets an order of answers of their own.

    Example: provtape serve run.jsonl --port 8020
    """
    import signal

    from provtape.capture.desk import Settings
    from provtape.capture.entrance import listen
    from provtape.capture.server import Server
    from provtape.cli.record import pace_of
    from provtape.cli.verify import public_key
    from provtape.session import Session
    from provtape.wire.route import Bases, Routes

    trusted = tuple(public_key(text, cassette) for text in pubkey or ())
    session = Session.open(cassette, "replay", repeat=not strict, trusted=trusted)
    bases = Bases(session.turns.urls())
    settings = Settings.for_reviewers(Routes.of(session.routes), bases, hosts=(host,), pace=pace_of(pace))
    listener = listen(host, port)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with Server(session.turns, [listener], settings) as server:
        typer.echo(
            f"provtape: serving {cassette} on http://{host}:{server.ports[0]} (Ctrl-C ends it)", err=True
        )
        with suppress(KeyboardInterrupt):
            signal.pause()
    typer.echo(f"provtape: {session.summary.line()}", err=True)
    return 0
