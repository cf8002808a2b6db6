"""Scrubbing one text: what goes, what stays, and that it comes to rest."""

from __future__ import annotations

import json
import re
from urllib.parse import quote

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scrub_examples import EXAMPLES, expand

from provtape.errors import ScrubError
from provtape.format.placeholder import PLACEHOLDER
from provtape.scrub.engine import Scrubber
from provtape.scrub.matcher import MAX_MATCH
from provtape.scrub.rules import Rules, default_rules, load, pack
from provtape.scrub.sieve import Sieve

HEAD = 'format = "provtape-scrub/1"\nname = "mine"\n'
ALL = load(
    HEAD
    + "extends = ["
    + ", ".join(
        f'{{ pack = "{name}", version = "2026.1", sha256 = "{pack(name, "2026.1").sha256}" }}'
        for name in ("default", "identity")
    )
    + "]\n"
)
KEYWORDS = [(word.encode(), rule.regex.startswith("(?i)")) for rule in ALL.rules for word in rule.keywords]
SIEVE = Sieve(KEYWORDS)

KEYS = {
    "anthropic": "sk-ant-api03-<U93>AA",
    "openai": "sk-proj-<U156>",
    "groq": "gsk_<A52>",
    "huggingface": "hf_<W34>",
    "google": "AIzaSy<U33>",
    "github": "ghp_<A36>",
    "aws": "AKIA<K16>",
    "slack": "xoxb-1-2-<A24>",
}
SURROUNDINGS = {
    "newline": "first line\n{}",
    "tab": "a\t{}",
    "full stop": "My key is {}.",
    "parentheses": "({})",
    "comma": "keys: {}, and more",
    "angle brackets": "<{}>",
    "backticks": "`{}`",
    "JSON in JSON": '{{\\"x\\": \\"{}\\"}}',
    "colour": "\x1b[32m{}\x1b[0m",
    "written newline": 'echo "\\n{}"',
    "URL": "https://api.example/v1?x={}&y=1",
}


def rules(*texts: str) -> Rules:
    return load(HEAD + "".join(texts))


def rule(name: str, regex: str, keyword: str, more: str = "") -> str:
    return f"[[rules]]\nid = '{name}'\nregex = '{regex}'\nkeywords = ['{keyword}']\n{more}\n"


@pytest.mark.parametrize("key", KEYS.values(), ids=list(KEYS))
@pytest.mark.parametrize("around", SURROUNDINGS.values(), ids=list(SURROUNDINGS))
def test_every_key_is_found_in_every_surrounding_and_alone_is_removed(around: str, key: str) -> None:
    text, counts = Scrubber(default_rules()).scrub(around.format(expand(key)))
    before, after = around.format("|").split("|")
    assert text.startswith(before)
    assert text.endswith(after)
    assert PLACEHOLDER.fullmatch(text[len(before) : len(text) - len(after)])
    assert sum(counts.values()) == 1


@pytest.mark.parametrize("key", KEYS.values(), ids=list(KEYS))
@pytest.mark.parametrize("around", SURROUNDINGS.values(), ids=list(SURROUNDINGS))
def test_the_same_as_raw_json_leaves_nothing_of_the_key(around: str, key: str) -> None:
    secret = expand(key)
    raw = json.dumps({"content": around.format(secret)})
    assert secret not in Scrubber(default_rules()).scrub(raw)[0]


def test_the_longer_finding_of_two_that_start_together_wins_and_swallows() -> None:
    scrubber = Scrubber(
        rules(
            rule("short", "ab[0-9]", "ab"),
            rule("long", "ab[0-9]{1,9}", "ab"),
            rule("tail", "3[a-z]{2,}", "3"),
        )
    )
    assert scrubber.scrub("x ab123cd y") == ("x ~REDACTED~long~ y", {"long": 1})


def test_the_first_of_two_equal_rules_names_the_finding() -> None:
    scrubber = Scrubber(rules(rule("one", "ab[0-9]", "ab"), rule("two", "ab[0-9]", "ab")))
    assert scrubber.scrub("ab1") == ("~REDACTED~one~", {"one": 1})


def test_what_a_finding_uncovers_is_looked_at_again() -> None:
    scrubber = Scrubber(rules(rule("name", r"\bname=([a-z]{1,9});", "name="), rule("rest", ";z[0-9]", ";z")))
    assert scrubber.scrub("name=abc;z1 name=;z2") == (
        "name=~REDACTED~name~~REDACTED~rest~ name=~REDACTED~rest~",
        {"name": 1, "rest": 2},
    )


def test_placeholders_are_left_alone() -> None:
    text = '"password": "~REDACTED~json-secret-text~" and Bearer ~REDACTED~jwt~'
    assert Scrubber(default_rules()).scrub(text) == (text, {})


def test_a_rule_that_feeds_on_placeholders_is_stopped() -> None:
    # It takes one character from the end of a word, and every placeholder makes a new end.
    scrubber = Scrubber(rules(rule("eat", "[ab]\\b", "a")))
    with pytest.raises(ScrubError, match="8 passes"):
        scrubber.scrub("ab" * 40 + "a")


def test_a_match_of_over_16_kib_takes_the_whole_value() -> None:
    begin = expand("<-*5>BEGIN< *1>PRIVATE KEY<-*5>\n")
    short, long = begin + "A" * 1000, begin + "A" * MAX_MATCH
    scrubber = Scrubber(default_rules())
    assert scrubber.scrub("before " + short)[0] == "before ~REDACTED~private-key~"
    assert scrubber.scrub("before " + long)[0] == "~REDACTED~private-key~"


def test_characters_of_several_bytes_are_never_cut() -> None:
    scrubber = Scrubber(rules(rule("bytes", "k=([^ ]{2,4})", "k=")))
    text, _ = scrubber.scrub("k=ä日本語 end")
    assert text == "k=~REDACTED~bytes~本語 end"


def test_a_literal_is_found_as_it_is_percent_coded_and_escaped() -> None:
    secret = 'pass/wörd "1"'
    scrubber = Scrubber(default_rules(), [secret.encode(), b"short"])
    forms = [secret, quote(secret, safe=""), quote(secret, safe="").lower(), json.dumps(secret)[1:-1]]
    for form in [*forms, json.dumps(secret, ensure_ascii=False)[1:-1]]:
        assert scrubber.scrub(f"<{form}>") == ("<~REDACTED~local~>", {"local": 1})
    assert scrubber.scrub("short") == ("short", {})


def test_what_a_rule_knows_keeps_its_name_even_when_it_is_a_literal_here() -> None:
    key = expand("gsk_<A52>")
    assert Scrubber(default_rules(), [key.encode()]).scrub(key)[0] == "~REDACTED~groq-key~"


def test_a_value_that_was_removed_once_is_found_everywhere_from_then_on() -> None:
    scrubber = Scrubber(default_rules())
    assert scrubber.scrub("it is hunter22x") == ("it is hunter22x", {})
    scrubber.scrub("{'password': 'hunter22x'}")
    assert scrubber.scrub("it is hunter22x") == ("it is ~REDACTED~json-secret-text~", {"json-secret-text": 1})


@pytest.mark.parametrize("value", ["required", "abc1234", "~REDACTED~jwt~", "x" * 5000 + "1"])
def test_plain_words_short_values_and_whole_documents_are_not_remembered(value: str) -> None:
    scrubber = Scrubber(default_rules())
    scrubber.remember(value, "json-key")
    assert scrubber.known == 0


def test_a_user_name_is_removed_from_paths_and_stays_a_word() -> None:
    scrubber = Scrubber(default_rules())
    assert scrubber.scrub("/home/ubuntu-22/x")[0] == "/home/~REDACTED~home-path~/x"
    assert scrubber.scrub("ubuntu-22 is out")[0] == "ubuntu-22 is out"


def test_a_text_known_as_clean_is_looked_at_again_when_the_memory_grew() -> None:
    scrubber = Scrubber(default_rules())
    assert scrubber.suspects(["maybe-hidden-9"]) is None
    scrubber.remember("maybe-hidden-9", "json-key")
    assert scrubber.suspects(["maybe-hidden-9"]) is not None


def test_a_thousand_literals_are_found_like_one() -> None:
    scrubber = Scrubber(default_rules(), [f"memo-{n:04}-number".encode() for n in range(1000)])
    assert (
        scrubber.scrub("a memo-0007-number b memo-0999-number.")[0]
        == "a ~REDACTED~local~ b ~REDACTED~local~."
    )
    assert scrubber.suspects(["memo-0007-", "7" * 50]) is None


# Properties, over texts cut and glued from everything that the rules know.

PIECES = [expand(text) for positive, negative in EXAMPLES.values() for text in positive + negative]
SEPARATORS = [
    "",
    " ",
    "\n",
    '"',
    "\\n",
    "=",
    ": ",
    "~",
    "~REDACTED~",
    "~REDACTED~jwt~",
    "ä",
    "日",
    "\x00",
    "&",
    "://",
    "@",
    "'",
]


@st.composite
def glued(draw: st.DrawFn) -> str:
    parts = []
    for _ in range(draw(st.integers(1, 5))):
        piece = draw(st.sampled_from(PIECES))
        start = draw(st.integers(0, len(piece)))
        parts += [piece[start : draw(st.integers(start, len(piece)))], draw(st.sampled_from(SEPARATORS))]
    return "".join(parts)


@settings(max_examples=300, deadline=None)
@given(glued())
def test_scrubbing_twice_is_scrubbing_once(text: str) -> None:
    once, _ = Scrubber(ALL).scrub(text)
    assert Scrubber(ALL).scrub(once) == (once, {})


@settings(max_examples=300, deadline=None)
@given(glued())
def test_all_that_is_left_stood_there_in_this_order(text: str) -> None:
    scrubbed, counts = Scrubber(ALL).scrub(text)
    kept = re.split(r"~REDACTED~[a-z0-9][a-z0-9-]{0,31}~", scrubbed)
    assert text.startswith(kept[0])
    assert text.endswith(kept[-1])
    at = 0
    for part in kept:
        at = text.index(part, at) + len(part)
    assert bool(counts) == (scrubbed != text)


@settings(max_examples=200, deadline=None)
@given(st.lists(glued(), max_size=4))
def test_the_quick_look_never_misses_what_the_rules_would_find(texts: list[str]) -> None:
    scrubber = Scrubber(ALL)
    if scrubber.suspects(texts) is None:
        assert [text for text in texts if Scrubber(ALL).scrub(text)[1]] == []


@settings(max_examples=300, deadline=None)
@given(glued(), st.sampled_from(KEYWORDS), glued())
def test_the_sieve_knows_every_keyword_that_is_there(
    before: str, keyword: tuple[bytes, bool], after: str
) -> None:
    data = before.encode() + keyword[0] + after.encode()
    low = data.lower()
    expected = {word.lower().decode() for word, folded in KEYWORDS if word in (low if folded else data)}
    assert expected <= SIEVE.keywords(data)


@given(
    st.sets(st.text(alphabet="aAbBzZ-_/.1", min_size=1, max_size=6), min_size=1, max_size=12),
    st.text(alphabet="aAbBzZ-_/.1"),
)
def test_the_sieve_is_sound_for_any_keywords(words: set[str], text: str) -> None:
    data = text.encode()
    found = Sieve((word.encode(), word == word.lower()) for word in words).keywords(data)
    for word in words:
        if word.encode() in (data.lower() if word == word.lower() else data):
            assert word.lower() in found
