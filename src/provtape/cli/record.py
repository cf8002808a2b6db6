"""`provtape record`, `provtape replay`: a command whose calls go through a cassette."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from provtape.capture.command import Ended, Order
    from provtape.wire.player import Pace

COULD_NOT_START = 125
Words = Annotated[
    list[str], typer.Argument(metavar="[CASSETTE] -- COMMAND…", help="Default cassette: run.jsonl.")
]
NoEnclosure = Annotated[
    bool,
    typer.Option(
        "--no-enclosure", help="Use base-URL and proxy variables only; the command can go around them."
    ),
]
Pass = Annotated[
    list[str] | None,
    typer.Option("--pass", metavar="HOST", help="A host that is relayed and not recorded. Repeatable."),
]
Allow = Annotated[
    list[str] | None,
    typer.Option(
        metavar="HOST:PORT",
        help="A service of this machine that the command may reach, unrecorded. Repeatable.",
    ),
]


def record(
    words: Words,
    auto: Annotated[
        bool, typer.Option("--auto", help="Go on: recorded answers first, live for the rest.")
    ] = False,
    key: Annotated[
        Path | None, typer.Option(metavar="FILE", help="A private key that signs checkpoints on the way.")
    ] = None,
    name: Annotated[str | None, typer.Option(help="The signer's name, if no .pub file says it.")] = None,
    allow: Allow = None,
    pass_: Pass = None,
    route: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=URL", help="A model server on another port, recorded as well. Repeatable."
        ),
    ] = None,
    no_code: Annotated[
        bool, typer.Option("--no-code", help="Do not write down which commit is running.")
    ] = False,
    no_enclosure: NoEnclosure = False,
) -> int:
    """Run a command and record every model call it makes, whatever client it uses.

    Example: provtape record -- python bench.py
    """
    from provtape.capture.command import Order
    from provtape.cli.sign import signer
    from provtape.provenance.environment import environment
    from provtape.provenance.worktree import code, with_evidence
    from provtape.session.start import Recording

    cassette, command = _split(words)
    who = signer(key.expanduser(), name, cassette) if key else None
    recording: Recording = {"signer": who, "environment": environment(Path.cwd())}
    if not no_code:
        recording["code"] = code(Path.cwd(), with_evidence(cassette))
    order = Order(
        command,
        cassette,
        "auto" if auto else "record",
        enclosed=not no_enclosure,
        allow=tuple(allow or ()),
        passed=tuple(pass_ or ()),
        routes=dict(_pair(text) for text in route or ()),
        recording=recording,
    )
    return _run(order, f"next: provtape sign {cassette} --key …")


def replay(
    words: Words,
    pubkey: Annotated[
        list[str] | None,
        typer.Option(metavar="KEY", help="The author's key, as for `provtape verify`. Repeatable."),
    ] = None,
    pace: Annotated[
        str, typer.Option(help="How fast streams play: none, recorded, or a factor such as 2.")
    ] = "none",
    allow: Allow = None,
    no_enclosure: NoEnclosure = False,
) -> int:
    """Run a command unplugged: every call gets its recorded answer, and an unknown one is a loud miss.

    Example: provtape replay -- python bench.py
    """
    from provtape.capture.command import Order
    from provtape.cli.verify import public_key

    cassette, command = _split(words)
    trusted = tuple(public_key(text, cassette) for text in pubkey or ())
    order = Order(
        command,
        cassette,
        "replay",
        enclosed=not no_enclosure,
        allow=tuple(allow or ()),
        pace=pace_of(pace),
        trusted=trusted,
    )
    return _run(order, None)


def _run(order: Order, then: str | None) -> int:
    from provtape.capture.command import run
    from provtape.errors import CaptureError, NotStarted, ProvtapeError
    from provtape.format.printable import printable

    try:
        ended = run(order, say=lambda line: typer.echo(f"provtape: {printable(line)}", err=True))
    except NotStarted as error:
        typer.echo(f"provtape: {printable(error.message)}", err=True)
        return error.status
    except (CaptureError, ProvtapeError) as error:
        typer.echo(f"provtape: {printable(error.message)}", err=True)
        if error.hint:
            typer.echo(f"  {printable(error.hint)}", err=True)
        return COULD_NOT_START
    return _said(order, ended, then)


def _said(order: Order, ended: Ended, then: str | None) -> int:
    from provtape.format.printable import printable

    typer.echo(f"provtape: {order.cassette}: {ended.summary.line()}", err=True)
    if ended.fault is not None:
        typer.echo(f"provtape: {printable(ended.fault.message)}", err=True)
        for note in getattr(ended.fault, "__notes__", ()):
            for line in str(note).splitlines():
                typer.echo(f"  {printable(line)}", err=True)
        return ended.status or 1
    if order.mode == "replay" and not ended.summary.served:
        return ended.status or 1  # the session has said that nothing was served
    if order.mode != "replay" and not ended.summary.recorded:
        typer.echo("provtape: no call was recorded", err=True)
    elif then:
        typer.echo(f"provtape: {then}", err=True)
    return ended.status


def _split(words: Sequence[str]) -> tuple[Path, list[str]]:
    """`[CASSETTE] -- COMMAND…`: typer takes the `--` away, so a first word that ends in `.jsonl` is the cassette."""
    if len(words) > 1 and words[0].endswith(".jsonl"):
        return Path(words[0]), list(words[1:])
    return Path("run.jsonl"), list(words)


def _pair(text: str) -> tuple[str, str]:
    name, equals, url = text.partition("=")
    if not equals:
        raise typer.BadParameter("not NAME=URL", param_hint="--route")
    return name, url


def pace_of(text: str) -> Pace:
    """What `--pace` says.

    Raises:
        BadParameter: Neither a word nor a factor.
    """
    if text == "none":
        return "none"
    if text == "recorded":
        return "recorded"
    try:
        factor = float(text)
    except ValueError:
        factor = 0.0
    if not 0 < factor < 1e6:
        raise typer.BadParameter("none, recorded, or a factor above 0", param_hint="--pace")
    return factor
