"""Which URL a request on some connection means, and which path stands for a URL.

Decides the one spelling of a stored URL: scheme and host in lower case, no default port, the target as it was sent. Also the
paths of routes (`/<name>/…` for a base URL), and what a reviewer's request without any route can only mean. Does not decide whether
it was recorded (`session`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple

from provtape.errors import InputError

DEFAULT_PORTS: Final = {"http": 80, "https": 443}

_NAME: Final = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")
_AUTHORITY: Final = re.compile(r"(\[[0-9A-Fa-f:.]{2,45}\]|[A-Za-z0-9._~-]{1,255})(?::([0-9]{1,5}))?")
_ABSOLUTE: Final = re.compile(r"([A-Za-z]+)://([^/?#]*)(.*)", re.DOTALL)
_ROUTED: Final = re.compile(r"/([a-z0-9._-]+)((?:[/?][\x21-\x7e\x80-\xff]*)?)")
_PRINTABLE: Final = re.compile(r"[\x21-\x7e\x80-\xff]*")


class Authority(NamedTuple):
    """Where a request goes: host in lower case (an IPv6 address without brackets) and port."""

    host: str
    port: int

    def spelled(self, scheme: str) -> str:
        """As it stands in a URL of this scheme."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == DEFAULT_PORTS.get(scheme) else f"{host}:{self.port}"


def authority(text: str, scheme: str) -> Authority | None:
    """Read `host[:port]`: of a Host header, of a CONNECT, of a URL.

    Args:
        text: Without user part.
        scheme: `http` or `https`, for the port when there is none.

    Returns:
        None when it is none.

    >>> authority("API.example:8443", "https")
    Authority(host='api.example', port=8443)
    """
    match = _AUTHORITY.fullmatch(text)
    default = DEFAULT_PORTS.get(scheme)
    if match is None or default is None:
        return None
    port = int(match[2]) if match[2] else default
    return Authority(match[1].lower().strip("[]"), port) if 0 < port < 65536 else None


def stored_url(scheme: str, host: str, target: str) -> str | None:
    """The URL under which a request is recorded.

    Args:
        scheme: Of the connection: `http` or `https`.
        host: Value of its Host header, or the authority of the tunnel it came through.
        target: Origin form, absolute form (of a proxy's client: it says its own scheme and host) or `*`.

    Returns:
        None when the request names no http or https URL.

    >>> stored_url("https", "API.example:443", "/v1/models?b=2&a=%20")
    'https://api.example/v1/models?b=2&a=%20'
    """
    if not _PRINTABLE.fullmatch(target):
        return None
    absolute = None if target.startswith("/") else _ABSOLUTE.fullmatch(target)
    if absolute is not None:
        scheme, host, target = absolute[1].lower(), absolute[2], absolute[3]
        target = target if target.startswith("/") else f"/{target}"
    where = authority(host, scheme)
    if where is None or not (target.startswith("/") or target == "*"):
        return None
    return f"{scheme}://{where.spelled(scheme)}{'' if target == '*' else target}"


def split_url(url: str) -> tuple[str, Authority, str] | None:
    """Scheme, authority and origin-form target of an http or https URL without user part; None for any other text."""
    match = _ABSOLUTE.fullmatch(url)
    if match is None:
        return None
    scheme = match[1].lower()
    where = authority(match[2], scheme)
    target = match[3] if match[3].startswith("/") else f"/{match[3]}"
    return None if where is None else (scheme, where, target.partition("#")[0])


@dataclass(frozen=True, slots=True)
class Routes:
    """Names that stand for the base URLs of upstreams: path `/<name>/rest` is `<base>/rest`.

    Attributes:
        bases: Name to base URL, in its one spelling, without a slash at its end.
    """

    bases: Mapping[str, str]

    @classmethod
    def of(cls, bases: Mapping[str, object]) -> Routes:
        """Check names and URLs, which may come from a record.

        Raises:
            InputError: A name or a base URL can not be used.
        """
        return cls({name: _base(name, url) for name, url in bases.items()})

    def url(self, target: str) -> str | None:
        """The URL that a target on our own port means, or None when it begins with no route."""
        match = _ROUTED.fullmatch(target)
        base = self.bases.get(match[1]) if match else None
        return None if match is None or base is None else base + match[2]

    def target(self, url: str) -> str | None:
        """The target that means this URL, by the longest base that it begins with; None when there is none."""
        for name, base in sorted(self.bases.items(), key=lambda item: (-len(item[1]), item[0])):
            if url == base or url.startswith((f"{base}/", f"{base}?")):
                return f"/{name}{url[len(base) :]}"
        return None


class Bases:
    """The recorded URLs, to guess what a request without a route means.

    Args:
        urls: Of recorded requests.
    """

    def __init__(self, urls: Iterable[str]) -> None:
        self._of_path: dict[str, str | None] = {}
        self._all: set[str] = set()
        for url in urls:
            parts = split_url(url)
            if parts is not None:
                base = f"{parts[0]}://{parts[1].spelled(parts[0])}"
                path = parts[2].partition("?")[0]
                self._all.add(base)
                known = self._of_path.setdefault(path, base)
                self._of_path[path] = base if known == base else None

    def guess(self, target: str) -> str | None:
        """The URL of a target, when its path was recorded at one server only, or everything was; else None."""
        if not target.startswith("/") or not _PRINTABLE.fullmatch(target):
            return None
        base = self._of_path.get(target.partition("?")[0])
        if base is None and len(self._all) == 1:
            (base,) = self._all
        return None if base is None else base + target


def _base(name: object, url: object) -> str:
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise InputError(
            "a route's name is not of a-z, 0-9, '.', '_' and '-'", "write NAME=URL, e.g. lab=https://host/v1"
        )
    parts = split_url(url) if isinstance(url, str) and _PRINTABLE.fullmatch(url) else None
    if parts is None or not isinstance(url, str) or "?" in url or "#" in url:
        raise InputError(
            f"route {name}: its base is no http or https URL", "no user, query or fragment belongs there"
        )
    scheme, where, path = parts
    return f"{scheme}://{where.spelled(scheme)}{path.rstrip('/')}"
