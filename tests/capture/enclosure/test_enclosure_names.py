"""Every name has an address inside, whichever name server is asked and however; nothing that arrives there does any harm."""

from __future__ import annotations

import socket
import struct
import subprocess
import sys
from ipaddress import IPv4Address, IPv4Network
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from provtape.capture import names
from provtape.capture.names import Names
from provtape.capture.namespace import Enclosure

A, PTR, AAAA, HTTPS = 1, 12, 28, 65


def query(name: str, kind: int = A, *, identifier: int = 7, flags: int = 0x0100, questions: int = 1) -> bytes:
    labels = b"".join(bytes([len(label)]) + label for label in name.encode().split(b".") if label)
    return (
        struct.pack(">HHHHHH", identifier, flags, questions, 0, 0, 0)
        + labels
        + struct.pack(">BHH", 0, kind, 1)
    )


def read(answer: bytes | None) -> tuple[int, int, str | None]:
    """The identifier, the response code and the address of an answer."""
    assert answer is not None
    identifier, flags, questions, answers, *rest = struct.unpack_from(">HHHHHH", answer)
    assert (flags & 0xFFF0, questions, rest) == (0x8580, 1, [0, 0])
    if not answers:
        return identifier, flags & 15, None
    pointer, kind, class_, _, length = struct.unpack(">HHHIH", answer[-16:-4])
    assert (pointer, kind, class_, length) == (0xC00C, A, 1, 4)
    return identifier, flags & 15, socket.inet_ntoa(answer[-4:])


def test_a_name_has_one_address_and_the_address_gives_the_name_back() -> None:
    table = Names()
    _, code, address = read(table.answer(query("API.example.COM.")))
    assert (code, address) == (0, str(table.address_of("api.example.com")))
    assert address is not None
    assert IPv4Address(address) in IPv4Network("198.18.0.0/15")
    assert table.name_of(address) == "api.example.com"
    assert table.name_of("198.18.9.9") is None
    assert table.name_of("::1") is None


def test_another_run_gives_the_same_addresses() -> None:
    first, second = Names(), Names()
    hosts = [f"host-{number}.example" for number in range(100)]
    assert [first.address_of(host) for host in hosts] == [
        second.address_of(host) for host in reversed(hosts)
    ][::-1]


def test_no_two_names_share_an_address_and_a_full_table_refuses(monkeypatch: pytest.MonkeyPatch) -> None:
    """So many names that their digests collide."""
    monkeypatch.setattr(names, "NAMES", 5000)
    table = Names()
    assert len({table.address_of(f"host-{number}.example") for number in range(5000)} - {None}) == 5000
    assert read(table.answer(query("one.too.many"))) == (7, 5, None)
    assert read(table.answer(query("host-1.example")))[2] == str(table.address_of("host-1.example"))


@pytest.mark.parametrize("kind", [AAAA, PTR, HTTPS, 255])
def test_another_type_gets_an_empty_answer(kind: int) -> None:
    assert read(Names().answer(query("api.example.com", kind))) == (7, 0, None)


@pytest.mark.parametrize("name", ["localhost", "db.localhost"])
def test_localhost_is_the_loopback(name: str) -> None:
    assert read(Names().answer(query(name))) == (7, 0, "127.0.0.1")


@pytest.mark.parametrize("name", ["", "-a.example", "a b.example", "é.example", "a/b"])
def test_what_no_host_is_called_does_not_exist(name: str) -> None:
    assert read(Names().answer(query(name))) == (7, 3, None)


@pytest.mark.parametrize(
    "malformed",
    [
        b"",
        query("a.example")[:11],
        query("a.example")[:-1],
        query("a.example", flags=0x8100),
        query("a.example", flags=0x2800),
        query("a.example", questions=0),
        query("a.example", questions=2),
        query("")[:12] + b"\xc0\x0c" + query("")[13:],
        query(".".join(["a" * 63] * 5)),
    ],
    ids=[
        "empty",
        "short head",
        "cut",
        "a response",
        "an update",
        "no question",
        "two",
        "a pointer",
        "too long",
    ],
)
def test_what_is_malformed_gets_no_answer(malformed: bytes) -> None:
    assert Names().answer(malformed) is None


@given(st.one_of(st.binary(max_size=80), st.binary(max_size=60).map(lambda rest: query("")[:12] + rest)))
def test_any_bytes_get_a_readable_answer_or_none(message: bytes) -> None:
    answer = Names().answer(message)
    if answer is not None:
        assert answer[:2] == message[:2]
        assert read(answer)[1] in (0, 3)


PROGRAM = Path(__file__).with_name("asking.py")


def test_every_name_server_is_ours_over_both_transports() -> None:
    """Whatever stands in /etc/resolv.conf. An answer comes from where it was asked, also for a socket with its own address."""
    environment = {"PATH": "/usr/bin:/bin"}
    command = [sys.executable, str(PROGRAM), query("api.example.com").hex()]
    with Enclosure.start(command, environment=environment, stderr=subprocess.STDOUT) as enclosure:
        enclosure.go()
        assert enclosure.wait(60) == 0
        assert (
            enclosure.names.name_of(str(enclosure.names.address_of("api.example.com"))) == "api.example.com"
        )


LOOK_UP = """
import socket, sys
for flags in (0, socket.AI_ADDRCONFIG):
    for family in (socket.AF_UNSPEC, socket.AF_INET):
        (found,) = {item[4][0] for item in socket.getaddrinfo(sys.argv[1], 443, family, 0, 0, flags)}
        print(found)
"""


@pytest.mark.parametrize("options", ["", "use-vc"], ids=["UDP", "TCP"])
def test_the_systems_own_resolver_finds_every_name(tmp_path: Path, options: str) -> None:
    """Also one that asks for what this host has an address of, and one that is told to use TCP."""
    output = tmp_path / "output"
    environment = {"PATH": "/usr/bin:/bin", "RES_OPTIONS": options}
    command = [sys.executable, "-c", LOOK_UP, "models.example"]
    with (
        output.open("wb") as file,
        Enclosure.start(command, environment=environment, stdout=file) as enclosure,
    ):
        enclosure.go()
        assert enclosure.wait(60) == 0
        expected = str(enclosure.names.address_of("models.example"))
    assert output.read_text().split() == [expected] * 4
