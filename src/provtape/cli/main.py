"""The one `main`: every way a command can end becomes an exit code, and never a traceback.

Imports nothing but the standard library at its top, so that even a broken installation ends in exit 2 and one line.
"""

from __future__ import annotations

import json
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
        sys.stdout.flush()
    except (
        OSError,
        ValueError,
        AttributeError,
    ):  # the reader left, or there never was one: nobody saw the result
        code = UNFORESEEN
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
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
    except SystemExit:  # how typer leaves when nobody reads its output any more
        return UNFORESEEN
    except KeyboardInterrupt:
        return _say(arguments, "internal", "interrupted", None, INTERRUPTED)
    except BaseException as error:
        return _explain(arguments, error)


def _dispatch(arguments: list[str]) -> int:
    import typer

    command = import_module("provtape.cli.commands").command()
    try:
        result = command.main(arguments, prog_name="provtape", standalone_mode=False)
    except typer.TyperException as error:
        usage = getattr(error, "ctx", None)
        hint = f"{usage.command_path} --help" if usage else "provtape --help"
        return _say(arguments, "usage", error.format_message(), hint, UNFORESEEN)
    except typer.Abort:
        return _say(arguments, "internal", "interrupted", None, INTERRUPTED)
    return result if isinstance(result, int) else 0


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
    if os.environ.get("PROVTAPE_TRACEBACK"):
        import traceback

        traceback.print_exception(error)
    hint = "please report it; PROVTAPE_TRACEBACK=1 shows where"
    return _say(arguments, "internal", f"unforeseen: {type(error).__name__}", hint, UNFORESEEN)


def _say(arguments: Sequence[str], code: str, message: str, hint: str | None, status: int) -> int:
    """Print an error: as a report when `--json` was asked for, else as a line on stderr."""
    if "--json" in arguments:
        finding = {
            "code": code,
            "attack": None,
            "record": None,
            "offset": None,
            "message": message,
            "hint": hint,
        }
        report = {"schema": "provtape/report/1", "verdict": "ERROR", "exit": 2, "findings": [finding]}
        print(json.dumps(report | {"facts": {"cassettes": [], "subjects": []}}))
        return UNFORESEEN
    try:
        printable = import_module("provtape.cli.render").printable
        print(f"provtape: {printable(message)}", file=sys.stderr)
        if hint:
            print(f"  {printable(hint)}", file=sys.stderr)
    except (OSError, ImportError):
        return UNFORESEEN  # nobody listens
    return status
