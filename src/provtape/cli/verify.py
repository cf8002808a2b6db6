"""`provtape verify`."""

from __future__ import annotations

import os
import re
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
    expect_records: Annotated[
        str | None, typer.Option(metavar="N", help="How many records there must be.")
    ] = None,
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

    records = _expected(expect_origin, expect_commit, expect_records, allow_withheld=allow_withheld)
    keys = tuple(public_key(text, cassette) for text in pubkey or ())
    question = Question(keys, only, allow_withheld, expect_origin, expect_commit, records)
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


def _expected(
    origin: str | None, commit: str | None, records: str | None, *, allow_withheld: bool
) -> int | None:
    """The number of records expected, once all expectations are of a form that can be met (spec V8)."""
    from provtape.format.forms import is_git_id, is_origin

    if origin is not None and not is_origin(origin):
        raise typer.BadParameter("no origin: a name, `/`, 64 hex digits", param_hint="--expect-origin")
    if commit is not None and not is_git_id(commit):
        raise typer.BadParameter("no whole commit id: 40 hex digits", param_hint="--expect-commit")
    if commit is not None and allow_withheld:
        message = "a withheld record could be a run of another commit: not together with --allow-withheld"
        raise typer.BadParameter(message, param_hint="--expect-commit")
    if records is not None and not re.fullmatch("0|[1-9][0-9]{0,15}", records):
        raise typer.BadParameter("no number of records", param_hint="--expect-records")
    return None if records is None else int(records)


def public_key(text: str, cassette: Path) -> PublicKey:
    """A key given as text or as a file; one that lies beside the cassette is said to, with its fingerprint.

    Raises:
        KeyRefused: Neither a key nor a file that holds one.
    """
    from provtape.cassette.reader import read_small
    from provtape.errors import InputError, KeyRefused, LimitError
    from provtape.format.keys import MAX_TEXT, parse_public
    from provtape.provenance.keyfile import inside_tree

    path = Path(text)
    try:
        return parse_public(text.encode())
    except KeyRefused as error:
        if not text.strip() or not os.path.lexists(path):
            raise KeyRefused(f"--pubkey: {error.message}", error.hint) from None
    try:
        key = parse_public(read_small(path, MAX_TEXT))
    except (InputError, LimitError) as error:
        raise KeyRefused(f"--pubkey: {error.message}", error.hint) from None
    if inside_tree(path, cassette):
        message = "provtape: the key file lies beside the cassette: compare its fingerprint with the author's"
        typer.echo(f"{message}\n  {key.fingerprint}", err=True)
    return key
