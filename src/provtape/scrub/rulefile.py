"""How a rule file is spelled: TOML in, TOML out.

Decides which members a rule file has and which values they take; anything else is refused by its name. Does not
decide what the members mean together (`rules`) or whether a regular expression may run (`lint`).
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from provtape.errors import ScrubError
from provtape.format.placeholder import RESERVED, RULE_ID

FORMAT: Final = "provtape-scrub/1"
MAX_BYTES: Final = 1 << 20
MAX_RULES: Final = 300

_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_ID: Final = re.compile(RULE_ID)
_BARE: Final = re.compile(r"[^'\x00-\x1f\x7f]*")
_TOP: Final = frozenset(("format", "name", "extends", "disable", "headers", "query", "json", "rules"))
_RULE: Final = frozenset(
    (
        "id",
        "description",
        "regex",
        "keywords",
        "secretGroup",
        "min_classes",
        "min_distinct",
        "min_digits",
        "allow",
    )
)


@dataclass(frozen=True, slots=True)
class Rule:
    """One text rule: what to look for, and when a match counts.

    Attributes:
        id: Stands in the placeholder.
        description: For people.
        regex: Runs over UTF-8 bytes with ASCII meaning.
        keywords: One of them must occur in the text, or the rule is not tried; lower case when the rule ignores case.
        secret_group: The group that is removed; None is group 1, or the whole match when there is no group.
        min_classes: Of lower-case letters, upper-case letters and digits, how many kinds the secret must have.
        min_distinct: How many different bytes it must have.
        min_digits: How many digits it must have.
        allow: Secrets that are none.
    """

    id: str
    description: str
    regex: str
    keywords: tuple[str, ...]
    secret_group: int | None = None
    min_classes: int = 0
    min_distinct: int = 0
    min_digits: int = 0
    allow: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RuleFile:
    """A rule file as it was written, every member of the right type.

    Attributes:
        name: What the author called the rules.
        extends: Name, version and SHA-256 of the packs it builds on.
        disable: Ids of rules of those packs that do not apply.
        request_keep: Request headers that are kept.
        response_keep: Response headers that are kept.
        query: Query parameters whose values go.
        keys: JSON member names whose values go.
        pointers: JSON Pointers to values that go.
        rules: The text rules.
    """

    name: str
    extends: tuple[tuple[str, str, str], ...]
    disable: tuple[str, ...]
    request_keep: tuple[str, ...]
    response_keep: tuple[str, ...]
    query: tuple[str, ...]
    keys: tuple[str, ...]
    pointers: tuple[str, ...]
    rules: tuple[Rule, ...]


def read(text: str) -> RuleFile:
    """Read a rule file; every member is looked at, and none is passed over.

    Raises:
        ScrubError: Over 1 MiB, not TOML, an unknown member, or one that is not as it should be.
    """
    if len(text) > MAX_BYTES or len(text.encode("utf-8", "replace")) > MAX_BYTES:
        raise refused("larger than 1 MiB")
    try:
        document = tomllib.loads(text)
    except (ValueError, RecursionError):
        raise refused("not TOML", "python -m tomllib shows where" if "\n" in text else None) from None
    _only(document, _TOP, "the file")
    if document.get("format") != FORMAT:
        raise refused(f'"format" is not "{FORMAT}"')
    headers = _table(document, "headers", ("request_keep", "response_keep"))
    keys = _table(document, "json", ("keys", "pointers"))
    pointers = _strings(keys, "pointers", "[json]")
    if not all(pointer.startswith("/") for pointer in pointers):
        raise refused('"pointers" in [json] has an entry that does not start with "/"')
    return RuleFile(
        name=_string(document, "name", "the file", _NAME),
        extends=tuple(_pack_row(row) for row in _rows(document, "extends")),
        disable=_strings(document, "disable", "the file"),
        request_keep=_strings(headers, "request_keep", "[headers]"),
        response_keep=_strings(headers, "response_keep", "[headers]"),
        query=_strings(_table(document, "query", ("names",)), "names", "[query]"),
        keys=_strings(keys, "keys", "[json]"),
        pointers=pointers,
        rules=_unique(_rule(row) for row in _rows(document, "rules")),
    )


def _unique(rules: Iterable[Rule]) -> tuple[Rule, ...]:
    seen: dict[str, Rule] = {}
    for rule in rules:
        if rule.id in seen:
            raise refused(f'rule id "{rule.id}" stands twice')
        seen[rule.id] = rule
        if len(seen) > MAX_RULES:
            raise refused(f"more than {MAX_RULES} rules")
    return tuple(seen.values())


def _pack_row(row: Mapping[str, object]) -> tuple[str, str, str]:
    _only(row, frozenset(("pack", "version", "sha256")), "extends")
    return (
        _string(row, "pack", "extends"),
        _string(row, "version", "extends"),
        _string(row, "sha256", "extends"),
    )


def _rule(row: Mapping[str, object]) -> Rule:
    name = _string(row, "id", "[[rules]]", _ID)
    where = f'rule "{name}"'
    _only(row, _RULE, where)
    if name in RESERVED:
        raise refused(f'rule id "{name}" is reserved')
    group = row.get("secretGroup")
    return Rule(
        id=name,
        description=_string(row, "description", where) if "description" in row else "",
        regex=_string(row, "regex", where),
        keywords=_strings(row, "keywords", where),
        secret_group=None if group is None else _number(row, "secretGroup", where),
        min_classes=_number(row, "min_classes", where),
        min_distinct=_number(row, "min_distinct", where),
        min_digits=_number(row, "min_digits", where),
        allow=_strings(row, "allow", where),
    )


def _only(table: Mapping[str, object], names: frozenset[str], where: str) -> None:
    for name in table:
        if name not in names:
            raise refused(f"unknown member {_shown(name)} in {where}", f"members: {', '.join(sorted(names))}")


def _table(document: Mapping[str, object], name: str, names: tuple[str, ...]) -> Mapping[str, object]:
    table = document.get(name, {})
    if not isinstance(table, dict):
        raise refused(f'"{name}" is not a table')
    _only(table, frozenset(names), f"[{name}]")
    return table


def _rows(document: Mapping[str, object], name: str) -> list[dict[str, object]]:
    rows = document.get(name, [])
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise refused(f'"{name}" is not a list of tables')
    return rows


def _string(
    table: Mapping[str, object], name: str, where: str, grammar: re.Pattern[str] | None = None
) -> str:
    value = table.get(name)
    if not isinstance(value, str) or not value or (grammar is not None and not grammar.fullmatch(value)):
        raise refused(f'"{name}" in {where} is missing or not as it should be')
    return value


def _strings(table: Mapping[str, object], name: str, where: str) -> tuple[str, ...]:
    value = table.get(name, [])
    if not isinstance(value, list) or not all(isinstance(item, str) and item for item in value):
        raise refused(f'"{name}" in {where} is not a list of strings')
    return tuple(value)


def _number(table: Mapping[str, object], name: str, where: str) -> int:
    value = table.get(name, 0)
    if type(value) is not int or not 0 <= value <= 256:
        raise refused(f'"{name}" in {where} is not a number from 0 to 256')
    return value


def _shown(name: str) -> str:
    return json.dumps(name[:40])


def refused(message: str, hint: str | None = None) -> ScrubError:
    """What is raised about a rule file."""
    return ScrubError(f"scrub rules: {message}", hint)


def render(file: RuleFile) -> str:
    """Write a rule file in its one spelling, so that equal rules have equal digests.

    Args:
        file: Without `extends`.
    """
    head = [f"format = {_quoted(FORMAT)}", f"name = {_quoted(file.name)}", *_line("disable", file.disable)]
    parts = ["\n".join(head)]
    tables: tuple[tuple[str, list[str]], ...] = (
        ("headers", _line("request_keep", file.request_keep) + _line("response_keep", file.response_keep)),
        ("query", _line("names", file.query)),
        ("json", _line("keys", file.keys) + _line("pointers", file.pointers)),
    )
    parts += ["\n".join([f"[{name}]", *lines]) for name, lines in tables if lines]
    parts += ["\n".join(["[[rules]]", *_rule_lines(rule)]) for rule in file.rules]
    return "\n\n".join(parts) + "\n"


def _rule_lines(rule: Rule) -> list[str]:
    lines = [f"id = {_quoted(rule.id)}"]
    if rule.description:
        lines.append(f"description = {_quoted(rule.description)}")
    lines += [f"regex = {_literal(rule.regex)}", *_line("keywords", rule.keywords)]
    if rule.secret_group is not None:
        lines.append(f"secretGroup = {rule.secret_group}")
    for name, value in (
        ("min_classes", rule.min_classes),
        ("min_distinct", rule.min_distinct),
        ("min_digits", rule.min_digits),
    ):
        if value:
            lines.append(f"{name} = {value}")
    return lines + _line("allow", rule.allow)


def _line(name: str, items: tuple[str, ...]) -> list[str]:
    return [f"{name} = [{', '.join(map(_literal, items))}]"] if items else []


def _literal(text: str) -> str:
    return f"'{text}'" if _BARE.fullmatch(text) else _quoted(text)


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
