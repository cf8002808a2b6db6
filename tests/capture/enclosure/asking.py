"""A program that asks one DNS query (hex) of many name servers over UDP and TCP; it fails unless each answers as it was asked."""

from __future__ import annotations

import socket
import sys

SERVERS = ("8.8.8.8", "127.0.0.53", "10.255.255.53", "::1", "2001:db8::53")


def over_udp(server: str, query: bytes, own: str | None) -> bytes:
    family = socket.AF_INET6 if ":" in server else socket.AF_INET
    with socket.socket(family, socket.SOCK_DGRAM) as asking:
        if own is not None:
            asking.bind((own, 0))
        asking.settimeout(30)
        asking.sendto(query, (server, 53))
        answer, sender = asking.recvfrom(4096)
        assert sender[0] == server, (sender, server)
        return answer


def over_tcp(server: str, query: bytes) -> list[bytes]:
    """Ask twice on one connection, the second time in two pieces."""
    message = len(query).to_bytes(2, "big") + query
    with socket.create_connection((server, 53), timeout=30) as asking, asking.makefile("rb") as answers:
        asking.sendall(message + message[:5])
        first = answers.read(int.from_bytes(answers.read(2), "big"))
        asking.sendall(message[5:])
        return [first, answers.read(int.from_bytes(answers.read(2), "big"))]


def main() -> None:
    query = bytes.fromhex(sys.argv[1])
    answers = set()
    for server in SERVERS:
        own = "::1" if ":" in server else "127.0.0.1"
        answers |= {over_udp(server, query, None), over_udp(server, query, own), *over_tcp(server, query)}
    with socket.create_connection(("9.9.9.9", 53), timeout=30) as hostile:
        hostile.sendall(b"\xff\xff" + bytes(1000) + b"\x00\x00")
        hostile.shutdown(socket.SHUT_WR)
        assert hostile.recv(10) == b""
    many = [socket.create_connection(("9.9.9.9", 53), timeout=30) for _ in range(200)]
    answers |= {*over_tcp("9.9.9.9", query)}
    for one in many:
        one.close()
    assert len(answers) == 1, answers


main()
