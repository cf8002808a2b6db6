"""Many callers, one writer: threads, tasks, processes, and a fork."""

from __future__ import annotations

import asyncio
import os
import threading
from collections import Counter
from pathlib import Path

import pytest
from cassette_stories import prompts, resume, start, told

import workbench as bench
from provtape.cassette.writer import Writer
from provtape.errors import CassetteError, CassetteLocked


def create(path: Path) -> Writer:
    return Writer.create(path, bench.opening(), bench.run(), prefix=bench.PREFIX)


def test_four_threads_and_then_two_processes(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    with create(path) as writer:

        def work(thread: int) -> None:
            for number in range(25):
                writer.append(bench.interaction(f"thread{thread}-{number}")).result()

        threads = [threading.Thread(target=work, args=(thread,)) for thread in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    with start("some", path, "first") as first, start("some", path, "second") as second:
        for child in (first, second):
            out, errors = child.communicate(timeout=60)
            assert (child.returncode, errors, len(out.splitlines())) == (0, "", 25)
    wanted = [f"{who}-{number}" for who in ("first", "second") for number in range(25)]
    wanted += [f"thread{thread}-{number}" for thread in range(4) for number in range(25)]
    assert Counter(prompts(path)) == Counter(wanted)
    assert [item["type"] for item in bench.records(path)].count("run") == 3


def test_a_second_writer_is_told_at_once(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    message = "run.jsonl: somebody else is writing it"
    with create(path) as writer:
        before = path.read_bytes()
        with pytest.raises(CassetteLocked, match=message):
            resume(path)
        answers: list[str] = []

        def other_thread() -> None:
            try:
                Writer.reopen(path)
            except CassetteLocked as error:
                answers.append(error.message)

        thread = threading.Thread(target=other_thread)
        thread.start()
        thread.join()
        assert answers == [message]
        assert told("at_once", path) == [message]
        assert path.read_bytes() == before
        assert writer.append(bench.interaction()).result() == 2
    resume(path).close()
    assert len(bench.records(path)) == 4


def test_a_forked_child_can_not_write_and_does_not_hold_the_lock(tmp_path: Path) -> None:
    path = bench.honest(tmp_path / "run.jsonl", 0, sealed=False)
    with start("fork", path) as parent:
        said = [parent.stdout.readline().strip() for _ in range(5)]
        refusal = "child: run.jsonl: this process was forked from the one that writes it"
        assert Counter(said) == Counter([refusal, refusal, "child: waits", "parent: 3", "parent: closed"])
        assert parent.wait(timeout=60) == 0
        resume(path).close()  # the child still lives
        parent.communicate(timeout=60)
    assert prompts(path) == ["parent"]
    assert [item["type"] for item in bench.records(path)] == ["open", "run", "run", "interaction", "run"]


class Gate:
    """An fsync that waits to be let through, and counts."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.calls = 0
        self.entered, self.open = threading.Event(), threading.Event()
        self._fsync = os.fsync
        monkeypatch.setattr(os, "fsync", self)

    def __call__(self, descriptor: int) -> None:
        self.calls += 1
        self.entered.set()
        assert self.open.wait(60)
        self._fsync(descriptor)


def test_all_that_wait_together_share_one_write_and_one_sync(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with create(tmp_path / "run.jsonl") as writer:
        gate = Gate(monkeypatch)
        first = writer.append(bench.interaction("first"))
        assert gate.entered.wait(60)
        others = [writer.append(bench.interaction(f"other {number}")) for number in range(200)]
        assert not any(future.done() for future in (first, *others))
        gate.open.set()
        assert [future.result() for future in (first, *others)] == list(range(2, 203))
        assert gate.calls == 2
    assert gate.calls == 2
    assert len(bench.records(tmp_path / "run.jsonl")) == 203


def test_a_lone_append_is_one_write_of_one_line_and_one_sync_however_long_the_cassette(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with create(tmp_path / "run.jsonl") as writer:
        calls: list[tuple[str, int]] = []
        write, sync = os.write, os.fsync
        monkeypatch.setattr(
            os, "write", lambda to, data: calls.append(("write", len(data))) or write(to, data)
        )
        monkeypatch.setattr(os, "fsync", lambda to: calls.append(("sync", 0)) or sync(to))
        costs = []
        for number in range(100, 400):
            calls.clear()
            writer.append(bench.interaction(f"say {number}", "x" * 2000)).result()
            costs.append(calls.copy())
    lines = [len(line) for line in (tmp_path / "run.jsonl").read_bytes().splitlines(keepends=True)[2:]]
    assert costs == [[("write", length), ("sync", 0)] for length in lines]
    assert max(lines) - min(lines) == 2  # the digits of seq


def test_tasks_wait_without_holding_up_their_loop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def story(writer: Writer) -> None:
        gate = Gate(monkeypatch)

        async def call(number: int) -> int:
            return await asyncio.wrap_future(writer.append(bench.interaction(f"task {number}")))

        tasks = [asyncio.create_task(call(number)) for number in range(20)]
        while not gate.entered.is_set():
            await asyncio.sleep(0)
        tasks[3].cancel()  # its record is on its way
        await asyncio.sleep(0)
        gate.open.set()
        answers = await asyncio.gather(*tasks, return_exceptions=True)
        assert [number for number, answer in enumerate(answers) if isinstance(answer, BaseException)] == [3]

    with create(tmp_path / "run.jsonl") as writer:
        asyncio.run(story(writer))
        writer.append(bench.interaction("the writer goes on")).result()
    assert Counter(prompts(tmp_path / "run.jsonl")) == Counter(
        [*(f"task {number}" for number in range(20)), "the writer goes on"]
    )


def test_closing_waits_for_what_was_handed_over(tmp_path: Path) -> None:
    writer = create(tmp_path / "run.jsonl")
    futures = [writer.append(bench.interaction(f"say {number}")) for number in range(500)]
    closers = [threading.Thread(target=writer.close) for _ in range(4)]
    for closer in closers:
        closer.start()
    for closer in closers:
        closer.join()
    assert [future.result(timeout=0) for future in futures] == list(range(2, 502))
    assert len(bench.records(tmp_path / "run.jsonl")) == 502


def test_whatever_goes_wrong_inside_nobody_waits_for_ever(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    writer = create(tmp_path / "run.jsonl")
    writer.append(bench.interaction()).result()

    def broken(descriptor: int) -> None:
        raise MemoryError

    monkeypatch.setattr(os, "fsync", broken)
    with pytest.raises(CassetteError, match="the writer stopped: MemoryError"):
        writer.append(bench.interaction("lost")).result()
    monkeypatch.undo()
    with pytest.raises(CassetteError):
        writer.close()
    assert prompts(tmp_path / "run.jsonl") == ["say one"]
    resume(tmp_path / "run.jsonl").close()
