"""The recorded answers of a cassette, each given away once, in recorded order.

Decides which place of the file answers a request, and refuses what it finds there when the key is not the request's own. Not
decided here: whether the cassette may be trusted at all (`start`), and what a miss says (`misses`). `decide` and `count` are
called under the session's lock, `serve` is not.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Final, cast

from provtape.cassette.index import Index
from provtape.errors import RecordedError, SessionError
from provtape.format.printable import printable
from provtape.format.record import OUTPUT, Kind, Object
from provtape.matching.identity import Match, key
from provtape.matching.nearest import Candidate
from provtape.session.call import plain
from provtape.session.decide import Decision, Mode, Serve, decide
from provtape.session.tutorial import is_tutorial

WINDOW: Final = 512
READERS: Final = 1000
MAX_COMPARED: Final = 32 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Answer:
    """A recorded answer.

    Attributes:
        seq: The number of its record.
        kind: `llm`, `tool` or `http`.
        response: The members of `response` as stored.
    """

    seq: int
    kind: Kind
    response: Object

    def value(self) -> object:
        """The `output` or `result`, as `json.loads` would give it.

        Raises:
            RecordedError: The call had raised when it was recorded.
        """
        if "error" in self.response:
            raise RecordedError(
                f"record {self.seq}: the call had raised{_type_of(self.response['error'])} when it was recorded",
                plain(self.response["error"]),
            )
        return plain(self.response[OUTPUT[self.kind]])


class Recorded:
    """What a cassette holds, and what of it was given away in this session.

    Args:
        index: The cassette's index; closed by `close`.
        match: The match rules of its record 0.

    Attributes:
        used: How many different recorded answers were given away.
    """

    def __init__(self, index: Index, match: Match) -> None:
        self._index = index
        self._match = match
        self._orders: dict[str, Counter[str]] = {}
        self._given: Counter[str] = Counter()
        self._last = 0
        self.used = 0

    @property
    def loaded(self) -> int:
        """The number of recorded interactions."""
        return len(self._index)

    def decide(
        self, mode: Mode, keys: Sequence[str], *, repeat: bool, reader: str = ""
    ) -> tuple[str, Decision]:
        """What a request with these keys gets: the first key with an answer left decides, else the first that has any."""
        asked = self._order(reader)
        places = {key: len(self._index.places(key)) for key in keys}
        left = (key for key in keys if asked[key] < places[key])
        known = (key for key in keys if places[key])
        chosen = next(left, None) or next(known, keys[0])
        return chosen, decide(mode, places[chosen], asked[chosen], repeat=repeat)

    def count(self, key: str, reader: str = "") -> int:
        """Count one more request with this key; how many the same reader had made before."""
        asked = self._order(reader)
        before = asked[key]
        asked[key] += 1
        if self._given[key] <= before < len(self._index.places(key)):
            self._given[key] += 1
            self.used += 1
        return before

    def serve(self, kind: Kind, wanted: str, decision: Serve) -> Answer:
        """The answer that was decided on.

        Raises:
            SessionError: The key of that record is not the key of its request.
            CassetteError: The file changed since it was opened, or the record breaks a rule.
        """
        place = self._index.places(wanted)[decision.n]
        record = self._index.read(place)
        request = cast(Object, record["request"])  # the index checked the members
        if record["kind"] != kind or key(kind, request, self._match) != wanted:
            raise SessionError(
                f"record {place.seq}: its key is not the key of its request: it is not served",
                "whoever recorded this cassette wrote a wrong key: do not trust it",
            )
        self._last = place.seq
        return Answer(place.seq, kind, cast(Object, record["response"]))

    def last_place(self, wanted: str) -> int:
        """The number of the last record with this key."""
        return self._index.places(wanted)[-1].seq

    def candidates(self, kind: Kind) -> Iterator[Candidate]:
        """Different requests of one kind, those first that stand next to what was served last; bounded in number and bytes."""
        position = sum(1 for place in self._index.interactions() if place.seq <= self._last)
        start = max(0, min(position - WINDOW // 2, self.loaded - WINDOW))
        seen: set[object] = set()
        budget = MAX_COMPARED
        window = islice(self._index.interactions(), start, start + WINDOW)
        for place in sorted(window, key=lambda place: abs(place.seq - self._last - 1)):
            budget -= place.length
            if budget < 0:
                return
            record = self._index.read(place)
            request = cast(Object, record["request"])
            if record["kind"] == kind and record["key"] not in seen and not is_tutorial(request):
                seen.add(record["key"])
                yield Candidate(place.seq, request)

    def _order(self, reader: str) -> Counter[str]:
        """What a reader asked so far. Of many readers the one that came first is forgotten: memory stays bounded."""
        if reader not in self._orders:
            if len(self._orders) >= READERS:
                del self._orders[next(name for name in self._orders if name)]
            self._orders[reader] = Counter()
        return self._orders[reader]

    def urls(self) -> Iterator[str]:
        """The URLs of the http requests, as often as they stand there; reads the whole file."""
        for place in self._index.interactions():
            record = self._index.read(place)
            if record["kind"] == "http":
                yield str(cast(Object, record["request"])["url"])

    def close(self) -> None:
        """Close the file."""
        self._index.close()


def _type_of(error: object) -> str:
    name = error.get("type") if isinstance(error, dict) else None
    return f" {printable(name)}" if isinstance(name, str) and name.isidentifier() and len(name) <= 80 else ""
