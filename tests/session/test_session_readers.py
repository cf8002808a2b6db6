"""Several readers of one cassette, each with an order of its own; and misses that are explained later than they are counted."""

from __future__ import annotations

from pathlib import Path

import pytest

from provtape.errors import Missed, SessionError
from provtape.session import Call, Session
from provtape.session.recorded import READERS, Answer
from provtape.session.turns import Turn, Unanswered

CALL = Call("m", "roll")


def cassette(path: Path, answers: int = 3) -> Path:
    rolls = iter(range(answers))
    with Session.open(path, "record", live=lambda call: next(rolls)) as session:
        for _ in range(answers):
            session.ask(CALL)
    return path


def given(session: Session, reader: str) -> object:
    outcome = session.turns.attempt("llm", CALL.request(), reader)
    return outcome.value() if isinstance(outcome, Answer) else type(outcome)


def test_each_reader_gets_the_answers_in_recorded_order(tmp_path: Path) -> None:
    with Session.open(cassette(tmp_path / "run.jsonl"), "replay", repeat=True) as session:
        assert [given(session, "ada") for _ in range(2)] == [0, 1]
        assert [given(session, "bob") for _ in range(4)] == [0, 1, 2, 0]
        assert [given(session, ""), given(session, "ada")] == [0, 2]
        assert session.summary.line() == "3 loaded, 8 served, 0 missed, 0 unused"


def test_a_reader_who_came_long_ago_begins_again(tmp_path: Path) -> None:
    with Session.open(cassette(tmp_path / "run.jsonl"), "replay", repeat=True) as session:
        assert [given(session, ""), given(session, "first")] == [0, 0]
        for number in range(READERS):
            given(session, f"reader {number}")
        assert given(session, "first") == 0, "forgotten: memory is bounded"
        assert given(session, "") == 1, "whoever has no name is never forgotten"


def test_a_miss_is_counted_at_once_and_explained_when_asked(tmp_path: Path) -> None:
    session = Session.open(cassette(tmp_path / "run.jsonl"), "replay")
    outcome = session.turns.attempt("llm", Call("m", "rolls").request())
    assert isinstance(outcome, Unanswered)
    assert session.summary.missed == 1
    assert "nearest is record 2" in session.turns.explain(outcome).message
    session.turns.attempt("llm", Call("m", "never explained").request())
    with pytest.raises(Missed, match=r"2 requests missed; first: .* nearest is record 2"):
        session.close()


def test_a_miss_that_nobody_explained_is_raised_all_the_same(tmp_path: Path) -> None:
    session = Session.open(cassette(tmp_path / "run.jsonl"), "replay")
    session.turns.attempt("llm", Call("m", "other").request())
    with pytest.raises(Missed, match="1 request missed"):
        session.close()


def test_what_can_never_be_recorded_is_named_at_the_end(tmp_path: Path) -> None:
    session = Session.open(tmp_path / "run.jsonl", "record")
    assert isinstance(session.turns.attempt("llm", CALL.request()), Turn)
    session.turns.lose("POST to api.example: larger than is recorded")
    with pytest.raises(SessionError, match="1 live answer is not recorded") as caught:
        session.close()
    assert caught.value.__notes__ == ["POST to api.example: larger than is recorded"]
