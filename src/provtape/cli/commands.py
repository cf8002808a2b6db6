"""The table of commands. Each lives in its own file, which imports what it needs when it runs."""

from __future__ import annotations

from typing import Any, Protocol

import typer
from typer.main import get_command

from provtape import __version__
from provtape.cli import demo, import_, keygen, record, serve, show, sign, verify

app = typer.Typer(
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"provtape {__version__}")
        raise typer.Exit


@app.callback()
def provtape(
    version: bool = typer.Option(
        False, "--version", callback=_version, is_eager=True, help="Print the version."
    ),
) -> None:
    """Record LLM runs once, replay them offline, and prove that nothing was changed.

    Example: provtape verify run.jsonl --pubkey author.pub
    """


app.command("keygen")(keygen.keygen)
app.command("import")(import_.import_)
app.command("show")(show.show)
app.command("record")(record.record)
app.command("replay")(record.replay)
app.command("serve")(serve.serve)
app.command("sign")(sign.sign)
app.command("verify")(verify.verify)
app.command("demo")(demo.demo)


class Command(Protocol):
    """What `main` needs of a command line."""

    def main(self, args: list[str], *, prog_name: str, standalone_mode: bool) -> Any:
        """Run it; errors are raised, and the command's own answer is returned."""


def command() -> Command:
    """The whole command line."""
    return get_command(app)
