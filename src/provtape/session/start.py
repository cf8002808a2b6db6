"""How a session starts: a new cassette, an open one to go on with, or a verified one to replay.

Decides which rules are in force (those of record 0 wherever there is one) and that nothing is served from a cassette that does not
hold. Does not answer requests (`session`).
"""

from __future__ import annotations

import os
import secrets
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TypedDict, cast

from provtape.cassette.index import Index
from provtape.cassette.notes import Signer
from provtape.cassette.writer import Writer
from provtape.errors import CassetteSealed, RulesDiffer, SessionError
from provtape.format.keys import PublicKey
from provtape.format.record import Code, Object, Scrubbed
from provtape.format.verdict import Verdict
from provtape.matching.identity import HEADERS, Match
from provtape.scrub.rules import Rules, default_rules, is_shipped, parse
from provtape.session.asked import Reception
from provtape.session.decide import Mode
from provtape.session.opening import Capture, opening, run, secret_values
from provtape.session.recorded import Recorded

ANONYMOUS = "anonymous"


class Recording(TypedDict, total=False):
    """What a session that records may be told; each has a default.

    In replay all but `literals` are ignored, so that one program can record and replay.

    Attributes:
        rules: Scrub rules; default: those of record 0, in a new cassette the shipped pack.
        headers: Lower-case names of request headers that belong to the key of an http request.
        ignore: JSON Pointers into the identity that are no part of the key; every one is shown by `verify`.
        signer: Signs checkpoints along the way.
        prefix: What the origin begins with; default: the signer's name, else `anonymous`.
        code: Whose code runs.
        environment: Free JSON about the machine.
        command: The argv that is running.
        road: How calls reach the session; default `session`.
        capture: What stands between the program and the network; default: nothing.
        meta: Free JSON about this run.
        literals: UTF-8 values that must not be written; default: the values of environment variables whose names say key,
            token, secret or password. Those under 8 bytes are not used.
    """

    rules: Rules | None
    headers: Sequence[str] | None
    ignore: Sequence[str] | None
    signer: Signer | None
    prefix: str | None
    code: Code | None
    environment: Mapping[str, object] | None
    command: Sequence[str] | None
    road: str
    capture: Capture | None
    meta: Mapping[str, object] | None
    literals: Sequence[bytes] | None


@dataclass(frozen=True, slots=True)
class Started:
    """The parts of a session that has started.

    Attributes:
        reception: Where requests come in.
        recorded: The recorded answers; None in a new cassette.
        writer: Where new ones go; None in replay.
        verdict: What `verify` said of the cassette; None for a new one.
        routes: Route names and base URLs that the cassette's runs name, the last one's word counting.
    """

    reception: Reception
    recorded: Recorded | None
    writer: Writer | None
    verdict: Verdict | None
    routes: Mapping[str, str] = field(default_factory=dict)


def start(path: Path, mode: Mode, given: Recording, trusted: Sequence[PublicKey]) -> Started:
    """Start a session.

    Args:
        path: The cassette.
        mode: `record` needs a new path, `replay` an existing one, `auto` takes either.
        given: What the caller chose.
        trusted: The author's public keys, for the verdict.

    Raises:
        SessionError: The cassette does not hold (FAILED or ERROR).
        CassetteError: It exists, is sealed, locked, damaged, or can not be written.
    """
    if mode == "record" or (mode == "auto" and not os.path.lexists(path)):
        return _create(path, given)
    before = _state(path)
    verdict = _verified(path, trusted, quiet=mode == "auto")
    index = Index(path)
    try:
        if _state(path) != before:
            raise SessionError(f"{path.name}: changed while it was being opened", "start again")
        return _take_up(path, mode, given, index, verdict)
    except BaseException:
        index.close()
        raise


def _create(path: Path, given: Recording) -> Started:
    rules = given.get("rules") or default_rules()
    match = Match.of(*_match(given, HEADERS, ()))
    reception = Reception(rules, match, _literals(given), looks_up=False)
    signer = given.get("signer")
    prefix = given.get("prefix") or (signer.name if signer else ANONYMOUS)
    nonce = secrets.token_urlsafe(16)
    first = reception.door.record("open", opening(prefix, rules, match, nonce=nonce, now=datetime.now(UTC)))
    writer = Writer.create(path, first, _run(reception, given), prefix=prefix, signer=signer)
    return Started(reception, None, writer, None)


def _take_up(path: Path, mode: Mode, given: Recording, index: Index, verdict: Verdict) -> Started:
    scrub, bound = cast(Object, index.opening["scrub"]), cast(Object, index.opening["match"])
    headers, ignore = (tuple(cast(list[str], bound[name])) for name in ("headers", "ignore"))
    rules = given.get("rules")
    if mode == "auto" and index.sealed:
        raise CassetteSealed(
            f"{path.name}: sealed: it takes nothing more", "record into a new cassette, or replay it"
        )
    if mode == "auto" and rules is None and not is_shipped(str(scrub["sha256"])):
        hint = "say that these are yours: rules=provtape.scrub.rules.parse(…), or record into a new cassette"
        raise RulesDiffer(f"{path.name}: its scrub rules come with no provtape, and nobody named them", hint)
    if mode == "replay" or rules is None:
        rules = parse(str(scrub["rules"]))
    else:
        scrub = {"name": rules.name, "sha256": rules.sha256, "rules": rules.text}
    if mode == "auto":
        headers, ignore = _match(given, headers, ignore)
    match = Match.of(headers, ignore)
    reception = Reception(rules, match, _literals(given), looks_up=True)
    recorded = Recorded(index, match)
    if mode == "replay":
        return Started(reception, recorded, None, verdict, _routes(index))
    writer = Writer.resume(
        path,
        _run(reception, given),
        scrub=scrub,
        match=match.members(),
        signer=given.get("signer"),
    )
    if writer.records != index.records + 1:
        writer.close()
        raise SessionError(f"{path.name}: was gone on with by somebody else just now", "start again")
    if writer.torn:
        say(f"{path.name}: a torn tail of {writer.torn} bytes was moved to {path.name}.torn")
    if writer.torn_note:
        say(f"{path.name}: a torn checkpoint of {writer.torn_note} bytes was moved to {path.name}.ckpt.torn")
    return Started(reception, recorded, writer, verdict, _routes(index))


def _routes(index: Index) -> Mapping[str, str]:
    """All routes of all runs: free JSON of a stranger, of which only texts count."""
    captures = [cast(Object, run["capture"])["routes"] for run in index.runs]
    pairs = (pair for routes in captures if isinstance(routes, dict) for pair in routes.items())
    return {name: base for name, base in pairs if type(base) is str}


def _run(reception: Reception, given: Recording) -> Scrubbed:
    members = run(
        now=datetime.now(UTC),
        road=given.get("road", "session"),
        capture=given.get("capture"),
        code=given.get("code"),
        command=given.get("command"),
        environment=given.get("environment"),
        meta=given.get("meta"),
    )
    return reception.door.record("run", members)


def _match(
    given: Recording, headers: tuple[str, ...], ignore: tuple[str, ...]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    chosen, ignored = given.get("headers"), given.get("ignore")
    return (
        headers if chosen is None else tuple(sorted({name.lower() for name in chosen})),
        ignore if ignored is None else tuple(ignored),
    )


def _literals(given: Recording) -> Sequence[bytes]:
    literals = given.get("literals")
    if literals is not None:
        return tuple(literals)
    return secret_values({os.fsencode(name): os.fsencode(value) for name, value in os.environ.items()})


def _state(path: Path) -> tuple[int, ...] | None:
    """What shows that a file was changed or replaced between being verified and being indexed."""
    try:
        found = path.stat()
    except (OSError, ValueError):
        return None  # the verdict says why
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns


def _verified(path: Path, trusted: Sequence[PublicKey], *, quiet: bool) -> Verdict:
    """What `verify` says; a cassette that does not hold is refused, one that is not vouched for is said aloud."""
    from provtape.verify import Question, verify  # here, because recording needs no verifier

    verdict = verify(path, Question(keys=tuple(trusted)))
    reason = verdict.findings[0] if verdict.findings else None
    if verdict.word in ("FAILED", "ERROR"):
        why, hint = (reason.message, reason.hint) if reason else ("no reason given", None)
        raise SessionError(f"{path.name}: {verdict.word}, so nothing is served: {why}", hint)
    if verdict.word == "UNVERIFIED" and not quiet:
        say(f"{path.name}: UNVERIFIED: {reason.message if reason else 'no key was named'}")
    return verdict


def say(line: str) -> None:
    """One line on stderr."""
    print(f"provtape: {line}", file=sys.stderr)
