"""Answers for names inside the enclosure (pure): every name has an address, and every such address gives its name back.

Decides which address of 198.18.0.0/15 (RFC 2544, never on the Internet) a name gets and what a DNS message (RFC 1035) is answered
with. Does not own a socket (`resolver`), and does not decide what is served at an address: every address leads to the same server.
"""

from __future__ import annotations

import hashlib
import ipaddress
import re
import struct
from dataclasses import dataclass, field
from threading import Lock
from typing import Final

NETWORK: Final = ipaddress.IPv4Network("198.18.0.0/15")
FIRST: Final = int(NETWORK.network_address)
# 198.18.0.0 to .15 stay free: the network's own address and the enclosure's.
RESERVED: Final = 16
NAMES: Final = 65_536
TTL: Final = 60
LABEL: Final = re.compile(rb"[A-Za-z0-9_](?:[A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?\Z")
HEAD: Final = struct.Struct(">HHHHHH")
A: Final = 1
INTERNET: Final = 1
NO_SUCH_NAME: Final = 3
REFUSED: Final = 5
LOOPBACK: Final = ipaddress.IPv4Address("127.0.0.1")


@dataclass(frozen=True, slots=True)
class Question:
    """What a DNS query asks; `name` is lower case without a final dot, None when no host can be called so."""

    name: str | None
    kind: int
    class_: int
    end: int


def question(query: bytes) -> Question | None:
    """Read the one question of a DNS query.

    Returns:
        The question, None for anything that is not a standard query with exactly one whole question.
    """
    if len(query) < HEAD.size:
        return None
    _, flags, questions, answers, _, _ = HEAD.unpack_from(query)
    if flags & 0xF800 or questions != 1 or answers:
        return None
    labels: list[bytes] = []
    at = HEAD.size
    while at < len(query) and (length := query[at]):
        if length > 63 or at - HEAD.size + length > 254:  # a pointer has nothing to point at yet
            return None
        labels.append(query[at + 1 : at + 1 + length])
        at += 1 + length
    if at + 5 > len(query):
        return None
    kind, class_ = struct.unpack_from(">HH", query, at + 1)
    return Question(_host(labels), kind, class_, at + 5)


def _host(labels: list[bytes]) -> str | None:
    if labels and all(LABEL.match(label) for label in labels):
        return b".".join(labels).decode("ascii").lower()
    return None


@dataclass(slots=True)
class Names:
    """The names that were asked for in one enclosure, and their addresses. May be used by several threads."""

    _addresses: dict[str, ipaddress.IPv4Address] = field(default_factory=dict)
    _names: dict[ipaddress.IPv4Address, str] = field(default_factory=dict)
    _lock: Lock = field(default_factory=Lock)

    def address_of(self, name: str) -> ipaddress.IPv4Address | None:
        """Return the address of a name, the same in every run unless two names collide.

        Args:
            name: A host name, lower case, no final dot.

        Returns:
            127.0.0.1 for `localhost` (RFC 6761 §6.3), else an address of 198.18.0.0/15; None when the table is full.
        """
        if name == "localhost" or name.endswith(".localhost"):
            return LOOPBACK
        with self._lock:
            if name not in self._addresses:
                if len(self._addresses) >= NAMES:
                    return None
                address = self._free(name)
                self._addresses[name], self._names[address] = address, name
            return self._addresses[name]

    def name_of(self, address: str) -> str | None:
        """Return the name that was resolved to an address (dotted or IPv6 text), None if none was."""
        try:
            return self._names.get(ipaddress.IPv4Address(address))
        except ValueError:
            return None

    def answer(self, query: bytes) -> bytes | None:
        """Answer one DNS message.

        Args:
            query: The message without a length in front.

        Returns:
            The answer: an address to an A query for a host name, an empty one to every other type, NXDOMAIN for an A query whose
            name no host can have; None for what deserves no answer.
        """
        asked = question(query)
        if asked is None:
            return None
        if asked.kind != A or asked.class_ != INTERNET:
            return _answer(query, asked)
        if asked.name is None:
            return _answer(query, asked, code=NO_SUCH_NAME)
        address = self.address_of(asked.name)
        return _answer(query, asked, address, code=REFUSED if address is None else 0)

    def _free(self, name: str) -> ipaddress.IPv4Address:
        room = NETWORK.num_addresses - RESERVED - 1
        at = int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], "big") % room
        while (address := ipaddress.IPv4Address(FIRST + RESERVED + at)) in self._names:
            at = (at + 1) % room
        return address


def _answer(
    query: bytes, asked: Question, address: ipaddress.IPv4Address | None = None, code: int = 0
) -> bytes:
    identifier, flags = struct.unpack_from(">HH", query)
    # a response with authority and recursion; the wish for recursion comes back
    head = HEAD.pack(identifier, 0x8480 | flags & 0x0100 | code, 1, int(address is not None), 0, 0)
    record = b"" if address is None else struct.pack(">HHHIH", 0xC00C, A, INTERNET, TTL, 4) + address.packed
    return head + query[HEAD.size : asked.end] + record
