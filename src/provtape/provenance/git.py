"""One way to run git: for the author, quietly, and without the caller's environment.

Decides how git is started (no pager, no prompt, no hook, no monitor, no network, no optional write) and where the
work tree is. Not decided here: what is asked of it (`snapshot`, `worktree`, `keyfile`). git runs filters that its
configuration names, so it must never be run in a repository under review.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from provtape.errors import ProvenanceError

# Which configuration files this user has is the user's word; every other GIT_* variable could point git elsewhere.
_KEPT: Final = frozenset({"GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM"})
_SET: Final = {
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_ALLOW_PROTOCOL": "",
    "LC_ALL": "C",
}
_OPTIONS: Final = (
    "--no-pager",
    *("-c", "core.fsmonitor=false"),
    *("-c", "core.hooksPath=/dev/null"),
    *("-c", "core.untrackedCache=false"),
    *("-c", "core.splitIndex=false"),
    *("-c", "core.ignoreStat=false"),
    *("-c", "core.safecrlf=false"),
    *("-c", "core.fsync=none"),
    *("-c", "core.looseCompression=0"),
    *("-c", "add.ignoreErrors=false"),
    *("-c", "advice.addEmbeddedRepo=false"),
    *("-c", "diff.suppressBlankEmpty=false"),
)


@dataclass(frozen=True, slots=True)
class Git:
    """git in one directory, with some variables and options more than every run has."""

    directory: Path
    variables: Mapping[str, str] = field(default_factory=dict)
    options: tuple[str, ...] = ()

    def run(
        self, command: str, *arguments: str | bytes, stdin: bytes = b"", accept: tuple[int, ...] = (0,)
    ) -> bytes:
        """The bytes that git wrote to its standard output.

        Args:
            command: The subcommand.
            arguments: What follows it; nothing of a cassette reaches it unchecked.
            stdin: What git reads; nothing by default, so that no filter waits for a terminal.
            accept: The statuses that are answers and not failures.

        Raises:
            ProvenanceError: git is missing, or ended with another status.
        """
        done = self._start((command, *arguments), stdin)
        if done.returncode not in accept:
            raise ProvenanceError(f"git {command} failed in {shown(self.directory)}: {reason(done.stderr)}")
        return done.stdout

    def status(self, *arguments: str | bytes) -> tuple[int, bytes]:
        """The status of git and what it said on standard error, for questions that it answers that way.

        Raises:
            ProvenanceError: git is missing.
        """
        done = self._start(arguments, b"")
        return done.returncode, done.stderr

    def _start(self, arguments: tuple[str | bytes, ...], stdin: bytes) -> subprocess.CompletedProcess[bytes]:
        if not self.directory.is_dir():
            raise ProvenanceError(f"{shown(self.directory)} is not a directory")
        try:
            return subprocess.run(
                ["git", *_OPTIONS, *self.options, *arguments],
                cwd=self.directory,
                env={**_environment(), **self.variables},
                input=stdin,
                capture_output=True,
                check=False,
            )
        except (OSError, ValueError) as error:
            why = error.strerror if isinstance(error, OSError) else "a name holds a zero byte"
            raise ProvenanceError(
                f"git can not be started: {why}", "install git, or record without code"
            ) from None


def top(directory: Path) -> Path | None:
    """The top of the work tree that holds a directory, links resolved, or None where there is no repository.

    Raises:
        ProvenanceError: git refuses this repository, or the directory lies in a repository but in no work tree.
    """
    git = Git(directory)
    status, said = git.status("rev-parse", "--show-toplevel")
    if status and says_no_repository(said):
        return None
    if status:
        hint = "run from the work tree of a repository that git accepts, or record without code"
        raise ProvenanceError(f"git refuses {shown(directory)}: {reason(said)}", hint)
    return Path(os.path.realpath(os.fsdecode(git.run("rev-parse", "--show-toplevel").removesuffix(b"\n"))))


def _environment() -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_") or name in _KEPT}
    return {**kept, **_SET}


def says_no_repository(said: bytes) -> bool:
    """Whether git found no repository at all, as opposed to one that it refuses."""
    return said.startswith(b"fatal: not a git repository (or any")


def shown(path: Path) -> str:
    """A path for a message: quoted, one line, ASCII, whatever its bytes are."""
    return ascii(str(path))


def reason(said: bytes) -> str:
    """The first complaint of git as one printable line; a warning only if there is nothing worse."""
    lines = said.decode("utf-8", "replace").splitlines()
    worst = [line for line in lines if line.startswith(("fatal:", "error:"))]
    chosen = (worst or [line for line in lines if line.startswith("warning:")] or ["no reason given"])[0]
    return "".join(letter if letter.isprintable() else "?" for letter in chosen)[:300]
