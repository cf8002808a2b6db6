"""What a request becomes before anything is decided about it: scrubbed, with the keys it may be found under.

Decides in which order keys are tried: scrubbed with this machine's literals, then by the bound rules alone, so that a reviewer's
own user name or API key changes no key. Does not look anything up (`recorded`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from provtape.format.record import Kind, Object, Scrubbed
from provtape.matching.identity import Match, key
from provtape.scrub.door import Door
from provtape.scrub.rules import Rules
from provtape.scrub.sweep import Finding
from provtape.session.call import stored
from provtape.session.tutorial import tutorial_keys, tutorial_request


@dataclass(frozen=True, slots=True)
class Asked:
    """A request that passed the door.

    Attributes:
        kind: `llm`, `tool` or `http`.
        request: Scrubbed, as it would be stored.
        findings: What was scrubbed from it.
        keys: Where its answer may be found; the first is the one it is recorded under.
    """

    kind: Kind
    request: Object
    findings: Sequence[Finding]
    keys: tuple[str, ...]


class Reception:
    """Takes requests in, from any thread.

    Args:
        rules: The scrub rules that record 0 binds.
        match: The match rules that record 0 binds.
        literals: Values of this machine that must not be written; they are held in memory alone.
        looks_up: Whether answers are looked up at all; if not, one key is enough.
    """

    def __init__(self, rules: Rules, match: Match, literals: Sequence[bytes], *, looks_up: bool) -> None:
        self.match = match
        self.door = Door(rules, literals=literals)
        self._bare = Door(rules) if looks_up and literals else None

    def receive(self, kind: Kind, request: Mapping[str, object]) -> Asked:
        """Snapshot, scrub and key a request; what the caller does to its values afterwards changes nothing.

        Raises:
            SessionError: JSON can not say it.
            ScrubError: It can not be scrubbed.
        """
        snapshot = stored(dict(request), "the request")
        scrubbed, findings = self.door.request(kind, _object(snapshot))
        keys = [key(kind, scrubbed, self.match)]
        if self._bare is not None:
            bare, _ = self._bare.request(kind, _object(snapshot))
            if bare != scrubbed:
                keys.append(key(kind, bare, self.match))
        return Asked(kind, scrubbed, findings, tuple(keys))

    def tutorial(self, request: Mapping[str, object]) -> tuple[str, ...]:
        """Keys of the answers that an import from the tutorial's format may hold for this `llm` request, not scrubbed."""
        hashed = tutorial_keys(request["model"], request["prompt"], request["params"])
        return tuple(self.receive("llm", tutorial_request(each)).keys[0] for each in hashed)

    def interaction(
        self, asked: Asked, response: Object, *, started: str, elapsed_ms: int, meta: Object, salt: str
    ) -> Scrubbed:
        """The interaction, scrubbed and ready for the writer.

        Raises:
            ScrubError: Something in it can not be scrubbed.
        """
        return self.door.interaction(
            asked.kind,
            asked.keys[0],
            asked.request,
            asked.findings,
            response,
            started,
            elapsed_ms,
            meta,
            salt,
        )


def _object(value: object) -> Object:
    return value if isinstance(value, dict) else {}
