"""Who runs the commands of these tests: ourselves, and, where we are root, an ordinary user with an interpreter it can read."""

from __future__ import annotations

import json
import os
import pwd
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

HERE = Path(__file__).parent
ROOT = HERE.parents[2]
ORDINARY = "nobody"
USERS = ["root", ORDINARY] if os.geteuid() == 0 else [pwd.getpwuid(os.geteuid()).pw_name]
NOT_NEEDED = (
    "site-packages",
    "test",
    "config-*",
    "ensurepip",
    "idlelib",
    "lib2to3",
    "tkinter",
    "*.opt-?.pyc",
)


@dataclass(frozen=True, slots=True)
class Ended:
    """How a command ended: its status, its output, and what was served to it, as [name or address, port]."""

    status: int
    output: str
    errors: str
    served: list[list[object]]


@dataclass(frozen=True, slots=True)
class Stage:
    """A user, an interpreter for it, and a folder that it may write to."""

    user: str
    python: str
    folder: Path
    environment: dict[str, str]

    def driver(self, *command: str, road: str = "enclosed") -> list[str]:
        """The argv of the driver for a command."""
        return [
            self.python,
            str(self.folder / "enclosed.py"),
            road,
            str(self.folder / "report.json"),
            *command,
        ]

    def start(
        self,
        *command: str,
        road: str = "enclosed",
        environment: Mapping[str, str] | None = None,
        stdout: IO[bytes] | int = subprocess.PIPE,
    ) -> subprocess.Popen[bytes]:
        """Start the driver for a command, as this user."""
        return subprocess.Popen(
            self.driver(*command, road=road),
            env={**self.environment, **(environment or {})},
            cwd=self.folder,
            stdin=subprocess.DEVNULL,
            stdout=stdout,
            stderr=subprocess.PIPE,
            **self.identity(),
        )

    def run(
        self, *command: str, road: str = "enclosed", environment: Mapping[str, str] | None = None
    ) -> Ended:
        """Run a command to its end."""
        report = self.folder / "report.json"
        report.unlink(missing_ok=True)
        with self.start(*command, road=road, environment=environment) as process:
            output, errors = process.communicate(timeout=120)
        served = json.loads(report.read_text("utf-8")) if report.exists() else []
        return Ended(process.returncode, output.decode(), errors.decode(), served)

    def outcome(self, argv: Sequence[str], stdin: IO[bytes] | int = subprocess.DEVNULL) -> tuple[str, str]:
        """Run any argv as this user; its output and its error output."""
        done = subprocess.run(
            argv,
            env=self.environment,
            cwd=self.folder,
            stdin=stdin,
            capture_output=True,
            timeout=120,
            **self.identity(),
        )
        return done.stdout.decode(), done.stderr.decode()

    def program(self, name: str, *arguments: object) -> list[str]:
        """The argv of a program that lies beside these tests."""
        return [self.python, str(self.folder / name), *map(str, arguments)]

    def identity(self) -> dict[str, int | list[int]]:
        """What makes `subprocess` start a process as this user; nothing when that is us."""
        entry = pwd.getpwnam(self.user)
        if entry.pw_uid == os.geteuid():
            return {}
        return {"user": entry.pw_uid, "group": entry.pw_gid, "extra_groups": []}


@contextmanager
def staged(user: str, folder: Path) -> Iterator[Stage]:
    """Set a stage for a user in an empty folder outside any private one."""
    folder.chmod(0o755)
    work = folder / "work"
    work.mkdir()
    for name in ("enclosed.py", "roads.py"):
        shutil.copy(HERE / name, work / name)
    shutil.copytree(ROOT / "src", folder / "src", ignore=shutil.ignore_patterns("__pycache__"))
    environment = {
        "PATH": "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin",
        "PYTHONPATH": str(folder / "src"),
        "HOME": str(work),
    }
    python = sys.executable
    if pwd.getpwnam(user).pw_uid != os.geteuid():
        os.chown(work, pwd.getpwnam(user).pw_uid, -1)
        python = copied_interpreter(folder)
        environment["LD_LIBRARY_PATH"] = str(folder / "lib")
    yield Stage(user, python, work, environment)


def copied_interpreter(folder: Path) -> str:
    """Copy this interpreter without its packages: its own place may be one that others can not read."""
    base = Path(sysconfig.get_config_var("BINDIR"), f"python{sysconfig.get_python_version()}")
    library = Path(sysconfig.get_paths()["stdlib"])
    shutil.copytree(library, folder / "lib" / library.name, ignore=shutil.ignore_patterns(*NOT_NEEDED))
    for shared in library.parent.glob("libpython3*.so*"):
        shutil.copy(shared, folder / "lib" / shared.name)
    (folder / "bin").mkdir()
    return str(shutil.copy(base, folder / "bin" / base.name))
