"""The certificate authority of one run: it speaks for every name, to the one command that was given its certificate.

Decides which certificate a client meets. Its key never leaves the process and ends with it; a leaf's key stands in no folder. What
may be answered under a name is the server's business.
"""

from __future__ import annotations

import importlib.util
import ipaddress
import os
import secrets
import shutil
import ssl
import sys
import tempfile
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from threading import Lock
from types import TracebackType
from typing import Final, Self

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from provtape.capture.names import LABEL

BEFORE: Final = timedelta(days=1)
AFTER: Final = timedelta(days=365)
NAMES: Final = 4096
BUNDLE: Final = "authorities.pem"
BUNDLE_BYTES: Final = 16 * 1024 * 1024
# Where distributions keep the roots they trust, when Python's own library does not say.
ROOTS: Final = (
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
)
# Variables that name further roots; they will name the bundle, so what they named goes into it.
FURTHER: Final = ("REQUESTS_CA_BUNDLE", "AWS_CA_BUNDLE", "NODE_EXTRA_CA_CERTS", "CURL_CA_BUNDLE")


class Authority:
    """A P-256 authority that lives as long as it is open.

    Use it as a context manager: its folder is removed at the end.

    Attributes:
        certificate: Its own certificate, PEM.
        bundle: A file with its own certificate and the system's roots, readable by every user, in a folder of its own.

    Args:
        inherited: The environment whose roots go on being trusted: those of `SSL_CERT_FILE`, else the system's, and those of
            the variables of single clients.
    """

    def __init__(self, inherited: Mapping[str, str]) -> None:
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._leaf_key = ec.generate_private_key(ec.SECP256R1())
        self._name = _distinguished(f"provtape run authority {secrets.token_hex(8)}")
        self._own = _authority(self._name, self._key)
        self.certificate = self._own.public_bytes(Encoding.PEM)
        self._contexts: dict[str, ssl.SSLContext] = {}
        self._names: dict[ssl.SSLContext, str] = {}
        self._lock = Lock()
        self._folder = Path(tempfile.mkdtemp(prefix="provtape-"))
        self._folder.chmod(
            0o711
        )  # the command may run as somebody else; nobody but us can change what is in it
        self.bundle = self._folder / BUNDLE
        self.bundle.write_bytes(b"\n".join([self.certificate, *system_roots(inherited)]))
        self.bundle.chmod(0o644)

    def context(self, name: str) -> ssl.SSLContext:
        """Return the server side's TLS for a client that names no host, or names one: then the certificate is that one's.

        Args:
            name: The host, a DNS name or an IP address, as it was dialled; used when the client sends no SNI (RFC 6066 §3).

        Returns:
            A context that offers HTTP/1.1 alone (ALPN); the same object for the same name, so `name_of` knows it.

        Raises:
            ValueError: No host can be called so, or a run has met more names than any program calls.
        """
        spelled = hostname(name)
        if spelled is None:
            raise ValueError("not a host name")
        with self._lock:
            known = self._contexts.get(spelled)
            if known is None:
                if len(self._contexts) >= NAMES:
                    raise ValueError("too many host names")
                known = self._contexts[spelled] = self._made(spelled)
                self._names[known] = spelled
            return known

    def name_of(self, tls: ssl.SSLObject | ssl.SSLSocket) -> str:
        """Return the host that a connection's certificate stands for: the SNI, without one what it was dialled as."""
        context = tls.context
        assert context is not None
        return self._names[context]

    def close(self) -> None:
        """Remove the folder."""
        shutil.rmtree(self._folder, ignore_errors=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _made(self, name: str) -> ssl.SSLContext:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.set_alpn_protocols(["http/1.1"])
        context.sni_callback = self._asked
        # A resumed session would carry one name's certificate over to another.
        context.options |= ssl.OP_NO_TICKET
        context.num_tickets = 0
        self._load(context, self._leaf(name).public_bytes(Encoding.PEM))
        return context

    def _asked(self, tls: ssl.SSLObject, name: str | None, _: ssl.SSLContext) -> int | None:
        if name is None:
            return None
        try:
            tls.context = self.context(name)
        except ValueError:
            return int(ssl.ALERT_DESCRIPTION_UNRECOGNIZED_NAME)
        return None

    def _load(self, context: ssl.SSLContext, certificate: bytes) -> None:
        """Hand certificate and key over by a file that no folder lists, for a path is the only way in."""
        private = self._leaf_key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
        chain = private + certificate + self.certificate
        if sys.platform == "linux":
            descriptor = os.memfd_create("leaf", os.MFD_CLOEXEC)
            with open(descriptor, "wb") as file:
                file.write(chain)
                file.flush()
                context.load_cert_chain(f"/proc/self/fd/{descriptor}")
        else:
            descriptor, path = tempfile.mkstemp(dir=self._folder)
            with open(descriptor, "wb") as file:
                file.write(chain)
            try:
                context.load_cert_chain(path)
            finally:
                os.unlink(path)

    def _leaf(self, name: str) -> x509.Certificate:
        builder = _builder(_distinguished(name if len(name) <= 64 else "provtape"), self._name)
        public = self._leaf_key.public_key()
        issuer = x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key())
        builder = (
            builder.public_key(public)
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(_usage(digital_signature=True), critical=True)
            .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
            .add_extension(x509.SubjectAlternativeName([_alternative(name)]), critical=False)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(public), critical=False)
            .add_extension(issuer, critical=False)
        )
        return builder.sign(self._key, SHA256())


def hostname(name: str) -> str | None:
    """Return the one spelling of a host: lower case, no final dot, no brackets; None when no host can be called so."""
    bare = name[1:-1] if name.startswith("[") and name.endswith("]") else name
    try:
        return str(ipaddress.ip_address(bare))
    except ValueError:
        pass
    bare = bare.removesuffix(".").lower()
    fits = (
        bare.isascii() and len(bare) <= 253 and all(LABEL.match(label.encode()) for label in bare.split("."))
    )
    return bare if fits else None


def system_roots(inherited: Mapping[str, str]) -> list[bytes]:
    """Read the roots that programs of this environment trust.

    Returns:
        PEM files, one after the other; those that are missing, unreadable or not PEM are left out.
    """
    found = ssl.get_default_verify_paths()
    places = [inherited.get("SSL_CERT_FILE"), found.cafile, found.openssl_cafile, *ROOTS, _certifi()]
    first = next((text for text in map(_pem, _present(places)) if text), None)
    further = [_pem(place) for place in _present(inherited.get(name) for name in FURTHER)]
    return list(dict.fromkeys(text for text in [first, *further] if text))


def _present(places: Iterable[str | None]) -> list[str]:
    return [place for place in places if place]


def _certifi() -> str | None:
    """Return the roots of `certifi` if it happens to be installed; it is not run."""
    spec = importlib.util.find_spec("certifi")
    if spec is None or spec.origin is None:
        return None
    return str(Path(spec.origin).with_name("cacert.pem"))


def _pem(place: str) -> bytes | None:
    try:
        with open(place, "rb") as file:
            text = file.read(BUNDLE_BYTES)
    except (OSError, ValueError):
        return None
    return text if b"-----BEGIN CERTIFICATE-----" in text else None


def _distinguished(common: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common)])


def _alternative(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)


def _builder(subject: x509.Name, issuer: x509.Name) -> x509.CertificateBuilder:
    now = datetime.now(UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - BEFORE)
        .not_valid_after(now + AFTER)
    )


def _authority(name: x509.Name, key: ec.EllipticCurvePrivateKey) -> x509.Certificate:
    public = key.public_key()
    return (
        _builder(name, name)
        .public_key(public)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_usage(key_cert_sign=True, crl_sign=True), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(public), critical=False)
        .sign(key, SHA256())
    )


def _usage(
    *, digital_signature: bool = False, key_cert_sign: bool = False, crl_sign: bool = False
) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=digital_signature,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=key_cert_sign,
        crl_sign=crl_sign,
        encipher_only=False,
        decipher_only=False,
    )
