"""Which regular expressions a rule may use.

Decides whether a rule is in the subset that Python's `re` and RE2 read alike and that no text can make slow: a walk
over the tree of the standard library's own parser. Rules travel in cassettes, so they are hostile until they passed
here; nothing is compiled before.
"""

from __future__ import annotations

import hashlib
import importlib
import re
import warnings
from collections.abc import Iterator, Sequence
from typing import Any, Final

from provtape.errors import ScrubError
from provtape.format.placeholder import placeholder

MAX_REGEX: Final = 4096
MAX_WAYS: Final = 20_000
MAX_REPEAT: Final = 1000
MAX_KEYWORDS: Final = 64
# SHA-256 of the one regex whose open repeat is followed by something: its last branch takes all the rest instead of failing.
AUDITED: Final = frozenset(("52bc5bf7195af9ac73b672148420f4c832bec6636a9d3f31d97350b976dd0fc8",))

# re._parser is private, so it is reached by name: the pinned ways it is used here are covered by tests on every Python.
_parser: Final[Any] = importlib.import_module("re._parser")
_UNLIMITED: Final = int(_parser.MAXREPEAT)
_SPELLED: Final = re.compile(
    r"""\\(?P<escape>[AZzwWdDBSGQECpPXRKHhN0-9])    # two meanings, or none in one engine
      | (?P<group>\(\?(?!:|s:\.\*\??\)))            # only (?:...) and (?s:.*), (?s:.*?)
      | (?P<posix>\[:\^?[a-z]{1,16}:\])
      | (?P<brace>\{,)
      | \\.                                         # any other escape is stepped over
    """,
    re.VERBOSE | re.DOTALL,
)


def lint(name: str, regex: str, keywords: Sequence[str], secret_group: int | None) -> None:
    """Refuse a rule that is outside of the subset.

    Args:
        name: The rule's id, for the message.
        regex: As in the rule file.
        keywords: As in the rule file.
        secret_group: As in the rule file; None when it is not given.

    Raises:
        ScrubError: Names the rule and what is wrong with it.
    """
    folded = regex.startswith("(?i)")
    _check_keywords(name, keywords, folded)
    tree = _tree(name, regex)
    groups = tree.state.groups - 1
    _need(groups <= 1, name, "has more than one capture group")
    _need(secret_group is None or secret_group <= groups, name, "has no group of the number in secretGroup")
    _need(tree.getwidth()[0] > 0, name, "matches nothing at all")
    audited = hashlib.sha256(regex.encode()).hexdigest() in AUDITED
    _Walk(name, audited).sequence(tree, follows=False, repeated=1)
    ways = _ways(tree)
    _need(audited or ways <= MAX_WAYS, name, f"can be tried in more than {MAX_WAYS} ways at one place")
    compiled = re.compile(regex.encode("ascii"))
    _need(not compiled.search(placeholder(name).encode()), name, "matches its own placeholder")


def _check_keywords(name: str, keywords: Sequence[str], folded: bool) -> None:
    _need(0 < len(keywords) <= MAX_KEYWORDS, name, f"has no keywords, or more than {MAX_KEYWORDS}")
    for keyword in keywords:
        plain = keyword.isascii() and keyword.isprintable() and 0 < len(keyword) <= 64
        _need(plain, name, "has a keyword that is not 1 to 64 printable ASCII characters")
        _need(
            not folded or keyword == keyword.lower(), name, "ignores case, so its keywords must be lower case"
        )


def _tree(name: str, regex: str) -> Any:
    _need(regex.isascii() and regex.isprintable(), name, "is not printable ASCII")
    _need(len(regex) <= MAX_REGEX, name, f"has a regex of more than {MAX_REGEX} characters")
    for found in _SPELLED.finditer(regex.removeprefix("(?i)")):
        _need(found.lastgroup is None, name, f"uses {found.group()}, which is outside of the subset")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # "possible nested set": the engines read those differently
            return _parser.parse(regex.encode("ascii"))
    except (re.error, Warning, OverflowError, RecursionError) as error:
        raise ScrubError(
            f'scrub rules: rule "{name}" has a regex that can not be read: {_cause(error)}'
        ) from None


def _cause(error: Exception) -> str:
    return error.msg if isinstance(error, re.error) else "nested too deep or ambiguous"


class _Walk:
    """One walk over a tree; `follows`: something must still match after this; `repeated`: product of the counts around."""

    def __init__(self, name: str, audited: bool) -> None:
        self.name = name
        self.audited = audited
        self.ways = (
            1  # in which its bounded repeats can share what they take: the cost of one place in a text
        )

    def sequence(self, items: Any, *, follows: bool, repeated: int) -> None:
        behind = follows
        for kind, value in reversed(list(items)):
            self.node(str(kind), value, follows=behind, repeated=repeated)
            behind = behind or _must_match(str(kind), value)

    def node(self, kind: str, value: Any, *, follows: bool, repeated: int) -> None:
        if kind in ("MAX_REPEAT", "MIN_REPEAT"):
            self.repeat(value, follows=follows, repeated=repeated)
        elif kind == "BRANCH":
            for branch in value[1]:
                self.sequence(branch, follows=follows, repeated=repeated)
        elif kind == "SUBPATTERN":
            self.sequence(value[3], follows=follows, repeated=repeated)
        elif kind == "IN":
            self.one_of(value)
        elif kind == "AT":
            _need(str(value) == "AT_BOUNDARY", self.name, "uses an anchor other than \\b")
        else:
            _need(kind in ("LITERAL", "NOT_LITERAL", "ANY"), self.name, f"uses {kind.lower()}")

    def one_of(self, items: Any) -> None:
        for kind, value in items:
            if str(kind) == "CATEGORY":
                _need(str(value) == "CATEGORY_SPACE", self.name, "uses a class other than \\s")

    def repeat(self, value: Any, *, follows: bool, repeated: int) -> None:
        low, high, body = int(value[0]), int(value[1]), value[2]
        endless = high >= _UNLIMITED
        _need(
            low <= MAX_REPEAT and (endless or high <= MAX_REPEAT),
            self.name,
            f"repeats over {MAX_REPEAT} times",
        )
        _need(
            not endless or not follows or self.audited,
            self.name,
            "has an open repeat before something that must match",
        )
        if endless or high > 1:
            _need(repeated == 1, self.name, "has a repeat inside a repeat")
            _need(_unambiguous(body), self.name, "repeats alternatives that overlap")
        inside = max(repeated, 2) if endless or high > 1 else repeated
        _need(not (repeated > 1 and low == 0), self.name, "has an optional part inside a repeat")
        self.sequence(body, follows=follows, repeated=inside)


def _ways(items: Any) -> int:
    """In how many ways neighbouring repeats can share what they take: what one place in a text may cost.

    Repeats multiply while their bytes overlap; a byte that the repeat before it can not take ends that.
    """
    most, now, taken = 1, 1, None
    for kind, value in _flat(items):
        if kind in ("MAX_REPEAT", "MIN_REPEAT"):
            low, high, body = int(value[0]), int(value[1]), list(value[2])
            found = _bytes_of(str(body[0][0]), body[0][1]) if len(body) == 1 else None
            shared = taken is None or found is None or bool(taken & found)
            width = high - low + 1 if high < _UNLIMITED else 1
            now = now * width if shared else width
            most, taken = max(most, now), found
        elif kind == "BRANCH":
            most = max(most, *(now * _ways(branch) for branch in value[1]))
        elif taken is not None and not (taken & (_bytes_of(kind, value) or taken)):
            now = 1
    return most


def _flat(items: Any) -> Iterator[tuple[str, Any]]:
    for kind, value in items:
        if str(kind) == "SUBPATTERN":
            yield from _flat(value[3])
        else:
            yield str(kind), value


def _must_match(kind: str, value: Any) -> bool:
    """Whether this node can fail where it stands: it takes a byte, or is `\\b`."""
    if kind in ("MAX_REPEAT", "MIN_REPEAT"):
        return int(value[0]) > 0
    if kind == "BRANCH":
        return all(any(_must_match(str(k), v) for k, v in branch) for branch in value[1])
    if kind == "SUBPATTERN":
        return any(_must_match(str(k), v) for k, v in value[3])
    return True


def _unambiguous(body: Any) -> bool:
    """Whether a repeated body can be cut in one way only: no alternatives, or alternatives told apart in time.

    A longer alternative may start like a shorter one when its second byte can start no alternative at all.
    """
    items = list(body)
    while len(items) == 1 and str(items[0][0]) == "SUBPATTERN":
        items = list(items[0][1][3])
    branches = [branch for kind, value in items if str(kind) == "BRANCH" for branch in value[1]]
    if not branches:
        return True
    if len(items) != 1:
        return False
    spelled = [[_bytes_of(str(kind), value) for kind, value in branch] for branch in branches]
    if any(one is None for branch in spelled for one in branch) or not all(spelled):
        return False
    if len({len(branch) for branch in spelled}) == 1:
        return True
    sets = [[one for one in branch if one is not None] for branch in spelled]
    starts = frozenset().union(*(branch[0] for branch in sets))
    return all(len(branch) == 1 or not branch[1] & starts for branch in sets)


def _bytes_of(kind: str, value: Any) -> frozenset[int] | None:
    """The bytes that a node of one byte can take; None for any other node."""
    if kind == "LITERAL":
        return frozenset((int(value),))
    if kind != "IN":
        return None
    taken: set[int] = set()
    for inner, part in value:
        if str(inner) == "LITERAL":
            taken.add(int(part))
        elif str(inner) == "RANGE":
            taken.update(range(int(part[0]), int(part[1]) + 1))
        elif str(inner) == "CATEGORY":
            taken.update(b" \t\n\r\f\v")
    negated = any(str(inner) == "NEGATE" for inner, _ in value)
    return frozenset(range(256)) - taken if negated else frozenset(taken)


def _need(condition: bool, name: str, what: str) -> None:
    if not condition:
        raise ScrubError(f'scrub rules: rule "{name}" {what}')
