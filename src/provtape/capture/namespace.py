"""The enclosure (Linux): a command in its own user and network namespace, where every address is ours.

Decides what the command can reach: the sockets given here and nothing else, whatever it does, because a network namespace has no
other way out than its interfaces, and this one has only `lo`. Path-named Unix sockets are files, not network: they still cross.
A resolver daemon behind one (nscd, nss-resolve) may answer with a name's real address: it is ours like all others. On a machine
without any network it may also say that there is no such name, which no variable changes.

Does not serve the sockets; answers names itself (`names`).
"""

from __future__ import annotations

import os
import socket
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final, Self

from provtape.capture.child import Child, Stream, launch
from provtape.capture.names import Names
from provtape.capture.resolver import Resolver
from provtape.errors import CaptureError, NotEnclosed

# One message carries at most 253 descriptors: two for each port and four for names.
PORTS: Final = 100
DESCRIPTORS: Final = 2 * PORTS + 4
SAID: Final = 16_384


class Enclosure(Child):
    """A command that waits for `go`, shut in.

    Attributes:
        sockets: Listening sockets that were born inside, (family, port) → socket: the command reaches them under every address. An
            IPv6 one may be missing where the kernel has no IPv6.
        names: The names that were resolved inside: `names.name_of(address)` for a client that did not name its host.
    """

    enclosed = True

    def __init__(self, process: subprocess.Popen[bytes], control: socket.socket, name: str) -> None:
        super().__init__(process, control, name)
        self.names = Names()
        self.dns: list[socket.socket] = []
        self._resolver: Resolver | None = None

    @classmethod
    def start(
        cls,
        command: Sequence[str],
        *,
        environment: Mapping[str, str],
        cwd: Path | None = None,
        stdout: Stream = None,
        stderr: Stream = None,
        ports: Iterable[int] = (80, 443),
    ) -> Self:
        """Build an enclosure and a process in it that becomes the command at `go`.

        Args:
            command: The argv; the program is looked up in the `PATH` of `environment`.
            environment: All the variables that the command gets.
            cwd: Its working directory; default: ours.
            stdout: Where its output goes, as in `subprocess`; default: ours.
            stderr: The same for its error output.
            ports: TCP ports that are ours at every address; at most 100, 53 is taken.

        Raises:
            CaptureError: The ports are too many or no ports.
            NotEnclosed: The kernel refuses a step, which the message names. Nothing is left of the attempt.
            NotStarted: There is no such directory, or the machine can not start another process.
        """
        wanted = sorted(set(ports))
        if len(wanted) > PORTS or 53 in wanted or not all(0 < port < 65_536 for port in wanted):
            raise CaptureError(
                f"an enclosure has at most {PORTS} ports from 1 to 65535 and answers names at 53 itself"
            )
        launched = launch(command, ",".join(map(str, wanted)) or ",", environment, cwd, stdout, stderr)
        enclosure = cls(*launched, command[0])
        try:
            enclosure._build()
        except BaseException:
            enclosure.close()
            raise
        return enclosure

    def _build(self) -> None:
        self._heard(b"unshared")
        write_maps(self.pid)
        self._control.sendall(b"mapped\n")
        said, sockets = self._heard(b"sockets")
        for name, made in zip(said.split(), sockets, strict=True):
            kind, family, port = name.split(b",")
            if kind == b"tcp":
                self.sockets[int(family), int(port)] = made
            else:
                self.dns.append(made)
        self._resolver = Resolver(self.names, self.dns)

    def _heard(self, word: bytes) -> tuple[bytes, list[socket.socket]]:
        """Take the shim's turn: what follows a word, and the sockets that came with it."""
        try:
            said, descriptors, _, _ = socket.recv_fds(self._control, SAID, DESCRIPTORS)
        except OSError:
            raise NotEnclosed("the enclosure was not built: its process does not answer") from None
        sockets = [socket.socket(fileno=descriptor) for descriptor in descriptors]
        first, _, rest = said.rstrip(b"\n").partition(b" ")
        if first == word:
            return rest, sockets
        if first == b"refused":
            number, _, step = rest.decode().partition(" ")
            raise _refused(step, int(number))
        raise NotEnclosed("the enclosure was not built: its process ended before it")

    def close(self) -> None:
        """Stop answering names and close our ends, as `Child.close` does."""
        if self._resolver is not None:
            self._resolver.close()
            self._resolver = None
        super().close()


def write_maps(pid: int) -> None:
    """Give a new user namespace its users: everyone we have when we may, else ourselves alone (user_namespaces(7)).

    With all users mapped root inside can read and own what root outside can; either way the namespace's capabilities end at its
    border.

    Args:
        pid: A process that has just unshared.

    Raises:
        NotEnclosed: Neither is allowed.
    """
    folder = Path(f"/proc/{pid}")
    try:
        if os.geteuid() == 0 and _map_everyone(folder):
            return
        (folder / "setgroups").write_text("deny")
        (folder / "gid_map").write_text(f"{os.getegid()} {os.getegid()} 1")
        (folder / "uid_map").write_text(f"{os.geteuid()} {os.geteuid()} 1")
    except OSError as error:
        raise _refused("map users", error.errno or 0) from None


def _map_everyone(folder: Path) -> bool:
    """Map every user and group of our own namespace to itself; False when that is not ours to do."""
    for name in ("gid_map", "uid_map"):
        ranges = [line.split() for line in Path("/proc/self", name).read_text("ascii").splitlines()]
        try:
            (folder / name).write_text("".join(f"{first} {first} {count}\n" for first, _, count in ranges))
        except PermissionError:
            if name == "uid_map":
                raise
            return False
    return True


def _refused(step: str, number: int) -> NotEnclosed:
    reason = os.strerror(number).lower() if number else "no reason given"
    return NotEnclosed(
        f"the kernel does not allow an enclosure here: {step}: {reason}",
        "containers and some distributions switch user namespaces off; `--no-enclosure` goes without",
    )
