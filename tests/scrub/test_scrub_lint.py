"""The subset of regular expressions: what a foreign rule may not do."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from provtape.errors import ScrubError
from provtape.scrub.lint import AUDITED, lint
from provtape.scrub.rules import PACKS, pack


@pytest.mark.parametrize(("name", "version"), PACKS)
def test_every_shipped_rule_passes(name: str, version: str) -> None:
    for rule in pack(name, version).rules:
        lint(rule.id, rule.regex, rule.keywords, rule.secret_group)
    assert len(AUDITED) == 1


def test_the_audited_rule_passes_only_as_it_is() -> None:
    rule = next(rule for rule in pack("default", "2026.1").rules if rule.id == "private-key")
    with pytest.raises(ScrubError, match="open repeat"):
        lint(rule.id, rule.regex + "x", rule.keywords, None)


REFUSED = {
    "look ahead": "a(?=b)",
    "look behind": "(?<=a)b",
    "named group": "(?P<n>ab)",
    "back reference": r"(a)\1",
    "conditional": "(a)(?(1)b|c)",
    "atomic": "(?>ab)c",
    "possessive": "ab++",
    "comment": "a(?#b)",
    "flag": "(?m)abc",
    "flag in the middle": "a(?i)b",
    "flag for a group": "a(?i:b)",
    "line start": "^abc",
    "line end": "abc$",
    "text start": r"\Aabc",
    "text end": r"abc\Z",
    "no boundary": r"abc\B",
    "word": r"a\w",
    "digit": r"a\d",
    "posix class": "a[[:alpha:]]",
    "nested set": "a[[b]",
    "set difference": "a[a--b]",
    "octal": r"a\07",
    "null": r"a\0",
    "unicode": "ä",
    "line break": "a\nb",
    "dot without its form": "a(?s:.)b",
    "two groups": "(a)(b)",
    "empty": "",
    "empty match": "a{0,3}",
    "empty branch": "(?:a|)",
    "repeat in repeat": "(?:a{1,9}b){1,9}",
    "open repeat in repeat": "(?:a+)+",
    "optional in repeat": "(?:ab?){1,30}c",
    "overlapping alternatives": "(?:a|aa){0,30}b",
    "overlap behind a group": "(?:(?:b|bb)){1,30}",
    "over a thousand": "a{1001}",
    "up to over a thousand": "a{1,1001}b",
    "open before something": "a{2,}b",
    "open before a boundary": r"a[a-z]{2,}\b",
    "open in a branch": "(?:a{2,}|b)c",
    "open in a group": "(a{2,})c",
    "brace without start": "a{,3}",
    "unbalanced": "(a",
    "unknown escape": r"a\y",
    "too long": "a" * 5000,
    "too deep": "(?:" * 2000 + "a" + ")" * 2000,
    "finds its placeholder": "[^~]{4,}",
}


@pytest.mark.parametrize("regex", REFUSED.values(), ids=list(REFUSED))
def test_outside_of_the_subset(regex: str) -> None:
    with pytest.raises(ScrubError, match='rule "acme"'):
        lint("acme", regex, ["a"], None)


@pytest.mark.parametrize(
    "regex",
    [
        "acme_[a-z0-9]{8,}",
        r"(?i)\bacme\s{0,3}=(x[^\s]{8,512});",
        "ticket(?s:.*)",
        "a(?:b|cd)?e",
        "a[b-d^]{2,9}(?:-x){0,1}",
    ],
)
def test_inside_of_the_subset(regex: str) -> None:
    lint("acme", regex, ["a"], None)


@pytest.mark.parametrize("keywords", [[], ["ä"], ["a" * 65], ["a\n"], [str(n) for n in range(65)]])
def test_keywords_are_short_printable_and_few(keywords: list[str]) -> None:
    with pytest.raises(ScrubError, match="keyword"):
        lint("acme", "abc", keywords, None)


def test_keywords_of_a_rule_without_case_are_lower_case() -> None:
    lint("acme", "ABC", ["ABC"], None)
    with pytest.raises(ScrubError, match="lower case"):
        lint("acme", "(?i)ABC", ["ABC"], None)


def test_the_group_that_is_removed_exists() -> None:
    lint("acme", "a(b)", ["a"], 1)
    with pytest.raises(ScrubError, match="secretGroup"):
        lint("acme", "ab", ["a"], 1)


@given(st.text(alphabet=r"ab(|)[]{},0123+*?\.:<=-i~^$", max_size=30))
def test_whatever_is_given_only_a_scrub_error_comes_out(regex: str) -> None:
    message = ""
    try:
        lint("acme", regex, ["a"], None)
    except ScrubError as error:
        message = error.message
    assert "\n" not in message


@pytest.mark.parametrize(
    ("regex", "refused"),
    [
        ("a[a-z]{1,999}[a-y]{1,999}1z", True),
        ("a[a-z]{1,99}[a-y]{1,99}[a-x]{1,99}1z", True),
        ("a[a-z]{1,99}[a-y]{1,99}1z", False),
        ("a[a-z]{1,999}-[a-z]{1,999}-1z", False),
        ("a[a-z]{1,999}[0-9]{1,999}z", False),
    ],
)
def test_neighbouring_repeats_may_not_share_in_too_many_ways(regex: str, refused: bool) -> None:
    """Each is linear alone; together they would try every division of one text among them, at every place."""
    if refused:
        with pytest.raises(ScrubError, match="ways at one place"):
            lint("x", regex, ["a"], None)
    else:
        assert lint("x", regex, ["a"], None) is None
