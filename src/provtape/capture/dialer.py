"""Reaching upstreams: directly or through the recorder's own proxy, with the system's trust.

Decides how a connection comes about. HTTP/1.1 only: what is relayed must be what is understood. What goes over it is decided by
whoever dialled (`relay`).
"""

from __future__ import annotations

import asyncio
import base64
import importlib.util
import ssl
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final
from urllib.parse import unquote, urlsplit

from provtape.capture.upstream import DialFailed, Origin, Upstream, word
from provtape.errors import InputError

CONNECT_TIMEOUT: Final = 30.0  # seconds until a connection, TLS included, stands
HAPPY_EYEBALLS: Final = 0.25  # seconds until the next address is tried besides (RFC 8305)

_MAX_PROXY_HEAD: Final = 64 * 1024


@dataclass(frozen=True, slots=True)
class Proxies:
    """The proxies of the environment, for the recorder itself.

    Attributes:
        urls: Scheme of the request and URL of the proxy; `all` for any scheme.
        direct: Says of a host (`name:port`) whether it is reached without a proxy.
    """

    urls: Mapping[str, str] = field(default_factory=dict)
    direct: Callable[[str], bool] = lambda host: False

    @classmethod
    def of_environment(cls) -> Proxies:
        """What `HTTP_PROXY`, `HTTPS_PROXY`, `ALL_PROXY` and `NO_PROXY` say, in either case."""
        from urllib.request import getproxies_environment, proxy_bypass  # here: it loads much

        urls = {scheme: url for scheme, url in getproxies_environment().items() if scheme != "no" and url}
        return cls(urls, lambda host: bool(proxy_bypass(host)))

    def of(self, origin: Origin) -> _Proxy | None:
        """The proxy for an origin, or None.

        Raises:
            DialFailed: A kind of proxy that is not spoken here.
        """
        url = self.urls.get(origin.scheme) or self.urls.get("all")
        if not url or self.direct(f"{origin.host}:{origin.port}"):
            return None
        try:
            return _Proxy.read(url)
        except (ValueError, InputError):
            raise DialFailed("refused") from None


@dataclass(frozen=True, slots=True)
class _Proxy:
    host: str
    port: int
    authorization: str | None

    @classmethod
    def read(cls, url: str) -> _Proxy:
        parts = urlsplit(url if "://" in url else f"http://{url}")
        if parts.scheme != "http" or not parts.hostname:
            raise InputError("a proxy that is no http:// URL")
        authorization = None
        if parts.username is not None:
            user = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
            authorization = f"Basic {base64.b64encode(user.encode()).decode()}"
        return cls(parts.hostname, parts.port or 80, authorization)


class Dialer:
    """Makes connections to upstreams.

    Args:
        proxies: The recorder's own.
        connect_timeout: Seconds until a connection, TLS included, must stand.
        context: Trust and options for TLS; default: the system's (`SSL_CERT_FILE` of the recorder is honoured).
    """

    def __init__(
        self,
        proxies: Proxies | None = None,
        *,
        connect_timeout: float = CONNECT_TIMEOUT,
        context: ssl.SSLContext | None = None,
    ) -> None:
        self._proxies = proxies or Proxies()
        self._timeout = connect_timeout
        self._context = context

    async def dial(self, origin: Origin) -> Upstream:
        """A new connection.

        Raises:
            DialFailed: It does not stand; `word` says why.
        """
        proxy = self._proxies.of(origin)
        try:
            async with asyncio.timeout(self._timeout):
                if proxy is None:
                    return await self._direct(origin)
                if origin.scheme == "http":
                    return await self._through(origin, proxy)
                return await self._tunnelled(origin, proxy)
        except (OSError, ssl.SSLError, UnicodeError) as error:
            raise DialFailed(word(error)) from None

    async def _direct(self, origin: Origin) -> Upstream:
        tls = self._tls() if origin.scheme == "https" else None
        return await _connected(Upstream(origin), origin.address or origin.host, origin.port, tls)

    async def _through(self, origin: Origin, proxy: _Proxy) -> Upstream:
        upstream = Upstream(origin, proxied=True, authorization=proxy.authorization)
        return await _connected(upstream, proxy.host, proxy.port, None)

    async def _tunnelled(self, origin: Origin, proxy: _Proxy) -> Upstream:
        loop = asyncio.get_running_loop()
        tunnel = _Tunnel(loop.create_future())
        transport, _ = await loop.create_connection(lambda: tunnel, proxy.host, proxy.port)
        try:
            transport.write(_connect_request(origin, proxy))
            await tunnel.ready
            upstream = Upstream(origin)
            transport.set_protocol(upstream)
            secured = await loop.start_tls(transport, upstream, self._tls(), server_hostname=origin.host)
        except BaseException:
            transport.abort()
            raise
        if secured is None:
            raise DialFailed("tls")
        upstream.attach(secured)
        return upstream

    def _tls(self) -> ssl.SSLContext:
        if self._context is None:
            self._context = system_trust()
        return self._context


def system_trust() -> ssl.SSLContext:
    """A context for upstreams: the system's roots, or certifi's where the system has none and certifi happens to be there."""
    context = ssl.create_default_context()
    context.set_alpn_protocols(["http/1.1"])
    paths = ssl.get_default_verify_paths()
    if not (paths.cafile or paths.capath or context.get_ca_certs()):
        spec = importlib.util.find_spec("certifi")  # only its file is read
        if spec is not None and spec.origin is not None:
            context.load_verify_locations(Path(spec.origin).with_name("cacert.pem"))
    return context


class _Tunnel(asyncio.Protocol):
    """A proxy's answer to CONNECT."""

    def __init__(self, ready: asyncio.Future[None]) -> None:
        self.ready = ready
        self._head = b""

    def data_received(self, data: bytes) -> None:
        """For asyncio."""
        self._head += data
        if self.ready.done():
            return
        if b"\r\n\r\n" in self._head:
            status = self._head.split(b" ", 2)[1:2]
            if status and status[0][:1] == b"2" and self._head.startswith(b"HTTP/1."):
                self.ready.set_result(None)
            else:
                self.ready.set_exception(DialFailed("refused"))
        elif len(self._head) > _MAX_PROXY_HEAD:
            self.ready.set_exception(DialFailed("refused"))

    def connection_lost(self, exc: Exception | None) -> None:
        """For asyncio."""
        if not self.ready.done():
            self.ready.set_exception(DialFailed("refused"))


def _connect_request(origin: Origin, proxy: _Proxy) -> bytes:
    host = f"[{origin.host}]" if ":" in origin.host else origin.host
    lines = [f"CONNECT {host}:{origin.port} HTTP/1.1", f"Host: {host}:{origin.port}"]
    if proxy.authorization:
        lines.append(f"Proxy-Authorization: {proxy.authorization}")
    return "\r\n".join([*lines, "", ""]).encode("latin-1")


async def _connected(upstream: Upstream, host: str, port: int, tls: ssl.SSLContext | None) -> Upstream:
    await asyncio.get_running_loop().create_connection(
        lambda: upstream,
        host,
        port,
        ssl=tls,
        server_hostname=upstream.origin.host if tls else None,
        happy_eyeballs_delay=HAPPY_EYEBALLS,
    )
    return upstream
