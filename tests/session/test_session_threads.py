"""Threads, tasks and processes: every call in is one record out, and every record is one answer."""

from __future__ import annotations

import asyncio
import errno
import json
import os
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from provtape.cassette.writer import Writer
from provtape.errors import CassetteError, CassetteLocked, Exhausted, Missed, SessionError
from provtape.format.record import Scrubbed
from provtape.session import Call, Session


class Counting:
    """Gives every call a different answer, from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.count = 0

    def __call__(self, call: Call) -> str:
        with self._lock:
            self.count += 1
            return f"{call.prompt} #{self.count}"


def test_sixteen_threads_lose_nothing(tmp_path: Path) -> None:
    path, model = tmp_path / "run.jsonl", Counting()
    calls = [Call("m", f"prompt {number % 40}") for number in range(160)]
    with Session.open(path, "record", live=model) as session, ThreadPoolExecutor(16) as pool:
        live = Counter(pool.map(session.ask, calls))
        assert session.summary.recorded == 160
    with Session.open(path, "replay") as session, ThreadPoolExecutor(16) as pool:
        assert Counter(pool.map(session.ask, reversed(calls))) == live
        assert session.summary.line() == "160 loaded, 160 served, 0 missed, 0 unused"
    assert model.count == 160


def test_thirty_equal_calls_at_once_get_thirty_different_answers(tmp_path: Path) -> None:
    path, model, call = tmp_path / "run.jsonl", Counting(), Call("m", "roll")
    together = threading.Barrier(30)

    def live(call: Call) -> str:
        together.wait(30)
        return model(call)

    with Session.open(path, "record", live=live) as session, ThreadPoolExecutor(30) as pool:
        answers = Counter(pool.map(session.ask, [call] * 30))
    assert len(answers) == 30
    session = Session.open(path, "replay")
    with ThreadPoolExecutor(30) as pool:
        assert Counter(pool.map(session.ask, [call] * 30)) == answers
    with pytest.raises(Exhausted, match="recorded 30 times"):
        session.ask(call)
    with pytest.raises(Missed):
        session.close()


def test_tasks_share_one_session(tmp_path: Path) -> None:
    path, model = tmp_path / "run.jsonl", Counting()

    async def live(call: Call) -> str:
        await asyncio.sleep(0)
        return model(call)

    async def program(session: Session) -> list[object]:
        calls = [Call("m", f"prompt {number % 10}") for number in range(50)]
        return await asyncio.gather(*(session.ask_async(call) for call in calls))

    with Session.open(path, "record", live=live) as session:
        answers = asyncio.run(program(session))
    with Session.open(path, "replay", live=live) as session:
        assert asyncio.run(program(session)) == answers
    assert len(set(answers)) == model.count == 50


def test_what_async_callers_recorded_sync_callers_replay(tmp_path: Path) -> None:
    path, model = tmp_path / "run.jsonl", Counting()
    with Session.open(path, "record", live=model) as session:
        answer = asyncio.run(session.ask_async(Call("m", "x")))
    with Session.open(path, "replay") as session:
        assert session.ask(Call("m", "x")) == answer


def test_a_slow_sync_model_does_not_hold_up_the_loop(tmp_path: Path) -> None:
    other_task_ran = threading.Event()

    def live(call: Call) -> bool:
        return other_task_ran.wait(30)

    async def program(session: Session) -> object:
        asking = asyncio.create_task(session.ask_async(Call("m", "x")))
        await asyncio.sleep(0)
        other_task_ran.set()
        return await asking

    with Session.open(tmp_path / "run.jsonl", "record", live=live) as session:
        assert asyncio.run(program(session)) is True


def test_an_async_model_needs_an_async_caller(tmp_path: Path) -> None:
    async def live(call: Call) -> str:
        return "never"

    class Callable:
        async def __call__(self, call: Call) -> str:
            return "callable"

    session = Session.open(tmp_path / "run.jsonl", "record", live=live)
    for function in (live, Callable()):
        with pytest.raises(SessionError, match="async"):
            session.ask(Call("m", "x"), function)
    assert asyncio.run(session.ask_async(Call("m", "x"), Callable())) == "callable"
    assert asyncio.run(session.ask_async(Call("m", "x"), lambda call: live(call))) == "never"
    with pytest.raises(SessionError, match="async"):
        session.ask(Call("m", "x"), lambda call: live(call))
    with pytest.raises(SessionError, match="1 live answer is not recorded"):
        session.close()


def test_a_cancelled_call_is_not_recorded_and_harms_nobody(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"

    async def live(call: Call) -> str:
        if call.prompt == "slow":
            await asyncio.Event().wait()
        return "done"

    async def program(session: Session) -> object:
        slow = asyncio.create_task(session.ask_async(Call("m", "slow")))
        await asyncio.sleep(0)
        slow.cancel()
        with pytest.raises(asyncio.CancelledError):
            await slow
        return await session.ask_async(Call("m", "quick"))

    with Session.open(path, "record", live=live) as session:
        assert asyncio.run(program(session)) == "done"
        assert session.summary.recorded == 1


def test_an_answer_is_given_out_only_once_it_is_durable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, released, real = tmp_path / "run.jsonl", threading.Event(), os.fsync
    session = Session.open(path, "record", live=lambda call: "answer")

    def slow(descriptor: int) -> None:
        released.wait(30)
        real(descriptor)

    monkeypatch.setattr(os, "fsync", slow)
    with session, ThreadPoolExecutor(1) as pool:
        asking = pool.submit(session.ask, Call("m", "x"))
        with pytest.raises(TimeoutError):
            asking.result(0.2)
        released.set()
        assert asking.result(30) == "answer"
        assert b'"answer"' in path.read_bytes()


def test_a_record_that_could_not_be_written_is_an_error_for_caller_and_session(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = Session.open(tmp_path / "run.jsonl", "record", live=lambda call: "answer")

    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(CassetteError, match=r"(?i)no space"):
        session.ask(Call("m", "x"))
    with pytest.raises(CassetteError, match=r"(?i)no space"):
        session.close()


def test_an_append_that_is_refused_at_once_is_not_forgotten(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = Session.open(tmp_path / "run.jsonl", "record", live=lambda call: "answer")

    def refusing(self: Writer, record: Scrubbed) -> None:
        raise CassetteError("refused")

    monkeypatch.setattr(Writer, "append", refusing)
    with pytest.raises(CassetteError, match="refused"):
        session.ask(Call("m", "x"))
    with pytest.raises(SessionError, match="1 live answer is not recorded"):
        session.close()


def test_two_sessions_do_not_write_one_cassette(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    with Session.open(path, "record", live=Counting()) as session:
        session.ask(Call("m", "x"))
        with pytest.raises(CassetteLocked):
            Session.open(path, "auto", live=Counting())
        with Session.open(path, "replay") as reader:
            assert reader.ask(Call("m", "x")) == "x #1"


def in_child(work: object) -> str:
    """What a forked child says."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            said = work()
        except BaseException as error:
            said = f"{type(error).__name__}: {error}"
        os.write(write, said.encode())
        os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as pipe:
        said = pipe.read().decode()
    os.waitpid(child, 0)
    return said


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
@pytest.mark.parametrize("mode", ["record", "replay"])
def test_a_forked_child_is_told_to_open_its_own(tmp_path: Path, mode: str) -> None:
    path = tmp_path / "run.jsonl"
    with Session.open(path, "record", live=Counting()) as session:
        session.ask(Call("m", "x"))
    session = (
        Session.open(path, "replay")
        if mode == "replay"
        else Session.open(tmp_path / "new.jsonl", "record", live=Counting())
    )
    said = in_child(lambda: session.ask(Call("m", "x")))
    assert said.startswith("SessionError: ")
    assert "forked" in said
    assert in_child(lambda: str(session.close())) == "None"
    assert session.ask(Call("m", "x")) == "x #1"
    session.close()
    last = json.loads((tmp_path / "run.jsonl").read_bytes().splitlines()[-1])
    assert last["response"] == {"output": "x #1"}
