"""Record once, replay: what a program gets, and what it is told when there is no answer."""

from __future__ import annotations

import json
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from provtape.errors import (
    CassetteExists,
    CassetteSealed,
    Exhausted,
    InputError,
    Miss,
    Missed,
    ProvtapeError,
    RecordedError,
    RulesDiffer,
    SessionError,
)
from provtape.format.strict import Number
from provtape.scrub.rules import load
from provtape.session import Call, Session
from provtape.session.decide import Live, MissedRequest, Serve, UsedUp, decide

PING = Call("m", "ping", {"temperature": 0.7})


class Model:
    """A model that never gives the same answer twice, and knows how often it was asked."""

    def __init__(self) -> None:
        self.calls: list[Call] = []

    def __call__(self, call: Call) -> object:
        self.calls.append(call)
        return f"answer {len(self.calls)} to {call.prompt}"


def never(call: Call) -> object:
    pytest.fail(f"went live for {call.model}")


def recorded(path: Path, *prompts: str) -> list[object]:
    with Session.open(path, "record", live=Model()) as session:
        return [session.ask(Call("m", prompt)) for prompt in prompts]


def records(path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in path.read_bytes().splitlines()]


def test_equal_calls_get_their_answers_in_recorded_order(tmp_path: Path) -> None:
    path, model = tmp_path / "run.jsonl", Model()
    with Session.open(path, "record", live=model) as session:
        live = [session.ask(PING) for _ in range(3)] + [session.ask(Call("m", "other"))]
        assert session.summary.line() == "4 recorded"
    assert len(set(map(str, live))) == 4
    with Session.open(path, "replay", live=never) as session:
        other = session.ask(Call("m", "other"))
        assert [session.ask(PING) for _ in range(3)] + [other] == live
        assert session.summary.line() == "4 loaded, 4 served, 0 missed, 0 unused"
    assert len(model.calls) == 4


def test_a_live_answer_equals_its_replay(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    answers = [
        {"t": (1, 2), "x": 1e-7, "big": 2**80, "é": None},
        1.0,
        -0.0,
        [],
        "",
        12345678901234567890123,
        Number("1e2"),
    ]
    queue = iter(answers)
    with Session.open(path, "record", live=lambda call: next(queue)) as session:
        live = [session.ask(Call("m", number)) for number in range(len(answers))]
    with Session.open(path, "replay") as session:
        replayed = [session.ask(Call("m", number)) for number in range(len(answers))]
    assert list(map(repr, live)) == list(map(repr, replayed))
    assert live[0] == {"t": [1, 2], "x": 1e-7, "big": 2**80, "é": None}
    assert live[-1] == 100.0


def test_what_the_program_does_to_its_values_later_changes_no_record(tmp_path: Path) -> None:
    path, messages = tmp_path / "run.jsonl", [{"role": "user", "content": "hi"}]

    def live(call: Call) -> object:
        messages.append({"role": "assistant", "content": "hello"})
        return messages

    with Session.open(path, "record", live=live) as session:
        answer = session.ask(Call("m", messages))
    assert isinstance(answer, list)
    answer.clear()
    interaction = records(path)[2]
    assert interaction["request"]["prompt"] == [{"role": "user", "content": "hi"}]
    assert len(interaction["response"]["output"]) == 2


def test_a_reordered_request_hits_and_a_changed_parameter_misses(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    with Session.open(path, "record", live=Model()) as session:
        answer = session.ask(Call("m", "x", {"a": 1, "b": {"c": 2, "d": 3}}))
    with Session.open(path, "replay") as session:
        assert session.ask(Call("m", "x", {"b": {"d": 3, "c": 2}, "a": 1})) == answer
    for params in ({"a": 1.0, "b": {"c": 2, "d": 3}}, {"a": 1, "b": {"c": 2}}, {}):
        with pytest.raises(Miss), Session.open(path, "replay", live=never) as session:
            session.ask(Call("m", "x", params))


def test_never_recorded_and_used_up_are_two_errors(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    recorded(path, "ping", "ping")
    session = Session.open(path, "replay", live=never)
    for _ in range(2):
        session.ask(Call("m", "ping"))
    with pytest.raises(
        Exhausted,
        match=r"run\.jsonl: recorded 2 times \(last in record 3\), call 3 asked for: key [0-9a-f]{64}",
    ):
        session.ask(Call("m", "ping"))
    with pytest.raises(Miss) as caught:
        session.ask(Call("m", "pong"))
    assert not isinstance(caught.value, Exhausted)
    assert "nearest is record 3: your prompt changed, not the model (/prompt)" in caught.value.message
    assert "\n" not in caught.value.message
    assert caught.value.__notes__ == ["  /prompt: changed: [-ping-]{+pong+}"]
    with pytest.raises(Missed, match="2 requests missed"):
        session.close()


def test_repeat_begins_again(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    first, second = recorded(path, "ping", "ping")
    with Session.open(path, "replay", repeat=True) as session:
        assert [session.ask(Call("m", "ping")) for _ in range(5)] == [first, second, first, second, first]
        assert session.summary.unused == 0
    with pytest.raises(Miss), Session.open(path, "replay", repeat=True) as session:
        session.ask(Call("m", "pong"))


def test_a_swallowed_miss_still_fails_the_session(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    recorded(path, "ping")

    def program() -> None:
        with Session.open(path, "replay") as session:
            session.ask(Call("m", "ping"))
            try:
                session.ask(Call("m", "pong"))
            except Exception:
                session.ask(Call("m", "ping again"))

    with pytest.raises(Miss):
        program()
    session = Session.open(path, "replay")
    for prompt in ("pong", "pang"):
        with suppress(Exception):
            session.ask(Call("m", prompt))
    with pytest.raises(Missed) as caught:
        session.close()
    assert caught.value.message.startswith(
        "run.jsonl: 2 requests missed; first: run.jsonl: no recorded llm request"
    )
    assert len(caught.value.__notes__) == 2


def test_a_miss_hides_no_error_that_is_on_its_way(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    recorded(path, "ping")

    def program() -> None:
        with Session.open(path, "replay") as session:
            with suppress(Miss):
                session.ask(Call("m", "pong"))
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError) as caught:
        program()
    assert "1 request missed" in caught.value.__notes__[0]


@pytest.mark.parametrize(("code", "raised"), [(0, Missed), (None, Missed), (3, SystemExit)])
def test_leaving_with_success_does_not_hide_a_miss(tmp_path: Path, code: int | None, raised: type) -> None:
    path = tmp_path / "run.jsonl"
    recorded(path, "ping")

    def program() -> None:
        with Session.open(path, "replay") as session:
            with suppress(Miss):
                session.ask(Call("m", "pong"))
            sys.exit(code)

    with pytest.raises(raised):
        program()


def test_many_misses_are_all_counted_and_the_first_explained(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    recorded(path, "ping")
    session = Session.open(path, "replay")
    for number in range(50):
        with pytest.raises(Miss):
            session.ask(Call("m", f"ping {number}"))
    assert session.summary.missed == 50
    with pytest.raises(Missed, match="50 requests missed") as caught:
        session.close()
    assert len(caught.value.__notes__) == 20


def test_a_miss_is_explained_by_the_record_that_was_due(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    recorded(path, *(f"question number {number}" for number in range(40)))
    session = Session.open(path, "replay")
    for number in range(20):
        session.ask(Call("m", f"question number {number}"))
    with pytest.raises(Miss, match="nearest is record 22: your prompt changed") as caught:
        session.ask(Call("m", "question number twenty"))
    assert caught.value.__notes__ == ["  /prompt: changed: question number [-20-]{+twenty+}"]
    with pytest.raises(Missed):
        session.close()


def test_a_miss_in_an_empty_cassette_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "run.jsonl"
    recorded(path)
    with Session.open(path, "replay") as session:
        assert session.summary.idle
    assert "nothing was served: 0 loaded, 0 served" in capsys.readouterr().err
    with pytest.raises(Miss, match="nothing at all is recorded"), Session.open(path, "replay") as session:
        session.ask(PING)


def test_an_unused_cassette_is_no_success(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "run.jsonl"
    recorded(path, "a", "b")
    with Session.open(path, "replay") as session:
        pass
    assert session.summary.idle
    assert "nothing was served: 2 loaded, 0 served, 0 missed, 2 unused" in capsys.readouterr().err


def test_a_live_function_that_raises_raises_again_in_replay(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"

    def live(call: Call) -> object:
        raise TimeoutError(f"no answer to {call.prompt} \ud800")

    with Session.open(path, "record") as session:
        with pytest.raises(TimeoutError):
            session.ask(PING, live)
        assert session.ask(PING, Model()) == "answer 1 to ping"
    with Session.open(path, "replay", live=never) as session:
        with pytest.raises(RecordedError, match="record 2: the call had raised TimeoutError when") as caught:
            session.ask(PING)
        assert session.ask(PING) == "answer 1 to ping"
        assert session.summary.missed == 0
    assert caught.value.error == {"type": "TimeoutError", "message": "no answer to ping \\ud800"}


def test_an_interrupted_call_is_not_recorded(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"

    def live(call: Call) -> object:
        raise KeyboardInterrupt

    with Session.open(path, "record") as session, pytest.raises(KeyboardInterrupt):
        session.ask(PING, live)
    assert [record["type"] for record in records(path)] == ["open", "run"]


@pytest.mark.parametrize("answer", [float("nan"), object(), {1: "x"}, "\ud800", {"a": {2, 3}}])
def test_an_answer_that_can_not_be_recorded_fails_the_session_too(tmp_path: Path, answer: object) -> None:
    session = Session.open(tmp_path / "run.jsonl", "record", live=lambda call: answer)
    with pytest.raises(SessionError, match="the answer can not be recorded"):
        session.ask(PING)
    with pytest.raises(SessionError, match="1 live answer is not recorded"):
        session.close()


def deep(levels: int) -> object:
    value: object = []
    for _ in range(levels - 1):
        value = [value]
    return value


@pytest.mark.parametrize("prompt", [float("inf"), {3: 4}, "\udfff", deep(63), deep(500)])
def test_a_call_that_can_not_be_recorded_does_not_go_live(tmp_path: Path, prompt: object) -> None:
    session = Session.open(tmp_path / "run.jsonl", "record", live=never)
    with pytest.raises(SessionError, match="the request can not be recorded"):
        session.ask(Call("m", prompt))
    session.close()


def test_what_is_just_deep_enough_is_recorded(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    with Session.open(path, "record", live=lambda call: deep(62)) as session:
        assert session.ask(Call("m", deep(62))) == deep(62)
    with Session.open(path, "replay") as session:
        assert session.ask(Call("m", deep(62))) == deep(62)


def test_record_never_overwrites(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    recorded(path, "ping")
    before = path.read_bytes()
    with pytest.raises(CassetteExists):
        Session.open(path, "record", live=never)
    assert path.read_bytes() == before


def test_without_a_live_function_nothing_is_recorded(tmp_path: Path) -> None:
    with (
        Session.open(tmp_path / "run.jsonl", "record") as session,
        pytest.raises(SessionError, match="no live function"),
    ):
        session.ask(PING)
    with pytest.raises(SessionError, match="no such mode"):
        Session.open(tmp_path / "other.jsonl", "live")  # the wrong mode is what is tested
    with pytest.raises(SessionError, match="model is not a string"):
        Call(7, "x").request()


def test_a_closed_session_answers_nothing(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    with Session.open(path, "record", live=Model()) as session:
        session.ask(PING)
    session.close()
    with pytest.raises(SessionError, match="closed"):
        session.ask(PING)


# Auto


def test_auto_serves_what_is_recorded_and_adds_the_rest(tmp_path: Path) -> None:
    path, model = tmp_path / "run.jsonl", Model()
    with Session.open(path, "auto", live=model) as session:
        first = session.ask(PING)
    with Session.open(path, "auto", live=model) as session:
        assert session.ask(PING) == first
        second = session.ask(PING)
        other = session.ask(Call("m", "other"))
        assert session.summary.line() == "1 loaded, 1 served, 0 missed, 0 unused, 2 recorded"
    assert len(model.calls) == 3
    with Session.open(path, "replay") as session:
        assert [session.ask(PING), session.ask(PING), session.ask(Call("m", "other"))] == [
            first,
            second,
            other,
        ]
    assert [record["type"] for record in records(path)] == [
        "open",
        "run",
        "interaction",
        "run",
        "interaction",
        "interaction",
    ]


def test_auto_keeps_the_rules_of_the_cassette(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    own = load('format = "provtape-scrub/1"\nname = "own"\n')
    with Session.open(path, "record", live=Model(), rules=own, ignore=["/params/user"]) as session:
        answer = session.ask(Call("m", "x", {"user": "alice"}))
    with Session.open(path, "auto", live=never, rules=own) as session:
        assert session.ask(Call("m", "x", {"user": "bob"})) == answer
    with pytest.raises(RulesDiffer, match="nobody named them"):
        Session.open(path, "auto", live=never)  # a stranger's cassette must not bring a stranger's rules
    with pytest.raises(RulesDiffer):
        Session.open(path, "auto", live=never, rules=load('format = "provtape-scrub/1"\nname = "other"\n'))
    with pytest.raises(RulesDiffer):
        Session.open(path, "auto", live=never, rules=own, ignore=[])
    with Session.open(path, "replay", ignore=[], rules=None) as session:
        assert session.ask(Call("m", "x", {"user": "carol"})) == answer


def test_auto_goes_on_after_a_torn_tail_and_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "run.jsonl"
    first, _ = recorded(path, "a", "b")
    path.write_bytes(path.read_bytes()[:-20])
    with Session.open(path, "auto", live=lambda call: "new") as session:
        assert [session.ask(Call("m", "a")), session.ask(Call("m", "b"))] == [first, "new"]
    assert "a torn tail of" in capsys.readouterr().err
    assert (tmp_path / "run.jsonl.torn").exists()


# What is not served


def test_replay_says_who_vouches_for_a_cassette(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "run.jsonl"
    recorded(path, "a")
    with Session.open(path, "replay") as session:
        session.ask(Call("m", "a"))
        assert session.verdict is not None
        assert session.verdict.word == "UNVERIFIED"
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("provtape: run.jsonl: UNVERIFIED: ")


@pytest.mark.parametrize("mode", ["replay", "auto"])
def test_a_cassette_that_does_not_hold_is_never_served(tmp_path: Path, mode: str) -> None:
    path = tmp_path / "run.jsonl"
    recorded(path, "a", "b")
    path.write_bytes(path.read_bytes().replace(b"answer 1", b"answer 9"))
    with pytest.raises(SessionError, match=r"run\.jsonl: FAILED, so nothing is served"):
        Session.open(path, mode, live=never)


def test_a_cassette_that_is_not_there_or_none_is_said_to_be(tmp_path: Path) -> None:
    with pytest.raises(SessionError, match=r"nothing\.jsonl: ERROR"):
        Session.open(tmp_path / "nothing.jsonl", "replay")
    (tmp_path / "text").write_text("hello\n")
    with pytest.raises((SessionError, InputError)):
        Session.open(tmp_path / "text", "replay")


def rewritten(path: Path, change: tuple[bytes, bytes]) -> None:
    """Change a cassette and chain it anew, as only its author could."""
    from provtape.format.chain import Chain

    chain, out = Chain(), []
    for line in path.read_bytes().replace(*change).splitlines(keepends=True):
        out.append(chain.link(line[line.index(b'"type"') :]))
        chain = chain.extend(out[-1])
    path.write_bytes(b"".join(out))


def test_an_answer_under_a_wrong_key_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    recorded(path, "what is right")
    rewritten(path, (b"what is right", b"what is wrong"))
    session = Session.open(path, "replay")
    with pytest.raises(SessionError, match="record 2: its key is not the key of its request"):
        session.ask(Call("m", "what is right"))
    session.close()


def test_a_cassette_that_changes_under_the_session_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    recorded(path, "a")
    with Session.open(path, "replay") as session:
        data = path.read_bytes().replace(b"answer 1", b"answer 9")
        with path.open("r+b") as file:
            file.write(data)
        with pytest.raises(ProvtapeError, match="changed since"):
            session.ask(Call("m", "a"))


def test_a_miss_stays_a_miss_when_the_cassette_can_not_be_read_any_more(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    recorded(path, "a")
    session = Session.open(path, "replay")
    path.write_bytes(b"")
    with pytest.raises(Miss):
        session.ask(Call("m", "b"))
    with pytest.raises(Missed, match="1 request missed"):
        session.close()


# The decision


def test_the_decision_table() -> None:
    assert [decide("record", 3, n) for n in (0, 5)] == [Live(), Live()]
    assert [decide("replay", 2, n) for n in range(3)] == [Serve(0), Serve(1), UsedUp(2)]
    assert [decide("replay", 2, n, repeat=True) for n in range(4)] == [Serve(0), Serve(1), Serve(0), Serve(1)]
    assert decide("replay", 0, 7, repeat=True) == MissedRequest()
    assert [decide("auto", 1, n, repeat=True) for n in range(3)] == [Serve(0), Live(), Live()]


def test_a_sealed_cassette_takes_nothing(tmp_path: Path) -> None:
    from provtape.cassette.writer import Writer
    from provtape.scrub.door import Door
    from provtape.scrub.rules import default_rules

    path = tmp_path / "run.jsonl"
    (answer,) = recorded(path, "a")
    end = Door(default_rules()).record("end", {"closed": "2026-01-01T00:00:00.000Z", "meta": {}})
    Writer.reopen(path).seal(end)
    with pytest.raises(CassetteSealed):
        Session.open(path, "auto", live=never)
    with Session.open(path, "replay") as session:
        assert session.ask(Call("m", "a")) == answer


def test_a_miss_is_said_even_if_the_session_is_never_closed(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    recorded(path, "a")
    program = f"""
from provtape import Call, Session
session = Session.open({str(path)!r}, "replay")
try:
    session.ask(Call("m", "never recorded"))
except Exception:
    pass
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert "1 request missed" in done.stderr
