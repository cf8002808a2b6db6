"""How the tour looks: numbered sections, sentences, commands and what they said, at most 100 columns wide.

Decides layout and colour only. What a command printed may hold a model's words, so it passes `printable`.
"""

from __future__ import annotations

import shlex
import textwrap
from collections.abc import Iterator, Sequence
from typing import Final, TextIO

from provtape.format.printable import printable

WIDTH: Final = 100

_BOLD, _DIM, _RED, _GREEN, _YELLOW = "1", "2", "1;31", "1;32", "1;33"
_WORDS: Final = {"VERIFIED": _GREEN, "FAILED": _RED, "UNVERIFIED": _YELLOW, "ERROR": _RED}


class Page:
    """Where the tour is printed.

    Args:
        stream: Text goes there, line by line.
        colour: Whether to use ANSI colours.
    """

    def __init__(self, stream: TextIO, *, colour: bool) -> None:
        self._stream = stream
        self._colour = colour
        self._sections = 0

    def section(self, title: str) -> None:
        """A numbered heading."""
        self._sections += 1
        self._line("")
        self._line(self._painted(f"{self._sections}. {title}", _BOLD))

    def say(self, sentence: str) -> None:
        """A sentence of the tour."""
        for line in folded(sentence, "   ", "   "):
            self._line(line)

    def gap(self) -> None:
        """An empty line."""
        self._line("")

    def command(self, typed: str) -> None:
        """A command, before it runs."""
        for line in continued(typed):
            self._line(self._painted(line, _BOLD))

    def output(self, line: str) -> None:
        """One line that a command printed."""
        for part in folded(printable(line.rstrip("\n")), "     ", "       "):
            self._line(self._tinted(part))

    def verdict(self, who: str, word: str, named: str | None, message: str) -> None:
        """What one verifier said."""
        said = f"{who:<15}  {self._painted(word, _WORDS.get(word, _RED))}{f' ({named})' if named else ''}"
        self._line(f"     {said}")
        if message:
            for line in folded(printable(message), " " * 22, " " * 22):
                self._line(self._painted(line, _DIM))

    def _tinted(self, line: str) -> str:
        """A line whose first word is a verdict's, with that word in its colour."""
        first = line.split(maxsplit=1)[0] if line.strip() else ""
        return line.replace(first, self._painted(first, _WORDS[first]), 1) if first in _WORDS else line

    def _painted(self, text: str, code: str) -> str:
        return f"\x1b[{code}m{text}\x1b[0m" if self._colour else text

    def _line(self, line: str) -> None:
        print(line, file=self._stream, flush=True)


def folded(text: str, first: str, later: str) -> list[str]:
    """Text in lines of at most `WIDTH` columns; nothing is left out.

    Args:
        text: One line; blanks at its start stay.
        first: Stands before the first line.
        later: Stands before the others.
    """
    blanks = " " * (len(text) - len(text.lstrip(" ")))
    return textwrap.wrap(
        text.lstrip(" "),
        WIDTH,
        initial_indent=first + blanks,
        subsequent_indent=later + blanks,
        break_on_hyphens=False,
    ) or [""]


def continued(typed: str) -> Iterator[str]:
    r"""A command after its prompt; one that is too wide goes on below a backslash, so that a shell still takes it."""
    line = "   $"
    for word in shlex.split(typed, posix=False):
        if len(line) + len(word) > WIDTH - 3:
            yield f"{line} \\"
            line = "      "
        line += f" {word}"
    yield line


def typed(arguments: Sequence[str]) -> str:
    """Arguments as one types them in a shell."""
    return shlex.join(arguments)
