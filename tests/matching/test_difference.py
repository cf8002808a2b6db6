"""What a miss says: the nearest recorded request and the difference."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from provtape.format.strict import Number
from provtape.matching.difference import MAX_CHANGES, MAX_SHOWN, changes, clause, printable, word_difference
from provtape.matching.identity import identity
from provtape.matching.nearest import MAX_CANDIDATES, Candidate, nearest


def llm(prompt: object, model: str = "m", **params: object) -> dict[str, object]:
    return {"model": model, "prompt": prompt, "params": params}


def differ(asked: dict[str, object], recorded: dict[str, object]) -> list[tuple[str, str]]:
    found = changes(identity("llm", asked), identity("llm", recorded))
    return [(change.pointer, change.what) for change in found]


def said(asked: dict[str, object], recorded: dict[str, object]) -> str:
    return clause(changes(identity("llm", asked), identity("llm", recorded)))


def test_the_author_is_told_what_changed() -> None:
    recorded = llm("Name a red fruit.", seed=1)
    assert said(llm("Name a blue fruit.", seed=1), recorded) == "your prompt changed, not the model"
    assert said(llm("Name a red fruit.", "n", seed=1), recorded) == "the model changed, not your prompt"
    assert said(llm("Name a red fruit.", seed=2), recorded) == "a parameter changed, not your prompt"
    assert said(llm("Name a fruit.", "n", seed=2), recorded) == "model, params and prompt changed"
    assert said(recorded, recorded) == "nothing differs"


def test_a_number_that_is_only_spelled_differently_is_said_to_be() -> None:
    for spelling in (1.0, Number("1e0"), Number("10E-1")):
        assert differ(llm("x", t=spelling), llm("x", t=1)) == [("/params/t", "number spelled differently")]
        assert "1.0 and 1e0 are three requests" in said(llm("x", t=spelling), llm("x", t=1))
    assert differ(llm("x", t=2), llm("x", t=1)) == [("/params/t", "changed")]
    assert differ(llm("x", t=Number("1e99999999999999999999")), llm("x", t=1)) == [("/params/t", "changed")]
    assert differ(llm("x", t=Number("1" * 70 + ".0")), llm("x", t=Number("1" * 70))) == [
        ("/params/t", "changed")
    ]


def test_every_place_is_named_by_its_pointer() -> None:
    recorded = llm(
        [{"role": "user", "content": "hi"}, {"role": "user", "content": "bye"}], stop="x", a=1, b=True
    )
    asked = llm([{"role": "user", "content": "ho"}], stop=["x"], a="1", b=False, **{"c/d": 1})
    assert differ(asked, recorded) == [
        ("/prompt/0/content", "changed"),
        ("/prompt/1", "only recorded"),
        ("/params/stop", "of another type"),
        ("/params/a", "of another type"),
        ("/params/b", "changed"),
        ("/params/c~1d", "only asked"),
    ]


def test_only_the_first_places_are_named() -> None:
    assert len(differ(llm(list(range(1000))), llm(list(range(1000, 2000))))) == MAX_CHANGES


def test_words_are_shown_with_their_surroundings() -> None:
    long = "word " * 5000
    shown = word_difference(f"{long}Name a red fruit. {long}", f"{long}Name a blue fruit. {long}")
    assert "a [-red-]{+blue+} fruit" in shown
    assert len(shown) <= MAX_SHOWN
    assert shown.startswith("…")
    assert word_difference("one " * 300, "two") == "[-one one one …one one one -]{+two+}"
    assert word_difference("same", "same and more") == "same{+ and more+}"


@settings(deadline=None)
@given(st.text(max_size=400), st.text(max_size=400))
def test_a_word_difference_is_short_and_printable(one: str, other: str) -> None:
    shown = word_difference(one, other)
    assert len(shown) <= MAX_SHOWN
    assert printable(shown) == shown
    if one != other:
        assert "[-" in shown or "{+" in shown


def test_no_character_steers_a_terminal() -> None:
    assert printable("a\x1b[31m\u202eb\u2028") == "a\\u{1b}[31m\\u{202e}b\\u{2028}"
    (change,) = changes({"kind": "llm", "prompt": {"\x1b]0;x\x07": 1}}, {"kind": "llm", "prompt": {}})
    assert change.line() == "/prompt/\\u{1b}]0;x\\u{7}: only asked"


# The nearest


def test_the_nearest_request_shares_the_most() -> None:
    recorded = [
        Candidate(2, llm("Write a poem about the sea", "other", seed=1)),
        Candidate(3, llm("Name a red fruit, please", seed=1)),
        Candidate(4, llm("Name a red fruit, please", "other", seed=1)),
    ]
    near = nearest("llm", llm("Name a blue fruit, please", seed=1), recorded)
    assert near is not None
    assert near.seq == 3
    assert near.line() == "nearest is record 3: your prompt changed, not the model (/prompt)"


def test_an_equal_prompt_under_another_model_is_nearer_than_another_prompt() -> None:
    recorded = [
        Candidate(2, llm("something else entirely", seed=1)),
        Candidate(3, llm("Name a fruit", "small", seed=1)),
    ]
    near = nearest("llm", llm("Name a fruit", seed=1), recorded)
    assert near is not None
    assert (near.seq, near.clause) == (3, "the model changed, not your prompt")


def test_a_host_that_was_never_recorded_is_said_first() -> None:
    def post(url: str, body: str) -> dict[str, object]:
        return {"method": "POST", "url": url, "headers": [], "body": {"text": body}}

    recorded = [
        Candidate(5, post("https://a.example/v1", '{"x":1}')),
        Candidate(6, post("https://b.example/v1", '{"x":2}')),
    ]
    elsewhere = nearest("http", post("https://c.example/v1", '{"x":1}'), recorded)
    assert elsewhere is not None
    assert elsewhere.clause == "no request to this host is among those compared"
    body = nearest("http", post("https://b.example/v1", '{"x":3}'), recorded)
    assert body is not None
    assert (body.seq, [change.pointer for change in body.changes]) == (6, ["/body/json/x"])
    other = nearest("http", post("http://[::1", ""), recorded)
    assert other is not None


def test_a_tool_that_was_never_recorded_is_said_first() -> None:
    near = nearest(
        "tool", {"name": "clock", "arguments": {}}, [Candidate(2, {"name": "dice", "arguments": {}})]
    )
    assert near is not None
    assert near.clause == "no call of this tool is among those compared"


def test_nothing_recorded_means_nothing_near() -> None:
    assert nearest("llm", llm("x"), []) is None


def test_only_so_many_candidates_are_looked_at() -> None:
    def endless() -> object:
        for seq in range(MAX_CANDIDATES):
            yield Candidate(seq, llm(f"number {seq}"))
        pytest.fail("one candidate too many was asked for")

    near = nearest("llm", llm("number 7"), endless())
    assert near is not None
    assert near.seq == 7
