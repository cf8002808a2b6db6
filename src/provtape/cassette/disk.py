"""Bytes that must outlast a crash: whole writes, syncs, and torn tails moved aside (DESIGN 7).

Decides how a byte reaches the disk for good, on which files, and in which order. What the bytes are is the writer's matter.
"""

from __future__ import annotations

import errno
import os
import stat
import sys
from contextlib import suppress
from pathlib import Path
from typing import Final

from provtape.errors import CassetteError

if sys.platform == "darwin":
    import fcntl

_PLAIN: Final = (
    getattr(os, "O_NOFOLLOW", 0)
    | getattr(os, "O_NONBLOCK", 0)
    | getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_BINARY", 0)
)
MODE: Final = 0o644


def beside(cassette: Path, suffix: str) -> Path:
    """The file of that suffix beside a cassette, e.g. `.ckpt`."""
    return cassette.with_name(cassette.name + suffix)


def because(error: OSError) -> str:
    """The system's word for an error, lower case, without the file's name."""
    return os.strerror(error.errno).lower() if error.errno else "an error without a number"


def open_to_append(path: Path, flags: int = 0) -> int:
    """Open a regular file for reading and appending; links are not followed, pipes are not waited for.

    Args:
        path: The file.
        flags: `O_CREAT`, `O_EXCL` or nothing; a new file has mode 0644 less the umask.

    Returns:
        The descriptor, not inherited by programs that are started.

    Raises:
        OSError: As `os.open`; `ELOOP` for a link, `EINVAL` for what is no regular file or no file name.
    """
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_APPEND | _PLAIN | flags, MODE)
    except ValueError:  # a NUL in the name
        raise OSError(errno.EINVAL, os.strerror(errno.EINVAL)) from None
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))
    return descriptor


def write_whole(descriptor: int, data: bytes) -> None:
    """Write all of `data`: one call, and more only when the system took less.

    Raises:
        OSError: Not all of it could be written; some of it may be there.
    """
    rest = memoryview(data)
    while rest:
        done = os.write(descriptor, rest)
        if done == 0:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        rest = rest[done:]


def sync(descriptor: int) -> None:
    """Return when the file's bytes and size are on the disk itself (macOS: F_FULLFSYNC where it is known).

    Raises:
        OSError: They may not be.
    """
    if sys.platform == "darwin":
        with suppress(OSError):  # a file system without it has fsync
            fcntl.fcntl(descriptor, fcntl.F_FULLFSYNC)
            return
    os.fsync(descriptor)


def sync_folder(path: Path) -> None:
    """Return when the folder's entry of a new file is on the disk.

    Args:
        path: The file.

    Raises:
        OSError: It may not be.
    """
    try:
        descriptor = os.open(path.parent, os.O_RDONLY | getattr(os, "O_DIRECTORY", 0))
    except PermissionError:
        return  # a folder that may be entered but not read; Windows opens none
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno != errno.EINVAL:  # this file system syncs no folders
            raise
    finally:
        os.close(descriptor)


def set_aside(torn: Path, tail: bytes) -> None:
    """Keep a torn tail: append it and an LF to the file `torn`, durably, before it is cut off where it was.

    Raises:
        CassetteError: It could not be kept; nothing may be cut then.
    """
    try:
        descriptor = open_to_append(torn, os.O_CREAT)
        try:
            fresh = os.fstat(descriptor).st_size == 0
            write_whole(descriptor, tail + b"\n")
            sync(descriptor)
        finally:
            os.close(descriptor)
        if fresh:
            sync_folder(torn)
    except OSError as error:
        raise CassetteError(f"{torn.name}: the torn tail could not be moved here: {because(error)}") from None
