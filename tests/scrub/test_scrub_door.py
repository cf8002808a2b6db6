"""The door: no secret gets through in any part of any record, and nothing else changes."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from scrub_parts import (
    JSON,
    KEY,
    OPEN,
    PLAIN,
    RULES,
    RUN,
    SALT,
    TIME,
    TOKEN,
    answer,
    door,
    http,
    llm,
    record,
    run,
    through,
)

from provtape.errors import ScrubError
from provtape.format.strict import Number, parse
from provtape.scrub.door import Door
from provtape.scrub.rules import load
from provtape.scrub.rules import parse as parse_rules

# Records


def test_an_honest_open_run_and_end_pass_byte_for_byte() -> None:
    assert record(door().record("open", OPEN)) | OPEN == record(door().record("open", OPEN))
    assert record(door().record("run", RUN))["capture"] == RUN["capture"]
    assert (
        door().record("end", {"closed": TIME, "meta": {}}).data
        == f'"type":"end","closed":"{TIME}","meta":{{}}}}\n'.encode()
    )


def test_the_rules_themselves_are_the_one_text_that_is_exempt() -> None:
    rules = parse_rules(f'format = "provtape-scrub/1"\nname = "x"\n# {TOKEN}\n')
    scrub = {"name": "x", "sha256": rules.sha256, "rules": rules.text}
    assert record(Door(RULES).record("open", {**OPEN, "scrub": scrub}))["scrub"] == scrub


def test_secrets_in_a_command_line_do_not_reach_the_run_record() -> None:
    words = [
        "python",
        "b.py",
        "--api-key",
        "s3cret",
        f"--token={TOKEN}",
        f"OPENAI_API_KEY={KEY}",
        "--password=x",
        "-n",
        "5",
    ]
    command = run(command=words)["command"]
    hidden = "~REDACTED~json-key~"
    assert command[:4] == ["python", "b.py", "--api-key", hidden]
    assert command[4:] == [
        "--token=~REDACTED~github-token~",
        "OPENAI_API_KEY=~REDACTED~openai-key~",
        f"--password={hidden}",
        "-n",
        "5",
    ]


def test_an_option_without_a_value_hides_nothing() -> None:
    assert run(command=["x", "--password", "--verbose", "y"])["command"] == [
        "x",
        "--password",
        "--verbose",
        "y",
    ]


def test_secrets_in_uris_and_routes_do_not_reach_the_run_record() -> None:
    code = {
        "uri": f"https://alice:{PLAIN}@git.example/r?x=1#f",
        "commit": "a" * 40,
        "tree": "b" * 40,
        "dirty": False,
    }
    capture = {
        "road": "command",
        "enclosed": True,
        "allow": [f"h:{KEY}"],
        "pass": [],
        "routes": {"a": f"https://u@h/?key={PLAIN}"},
    }
    value = run(code=code, capture=capture)
    assert value["code"] == {**code, "uri": "https://git.example/r?x=1#f"}
    assert value["capture"]["routes"] == {"a": "https://h/?key=~REDACTED~query~"}
    assert value["capture"]["allow"] == ["h:~REDACTED~openai-key~"]


def test_secrets_in_the_environment_and_in_meta_do_not_reach_the_run_record() -> None:
    value = run(
        environment={"MY_TOKEN": PLAIN, "python": "3.12.1", "deep": {"password": "abc"}},
        meta={KEY: [1, {"x": TOKEN}]},
    )
    assert value["environment"] == {
        "MY_TOKEN": "~REDACTED~env-assignment~",
        "python": "3.12.1",
        "deep": {"password": "~REDACTED~json-key~"},
    }
    assert value["meta"] == {"~REDACTED~openai-key~": [1, {"x": "~REDACTED~github-token~"}]}


def test_a_local_literal_reaches_no_record() -> None:
    the_door = door("correct horse 9")
    value = record(
        the_door.record(
            "run", {**RUN, "command": ["say", "correct horse 9"], "meta": {"a": "correct%20horse%209"}}
        )
    )
    assert value["command"] == ["say", "~REDACTED~local~"]
    assert value["meta"] == {"a": "~REDACTED~local~"}


@pytest.mark.parametrize(
    "members",
    [
        {"recorder": KEY},
        {"started": KEY},
        {"code": {"uri": None, "commit": KEY, "tree": "b" * 40, "dirty": True}},
        {"capture": {**RUN["capture"], "routes": {KEY: "https://h/"}}},
        {"capture": {**RUN["capture"], "road": KEY}},
    ],
)
def test_what_the_format_gives_a_meaning_to_is_refused_and_not_changed(members: dict[str, object]) -> None:
    with pytest.raises(ScrubError, match="must stay as it is") as caught:
        door().record("run", {**RUN, **members})
    assert KEY not in str(caught.value)


def test_other_members_than_the_format_s_are_refused() -> None:
    for members in ({**RUN, "note": "x"}, {name: RUN[name] for name in reversed(RUN)}, {}):
        with pytest.raises(ScrubError, match="members"):
            door().record("run", members)
    with pytest.raises(ScrubError, match="members"):
        door().record("interaction", {})


def test_a_manifest_passes_unchanged_or_not_at_all() -> None:
    statement = {
        "_type": "https://in-toto.io/Statement/v1",
        "subject": [{"name": "run.jsonl", "digest": {"sha256": "0" * 64}}],
    }
    assert parse(door().manifest(statement).data) == statement
    for name in (f"{TOKEN}.json", "a/home/alice/x"):
        with pytest.raises(ScrubError, match="manifest"):
            door().manifest({**statement, "subject": [{"name": "/" + name}]})


# Free JSON


def test_a_clean_call_passes_as_it_is_and_numbers_stay_as_they_are_spelled() -> None:
    request = llm(
        [{"role": "user", "content": "Größe? 😀"}],
        {"temperature": Number("1.0"), "n": 1, "x": [None, True, 0.5]},
    )
    value = through(door(), "llm", request, {"output": "zwölf"})
    assert value["scrubbed"] == []
    scrubbed, findings = door().request("llm", request)
    assert (scrubbed, findings) == (request, [])
    data = door().interaction("llm", "0" * 64, scrubbed, findings, {"output": "x"}, TIME, 1, {}, SALT).data
    assert b'"params":{"temperature":1.0,"n":1,"x":[null,true,0.5]}' in data


def test_a_secret_in_any_place_of_a_call_goes_and_is_counted_where_it_stood() -> None:
    request = llm(
        [f"a {KEY} b {KEY}", {"deep/er": [TOKEN]}],
        {"extra_headers": {"Authorization": "x"}, KEY: 1},
        model=f"m {TOKEN}",
    )
    value = through(door(), "llm", request, {"output": {"text": f"you said {KEY}"}})
    assert KEY not in json.dumps(value)
    assert TOKEN not in json.dumps(value)
    assert value["scrubbed"] == [
        {"rule": "github-token", "where": "/request/model", "count": 1},
        {"rule": "openai-key", "where": "/request/prompt/0", "count": 2},
        {"rule": "github-token", "where": "/request/prompt/1/deep~1er/0", "count": 1},
        {"rule": "json-key", "where": "/request/params/extra_headers/Authorization", "count": 1},
        {"rule": "openai-key", "where": "/request/params/~0REDACTED~0openai-key~0", "count": 1},
        {"rule": "openai-key", "where": "/response/output/text", "count": 1},
    ]


def test_the_names_of_the_format_are_never_taken_for_names_of_secrets() -> None:
    rules = load(
        'format = "provtape-scrub/1"\nname = "x"\n[json]\nkeys = ["prompt", "output", "model", "name", "result"]\n'
    )
    value = through(Door(rules), "llm", llm("hello"), {"output": "there"})
    assert (value["request"]["prompt"], value["response"]["output"]) == ("hello", "there")
    value = through(Door(rules), "tool", {"name": "f", "arguments": {"prompt": "x"}}, {"result": "r"})
    assert value["request"] == {"name": "f", "arguments": {"prompt": "~REDACTED~json-key~"}}


def test_an_error_and_meta_are_scrubbed_like_an_answer() -> None:
    the_door = door()
    request, findings = the_door.request("tool", {"name": "f", "arguments": {}})
    error = {"error": {"message": f"bad key {KEY}"}}
    value = record(
        the_door.interaction("tool", "0" * 64, request, findings, error, TIME, 1, {"note": TOKEN}, SALT)
    )
    assert value["response"] == {"error": {"message": "bad key ~REDACTED~openai-key~"}}
    assert value["meta"] == {"note": "~REDACTED~github-token~"}
    assert [row["where"] for row in value["scrubbed"]] == ["/response/error/message", "/meta/note"]


def test_what_an_answer_revealed_is_known_in_the_next_request() -> None:
    the_door = door()
    through(
        the_door, "tool", {"name": "login", "arguments": {}}, {"result": {"access_token": "opaque-ticket-17"}}
    )
    value = through(
        the_door, "tool", {"name": "get", "arguments": {"url": "/x/opaque-ticket-17"}}, {"result": None}
    )
    assert value["request"]["arguments"] == {"url": "/x/~REDACTED~json-key~"}


def test_what_is_learned_late_in_a_part_is_removed_early_in_it_too() -> None:
    request, _ = door().request(
        "tool", {"name": "f", "arguments": ["see opaque-ticket-17", {"password": "opaque-ticket-17"}]}
    )
    assert request["arguments"] == ["see ~REDACTED~json-key~", {"password": "~REDACTED~json-key~"}]


@pytest.mark.parametrize(
    "value", [float("nan"), float("inf"), {1: "x"}, object(), b"x", {"a": {1, 2}}, "\ud800"]
)
def test_what_can_not_be_written_is_refused(value: object) -> None:
    the_door = door()
    with pytest.raises(ScrubError):
        through(the_door, "llm", llm(value), {"output": "x"})
    with pytest.raises(ScrubError):
        through(the_door, "llm", llm("x"), {"output": value})


def test_depth_64_passes_and_65_does_not() -> None:
    value: object = "x"
    for _ in range(62):  # the record and `request` are two
        value = [value]
    assert through(door(), "llm", llm(value), {"output": "x"})["request"]["prompt"] == value
    with pytest.raises(ScrubError, match="64"):
        through(door(), "llm", llm([value]), {"output": "x"})


def test_two_names_that_become_one_are_refused() -> None:
    with pytest.raises(ScrubError, match="told apart"):
        door().request("llm", llm({KEY: 1, KEY + "x": 2}))


def test_a_request_that_went_round_the_door_is_not_written() -> None:
    with pytest.raises(ScrubError, match="did not pass"):
        door().interaction("llm", "0" * 64, llm(KEY), [], {"output": "x"}, TIME, 1, {}, SALT)
    with pytest.raises(ScrubError, match="did not pass"):
        door().interaction("http", "0" * 64, http("https://u:p@h/"), [], answer(), TIME, 1, {}, SALT)


@pytest.mark.parametrize(
    ("kind", "request_", "response"),
    [
        ("llm", {"model": "m", "prompt": "x"}, {"output": 1}),
        ("llm", {"model": "m", "params": {}, "prompt": "x"}, {"output": 1}),
        ("llm", llm("x"), {"output": 1, "error": 2}),
        ("llm", llm("x"), {"result": 1}),
        ("http", http(), {"output": 1}),
        ("http", http(headers=[("a",)]), answer()),
        ("http", http(body={"text": "a", "base64": "b"}), answer()),
        ("http", http(body="a"), answer()),
        ("http", http(), answer(error=3)),
        ("http", {**http(), "url": None}, answer()),
        ("nothing", {}, {}),
    ],
)
def test_parts_of_another_shape_are_refused(
    kind: str, request_: dict[str, object], response: dict[str, object]
) -> None:
    with pytest.raises(ScrubError):
        through(door(), kind, request_, response)


@settings(max_examples=200, deadline=None)
@given(JSON)
def test_a_free_value_comes_to_rest(value: object) -> None:
    once, _ = door().request("llm", llm(value))
    assert KEY not in json.dumps(once)
    assert TOKEN not in json.dumps(once)
    assert door().request("llm", once) == (once, [])


# The house


def test_nobody_else_makes_a_scrubbed() -> None:
    package = Path(__file__).parents[2] / "src" / "provtape"
    makers = {
        path.relative_to(package).as_posix()
        for path in package.rglob("*.py")
        if re.search(r"(?<!class )\bScrubbed\(|replace\([a-z_]*scrubbed", path.read_text("utf-8"))
    }
    assert makers == {"scrub/door.py"}


def test_the_scrub_room_touches_no_file_clock_or_network() -> None:
    package = Path(__file__).parents[2] / "src" / "provtape" / "scrub"
    forbidden = r"^(?:import|from) (?:os|io|pathlib|time|random|secrets|subprocess|socket|logging)\b"
    assert [
        path.name
        for path in package.glob("*.py")
        if re.search(forbidden, path.read_text("utf-8"), re.MULTILINE)
    ] == []
