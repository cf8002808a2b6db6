"""`provtape sign`."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from provtape.cassette.notes import Signer


def sign(
    *,
    cassette: Annotated[Path, typer.Argument(help="The cassette.")] = Path("run.jsonl"),
    key: Annotated[Path, typer.Option(help="The private key: PEM or OpenSSH, Ed25519.")],
    name: Annotated[
        str | None, typer.Option(help="The signer's name, if no .pub file beside the key says it.")
    ] = None,
    result: Annotated[
        list[Path] | None, typer.Option(help="A file to bind, e.g. scores.json. Repeatable.")
    ] = None,
    allow_dirty: Annotated[
        bool,
        typer.Option(
            "--allow-dirty", help="Sign although the code was changed; bind the difference as CASSETTE.patch."
        ),
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="Print the report of `verify --json`.")] = False,
) -> int:
    """Seal a cassette and sign it: CASSETTE.ckpt and CASSETTE.intoto.jsonl, to publish beside it.

    Example: provtape sign run.jsonl --key ~/alice.key --result scores.json
    """
    from provtape import signing
    from provtape.cli.render import as_json, colourful, verdict_lines

    who = signer(key.expanduser(), name, cassette)
    workers = os.cpu_count() or 1
    done = signing.sign(
        cassette, who, result or (), clock=lambda: datetime.now(UTC), allow_dirty=allow_dirty, workers=workers
    )
    if done.torn:
        typer.echo(f"provtape: a torn tail of {done.torn} bytes was moved to {cassette.name}.torn", err=True)
    if done.torn_note:
        typer.echo(
            f"provtape: a torn checkpoint of {done.torn_note} bytes was moved to {cassette.name}.ckpt.torn",
            err=True,
        )
    if json:
        typer.echo(as_json(done.verdict.report()))
        return done.verdict.exit
    typer.echo("sealed and signed" if done.sealed_now else "signed")
    for line in verdict_lines(done.verdict, colour=colourful(typer.get_text_stream("stdout"))):
        typer.echo(line)
    typer.echo(
        f"publish beside the cassette: {cassette.name}.ckpt, {done.manifest.name}{', ' + done.patch.name if done.patch else ''}"
    )
    typer.echo(
        f"publish in the paper or on your own page, with origin, commit and number of records:\n  {who.public.vkey}"
    )
    return done.verdict.exit


def signer(path: Path, name: str | None, cassette: Path | None) -> Signer:
    """The signer that a private key file stands for.

    Raises:
        KeyRefused: The file can not be used, or no name is known.
    """
    from provtape.cassette.notes import Signer
    from provtape.errors import KeyRefused
    from provtape.format.keys import PublicKey
    from provtape.provenance import keyfile

    private = keyfile.load(path, lambda: str(typer.prompt("passphrase", hide_input=True, err=True)).encode())
    known = name or keyfile.name_beside(path, private.public)
    if known is None:
        raise KeyRefused(f"no name is known for {path.name}", "give one: --name lab.example/alice")
    if cassette is not None and keyfile.inside_tree(path, cassette):
        typer.echo("provtape: the private key lies beside the cassette: do not publish that folder", err=True)
    return Signer(known, PublicKey(private.public, known), private.sign)
