"""Whose machine: what a `run` record says about interpreter, platform and locked dependencies.

Decides what is told and what is not: no host name, no user name, no path, no variable. Lock files are told by digest,
so that a reviewer sees whether the same set of packages is meant; whether it was installed is not known here.
"""

from __future__ import annotations

import hashlib
import os
import platform
import re
import stat
from pathlib import Path
from typing import Final

MAX_LOCK: Final = 64 * 1024 * 1024

_LOCK: Final = re.compile(
    r"uv\.lock|poetry\.lock|pdm\.lock|Pipfile\.lock|requirements[A-Za-z0-9._-]*\.txt|pylock(\.[A-Za-z0-9_-]+)?\.toml"
    r"|package-lock\.json|pnpm-lock\.yaml|yarn\.lock|conda-lock\.yml"
)
_RELEASE: Final = re.compile(r"[0-9]+(\.[0-9]+)?")


def environment(directory: Path) -> dict[str, object]:
    """Interpreter, platform and lock files, as free JSON for `environment` of a `run` (spec C14).

    Args:
        directory: Where lock files are looked for; its root only.

    Returns:
        `python` {`implementation`, `version`}, `platform` {`system`, `release`, `machine`} (of the release only its first
        two numbers), and `locks`: name to SHA-256 in hex, or None for one that is there but was not read (no regular
        file, unreadable, or larger than 64 MiB).
    """
    return {
        "python": {"implementation": platform.python_implementation(), "version": platform.python_version()},
        "platform": {
            "system": platform.system(),
            "release": _release_class(platform.release()),
            "machine": platform.machine(),
        },
        "locks": {name: _digest(directory / name) for name in _lock_names(directory)},
    }


def _release_class(release: str) -> str | None:
    """`6.1` of `6.1.0-18-custom`: the build's own name could name the machine."""
    match = _RELEASE.match(release)
    return match[0] if match else None


def _lock_names(directory: Path) -> list[str]:
    try:
        names = os.listdir(directory)
    except OSError:
        return []
    return sorted(name for name in names if _LOCK.fullmatch(name))


def _digest(path: Path) -> str | None:
    """SHA-256 in hex of a regular file, links not followed, or None."""
    try:
        # Not blocking: a pipe of that name would wait for a writer.
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return None
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return None
        with open(descriptor, "rb", closefd=False) as file:
            content = file.read(MAX_LOCK + 1)
    except OSError:
        return None
    finally:
        os.close(descriptor)
    return hashlib.sha256(content).hexdigest() if len(content) <= MAX_LOCK else None
