"""No road leads out: what runs in an enclosure reaches the recorder's sockets, whatever address it dials, and nothing else."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from enclosure_stage import ORDINARY, Stage
from roads import ROADS

EVERY_ROAD = dict.fromkeys(ROADS, "reached")
NO_ROAD = dict.fromkeys(ROADS, "ConnectionRefusedError")


class Upstream:
    """A server on this machine that answers everybody and counts them."""

    def __init__(self, family: int, address: str) -> None:
        self.seen = 0
        self._listening = socket.socket(family, socket.SOCK_STREAM)
        self._listening.bind((address, 0))
        self._listening.listen()
        self.address: str = address
        self.port: int = self._listening.getsockname()[1]
        self._thread = threading.Thread(target=self._serve)
        self._thread.start()

    def _serve(self) -> None:
        while True:
            connection, _ = self._listening.accept()
            with connection:
                if connection.recv(100) == b"end":
                    return
                self.seen += 1
                connection.sendall(b"HTTP/1.0 200 OK\r\n\r\nlive")

    def end(self) -> int:
        """Close it; how many connections it saw."""
        with socket.create_connection((self.address, self.port)) as connection:
            connection.sendall(b"end")
            self._thread.join()
        self._listening.close()
        return self.seen


@contextmanager
def upstream(family: int = socket.AF_INET, address: str = "127.0.0.1") -> Iterator[Upstream]:
    server = Upstream(family, address)
    try:
        yield server
    finally:
        server.end()


LOOPBACKS = pytest.mark.parametrize(
    ("family", "address"), [(socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")], ids=["IPv4", "IPv6"]
)


@LOOPBACKS
def test_a_listening_upstream_sees_no_connection(stage: Stage, family: int, address: str) -> None:
    with upstream(family, address) as server:
        ended = stage.run(*stage.program("roads.py", address, server.port))
        assert json.loads(ended.output) == NO_ROAD
        assert (server.seen, ended.served) == (0, [])


def test_closing_every_descriptor_opens_nothing(stage: Stage) -> None:
    with upstream() as server:
        ended = stage.run(*stage.program("roads.py", "127.0.0.1", server.port, "closed"))
        assert json.loads(ended.output) == NO_ROAD
        assert server.seen == 0


def test_without_enclosure_the_same_program_reaches_it_on_every_road(stage: Stage) -> None:
    with upstream() as server:
        ended = stage.run(*stage.program("roads.py", "127.0.0.1", server.port), road="plain")
        assert json.loads(ended.output) == EVERY_ROAD
        assert server.seen == len(ROADS)


@pytest.mark.parametrize("host", ["api.example.com", "203.0.113.9"])
def test_every_road_to_a_served_port_leads_to_the_recorder(stage: Stage, host: str) -> None:
    ended = stage.run(*stage.program("roads.py", host, 443))
    assert json.loads(ended.output) == EVERY_ROAD
    assert ended.served == [[host, 443]] * len(ROADS)


DIAL = r"""
import socket, sys
for host in sys.argv[1:]:
    with socket.create_connection((host, 80)) as one:
        one.sendall(b"GET / HTTP/1.0\r\n\r\n")
        print(one.makefile().read().splitlines()[-1])
"""
ADDRESSES = ["127.0.0.1", "203.0.113.9", "169.254.169.254", "10.0.0.1", "::1", "2001:db8::9"]


def test_every_address_is_the_recorders(stage: Stage) -> None:
    """The loopback, the metadata service of a cloud, a private network, IPv6: all are one server."""
    ended = stage.run(stage.python, "-c", DIAL, *ADDRESSES, "localhost", "a.example", "b.example")
    assert ended.errors == ""
    known = [line.split()[1] for line in ended.output.splitlines()]
    assert known[:-3] == ADDRESSES
    assert known[-3] in ("127.0.0.1", "::1")
    assert known[-2:] == ["a.example", "b.example"]


def test_a_port_that_nobody_serves_is_refused_even_at_a_name(stage: Stage) -> None:
    ended = stage.run(stage.python, "-c", DIAL.replace("80", "8443"), "api.example.com")
    assert ended.errors.splitlines()[-1].startswith("ConnectionRefusedError")


DATAGRAM = """
import socket, sys
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
    one.connect(("127.0.0.1", int(sys.argv[1])))
    one.send(b"out")
    try:
        one.recv(1)
    except ConnectionRefusedError:
        print("refused")
"""


def test_a_datagram_stays_inside(stage: Stage) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as outside:
        outside.bind(("127.0.0.1", 0))
        outside.setblocking(False)
        ended = stage.run(stage.python, "-c", DATAGRAM, str(outside.getsockname()[1]))
        assert ended.output == "refused\n"
        with pytest.raises(BlockingIOError):
            outside.recv(10)


ABSTRACT = """
import socket, sys
with socket.socket(socket.AF_UNIX) as one:
    try:
        one.connect(sys.argv[1].replace("@", "\\0"))
    except ConnectionRefusedError:
        print("refused")
    else:
        print(one.recv(10).decode())
"""


@contextmanager
def unix_server(address: str) -> Iterator[None]:
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(address.replace("@", "\0"))
        if not address.startswith("@"):
            os.chmod(address, 0o777)
        listening.listen()

        def serve() -> None:
            connection, _ = listening.accept()
            with connection, contextlib.suppress(BrokenPipeError):
                connection.sendall(b"crossed")

        thread = threading.Thread(target=serve)
        thread.start()
        yield
        with socket.socket(socket.AF_UNIX) as last:  # it may still be waiting for somebody
            last.connect(address.replace("@", "\0"))
        thread.join()


def test_an_abstract_unix_socket_belongs_to_the_network_outside(stage: Stage) -> None:
    address = f"@provtape-{os.getpid()}"
    with unix_server(address):
        assert stage.run(stage.python, "-c", ABSTRACT, address).output == "refused\n"
    with unix_server(address):
        assert stage.run(stage.python, "-c", ABSTRACT, address, road="plain").output == "crossed\n"


def test_limit_a_path_named_unix_socket_crosses(stage: Stage) -> None:
    """It is a file, and files are shared: a daemon that listens on one does outside what it is asked for."""
    address = stage.folder.parent / "daemon.sock"
    address.unlink(missing_ok=True)
    with unix_server(str(address)):
        assert stage.run(stage.python, "-c", ABSTRACT, str(address)).output == "crossed\n"


BACK = """
import ctypes, os, sys
library = ctypes.CDLL(None, use_errno=True)
for kind in ("user", "net"):
    try:
        descriptor = os.open(f"/proc/{sys.argv[1]}/ns/{kind}", os.O_RDONLY)
    except PermissionError:
        print(kind, "can not be opened")
        continue
    print(kind, "entered" if library.setns(descriptor, 0) == 0 else "refused")
"""


def test_there_is_no_way_back_into_the_namespaces_outside(stage: Stage) -> None:
    ended = stage.run(stage.python, "-c", BACK, str(os.getpid()))
    assert ended.output.splitlines() == ["user can not be opened", "net can not be opened"]


HANDED = """
import ctypes, os
library = ctypes.CDLL(None, use_errno=True)
print("entered" if library.setns(0, 0) == 0 else "refused")
"""


def test_a_descriptor_of_the_network_outside_is_of_no_use(stage: Stage) -> None:
    """The standard streams are handed on, so one could be the namespace itself."""
    with open("/proc/self/ns/net", "rb") as outside:
        driver = stage.driver(stage.python, "-c", HANDED)
        output, _ = stage.outcome(driver, stdin=outside)
    assert output == "refused\n"


CAPABILITIES = """
import os
print(*(line for line in open("/proc/self/status") if line.startswith(("CapEff", "CapPrm", "CapInh"))), sep="", end="")
print(os.geteuid(), os.getegid(), sorted(int(name) for name in os.listdir("/proc/self/fd"))[:-1])
"""


def test_an_ordinary_user_gets_no_capability_and_stays_itself(stage: Stage) -> None:
    ended = stage.run(stage.python, "-c", CAPABILITIES)
    *capabilities, last = ended.output.splitlines()
    outside = stage.run(stage.python, "-c", CAPABILITIES, road="plain").output.splitlines()
    assert last == outside[-1]
    assert last.endswith("[0, 1, 2]")
    if stage.user == ORDINARY:
        assert {line.split("\t")[1] for line in capabilities} == {"0" * 16}


OTHERS = """
import os, sys
with open(sys.argv[1]) as file:
    print(file.read(), end="")
os.chown(sys.argv[1], 4321, 4321)
print(os.stat(sys.argv[1]).st_uid)
"""


@pytest.mark.parametrize("stage", ["root"] if os.geteuid() == 0 else [], indirect=True)
def test_root_reads_and_owns_the_files_of_others_as_it_does_outside(stage: Stage) -> None:
    path = stage.folder / "others.txt"
    path.write_text("theirs\n", "utf-8")
    path.chmod(0o600)
    os.chown(path, 12_345, 12_345)
    ended = stage.run(stage.python, "-c", OTHERS, str(path))
    assert (ended.output, ended.errors) == ("theirs\n4321\n", "")
    assert path.stat().st_gid == 4321


FORBIDDEN = 'echo 0 > /proc/sys/user/max_user_namespaces && exec "$@"'


def test_where_the_kernel_refuses_the_message_says_which_step(stage: Stage) -> None:
    """A namespace that allows no further one stands for a kernel that allows none."""
    driver = stage.driver("echo", "ran")
    output, errors = stage.outcome(
        ["unshare", "--user", "--map-root-user", "sh", "-c", FORBIDDEN, "sh", *driver]
    )
    assert output == ""
    assert errors.splitlines()[0].startswith("the kernel does not allow an enclosure here: unshare: ")
    assert "--no-enclosure" in errors


def test_an_enclosure_inside_an_enclosure_is_one(stage: Stage) -> None:
    inner = stage.driver(stage.python, "-c", DIAL, "api.example.com")
    assert stage.run(*inner).output == "served api.example.com 80\n"
