"""A repository made by the real git, and the few things that a story does with it."""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Repository:
    """A repository and the few things a story does with it."""

    path: Path

    def git(self, *arguments: str | bytes, stdin: bytes | None = None) -> bytes:
        command = ["git", "-c", "protocol.file.allow=always", *arguments]
        done = subprocess.run(command, cwd=self.path, input=stdin, capture_output=True, check=False)
        assert done.returncode == 0, done.stderr.decode(errors="replace")
        return done.stdout

    def write(self, name: str, content: bytes | str) -> Path:
        path = self.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    def commit(self, *names: str) -> str:
        self.git("add", "--all", *names)
        self.git("commit", "--quiet", "--message", "a step")
        return self.head("HEAD")

    def head(self, what: str) -> str:
        return self.git("rev-parse", what).decode().strip()

    def inside(self) -> dict[str, tuple[int, bytes]]:
        """Every file of the git directory with its time and its bytes: what must not change."""
        root = Path(os.fsdecode(self.git("rev-parse", "--absolute-git-dir").strip()))
        files = (path for path in root.rglob("*") if path.is_file() or path.is_symlink())
        return {str(path): (path.lstat().st_mtime_ns, path.read_bytes()) for path in files}

    def age(self) -> None:
        """Make the files a day older: git re-reads, and so may write again, what is as young as its index."""
        for path in (path for path in self.path.rglob("*") if ".git" not in path.parts and path.is_file()):
            os.utime(path, ns=(path.stat().st_mtime_ns - 86_400 * 10**9,) * 2)


def make(path: Path, *options: str) -> Repository:
    path.mkdir(parents=True, exist_ok=True)
    made = Repository(path)
    made.git("init", "--quiet", *options)
    made.git("config", "user.name", "Ada")
    made.git("config", "user.email", "ada@lab.example")
    return made
