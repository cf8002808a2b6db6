"""The rules of a cassette (format `provtape-scrub/1`).

Decides what the effective rules are. Two readers: `load` takes a file that a person wrote, brings in the packs
it extends and spells the result in one way; `parse` takes an effective text, as record 0 carries it, and keeps it
byte for byte. Does not decide how a rule file is spelled (`rulefile`), which regular expressions are fit to run
(`lint`) nor what is done with them (`engine`).
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from functools import cache
from importlib import resources
from typing import Final

from provtape.scrub.lint import lint
from provtape.scrub.rulefile import Rule, RuleFile, read, refused, render

PACKS: Final = {("default", "2026.1"): "default.toml", ("identity", "2026.1"): "identity.toml"}


@dataclass(frozen=True, slots=True)
class Rules:
    """The effective rules of a cassette.

    Attributes:
        name: What the author called them.
        text: The exact effective text, which record 0 carries.
        request_keep: Names of request headers that are kept, lower case.
        response_keep: Names of response headers that are kept, lower case.
        query: Decoded names of query parameters whose values are removed, lower case.
        json_keys: Member names whose string values are removed, as `normal_key` writes them.
        pointers: JSON Pointers into bodies, unescaped segments; `*` is any one segment.
        rules: The text rules in order.
        disabled: Rules of packs that the author switched off.
    """

    name: str
    text: str
    request_keep: frozenset[str] = frozenset()
    response_keep: frozenset[str] = frozenset()
    query: frozenset[str] = frozenset()
    json_keys: frozenset[str] = frozenset()
    pointers: tuple[tuple[str, ...], ...] = ()
    rules: tuple[Rule, ...] = ()
    disabled: tuple[str, ...] = ()

    @property
    def sha256(self) -> str:
        """The SHA-256 of the UTF-8 bytes of `text`, in hex."""
        return hashlib.sha256(self.text.encode("utf-8")).hexdigest()


def parse(text: str) -> Rules:
    """Read an effective text, e.g. `scrub.rules` of record 0; `parse(text).text == text`.

    Raises:
        ScrubError: Not a rule file, an `extends` that is still open, or a rule that the lint refuses.
    """
    file = read(text)
    if file.extends:
        raise refused('"extends" stands in a text that should be complete')
    return _rules(file, text)


def load(text: str) -> Rules:
    """Read a rule file that a person wrote and make its effective text; `parse` of that text gives the same rules.

    Raises:
        ScrubError: As `parse`; also a pack that does not come with provtape or has another digest.
    """
    file = read(text)
    own = {rule.id for rule in file.rules}
    if own & set(file.disable):
        raise refused(f'rule "{min(own & set(file.disable))}" is defined and disabled in one file')
    for name, version, digest in reversed(file.extends):
        base = pack(name, version)
        if digest != base.sha256:
            raise refused(f'pack "{name}" {version} has another sha256', f"this one is {base.sha256}")
        file = _extend(read(base.text), file)
    unknown = set(file.disable) - {rule.id for rule in file.rules}
    if unknown:
        raise refused(f'"disable" names "{min(unknown)}", a rule that no extended pack has')
    flat = replace(file, extends=(), rules=tuple(rule for rule in file.rules if rule.id not in file.disable))
    return parse(render(flat))


@cache
def pack(name: str, version: str) -> Rules:
    """A pack that comes with provtape.

    Raises:
        ScrubError: There is no such pack.
    """
    path = PACKS.get((name, version))
    if path is None:
        known = ", ".join(f"{name} {version}" for name, version in PACKS)
        raise refused(f'there is no pack "{name}" {version}', f"packs: {known}")
    text = resources.files("provtape.scrub").joinpath("packs", path).read_text("utf-8")
    file = read(text)
    return _rules(file, render(file), shipped=True)


def is_shipped(sha256: str) -> bool:
    """Whether this digest is that of a pack's effective text as it comes with provtape."""
    return any(pack(name, version).sha256 == sha256 for name, version in PACKS)


def default_rules() -> Rules:
    """The rules that apply when nobody names others: the newest `default` pack."""
    return pack("default", "2026.1")


def normal_key(name: str) -> str:
    """A member name as `[json] keys` compares it: lower case, without `-`, `_`, `.` and blanks.

    >>> normal_key("Client-Secret")
    'clientsecret'
    """
    return name.lower().translate(_NO_SEPARATORS)


_NO_SEPARATORS: Final = str.maketrans("", "", "-_. \t")


def _rules(file: RuleFile, text: str, *, shipped: bool = False) -> Rules:
    rules = tuple(rule for rule in file.rules if rule.id not in file.disable)
    if not shipped:
        known = _shipped()
        for rule in rules:
            if rule not in known:
                lint(rule.id, rule.regex, rule.keywords, rule.secret_group)
    return Rules(
        name=file.name,
        text=text,
        request_keep=frozenset(map(str.lower, file.request_keep)),
        response_keep=frozenset(map(str.lower, file.response_keep)),
        query=frozenset(map(str.lower, file.query)),
        json_keys=frozenset(map(normal_key, file.keys)),
        pointers=tuple(map(_segments, file.pointers)),
        rules=rules,
        disabled=file.disable,
    )


@cache
def _shipped() -> frozenset[Rule]:
    """Every rule of every pack: linted by the tests, so not again in each process."""
    return frozenset(rule for name, version in PACKS for rule in pack(name, version).rules)


def _extend(base: RuleFile, own: RuleFile) -> RuleFile:
    known = {rule.id: rule for rule in base.rules}
    for rule in own.rules:
        if known.get(rule.id, rule) != rule:
            raise refused(f'rule id "{rule.id}" stands twice with two meanings')
    return replace(
        own,
        request_keep=_union(base.request_keep, own.request_keep),
        response_keep=_union(base.response_keep, own.response_keep),
        query=_union(base.query, own.query),
        keys=_union(base.keys, own.keys),
        pointers=_union(base.pointers, own.pointers),
        rules=base.rules + tuple(rule for rule in own.rules if rule.id not in known),
    )


def _union(first: tuple[str, ...], second: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(first + second))


def _segments(pointer: str) -> tuple[str, ...]:
    return tuple(part.replace("~1", "/").replace("~0", "~") for part in pointer.split("/")[1:])
