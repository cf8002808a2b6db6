"""`provtape verify`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from provtape.format.keys import PublicKey


def verify(
    cassette: Annotated[
        Path, typer.Argument(help="A cassette, or a manifest to verify all it binds.")
    ] = Path("run.jsonl"),
    pubkey: Annotated[
        list[str] | None,
        typer.Option(help="The author's key: vkey, PEM or ssh-ed25519, as text or a file. Repeatable."),
    ] = None,
    manifest: Annotated[Path | None, typer.Option(help="Manifest, if not CASSETTE.intoto.jsonl.")] = None,
    checkpoints: Annotated[Path | None, typer.Option(help="Checkpoint file, if not CASSETTE.ckpt.")] = None,
    seen: Annotated[
        list[Path] | None,
        typer.Option(help="A checkpoint kept from an earlier day; what it covers must still be there."),
    ] = None,
    only: Annotated[
        bool, typer.Option("--only", help="Ask for the cassette only, not for the bound files.")
    ] = False,
    allow_withheld: Annotated[
        bool, typer.Option("--allow-withheld", help="Accept withheld interactions.")
    ] = False,
    expect_origin: Annotated[str | None, typer.Option(help="The origin that the paper names.")] = None,
    expect_commit: Annotated[str | None, typer.Option(help="The commit every run must be of.")] = None,
    expect_records: Annotated[int | None, typer.Option(min=0, help="How many records there must be.")] = None,
    workers: Annotated[
        int | None, typer.Option(min=1, help="Processes to use; default: one for each core.")
    ] = None,
    json: Annotated[
        bool, typer.Option("--json", help="Print one JSON object (spec/report.schema.json).")
    ] = False,
) -> int:
    """Say whether a cassette is as its author signed it, or what was changed.

    Example: provtape verify run.jsonl --pubkey 'lab.example/alice+0769061f+AQOh…'

    Exit code: 0 VERIFIED, 1 FAILED, 3 UNVERIFIED (something is missing: key, evidence, end), 2 could not be decided.

    Take the key from the paper or the author's own page, not from beside the cassette. What a verdict does not show: the
    key's holder can invent answers, record again and sign again; times and code are what the signer claims; a verifier that
    comes with the evidence is evidence, not a verifier.
    """
    from provtape.cli.render import Progress, as_json, colourful, verdict_lines
    from provtape.verify import Question, Sources
    from provtape.verify import verify as decide

    _check_expectations(expect_origin, expect_commit)
    keys = tuple(public_key(text, cassette) for text in pubkey or ())
    question = Question(keys, only, allow_withheld, expect_origin, expect_commit, expect_records)
    sources = Sources(manifest, checkpoints, tuple(seen or ()))
    progress = Progress("verifying")
    verdict = decide(cassette, question, sources, workers=workers or os.cpu_count() or 1, progress=progress)
    progress.end()
    if json:
        typer.echo(as_json(verdict.report()))
    else:
        for line in verdict_lines(verdict, colour=colourful(typer.get_text_stream("stdout"))):
            typer.echo(line)
    return verdict.exit


def _check_expectations(origin: str | None, commit: str | None) -> None:
    from provtape.format.forms import is_git_id, is_origin

    if origin is not None and not is_origin(origin):
        raise typer.BadParameter("no origin: a name, `/`, 64 hex digits", param_hint="--expect-origin")
    if commit is not None and not is_git_id(commit):
        raise typer.BadParameter("no whole commit id: 40 hex digits", param_hint="--expect-commit")


def public_key(text: str, cassette: Path) -> PublicKey:
    """A key given as text or as a file; one that lies beside the cassette is said to, with its fingerprint.

    Raises:
        KeyRefused: Neither a key nor a file that holds one.
    """
    from provtape.cassette.reader import read_small
    from provtape.errors import InputError, KeyRefused
    from provtape.format.keys import parse_public
    from provtape.provenance.keyfile import inside_tree

    path = Path(text)
    if not text.strip() or not os.path.lexists(path):
        try:
            return parse_public(text.encode())
        except KeyRefused as error:
            raise KeyRefused(f"--pubkey: {error.message}", error.hint) from None
    try:
        key = parse_public(read_small(path, 4096))
    except InputError as error:
        raise KeyRefused(f"--pubkey: {error.message}", error.hint) from None
    if inside_tree(path, cassette):
        message = "provtape: the key file lies beside the cassette: compare its fingerprint with the author's"
        typer.echo(f"{message}\n  {key.fingerprint}", err=True)
    return key
