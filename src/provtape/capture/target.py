"""Where a request is to go, from what its connection stands for and what its head says.

Decides between the three ways in: a connection that the client took for the upstream's own (enclosure, tunnel), the absolute form
of a proxy's client, and a path on our own port. Does not decide whether it was recorded.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from ipaddress import ip_address

from provtape.capture.desk import Settings
from provtape.capture.request import Where
from provtape.capture.upstream import Origin
from provtape.wire.event import RequestHead
from provtape.wire.refusal import Refusal, refusal
from provtape.wire.route import authority, split_url, stored_url


@dataclass(frozen=True, slots=True)
class Standing:
    """What a connection stands for.

    Attributes:
        origin: The upstream that the client thinks it talks to; None on our own port.
        named: The client said that host by name (TLS) or looked it up with us; else only an address is known.
    """

    origin: Origin | None = None
    named: bool = False


OWN: Standing = Standing()


def find(head: RequestHead, standing: Standing, settings: Settings, *, replays: bool) -> Where | Refusal:
    """Where a request goes, or why nowhere.

    Args:
        head: Its head.
        standing: What its connection stands for.
        settings: Routes and guesses.
        replays: Nothing goes live: a path that stands for nothing will miss, and be explained, rather than be refused.
    """
    host = _host(head)
    if host is None:
        return refusal(400, "host", "more than one host header")
    if settings.serves and not _is_ours(host, settings.hosts):
        return refusal(421, "misdirected", "the host header names a host that is not served here")
    if standing.origin is not None:
        return _direct(head, host, standing.origin, named=standing.named)
    if not head.target.startswith("/"):
        url = stored_url("http", host, head.target) if "://" in head.target else None
        return _absolute(url)
    url = settings.routes.url(head.target)
    if url is None and settings.guesses is not None:
        url = settings.guesses.guess(head.target)
    if url is None and replays:
        url = stored_url("http", host or "localhost", head.target)
    if url is None:
        names = ", ".join(f"/{name}/" for name in settings.routes.bases) or "there are none"
        return refusal(404, "route", "this path stands for no upstream", hint=f"routes: {names}")
    return _absolute(url)


def _host(head: RequestHead) -> str | None:
    """The host header, empty if there is none; None if there are several."""
    values = [value for name, value in head.headers if name == "host"]
    return None if len(values) > 1 else "".join(values)


def _is_ours(host: str, names: frozenset[str]) -> bool:
    """Whether a reviewer may have meant us: a page of another site that resolves its name to our address did not."""
    found = authority(host, "http") if host else None
    if found is None:
        return not host
    try:
        ip_address(found.host)
    except ValueError:
        return found.host == "localhost" or found.host in names
    return True


def _direct(head: RequestHead, host: str, origin: Origin, *, named: bool) -> Where | Refusal:
    asked = authority(host, origin.scheme) if host else None
    if host and asked is None:
        return refusal(400, "host", "the host header names no host")
    if asked is None:
        asked = authority(f"[{origin.host}]" if ":" in origin.host else origin.host, origin.scheme)
        port = origin.port
    else:
        port = asked.port
    if asked is None or (named and asked.host != origin.host) or port != origin.port:
        return refusal(421, "misdirected", "the host header names another host than the connection")
    url = stored_url(origin.scheme, asked._replace(port=port).spelled(origin.scheme), head.target)
    found = None if url is None else split_url(url)
    if url is None or (found is not None and found[1] != asked._replace(port=port)):
        return refusal(400, "target", "the request target names no http or https URL of this host")
    return Where(Origin(origin.scheme, asked.host, port, origin.address), url)


@lru_cache(maxsize=1024)
def _absolute(url: str | None) -> Where | Refusal:
    parts = None if url is None else split_url(url)
    if url is None or parts is None:
        return refusal(400, "target", "the request target names no http or https URL")
    scheme, where, target = parts
    return Where(Origin(scheme, where.host, where.port), url, target, where.spelled(scheme))
