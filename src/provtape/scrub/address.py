"""URLs and forms: values by the decoded name they stand under.

Decides that a user part goes with its `@`, that the value of a named parameter goes as a whole, and that everything
else of a URL is text whose other bytes stay as they are. In a host name the placeholder is `redacted-<rule>`, since
a host may hold no `~`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final
from urllib.parse import unquote, unquote_plus

from provtape.format.placeholder import PLACEHOLDER, placeholder
from provtape.scrub.engine import MAX_PASSES, endless
from provtape.scrub.sweep import Edit, Sweep, replaced
from provtape.scrub.values import Named

_URL: Final = re.compile(
    r"(?P<head>(?:[A-Za-z][A-Za-z0-9+.-]*:)?//)(?:(?P<user>[^/?#]*)@)?(?P<host>[^/?#@]*)(?P<rest>[/?#].*)?",
    re.DOTALL,
)
_HOST_PLACEHOLDER: Final = re.compile(r"redacted-[a-z0-9][a-z0-9-]{0,31}")


def url_texts(url: str) -> list[str]:
    """The texts of a URL: as it stands, and decoded."""
    return [url, unquote_plus(url)] if "%" in url or "+" in url else [url]


def scrub_url(url: str, where: str, sweep: Sweep, names: frozenset[str]) -> str:
    """A URL or relative reference, scrubbed.

    Args:
        url: As it came.
        where: Its JSON Pointer.
        sweep: Made over `url_texts(url)`.
        names: Decoded parameter names, lower case, whose values go.

    Raises:
        ScrubError: It does not come to rest.
    """
    match = _URL.fullmatch(url)
    if match is None:
        return _scrub_rest(url, where, sweep, names)
    user, host = match["user"], match["host"]
    if user:
        sweep.note("query", where)
        for part in {user, *user.split(":", 1)}:
            sweep.scrubber.remember(unquote(part), "query")
    return (
        match["head"]
        + _scrub_host(host, where, sweep)
        + _scrub_rest(match["rest"] or "", where, sweep, names)
    )


def parameter_edits(
    text: str, where: str, sweep: Sweep, names: frozenset[str], named: Named | None = None
) -> list[Edit]:
    """What is to be replaced in `a=1&b=2`: by name, or because the decoded value is a finding.

    Args:
        text: A query or a form.
        where: JSON Pointer.
        sweep: Counts.
        names: Rule `query`.
        named: For forms also the names of `[json] keys`, rule `json-key`.
    """
    edits: list[Edit] = []
    for name, start, end in _parameters(text):
        value = text[start:end]
        if not value or PLACEHOLDER.fullmatch(value):
            continue
        rule = "query" if name.lower() in names else "json-key" if named is not None and named[name] else None
        decoded = unquote_plus(value)
        if rule is None and decoded != value:
            spans = sweep.spans(decoded)
            rule = spans[0].rule if spans else None
        if rule is not None:
            sweep.note(rule, where)
            sweep.scrubber.remember(decoded, rule)
            edits.append(Edit(start, end, placeholder(rule)))
    return edits


def _parameters(text: str) -> Iterator[tuple[str, int, int]]:
    """Decoded name, start and end of the value of each parameter."""
    at = 0
    for piece in text.split("&"):
        name, equals, value = piece.partition("=")
        if equals:
            end = at + len(piece)
            yield unquote_plus(name), end - len(value), end
        at += len(piece) + 1


def _scrub_host(host: str, where: str, sweep: Sweep) -> str:
    for _ in range(MAX_PASSES):
        taken = [match.span() for match in _HOST_PLACEHOLDER.finditer(host)]
        spans = [
            span for span in sweep.spans(host) if not any(a < span.end and span.start < b for a, b in taken)
        ]
        if not spans:
            return host
        for span in spans:
            sweep.note(span.rule, where)
            sweep.scrubber.remember(host[span.start : span.end], span.rule)
        host = replaced(host, [Edit(span.start, span.end, f"redacted-{span.rule}") for span in spans])
    raise endless()


def _scrub_rest(rest: str, where: str, sweep: Sweep, names: frozenset[str]) -> str:
    """Path, query and fragment; a fragment may carry parameters like a query does."""
    path, question, tail = rest.partition("?")
    if not question:
        path, hash_mark, fragment = rest.partition("#")
        question, tail = hash_mark, fragment
    parts = [part if part == "#" else _by_name(part, where, sweep, names) for part in re.split("(#)", tail)]
    return sweep.text(_decoded_path(path, where, sweep) + question + "".join(parts), where)


def _by_name(text: str, where: str, sweep: Sweep, names: frozenset[str]) -> str:
    return replaced(text, parameter_edits(text, where, sweep, names))


def _decoded_path(path: str, where: str, sweep: Sweep) -> str:
    """A path whose segments are looked at decoded as well; a segment with a finding goes as a whole."""
    if "%" not in path:
        return path
    parts = path.split("/")
    for index, part in enumerate(parts):
        decoded = unquote(part)
        if decoded != part and not sweep.spans(part):
            spans = sweep.spans(decoded)
            if spans:
                sweep.note(spans[0].rule, where)
                sweep.scrubber.remember(decoded, spans[0].rule)
                parts[index] = placeholder(spans[0].rule)
    return "/".join(parts)
