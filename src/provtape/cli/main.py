"""The one `main`: every way a command can end becomes an exit code, and never a traceback.

Imports nothing but the standard library at its top, so that even a broken installation ends in exit 2 and one line.
"""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Final

UNFORESEEN: Final = 2
INTERRUPTED: Final = 130


def main() -> None:
    """Run the command line of this process and exit."""
    code = run(sys.argv[1:])
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except (OSError, ValueError):  # nobody saw the result
        code = UNFORESEEN
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # or the interpreter would try again, and say so
    sys.exit(code)


def run(arguments: Sequence[str]) -> int:
    """Run one command.

    Args:
        arguments: Without the program's name.

    Returns:
        The exit code: the command's own, 2 for anything it did not foresee, 130 when interrupted.
    """
    if sys.stdout is None:  # closed by whoever started us: an answer would reach nobody
        return UNFORESEEN
    try:
        return _dispatch(list(arguments))
    except KeyboardInterrupt:
        return _say(arguments, "internal", "interrupted", None, INTERRUPTED)
    except SystemExit:  # how typer leaves when nobody reads its output any more
        return UNFORESEEN
    except BaseException as error:
        return _explain(arguments, error)


def _dispatch(arguments: list[str]) -> int:
    import typer

    options = _options(arguments)
    if "--json" in options and {"--help", "-h"} & set(options):
        return _say(arguments, "usage", "--help and --json together: one is for people", None, UNFORESEEN)
    command = import_module("provtape.cli.commands").command()
    try:
        result = command.main(arguments or ["--help"], prog_name="provtape", standalone_mode=False)
    except typer.TyperException as error:
        context = getattr(error, "ctx", None)
        hint = f"{context.command_path} --help" if context else "provtape --help"
        return _say(arguments, "usage", _our_voice(error.format_message()), hint, UNFORESEEN)
    except typer.Abort:
        return _say(arguments, "internal", "interrupted", None, INTERRUPTED)
    if not arguments:
        return UNFORESEEN  # the help was printed, but nothing was asked for
    return result if isinstance(result, int) else 0


def _options(arguments: Sequence[str]) -> Sequence[str]:
    """The arguments that are ours: what follows `--` is somebody else's command."""
    return arguments[: arguments.index("--")] if "--" in arguments else arguments


def _our_voice(message: str) -> str:
    """Another library's sentence, as ours begin and end."""
    return message[:1].lower() + message[1:].rstrip(".")


def _explain(arguments: Sequence[str], error: BaseException) -> int:
    """One line for an error; what provtape raises on purpose has words of its own, anything else only its type."""
    errors = import_module("provtape.errors")
    if isinstance(error, errors.ProvtapeError):
        code = getattr(error, "code", "internal")
        return _say(arguments, code, error.message, error.hint, UNFORESEEN)
    if isinstance(error, ImportError):
        hint = "install provtape again: pip install provtape"
        return _say(
            arguments, "internal", f"a part of the installation is missing: {error.name}", hint, UNFORESEEN
        )
    if isinstance(error, OSError) and error.errno in (errno.EPIPE, errno.ENOSPC):
        return _say(arguments, "internal", "the output could not be written", None, UNFORESEEN)
    if os.environ.get("PROVTAPE_TRACEBACK"):
        import traceback

        traceback.print_exception(error)
    hint = "please report it; PROVTAPE_TRACEBACK=1 shows where"
    return _say(arguments, "internal", f"unforeseen: {type(error).__name__}", hint, UNFORESEEN)


def _say(arguments: Sequence[str], code: str, message: str, hint: str | None, status: int) -> int:
    """Print an error: as a report when `--json` was asked for, else as a line on stderr; whatever happens, an exit code."""
    try:
        if "--json" in _options(arguments):
            verdict = import_module("provtape.format.verdict")
            report = verdict.decide(
                [verdict.Finding(code if code in verdict.CODES else "internal", message, hint)]
            ).report()
            print(import_module("provtape.cli.render").as_json(report), flush=True)
            return UNFORESEEN
        printable = import_module("provtape.format.printable").printable
        print(f"provtape: {printable(message)}", file=sys.stderr)
        if hint:
            print(f"  {printable(hint)}", file=sys.stderr)
    except (OSError, ImportError, ValueError):
        return UNFORESEEN  # nobody listens, or there is nothing to speak with
    return status
