"""The commands of the tour: shown, then run as processes of the same interpreter, in the tour's folder.

Decides what a child process finds in its environment (no other model's address or key, no proxy) and how its output reaches the
page: line by line, as it comes. Does not decide which outcome is right (`tour`).
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from provtape.demo.page import Page, typed
from provtape.errors import DemoError

PATIENCE: Final = 300.0  # seconds that one command may take

_PROVTAPE: Final = ("-P", "-c", "from provtape.cli.main import main; main()")


@dataclass(frozen=True, slots=True)
class Said:
    """How a command ended.

    Attributes:
        typed: The command as it was shown.
        status: Its exit status.
        lines: What it printed, without line ends.
    """

    typed: str
    status: int
    lines: tuple[str, ...]

    def report(self) -> tuple[str, str | None, str]:
        """Of a verifier run with `--json`: the word, the attack's name, and the first finding's message.

        Raises:
            DemoError: It printed no report, or one that disagrees with its exit status.
        """
        try:
            report = json.loads(self.lines[-1])
            first = report["findings"][0] if report["findings"] else {"attack": None, "message": ""}
            word, status = str(report["verdict"]), report["exit"]
            named = None if first["attack"] is None else str(first["attack"])
            message = str(first["message"])
        except (IndexError, KeyError, TypeError, ValueError):
            raise DemoError(f"`{self.typed}` printed no report") from None
        if status != self.status:
            raise DemoError(f"`{self.typed}` ended with {self.status} and reported {status}")
        return word, named, message


class Commands:
    """Runs commands in a folder and shows them on a page.

    Args:
        folder: The working directory of every command.
        page: Where command and output are shown.
    """

    def __init__(self, folder: Path, page: Page) -> None:
        self._folder = folder
        self._page = page

    def provtape(self, *arguments: str, most: int | None = None) -> Said:
        """`provtape …`.

        Args:
            arguments: Its arguments.
            most: How many lines of its output are shown, the rest being counted; 0 shows nothing.
        """
        return self._run(typed(["provtape", *arguments]), (*_PROVTAPE, *arguments), environment(), most)

    def verifier(self, script: str, *arguments: str, most: int | None = None) -> Said:
        """`python -I verifier.py …`; as `provtape` otherwise."""
        command = ("-I", script, *arguments)
        return self._run(typed(["python", *command]), command, environment(), most)

    def bench(self, script: str, mode: str, base_url: str | None = None) -> Said:
        """`python bench.py MODE`, with the address of a model or without any."""
        model = {"OPENAI_BASE_URL": base_url, "OPENAI_API_KEY": "none"} if base_url else {}
        said = " ".join(
            [*(f"{name}={value}" for name, value in model.items()), typed(["python", script, mode])]
        )
        return self._run(said, (script, mode), environment() | model, None)

    def _run(
        self, shown: str, arguments: Sequence[str], variables: Mapping[str, str], most: int | None
    ) -> Said:
        self._page.command(shown)
        child = subprocess.Popen(
            [sys.executable, *arguments],
            cwd=self._folder,
            env=variables,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            encoding="utf-8",
            errors="backslashreplace",
        )
        clock = threading.Timer(PATIENCE, child.kill)
        clock.start()
        try:
            lines = self._relay(child, most)
            return Said(shown, child.wait(), tuple(lines))
        finally:
            clock.cancel()
            child.kill()
            child.wait()

    def _relay(self, child: subprocess.Popen[str], most: int | None) -> list[str]:
        lines: list[str] = []
        if child.stdout is None:
            raise AssertionError("the child's output is a pipe")
        with child.stdout as stream:
            for line in stream:
                lines.append(line.rstrip("\n"))
                if most is None or len(lines) <= most:
                    self._page.output(line)
        if most and len(lines) > most:
            self._page.output(f"… {len(lines) - most} more lines")
        return lines


def environment() -> dict[str, str]:
    """The environment of a command: this one, without anything that names another model, its key or a proxy."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("OPENAI_") and not name.lower().endswith("_proxy")
    }
    return kept | {"PYTHONUTF8": "1", "PYTHONIOENCODING": "utf-8", "NO_COLOR": "1"}
