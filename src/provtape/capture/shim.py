"""The small program between provtape and the command: it builds the enclosure around itself, then becomes the command.

Run as `python -I -S shim.py CONTROL PORTS|- ARGV…` and never imported by provtape: a user namespace can only be entered by a
process without threads. CONTROL is the number of an inherited stream socket on which the two take turns, one line each:

    shim    `unshared`                       it is in its own namespaces, without any user map yet
    parent  `mapped`                         the maps are written
    shim    `sockets KIND,FAMILY,PORT …`     the sockets themselves come along, in this order
    parent  `go`                             they are being served
    shim    `exec ERRNO`, or the end         the command could not be started, or it runs

`refused ERRNO STEP` in place of a line says which step the kernel refused. With `-` for PORTS there is no enclosure and the turns
begin with `go`. Decides nothing: what runs, which ports and what is served is the parent's business. Standard library only.
"""

from __future__ import annotations

# `_socket`, and the C library for signals: `socket` and `signal` build enums on top, half of the time that a start takes.
import _socket as socket
import ctypes
import errno
import fcntl
import os
import struct
import sys
from collections.abc import Iterator

NEW_USER = 0x10000000
NEW_NET = 0x40000000
GET_FLAGS = 0x8913
SET_FLAGS = 0x8914
INTERFACE_UP = 0x1
NEW_ADDRESS = 20
NEW_ROUTE = 24
REQUEST = 0x605  # REQUEST | ACK | EXCL | CREATE
LOCAL_TABLE = 255
# An address that is not the loopback's: without one AI_ADDRCONFIG hides a whole family from getaddrinfo.
OWN4 = "198.18.0.1"
OWN6 = "fd70:726f:7674::1"
DNS = 53
BACKLOG = 4096
SIGINT, SIGPIPE, SIGXFSZ = 2, 13, 25
HELD = (SIGINT, 15, 1)  # and SIGTERM, SIGHUP
UNBLOCK = 1 if sys.platform == "linux" else 2
DEFAULT, IGNORE = 0, 1
SIGNAL_SET = 128  # bytes; no system has a larger one
LIBRARY = ctypes.CDLL(None, use_errno=True)


class Refused(Exception):
    """The kernel said no."""

    def __init__(self, step: str, number: int | None) -> None:
        super().__init__(step)
        self.step = step
        self.number = number or 0


def unshare() -> None:
    """Enter an own user and an own network namespace."""
    if not hasattr(LIBRARY, "unshare"):
        raise Refused("unshare", errno.ENOSYS)
    if LIBRARY.unshare(NEW_USER | NEW_NET) != 0:
        raise Refused("unshare", ctypes.get_errno())


def raise_loopback() -> None:
    """Bring `lo` up; a network namespace is born with it down."""
    any_socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    request = struct.pack("16sh22x", b"lo", 0)
    flags = struct.unpack_from("h", fcntl.ioctl(any_socket.fileno(), GET_FLAGS, request), 16)[0]
    fcntl.ioctl(any_socket.fileno(), SET_FLAGS, struct.pack("16sh22x", b"lo", flags | INTERFACE_UP))
    any_socket.close()


def netlink(kind: int, payload: bytes) -> None:
    """Send one rtnetlink request and read its answer."""
    head = struct.pack("=IHHII", 16 + len(payload), kind, REQUEST, 1, 0)
    routes = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE)
    routes.sendto(head + payload, (0, 0))
    answer = routes.recv(4096)
    routes.close()
    failure = -struct.unpack_from("=i", answer, 16)[0]
    if failure:
        raise OSError(failure, os.strerror(failure))


def attribute(kind: int, value: bytes) -> bytes:
    """One rtnetlink attribute whose value is a multiple of four bytes."""
    return struct.pack("=HH", 4 + len(value), kind) + value


def make_all_local(family: int, own: str) -> None:
    """Make every address of a family this host's own, and give it one that is not the loopback's."""
    index = socket.if_nametoindex("lo")
    packed = socket.inet_pton(family, own)
    address = struct.pack("=BBBBI", family, len(packed) * 8, 0, 0, index)
    netlink(NEW_ADDRESS, address + attribute(2, packed) + attribute(1, packed))
    scope = 254 if family == socket.AF_INET else 0
    # no destination: 0.0.0.0/0 or ::/0; table local, protocol boot, type local
    route = struct.pack("=BBBBBBBBI", family, 0, 0, 0, LOCAL_TABLE, 3, scope, 2, 0)
    netlink(NEW_ROUTE, route + attribute(4, struct.pack("=I", index)))


def bound(family: int, kind: int, port: int) -> socket.socket:
    """Bind a socket to a port of every address of a family; a stream socket listens."""
    made = socket.socket(family, kind)
    if family == socket.AF_INET6:
        made.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
    made.bind(("", port))
    if kind == socket.SOCK_STREAM:
        made.listen(BACKLOG)
    return made


def sockets(families: list[int], ports: list[int]) -> Iterator[tuple[str, socket.socket]]:
    """Yield the sockets that are born inside, each with its name `KIND,FAMILY,PORT`."""
    for family in families:
        for port in ports:
            yield f"tcp,{family},{port}", bound(family, socket.SOCK_STREAM, port)
        for name, kind in (("dns-udp", socket.SOCK_DGRAM), ("dns-tcp", socket.SOCK_STREAM)):
            yield f"{name},{family},{DNS}", bound(family, kind, DNS)


def families() -> list[int]:
    """Build the network of the enclosure; the families it has. IPv6 may be missing: then nothing goes out by it either."""
    step = "raise lo"
    try:
        raise_loopback()
        step = "route every address to lo"
        make_all_local(socket.AF_INET, OWN4)
    except OSError as error:
        raise Refused(step, error.errno) from None
    try:
        make_all_local(socket.AF_INET6, OWN6)
    except OSError:
        return [socket.AF_INET]
    return [socket.AF_INET, socket.AF_INET6]


def expect(control: socket.socket, word: bytes) -> None:
    """Wait for the parent's turn; without a parent there is nothing to do."""
    if control.recv(64) != word + b"\n":
        os._exit(125)


def enclose(control: socket.socket, ports: list[int]) -> None:
    """Build the enclosure and hand its sockets over; no copy of them stays here."""
    unshare()
    control.sendall(b"unshared\n")
    expect(control, b"mapped")
    try:
        made = list(sockets(families(), ports))
    except OSError as error:
        raise Refused("listen", error.errno) from None
    names = " ".join(name for name, _ in made)
    descriptors = struct.pack(f"={len(made)}i", *(one.fileno() for _, one in made))
    control.sendmsg([f"sockets {names}\n".encode()], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, descriptors)])
    for _, one in made:
        one.close()


def restore_signals() -> None:
    """Undo what the interpreter did at its start, and let the held signals in: those that came meanwhile are the command's."""
    LIBRARY.signal.restype = ctypes.c_void_p
    for number in (SIGPIPE, SIGXFSZ):
        LIBRARY.signal(number, ctypes.c_void_p(DEFAULT))
    if LIBRARY.signal(SIGINT, ctypes.c_void_p(DEFAULT)) == IGNORE:  # `nohup` and `&` want it so
        LIBRARY.signal(SIGINT, ctypes.c_void_p(IGNORE))
    held = ctypes.create_string_buffer(SIGNAL_SET)
    LIBRARY.sigemptyset(held)
    for number in HELD:
        LIBRARY.sigaddset(held, number)
    LIBRARY.pthread_sigmask(UNBLOCK, held, None)


def environment() -> dict[bytes, bytes]:
    """Read the environment as the kernel got it: the interpreter may have set its locale in `os.environ` (PEP 538)."""
    if not os.path.exists("/proc/self/environ"):
        return dict(os.environb)
    with open("/proc/self/environ", "rb") as file:
        pairs = (entry.partition(b"=") for entry in file.read().split(b"\0"))
        return {name: value for name, equals, value in pairs if name and equals}


def become(control: socket.socket, command: list[str], surroundings: dict[bytes, bytes]) -> None:
    """Become the command; the end of the control socket tells the parent."""
    restore_signals()
    try:
        os.execvpe(command[0], command, surroundings)
    except (OSError, ValueError) as error:
        number = getattr(error, "errno", None) or errno.EINVAL
        control.sendall(f"exec {number}\n".encode())
        os._exit(127 if number in (errno.ENOENT, errno.ENOTDIR) else 126)


def main() -> None:
    """Read the arguments and go through the turns."""
    descriptor, ports, *command = sys.argv[1:]
    surroundings = environment()
    control = socket.socket(fileno=int(descriptor))
    os.set_inheritable(int(descriptor), False)
    if ports != "-":
        try:
            enclose(control, [int(port) for port in ports.split(",") if port])
        except Refused as refused:
            control.sendall(f"refused {refused.number} {refused.step}\n".encode())
            os._exit(125)
    expect(control, b"go")
    become(control, command, surroundings)


if __name__ == "__main__":
    main()
