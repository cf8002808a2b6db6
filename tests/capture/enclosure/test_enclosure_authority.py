"""The authority speaks for every name, to the command that was given its bundle and to nobody else."""

from __future__ import annotations

import contextlib
import ipaddress
import os
import socket
import ssl
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from cryptography import x509

from provtape.capture.authority import Authority, hostname, system_roots
from provtape.capture.namespace import Enclosure
from provtape.capture.surroundings import surroundings

LONG = ".".join(["a" * 63, "b" * 63, "example"])


@pytest.fixture
def authority() -> Iterator[Authority]:
    with Authority({}) as made:
        yield made


def client(authority: Authority) -> ssl.SSLContext:
    """As strict as the newest Python is by default."""
    context = ssl.create_default_context(cafile=str(authority.bundle))
    context.verify_flags |= ssl.VERIFY_X509_STRICT
    return context


def shaken(context: ssl.SSLContext, server: ssl.SSLContext, name: str) -> tuple[ssl.SSLObject, ssl.SSLObject]:
    """Client and server after a handshake in memory; an error is the client's."""
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    ours = context.wrap_bio(to_client, to_server, server_hostname=name)
    its = server.wrap_bio(to_server, to_client, server_side=True)
    for _ in range(4):
        for side in (its, ours):
            with contextlib.suppress(ssl.SSLWantReadError):
                side.do_handshake()
    return ours, its


@pytest.mark.parametrize(
    "name", ["api.example.com", "a", "xn--bcher-kva.example", LONG, "under_score.example"]
)
def test_the_certificate_is_the_one_of_the_name_that_was_asked_for(authority: Authority, name: str) -> None:
    ours, its = shaken(client(authority), authority.context("198.18.0.99"), name)
    certificate = ours.getpeercert()
    assert certificate is not None
    assert certificate["subjectAltName"] == (("DNS", name),)
    assert authority.name_of(its) == name


@pytest.mark.parametrize("address", ["203.0.113.9", "2001:db8::9"])
def test_a_client_that_dials_an_address_gets_the_addresss_certificate(
    authority: Authority, address: str
) -> None:
    ours, its = shaken(client(authority), authority.context(address), address)
    certificate = ours.getpeercert()
    assert certificate is not None
    (alternative,) = certificate["subjectAltName"]
    assert ipaddress.ip_address(alternative[1].strip()) == ipaddress.ip_address(address)
    assert authority.name_of(its) == address


def test_a_client_that_offers_http_2_is_given_http_1(authority: Authority) -> None:
    context = client(authority)
    context.set_alpn_protocols(["h2", "http/1.1"])
    ours, _ = shaken(context, authority.context("a.example"), "a.example")
    assert ours.selected_alpn_protocol() == "http/1.1"


def test_nobody_else_trusts_it(authority: Authority) -> None:
    with (
        Authority({}) as another,
        pytest.raises(ssl.SSLCertVerificationError, match="self-signed certificate"),
    ):
        shaken(client(another), authority.context("a.example"), "a.example")


def test_a_context_is_made_once_for_all_spellings_of_a_name(authority: Authority) -> None:
    assert authority.context("A.example.") is authority.context("a.example")
    assert authority.context("[2001:DB8::9]") is authority.context("2001:db8:0::9")


@pytest.mark.parametrize(
    "name", ["", ".", "a..b", "a b", "-a", "a/b", "é.example", "a" * 64, ".".join(["a" * 63] * 5), "a\n"]
)
def test_what_no_host_is_called_gets_no_certificate(authority: Authority, name: str) -> None:
    assert hostname(name) is None
    with pytest.raises(ValueError, match="not a host name"):
        authority.context(name)


def test_the_folder_has_the_bundle_alone_and_goes_with_the_run(authority: Authority) -> None:
    """No private key on disk; a command that runs as somebody else can read the bundle, and only we can change it."""
    authority.context("a.example")
    folder = authority.bundle.parent
    assert [path.name for path in folder.iterdir()] == [authority.bundle.name]
    assert b"PRIVATE" not in authority.bundle.read_bytes()
    assert (folder.stat().st_mode & 0o777, authority.bundle.stat().st_mode & 0o777) == (0o711, 0o644)
    authority.close()
    assert not folder.exists()


def own_root(path: Path) -> bytes:
    with Authority({}) as another:
        path.write_bytes(another.certificate)
        return another.certificate.strip()


def test_roots_that_were_trusted_before_are_trusted_still(tmp_path: Path) -> None:
    """Those of `SSL_CERT_FILE` in place of the system's, those of a single client besides; what is no file of roots is left out."""
    first, second = own_root(tmp_path / "first.pem"), own_root(tmp_path / "second.pem")
    (tmp_path / "no.pem").write_text("not a certificate", "utf-8")
    inherited = {
        "SSL_CERT_FILE": str(tmp_path / "first.pem"),
        "REQUESTS_CA_BUNDLE": str(tmp_path / "second.pem"),
        "CURL_CA_BUNDLE": str(tmp_path / "no.pem"),
        "AWS_CA_BUNDLE": str(tmp_path / "missing.pem"),
        "NODE_EXTRA_CA_CERTS": str(tmp_path),
    }
    assert [text.strip() for text in system_roots(inherited)] == [first, second]
    with Authority(inherited) as made:
        certificates = x509.load_pem_x509_certificates(made.bundle.read_bytes())
        loaded = [x509.load_pem_x509_certificate(text) for text in (made.certificate, first, second)]
    assert certificates == loaded


PROGRAM = """
import sys, urllib.request
for url in sys.argv[1:]:
    print(urllib.request.urlopen(url, timeout=60).read().decode())
"""


def serve(enclosure: Enclosure, authority: Authority, connection: socket.socket) -> None:
    address = connection.getsockname()[0]
    context = authority.context(enclosure.names.name_of(address) or address)
    with context.wrap_socket(connection, server_side=True) as tls:
        tls.recv(65_536)
        body = authority.name_of(tls).encode()
        tls.sendall(
            b"HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: %d\r\n\r\n%s" % (len(body), body)
        )


def test_an_unmodified_program_meets_its_hosts(authority: Authority, tmp_path: Path) -> None:
    urls = [
        "https://api.example.com/v1",
        "https://203.0.113.9/",
        "https://[2001:db8::9]/",
        "https://localhost/",
    ]
    output = tmp_path / "output"
    environment = surroundings({"PATH": os.environ["PATH"]}, str(authority.bundle), enclosed=True)
    command = [sys.executable, "-c", PROGRAM, *urls]
    with (
        output.open("wb") as file,
        Enclosure.start(command, environment=environment, stdout=file, stderr=subprocess.STDOUT) as enclosure,
    ):

        def accept(listening: socket.socket) -> None:
            with contextlib.suppress(OSError):
                while True:
                    serve(enclosure, authority, listening.accept()[0])

        for family in (socket.AF_INET, socket.AF_INET6):
            threading.Thread(target=accept, args=(enclosure.sockets[family, 443],), daemon=True).start()
        enclosure.go()
        assert enclosure.wait(60) == 0, output.read_text()
    assert output.read_text().split() == ["api.example.com", "203.0.113.9", "2001:db8::9", "localhost"]
