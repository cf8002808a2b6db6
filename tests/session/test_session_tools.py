"""Tools go through the same session as models."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from provtape.errors import Exhausted, Miss, Missed, RecordedError, SessionError
from provtape.session import Session


class Clock:
    """A tool whose result nobody could guess."""

    def __init__(self) -> None:
        self.ticks = 0

    def now(self, zone: str = "utc", *, digits: int = 0) -> str:
        self.ticks += 1
        return f"{zone} {self.ticks:.{digits}f}"


def test_a_tool_is_run_once_and_replayed(tmp_path: Path) -> None:
    path, clock = tmp_path / "run.jsonl", Clock()

    def program(session: Session) -> list[str]:
        @session.tool
        def now(zone: str = "utc", *, digits: int = 0) -> str:
            """Tell the time."""
            return clock.now(zone, digits=digits)

        assert (now.__name__, now.__doc__) == ("now", "Tell the time.")
        return [now(), now("utc"), now(zone="utc", digits=0), now("cet"), now(digits=2)]

    with Session.open(path, "record") as session:
        live = program(session)
    assert clock.ticks == 5
    with Session.open(path, "replay") as session:
        assert program(session) == live
        assert session.summary.served == 5
    assert clock.ticks == 5


def test_a_call_by_position_name_or_default_is_one_request(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"

    def add(a: int, b: int = 2, *more: int, **named: int) -> int:
        return a + b + sum(more) + sum(named.values())

    with Session.open(path, "record") as session:
        assert session.tool(add)(1) == 3
        assert session.tool(add)(1, 2, 3, x=4) == 10
    with Session.open(path, "replay") as session:
        assert session.tool(add)(b=2, a=1) == 3
        assert session.call_tool("add", {"a": 1, "b": 2, "more": [3], "named": {"x": 4}}, add) == 10
        with pytest.raises(TypeError):
            session.tool(add)()


def test_a_tool_that_was_used_up_or_never_called_misses(tmp_path: Path) -> None:
    path, clock = tmp_path / "run.jsonl", Clock()
    with Session.open(path, "record") as session:
        assert session.call_tool("now", {"zone": "cet"}, clock.now) == "cet 1"
    session = Session.open(path, "replay")
    assert session.call_tool("now", {"zone": "cet"}, clock.now) == "cet 1"
    with pytest.raises(Exhausted):
        session.call_tool("now", {"zone": "cet"}, clock.now)
    with pytest.raises(Miss, match="/arguments/zone"):
        session.call_tool("now", {"zone": "est"}, clock.now)
    with pytest.raises(Miss, match="no call of this tool"):
        session.call_tool("date", {"zone": "cet"}, clock.now)
    with pytest.raises(Missed, match="3 requests missed"):
        session.close()
    assert clock.ticks == 1


def test_a_tool_that_raises_raises_again(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"

    def divide(a: int, b: int) -> float:
        return a / b

    with Session.open(path, "record") as session, pytest.raises(ZeroDivisionError):
        session.tool(divide)(1, 0)
    with Session.open(path, "replay") as session, pytest.raises(RecordedError, match="ZeroDivisionError"):
        session.tool(divide)(1, 0)


def test_async_tools(tmp_path: Path) -> None:
    path, clock = tmp_path / "run.jsonl", Clock()

    async def program(session: Session) -> list[object]:
        @session.tool
        async def now(zone: str) -> str:
            await asyncio.sleep(0)
            return clock.now(zone)

        first = await now("utc")
        return [first, await session.call_tool_async("now", {"zone": "cet"}, clock.now)]

    with Session.open(path, "record") as session:
        live = asyncio.run(program(session))
    with Session.open(path, "replay") as session:
        assert asyncio.run(program(session)) == live == ["utc 1", "cet 2"]
    assert clock.ticks == 2


def test_arguments_that_are_no_json_are_refused_before_the_tool_runs(tmp_path: Path) -> None:
    clock = Clock()
    with Session.open(tmp_path / "run.jsonl", "record") as session:
        for arguments in ({"zone": object()}, {"zone": float("nan")}):
            with pytest.raises(SessionError, match="the request can not be recorded"):
                session.call_tool("now", arguments, clock.now)
        with pytest.raises(SessionError, match="name"):
            session.call_tool("", {}, clock.now)
    assert clock.ticks == 0
