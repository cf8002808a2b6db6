"""The model's process as the tour sees it: started, stopped, and shown to be gone.

Decides how long is waited and what is said when the model does not come up. What runs in that process is `model`'s matter.
"""

from __future__ import annotations

import queue
import re
import socket
import subprocess
import sys
import threading
from pathlib import Path
from types import TracebackType
from typing import IO, Final, Self

from provtape.errors import InputError

READY: Final = 120.0  # seconds until the model must answer
LEAVE: Final = 30.0  # seconds until a process that was asked to stop is killed

_ADDRESS: Final = re.compile(r"http://127\.0\.0\.1:([0-9]{1,5})\n")


class Upstream:
    """A model that answers on loopback, in a child process that ends with this one.

    Attributes:
        port: Its port on 127.0.0.1.
    """

    def __init__(self, child: subprocess.Popen[str], port: int) -> None:
        self.port = port
        self._child = child

    @classmethod
    def start(cls, log: Path) -> Upstream:
        """Start the model and wait until it answers.

        Args:
            log: Where its messages go.

        Raises:
            InputError: It did not come up.
        """
        child = subprocess.Popen(
            [sys.executable, "-P", "-m", "provtape.demo.model", str(log)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        try:
            found = _ADDRESS.fullmatch(_first_line(child))
            if found is None:
                raise InputError("the model did not start", f"{log.name} says why")
        except BaseException:
            _end(child)
            raise
        return cls(child, int(found[1]))

    @property
    def base_url(self) -> str:
        """What an OpenAI client takes as its base URL."""
        return f"http://127.0.0.1:{self.port}/v1"

    def stop(self) -> None:
        """End the process; the second time nothing happens."""
        _end(self._child)

    def listens(self) -> bool:
        """Whether anything takes a connection on its port, now."""
        try:
            with socket.create_connection(("127.0.0.1", self.port), timeout=5):
                return True
        except OSError:
            return False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()


def _first_line(child: subprocess.Popen[str]) -> str:
    """The first line that a child prints, or nothing when it ends or is too late."""
    lines: queue.Queue[str] = queue.Queue()
    threading.Thread(target=lambda: lines.put(_pipe(child.stdout).readline()), daemon=True).start()
    try:
        return lines.get(timeout=READY)
    except queue.Empty:
        return ""


def _end(child: subprocess.Popen[str]) -> None:
    _pipe(child.stdin).close()  # the child waits for this
    try:
        child.wait(LEAVE)
    except subprocess.TimeoutExpired:
        child.kill()
        child.wait()
    _pipe(child.stdout).close()


def _pipe(stream: IO[str] | None) -> IO[str]:
    if stream is None:
        raise AssertionError("every stream of the child that is used here is a pipe")
    return stream
