"""A command that provtape started: how it begins, what it is told, how it ended.

Decides what status is passed on and which signals reach the command. Without enclosure the command has the network that everybody
has (`namespace` shuts it in). Does not serve calls and does not choose the environment (`surroundings`).
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from threading import Thread
from types import TracebackType
from typing import IO, Final, Self

from provtape.errors import NotStarted

SHIM: Final = Path(__file__).with_name("shim.py")
PATIENCE: Final = 20.0
HELD: Final = frozenset({signal.SIGINT, signal.SIGTERM, signal.SIGHUP})
FROM_KERNEL: Final = 0x80
Stream = IO[bytes] | int | None


class Child:
    """A started command that waits for `go`.

    Use it as a context manager: at the end nothing that did not get `go` is left, and our ends of its sockets are closed.

    Attributes:
        sockets: Listening sockets that the command reaches under every address: (family, port) → socket. None without enclosure.
        enclosed: Whether the kernel left the command no way around them.
    """

    enclosed: bool = False

    def __init__(self, process: subprocess.Popen[bytes], control: socket.socket, name: str) -> None:
        self.sockets: dict[tuple[int, int], socket.socket] = {}
        self._process = process
        self._control = control
        self._name = name
        self._gone = False

    @classmethod
    def start(
        cls,
        command: Sequence[str],
        *,
        environment: Mapping[str, str],
        cwd: Path | None = None,
        stdout: Stream = None,
        stderr: Stream = None,
    ) -> Self:
        """Start a command up to the point where only `go` is missing.

        Args:
            command: The argv; the program is looked up in the `PATH` of `environment`.
            environment: All the variables that the command gets.
            cwd: Its working directory; default: ours.
            stdout: Where its output goes, as in `subprocess`; default: ours.
            stderr: The same for its error output.

        Raises:
            NotStarted: There is no such directory, or the machine can not start another process.
        """
        return cls(*launch(command, "-", environment, cwd, stdout, stderr), command[0])

    @property
    def pid(self) -> int:
        """The process id of the command, which it has from the start."""
        return self._process.pid

    def go(self) -> None:
        """Let the command run; returns when it does.

        Raises:
            NotStarted: The program is not found or can not be executed, or its process was ended before.
        """
        try:
            self._control.settimeout(None)  # either it runs or it does not; a slow disk is no failure
            self._control.sendall(b"go\n")
            self._gone = True
            said = self._control.recv(256)
        except OSError:
            raise NotStarted(f"{self._name!r} can not be started: its process was ended", 125) from None
        if said:
            number = int(said.split()[1])
            raise NotStarted(f"{self._name!r} can not be started: {os.strerror(number).lower()}", self.wait())

    def wait(self, timeout: float | None = None) -> int:
        """Wait until the command ends.

        Args:
            timeout: Seconds; default: as long as it takes.

        Returns:
            Its status; 128 + n when signal n ended it.

        Raises:
            TimeoutError: It still runs.
        """
        try:
            return passed_on(self._process.wait(timeout))
        except subprocess.TimeoutExpired:
            raise TimeoutError(f"{self._name!r} still runs") from None

    def poll(self) -> int | None:
        """Return the status as `wait` does, None while the command runs."""
        ended = self._process.poll()
        return None if ended is None else passed_on(ended)

    def send(self, number: int) -> None:
        """Send a signal to the command; nothing happens when it has ended."""
        self._process.send_signal(number)

    def close(self) -> None:
        """Close our ends; end the process if it never got `go`. A command that runs is left alone."""
        if not self._gone:
            self._process.kill()
            self._process.wait()
        self._control.close()
        for one in self.sockets.values():
            one.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def passed_on(status: int) -> int:
    """Return what a shell would say of a status of `subprocess`: 128 + n for signal n."""
    return 128 - status if status < 0 else status


class Forwarding:
    """While it is open, SIGINT, SIGTERM and SIGHUP that are sent to us are held back, and go to the command once there is one.

    What the terminal sends (Ctrl-C, a hang-up) it sends to the command as well: that is not sent twice. Open it in the main thread
    before any other thread is there, since a signal goes to whatever thread does not hold it back.
    """

    def __enter__(self) -> Self:
        self._before = signal.pthread_sigmask(signal.SIG_BLOCK, HELD)
        self._thread: Thread | None = None
        self._over = False
        return self

    def to(self, child: Child) -> None:
        """Send what was held back, and all that comes from now on, to this command."""
        self._thread = Thread(target=self._forward, args=(child,), name="provtape-signals", daemon=True)
        self._thread.start()

    def _forward(self, child: Child) -> None:
        while True:
            number, from_terminal = _next_signal()
            if self._over:
                return
            if not from_terminal:
                child.send(number)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over = True
        if self._thread is not None and self._thread.ident is not None:
            signal.pthread_kill(self._thread.ident, signal.SIGHUP)
            self._thread.join()
        signal.pthread_sigmask(signal.SIG_SETMASK, self._before)


def _next_signal() -> tuple[int, bool]:
    """Wait for a held signal; whether the terminal sent it, and so sent it to the command too."""
    if sys.platform == "linux":
        came = signal.sigwaitinfo(HELD)
        return came.si_signo, came.si_code == FROM_KERNEL
    number = signal.sigwait(HELD)  # elsewhere nobody says who sent it
    return number, number == signal.SIGINT and os.isatty(0)


def launch(
    command: Sequence[str],
    ports: str,
    environment: Mapping[str, str],
    cwd: Path | None,
    stdout: Stream,
    stderr: Stream,
) -> tuple[subprocess.Popen[bytes], socket.socket]:
    """Start the shim for a command; a signal that comes meanwhile waits for the command.

    Args:
        command: The argv.
        ports: What the shim is to build: numbers with commas between, `,` for none, or `-` for no enclosure.
        environment: All the variables of the command.
        cwd: Its working directory.
        stdout: As in `subprocess`.
        stderr: As in `subprocess`.

    Returns:
        The process and our end of its control socket.

    Raises:
        NotStarted: There is no such directory, or the machine can not start another process.
    """
    ours, its = socket.socketpair()
    ours.settimeout(PATIENCE)
    shim = [sys.executable, "-I", "-S", str(SHIM), str(its.fileno()), ports, *command]
    before = signal.pthread_sigmask(signal.SIG_BLOCK, HELD)
    try:
        process = subprocess.Popen(
            shim, env=environment, cwd=cwd, stdout=stdout, stderr=stderr, pass_fds=(its.fileno(),)
        )
    except (OSError, ValueError) as error:
        ours.close()
        reason = (getattr(error, "strerror", None) or str(error)).lower()
        raise NotStarted(f"{command[0]!r} can not be started: {reason}", 125) from None
    finally:
        its.close()
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    return process, ours
