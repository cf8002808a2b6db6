"""Killed, full, failing, replaced: what was answered for is on disk, and no two records ever share a line."""

from __future__ import annotations

import errno
import fcntl
import os
import random
import signal
import stat
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from cassette_stories import notes, prompts, resume, start, told

import workbench as bench
from provtape.cassette.writer import Writer
from provtape.errors import CassetteError

ROUNDS = 30


def test_killed_at_random_moments_and_gone_on_with(tmp_path: Path) -> None:
    path = bench.honest(tmp_path / "run.jsonl", 0, bench.signer(), sealed=False)
    moments, durable = random.Random(20261120), {}
    for number in range(ROUNDS):
        with start("until_killed", path, f"round{number}") as child:
            lines = [child.stdout.readline() for _ in range(moments.randrange(1, 60))]
            os.kill(child.pid, signal.SIGKILL)
            lines += child.stdout.readlines()
            assert (child.wait(), child.stderr.read()) == (-signal.SIGKILL, "")
        told_whole = [line.split() for line in lines if line.endswith("\n")]
        durable |= {int(seq): prompt for seq, prompt in told_whole}

    with resume(path, bench.signer()) as writer:
        writer.append(bench.interaction("after all crashes")).result()
        writer.seal(bench.end())
    found = bench.records(path)
    assert len(durable) >= ROUNDS
    assert {seq: found[seq]["request"]["prompt"] for seq in durable} == durable
    assert [item["type"] for item in found].count("run") == ROUNDS + 2
    assert notes(path)[-1].records == len(found)


def test_a_program_that_never_closes_its_recording_loses_nothing(tmp_path: Path) -> None:
    path = bench.honest(tmp_path / "run.jsonl", 0, sealed=False)
    assert told("never_close", path) == []
    assert prompts(path) == [f"left-{number}" for number in range(50)]
    assert notes(path)[-1].records == len(bench.records(path))


@pytest.mark.parametrize("room", [0, 1, 900, 5000, 5001])
def test_a_file_that_may_not_grow(tmp_path: Path, room: int) -> None:
    path = bench.honest(tmp_path / "run.jsonl", 1, sealed=False)
    *kept, refused, first, second, again = told("until_full", path, str(room))
    assert refused == "refused run.jsonl: could not be written: file too large"
    assert (first, second, again) == ("closed", "closed", "told again")
    assert [int(line.split()[1]) for line in kept] == list(range(4, 4 + len(kept)))
    assert prompts(path) == ["say 0", *(f"full-{number}" for number in range(len(kept)))]
    assert notes(path)[-1].records == len(bench.records(path))
    with resume(path) as writer:
        assert writer.torn == 0
        writer.append(bench.interaction("there is room again")).result()
    assert prompts(path)[-1] == "there is room again"


Write = Callable[[int, bytes], int]


def _instead(monkeypatch: pytest.MonkeyPatch, write: Callable[[Write, int, bytes], int]) -> None:
    """Records are written by `write`; everything else as ever."""
    real = os.write

    def chosen(descriptor: int, data: bytes) -> int:
        is_record = os.fstat(descriptor).st_size and bytes(data[:2]) != "—".encode()[:2]
        return write(real, descriptor, data) if is_record else real(descriptor, data)

    monkeypatch.setattr(os, "write", chosen)


def test_a_write_that_takes_a_few_bytes_at_a_time_is_completed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = bench.honest(tmp_path / "run.jsonl", 0, sealed=False)
    with resume(path) as writer:
        _instead(monkeypatch, lambda real, descriptor, data: real(descriptor, data[:7]))
        futures = [writer.append(bench.interaction(f"say {number}")) for number in range(5)]
        assert [future.result() for future in futures] == [3, 4, 5, 6, 7]
    assert prompts(path) == [f"say {number}" for number in range(5)]


def _full(real: Write, descriptor: int, data: bytes) -> int:
    """Takes half of a first try, then there is no space left."""
    if bytes(data[:9]) == b'{"prev":"':
        return real(descriptor, data[: len(data) // 2])
    raise OSError(errno.ENOSPC, "no space")


def _nothing(real: Write, descriptor: int, data: bytes) -> int:
    return 0


@pytest.mark.parametrize(
    ("write", "reason"), [(_full, "no space left on device"), (_nothing, "input/output error")]
)
def test_a_failing_write_is_undone_and_everybody_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, write: Callable[[Write, int, bytes], int], reason: str
) -> None:
    path = bench.honest(tmp_path / "run.jsonl", 1, sealed=False)
    writer = resume(path)
    durable = path.read_bytes()
    with monkeypatch.context() as failing:
        _instead(failing, write)
        for number in range(4):  # the first is tried, the others are told what became of it
            with pytest.raises(CassetteError, match=f"could not be written: {reason}"):
                writer.append(bench.interaction(f"lost {number}")).result()
        with pytest.raises(CassetteError, match=reason):
            writer.close()
        writer.close()
    assert path.read_bytes() == durable
    resume(path).close()
    assert prompts(path) == ["say 0"]


def test_everybody_who_waits_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = bench.honest(tmp_path / "run.jsonl", 0, sealed=False)
    writer = resume(path)
    durable, reached, fail = path.read_bytes(), threading.Event(), threading.Event()

    def late(descriptor: int) -> None:
        reached.set()
        assert fail.wait(60)
        raise OSError(errno.ENOSPC, "full")

    with monkeypatch.context() as failing:
        failing.setattr(os, "fsync", late)
        futures = [writer.append(bench.interaction("in the group"))]
        assert reached.wait(60)
        futures += [writer.append(bench.interaction(f"behind it {number}")) for number in range(20)]
        fail.set()
        assert ["no space left" in str(future.exception()) for future in futures] == [True] * 21
    with pytest.raises(CassetteError, match="no space left"):
        writer.close()
    assert path.read_bytes() == durable


def test_a_failing_write_that_can_not_be_undone_leaves_a_torn_tail(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = bench.honest(tmp_path / "run.jsonl", 1, sealed=False)
    before = path.read_bytes()

    def stuck(descriptor: int, size: int) -> None:
        raise OSError(errno.EIO, "no")

    def story() -> None:
        with Writer.reopen(path) as writer:
            _instead(monkeypatch, _full)
            monkeypatch.setattr(os, "ftruncate", stuck)
            writer.seal(bench.end())

    with pytest.raises(CassetteError, match="no space left"):
        story()
    monkeypatch.undo()
    tail = path.read_bytes()[len(before) :]
    assert tail.startswith(b'{"prev":"')
    assert b"\n" not in tail
    with resume(path) as writer:
        assert writer.torn == len(tail)
        writer.append(bench.interaction("after")).result()
    assert prompts(path) == ["say 0", "after"]
    assert path.with_name("run.jsonl.torn").read_bytes() == tail + b"\n"


def test_a_sync_that_fails_is_no_success(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = bench.honest(tmp_path / "run.jsonl", 1, sealed=False)
    writer = resume(path)
    durable = path.read_bytes()

    def broken(descriptor: int) -> None:
        raise OSError(errno.EIO, "lost")

    monkeypatch.setattr(os, "fsync", broken)
    with pytest.raises(CassetteError, match="could not be written: input/output error"):
        writer.append(bench.interaction()).result()
    with pytest.raises(CassetteError):
        writer.close()
    assert path.read_bytes() == durable


def test_a_cassette_that_can_not_be_begun_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, "full")

    with monkeypatch.context() as failing:
        failing.setattr(os, "fsync", broken)
        with pytest.raises(CassetteError, match="no space left"):
            bench.honest(tmp_path / "run.jsonl", signer=bench.signer())
    assert os.listdir(tmp_path) == []
    bench.honest(tmp_path / "run.jsonl", signer=bench.signer())
    assert len(bench.records(tmp_path / "run.jsonl")) == 6


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda path: path.unlink(), "was removed or replaced"),
        (lambda path: os.replace(bench.honest(path.with_name("new.jsonl")), path), "was removed or replaced"),
        (lambda path: path.write_bytes(path.read_bytes() + b"x"), "was changed by another program"),
        (lambda path: os.truncate(path, 100), "was changed by another program"),
    ],
)
def test_a_file_that_somebody_else_touches_is_left_alone(
    tmp_path: Path, spoil: Callable[[Path], object], message: str
) -> None:
    path = bench.honest(tmp_path / "run.jsonl", 1, sealed=False)
    writer = resume(path)
    spoil(path)
    left = path.read_bytes() if path.exists() else None
    with pytest.raises(CassetteError, match=message):
        writer.append(bench.interaction()).result()
    with pytest.raises(CassetteError, match=message):
        writer.close()
    assert (path.read_bytes() if path.exists() else None) == left


def _folder_sync(monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    """The sync of a folder fails with this error; files are synced as ever."""
    real = os.fsync

    def sync(descriptor: int) -> None:
        if stat.S_ISDIR(os.fstat(descriptor).st_mode):
            raise OSError(number, "folder")
        real(descriptor)

    monkeypatch.setattr(os, "fsync", sync)


def test_a_file_system_that_syncs_no_folders_is_good_enough(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _folder_sync(monkeypatch, errno.EINVAL)
    bench.honest(tmp_path / "run.jsonl", signer=bench.signer())
    assert [note.records for note in notes(tmp_path / "run.jsonl")] == [2, 6]


def test_a_new_name_that_may_not_last_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _folder_sync(monkeypatch, errno.EIO)
    with pytest.raises(CassetteError, match="its folder could not be synced: input/output error"):
        bench.honest(tmp_path / "run.jsonl")
    assert os.listdir(tmp_path) == []


def test_a_file_system_without_locks_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = bench.honest(tmp_path / "run.jsonl", sealed=False)

    def none(descriptor: int, how: int) -> None:
        raise OSError(errno.ENOLCK, "none")

    monkeypatch.setattr(fcntl, "flock", none)
    with pytest.raises(CassetteError, match="could not be locked: no locks available"):
        resume(path)
    with pytest.raises(CassetteError, match="could not be locked"):
        bench.honest(tmp_path / "new.jsonl")


def test_a_file_replaced_while_it_is_opened_is_not_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = bench.honest(tmp_path / "run.jsonl", sealed=False)
    other = bench.honest(tmp_path / "other.jsonl", sealed=False, nonce=1)
    before, lock = other.read_bytes(), fcntl.flock

    def meanwhile(descriptor: int, how: int) -> None:
        monkeypatch.undo()
        os.replace(other, path)
        lock(descriptor, how)

    monkeypatch.setattr(fcntl, "flock", meanwhile)
    with pytest.raises(CassetteError, match="was replaced while it was being opened"):
        resume(path)
    assert path.read_bytes() == before
