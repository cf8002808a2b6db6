"""Rule files: what is accepted, what the effective text is, and that every shipped rule finds what it says."""

from __future__ import annotations

import re
import tomllib

import pytest
from scrub_examples import EXAMPLES, expand

from provtape.errors import ScrubError
from provtape.format.placeholder import PLACEHOLDER
from provtape.scrub.matcher import Matcher
from provtape.scrub.rulefile import MAX_BYTES, MAX_RULES, Rule
from provtape.scrub.rules import PACKS, default_rules, load, normal_key, pack, parse

HEAD = 'format = "provtape-scrub/1"\nname = "mine"\n'
RULE = "[[rules]]\nid = 'acme-key'\nregex = 'acme_[A-Za-z0-9]{24,}'\nkeywords = ['acme_']\n"
SHIPPED = {rule.id: rule for name, version in PACKS for rule in pack(name, version).rules}


def extends(*names: str) -> str:
    rows = (
        f'{{ pack = "{name}", version = "2026.1", sha256 = "{pack(name, "2026.1").sha256}" }}'
        for name in names
    )
    return f"extends = [{', '.join(rows)}]\n"


def find(rule: Rule, text: str) -> list[bytes]:
    data = text.encode()
    matcher = Matcher(0, rule)
    if not matcher.present(data, data.lower()):
        return []
    return [data[start:end] for start, end, _ in matcher.spans(data)]


def test_every_shipped_rule_has_examples_of_both_kinds() -> None:
    assert set(SHIPPED) == set(EXAMPLES)
    assert all(positive and negative for positive, negative in EXAMPLES.values())
    assert len(default_rules().rules) == 50
    assert len(pack("identity", "2026.1").rules) == 7


@pytest.mark.parametrize("rule", SHIPPED.values(), ids=list(SHIPPED))
def test_a_shipped_rule_finds_its_positive_examples_and_no_negative_one(rule: Rule) -> None:
    positive, negative = EXAMPLES[rule.id]
    assert [text for text in positive if not find(rule, expand(text))] == []
    assert [text for text in negative if find(rule, expand(text))] == []


@pytest.mark.parametrize("rule", SHIPPED.values(), ids=list(SHIPPED))
def test_what_is_found_covers_the_whole_secret(rule: Rule) -> None:
    for notation in EXAMPLES[rule.id][0]:
        text = expand(notation)
        left = text.encode()
        for secret in find(rule, text):
            left = left.replace(secret, b"|")
        runs = [expand(run) for run in re.findall(r"<[AUHLWSK][0-9]+>", notation)]
        long = [
            run
            for run in runs
            if len(run) >= 24 and not notation.startswith(("AccountName", "SignedHeaders"))
        ]
        assert all(run.encode() not in left for run in long), notation


def test_a_rule_counts_only_what_is_varied_enough() -> None:
    rule = Rule("x", "", "key=([A-Za-z0-9]{4,})", ("key=",), None, 2, 4, 2, ("Abc12345",))
    assert find(rule, "key=aB12 key=aaaa key=aB1c key=a1a1 key=Abc12345") == [b"aB12"]


def test_the_effective_text_of_a_pack_reads_back_as_the_same_rules() -> None:
    for name, version in PACKS:
        rules = pack(name, version)
        assert parse(rules.text) == rules
        assert load(rules.text) == rules
    assert default_rules().name == "default"


def test_a_text_of_record_0_is_kept_byte_for_byte() -> None:
    text = "# as it was\n" + HEAD + RULE
    assert parse(text).text == text
    assert load(text).text == HEAD.rstrip() + "\n\n" + RULE.replace("'acme-key'", '"acme-key"')
    assert parse(text).rules == load(text).rules


def test_an_empty_rule_file_keeps_no_header_and_finds_nothing() -> None:
    rules = parse(HEAD)
    assert rules.text == load(HEAD).text == HEAD
    assert (rules.request_keep, rules.json_keys, rules.rules) == (frozenset(), frozenset(), ())


def test_packs_are_flattened_in_order_and_own_rules_come_last() -> None:
    rules = load(
        HEAD + extends("default", "identity") + 'disable = ["sk-key"]\n[query]\nnames = ["Ticket"]\n' + RULE
    )
    ids = [rule.id for rule in rules.rules]
    assert len(ids) == 49 + 6 + 1  # home-path stands in both packs, alike
    assert ids[0] == "openai-key"
    assert ids[-1] == "acme-key"
    assert "sk-key" not in ids
    assert rules.disabled == ("sk-key",)
    assert {"ticket", "upload_id"} <= rules.query
    assert "extends" not in tomllib.loads(rules.text)
    assert parse(rules.text) == rules


def test_names_are_compared_without_case_and_separators() -> None:
    rules = load(
        HEAD
        + '[json]\nkeys = ["Client-Secret"]\npointers = ["/a~1b/*"]\n[headers]\nrequest_keep = ["X-Yes"]\n'
    )
    assert rules.json_keys == {normal_key("client_SECRET")}
    assert rules.pointers == (("a/b", "*"),)
    assert rules.request_keep == {"x-yes"}


def test_quotes_and_control_characters_survive_the_one_spelling() -> None:
    text = HEAD + '[json]\nkeys = ["it\'s", "tab\\tand \\u007f", \'back\\slash "q"\']\n'
    rules = load(text)
    assert parse(rules.text).json_keys == {"it's", "taband\x7f", 'back\\slash"q"'}


HOSTILE = {
    "nothing": "",
    "not TOML": "{",
    "other format": HEAD.replace("/1", "/2"),
    "no name": 'format = "provtape-scrub/1"\n',
    "name with a line break": HEAD.replace("mine", "mi\\nne"),
    "unknown member": HEAD + "colour = 1\n",
    "unknown table member": HEAD + "[query]\nredact = []\n",
    "unknown rule member": HEAD + RULE + "entropy = 3\n",
    "wrong type": HEAD + "rules = 3\n",
    "wrong list": HEAD + '[json]\nkeys = ["a", 3]\n',
    "empty string in a list": HEAD + '[json]\nkeys = [""]\n',
    "pointer without slash": HEAD + '[json]\npointers = ["a"]\n',
    "a number that is none": HEAD + RULE + "min_digits = true\n",
    "a negative number": HEAD + RULE + "min_digits = -1\n",
    "reserved id": HEAD + RULE.replace("acme-key", "memory"),
    "id with capitals": HEAD + RULE.replace("acme-key", "Acme"),
    "id twice": HEAD + RULE + RULE,
    "no keywords": HEAD + RULE.replace("['acme_']", "[]"),
    "own and disabled": HEAD + 'disable = ["acme-key"]\n' + RULE,
    "disabled and unknown": HEAD + 'disable = ["nobody"]\n',
    "unknown pack": HEAD + 'extends = [{ pack = "x", version = "1", sha256 = "0" }]\n',
    "pack by path": HEAD + 'extends = [{ pack = "../default", version = "2026.1", sha256 = "0" }]\n',
    "pack with another digest": HEAD + extends("default").replace(default_rules().sha256, "0" * 64),
    "rule of a pack with another meaning": HEAD + extends("default") + RULE.replace("acme-key", "sk-key"),
    "nested deep": HEAD + "disable = " + "[" * 20_000,
    "huge number": HEAD + RULE + f"min_digits = {'9' * 5000}\n",
    "too large": HEAD + "#" * MAX_BYTES,
    "too many rules": HEAD + "".join(RULE.replace("acme-key", f"r{n}") for n in range(MAX_RULES + 1)),
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=list(HOSTILE))
def test_a_hostile_rule_file_is_refused_in_one_line(text: str) -> None:
    with pytest.raises(ScrubError) as caught:
        load(text)
    assert caught.value.message.startswith("scrub rules: ")
    assert "\n" not in caught.value.message


def test_the_message_names_the_unknown_member_and_where_it_stands() -> None:
    with pytest.raises(ScrubError, match=r'unknown member "entropy" in rule "acme-key"'):
        load(HEAD + RULE + "entropy = 3\n")


def test_an_effective_text_extends_nothing() -> None:
    with pytest.raises(ScrubError, match="complete"):
        parse(HEAD + extends("default"))


def test_the_refused_digest_is_answered_with_the_right_one() -> None:
    with pytest.raises(ScrubError) as caught:
        load(HOSTILE["pack with another digest"])
    assert default_rules().sha256 in str(caught.value.hint)


def test_no_rule_finds_a_placeholder() -> None:
    for rule in SHIPPED.values():
        text = f"~REDACTED~{rule.id}~"
        assert PLACEHOLDER.fullmatch(text)
        assert find(rule, text) == []
