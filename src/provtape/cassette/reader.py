"""Reading lines from disk: regular files only, bounded, split at LF alone (spec C1, C5).

Decides what may be opened and where a line ends. A file is hostile: it may be a pipe that never answers, a folder, or one line
without end.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from provtape.errors import InputError, LimitError
from provtape.format.chain import MAX_RECORD

_NO_WAIT = getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)


def open_regular(path: Path) -> BinaryIO:
    """Open a file for reading if it is a regular one; never waits for a pipe.

    Raises:
        InputError: Not there, not readable, or no regular file.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | _NO_WAIT)
    except (OSError, ValueError) as error:
        reason = os.strerror(error.errno) if isinstance(error, OSError) and error.errno else "no file name"
        raise InputError(f"{path.name}: {reason.lower()}") from None
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise InputError(f"{path.name}: not a regular file")
    return open(descriptor, "rb")


def read_small(path: Path, limit: int) -> bytes:
    """The whole content of a regular file of at most `limit` bytes.

    Raises:
        InputError: As `open_regular`.
        LimitError: Larger.
    """
    with open_regular(path) as file:
        data = file.read(limit + 1)
    if len(data) > limit:
        raise LimitError(f"{path.name}: larger than {limit >> 20} MiB")
    return data


def lines(file: BinaryIO) -> Iterator[tuple[int, bytes]]:
    """The lines of a cassette with their byte offsets; the last may lack its LF (a torn tail).

    Raises:
        LimitError: A line of more than 256 MiB (spec C5).
    """
    offset = 0
    while line := file.readline(MAX_RECORD + 1):
        if len(line) > MAX_RECORD:
            raise LimitError(f"the line at byte {offset} has more than {MAX_RECORD >> 20} MiB")
        yield offset, line
        offset += len(line)
