"""A command whose calls go through a session: what `record -- CMD` and `replay -- CMD` do (DESIGN 7).

Decides the order in which enclosure, authority, session, server and command begin and end, and which road is taken when the kernel
allows no enclosure. What a request gets is decided by the session; the exit status is the caller's matter.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from provtape.capture.authority import Authority
from provtape.capture.child import Child, Forwarding
from provtape.capture.desk import Settings
from provtape.capture.dialer import Dialer, Proxies
from provtape.capture.entrance import Listening, listen
from provtape.capture.namespace import Enclosure
from provtape.capture.server import Server
from provtape.capture.surroundings import dummy_keys, surroundings
from provtape.errors import CaptureError, InputError, NotEnclosed, ProvtapeError
from provtape.format.keys import PublicKey
from provtape.session import Session
from provtape.session.decide import Mode
from provtape.session.opening import Capture
from provtape.session.start import Recording
from provtape.session.summary import Summary
from provtape.wire.player import Pace
from provtape.wire.route import Routes, authority, split_url

# Variables by which SDKs are told another base URL, and what they call when nobody tells them.
BASE_URLS: Final[Mapping[str, tuple[str, str]]] = {
    "OPENAI_BASE_URL": ("openai", "https://api.openai.com/v1"),
    "ANTHROPIC_BASE_URL": ("anthropic", "https://api.anthropic.com"),
    "GOOGLE_GEMINI_BASE_URL": ("gemini", "https://generativelanguage.googleapis.com"),
    "MISTRAL_BASE_URL": ("mistral", "https://api.mistral.ai"),
    "GROQ_BASE_URL": ("groq", "https://api.groq.com"),
}
_NAMES_A_SERVICE: Final = re.compile(r"(?:BASE_URL|API_BASE|ENDPOINT|API_URL)$")
_PROXIES: Final = ("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy")


@dataclass(frozen=True, slots=True)
class Order:
    """What the person at the terminal asks for.

    Attributes:
        command: The argv.
        cassette: Where to record, or what to replay.
        mode: `record`, `auto` or `replay`.
        enclosed: Shut the command in if the kernel allows it; False: do not try.
        allow: Host services that are let through unrecorded, `HOST:PORT`.
        passed: Hosts that are relayed and not recorded.
        routes: Names and base URLs of services besides those on ports 80 and 443 and those that the environment names.
        pace: How recorded answers are given.
        recording: Who records (`Session.open`).
        trusted: The author's public keys, for the verdict before a replay.
    """

    command: Sequence[str]
    cassette: Path
    mode: Mode
    enclosed: bool = True
    allow: Sequence[str] = ()
    passed: Sequence[str] = ()
    routes: Mapping[str, str] = field(default_factory=dict)
    pace: Pace = "none"
    recording: Recording = field(default_factory=Recording)
    trusted: Sequence[PublicKey] = ()


@dataclass(frozen=True, slots=True)
class Ended:
    """How it ended.

    Attributes:
        status: The command's exit status, 128 + n for signal n.
        summary: What was loaded, recorded, served, missed.
        open_because: Why the command was not shut in; None: it was.
        fault: What the session had to say at its end: misses, or calls that could not be recorded.
    """

    status: int
    summary: Summary
    open_because: str | None
    fault: ProvtapeError | None = None


def run(order: Order, *, say: Callable[[str], None]) -> Ended:
    """Run a command whose calls are recorded or replayed.

    Args:
        order: What is asked for.
        say: Takes a line for the person, before the command starts.

    Raises:
        CaptureError: It can not be started, or what is asked for can not be.
        CassetteError, SessionError: As `Session.open`.
    """
    allowed = tuple(_service(text) for text in order.allow)
    with Forwarding() as signals, Authority(os.environ) as trusted:
        if order.enclosed:
            try:
                return _shut_in(order, allowed, trusted, signals)
            except NotEnclosed as reason:
                why = reason.message
        else:
            why = "--no-enclosure was asked for"
        say(f"not enclosed: {why}; calls that follow neither a base URL nor the proxy variables are not seen")
        return _beside(order, trusted, signals, why)


def _shut_in(
    order: Order, allowed: Sequence[tuple[str, int]], trusted: Authority, signals: Forwarding
) -> Ended:
    """The standard road: the kernel leaves the command no way around the server."""
    routes = {**services(os.environ), **order.routes}
    capture = Capture(True, tuple(order.allow), tuple(order.passed), routes)
    environment = surroundings(os.environ, str(trusted.bundle), enclosed=True)
    through = {port for _, port in allowed}
    with ExitStack() as stack:
        # A new cassette only once the enclosure stands; of a recorded one we learn where the command will call.
        session = _opened(stack, order, capture) if order.mode == "replay" else None
        urls = [
            *routes.values(),
            *(session.routes.values() if session else ()),
            *(session.turns.urls() if session else ()),
        ]
        if session:
            environment |= dummy_keys(environment, urls)
        ports = _ports(urls) | through
        enclosure = stack.enter_context(Enclosure.start(order.command, environment=environment, ports=ports))
        session = session or _opened(stack, order, capture)
        to = {port: (host, port) for host, port in allowed}
        listeners = [
            Listening(sock, everywhere=port not in to, to=to.get(port))
            for (_, port), sock in enclosure.sockets.items()
        ]
        settings = Settings(passed=frozenset(order.passed), pace=order.pace)
        server = Server(
            session.turns,
            listeners,
            settings,
            dialer=_dialer(),
            certificates=trusted,
            name_of=enclosure.names.name_of,
        )
        status = _played_out(server, enclosure, signals)
        return _ended(session, status, None)


def _beside(order: Order, trusted: Authority, signals: Forwarding, why: str) -> Ended:
    """The other road: base-URL variables of known SDKs and a forward proxy with the same authority."""
    if order.allow:
        raise CaptureError(
            "--allow needs an enclosure", "without one every host service can be reached as it is"
        )
    known = {name: os.environ.get(variable, usual) for variable, (name, usual) in BASE_URLS.items()}
    routes = {**known, **order.routes}
    capture = Capture(False, (), tuple(order.passed), routes)
    with ExitStack() as stack:
        session = _opened(stack, order, capture)
        own = listen()
        settings = Settings(
            passed=frozenset(order.passed),
            pace=order.pace,
            routes=Routes.of({**routes, **session.routes} if order.mode == "replay" else routes),
        )
        server = Server(session.turns, [own], settings, dialer=_dialer(), certificates=trusted)
        port = own.socket.getsockname()[1]
        environment = surroundings(os.environ, str(trusted.bundle), enclosed=False)
        environment |= {
            variable: f"http://127.0.0.1:{port}/{name}" for variable, (name, _) in BASE_URLS.items()
        }
        environment |= dict.fromkeys(_PROXIES, f"http://127.0.0.1:{port}") | {"NO_PROXY": "", "no_proxy": ""}
        if order.mode == "replay":
            environment |= dummy_keys(environment, session.turns.urls())
        child = stack.enter_context(Child.start(order.command, environment=environment))
        return _ended(session, _played_out(server, child, signals), why)


def _opened(stack: ExitStack, order: Order, capture: Capture) -> Session:
    """The session, closed by the stack if something goes wrong before `_ended`."""
    given: Recording = {
        **order.recording,
        "capture": capture,
        "road": "command",
        "command": list(order.command),
    }
    session = Session.open(order.cassette, order.mode, trusted=order.trusted, **given)
    stack.callback(session.turns.end)  # says nothing more once `_ended` has closed it
    return session


def _played_out(server: Server, child: Child, signals: Forwarding) -> int:
    """Let the command run to its end, and then the server."""
    with server:
        child.go()
        signals.to(child)
        return child.wait()


def _ended(session: Session, status: int, why: str | None) -> Ended:
    try:
        session.close()
    except ProvtapeError as fault:
        return Ended(status, session.summary, why, fault)
    return Ended(status, session.summary, why)


def _dialer() -> Dialer:
    return Dialer(proxies=Proxies.of_environment())


def services(environment: Mapping[str, str]) -> dict[str, str]:
    """Services that the environment names by a base URL with a port of its own: model servers on this machine, mostly.

    >>> services({"OPENAI_BASE_URL": "http://127.0.0.1:8091/v1", "HOME": "/"})
    {'openai': 'http://127.0.0.1:8091/v1'}
    """
    found = {}
    for variable, value in environment.items():
        if _NAMES_A_SERVICE.search(variable) and split_url(value) is not None:
            name = _NAMES_A_SERVICE.sub("", variable).strip("_").lower().replace("_", "-") or "base"
            found[name] = value
    return found


def _ports(urls: Iterable[str]) -> set[int]:
    parts = (split_url(url) for url in urls)
    return {80, 443} | {part[1].port for part in parts if part is not None}


def _service(text: str) -> tuple[str, int]:
    """`HOST:PORT` of `--allow`.

    Raises:
        InputError: It is none.
    """
    found = authority(text, "http") if ":" in text else None
    if found is None:
        raise InputError(f"--allow {shlex.quote(text)}: not HOST:PORT", "e.g. --allow localhost:5432")
    return found.host, found.port
