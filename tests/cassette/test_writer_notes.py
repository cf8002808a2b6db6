"""Checkpoints along the way: when they are due, what they cover, and what a crash leaves of one."""

from __future__ import annotations

import os
from concurrent.futures import Future
from pathlib import Path

import pytest
from cassette_stories import notes, resume

import workbench as bench
from provtape.cassette import notes as cassette_notes
from provtape.cassette.notes import NoteFile, Signer
from provtape.cassette.writer import Writer
from provtape.errors import CassetteError, CassetteLocked, KeyRefused, LimitError
from provtape.format.keys import PublicKey


class Clock:
    """Stands still until it is told the time."""

    now = 100.0

    def __call__(self) -> float:
        return self.now


def create(path: Path, clock: Clock | None = None, signer: Signer | None = None) -> Writer:
    return Writer.create(
        path,
        bench.opening(),
        bench.run(),
        prefix=bench.PREFIX,
        signer=signer or bench.signer(),
        monotonic=clock or Clock(),
    )


def sizes(path: Path) -> list[int]:
    return [note.records for note in notes(path)]


def test_one_at_size_2_then_at_most_one_a_second_and_one_at_the_end(tmp_path: Path) -> None:
    path, clock = tmp_path / "run.jsonl", Clock()
    writer = create(path, clock)
    assert sizes(path) == [2]
    for seconds in (0.0, 0.5, 0.4, 0.2, 0.0, 0.9, 3.0):  # 100.0 100.5 100.9 101.1 101.1 102.0 105.0
        clock.now += seconds
        writer.append(bench.interaction(f"at {clock.now}")).result()
    writer.close()
    assert sizes(path) == [2, 6, 9]
    clock.now += 60
    writer.close()
    assert sizes(path) == [2, 6, 9]


def test_the_end_is_noted_even_in_the_same_second(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    with create(path) as writer:
        writer.append(bench.interaction())
        writer.seal(bench.end())
    assert sizes(path) == [2, 4]


def test_what_is_covered_already_is_not_noted_again(tmp_path: Path) -> None:
    create(tmp_path / "run.jsonl").close()
    assert sizes(tmp_path / "run.jsonl") == [2]


def test_without_a_signer_there_are_no_notes(tmp_path: Path) -> None:
    bench.honest(tmp_path / "run.jsonl")
    assert os.listdir(tmp_path) == ["run.jsonl"]


def test_a_new_run_is_noted_before_it_records(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    create(path).close()
    with resume(path, bench.signer()) as writer:
        assert sizes(path) == [2, 3]
        writer.append(bench.interaction())
    assert sizes(path) == [2, 3, 4]


def test_a_record_is_on_disk_before_its_note_and_its_caller_does_not_wait_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, clock, calls = tmp_path / "run.jsonl", Clock(), []
    inodes: dict[int, str] = {}
    futures: list[Future[int]] = []
    signer = bench.signer()

    def sign(message: bytes) -> bytes:
        calls.append(("signed", all(future.done() for future in futures)))
        return signer.sign(message)

    def log(what: str, descriptor: int) -> None:
        calls.append((what, inodes.get(os.fstat(descriptor).st_ino, "other")))

    writer = create(path, clock, Signer(signer.name, signer.public, sign))
    inodes = {path.stat().st_ino: "cassette", path.with_name("run.jsonl.ckpt").stat().st_ino: "notes"}
    write, sync = os.write, os.fsync
    monkeypatch.setattr(os, "write", lambda to, data: log("write", to) or write(to, data))
    monkeypatch.setattr(os, "fsync", lambda to: log("sync", to) or sync(to))
    calls.clear()
    clock.now += 1
    futures.append(writer.append(bench.interaction()))
    writer.close()
    assert calls == [
        ("write", "cassette"),
        ("sync", "cassette"),
        ("signed", True),
        ("write", "notes"),
        ("sync", "notes"),
    ]


def _ckpt(path: Path) -> Path:
    return path.with_name(path.name + ".ckpt")


def test_a_note_cut_at_every_byte_is_moved_aside_before_the_next(tmp_path: Path) -> None:
    source = tmp_path / "run.jsonl"
    create(source).close()
    with resume(source, bench.signer()):
        pass
    whole = _ckpt(source).read_bytes()
    first = len(whole) - len(whole) // 2
    assert whole[:first].endswith(b"=\n")
    for cut in [*range(1, first), *range(first + 1, len(whole))]:
        path = tmp_path / f"{cut}.jsonl"
        path.write_bytes(source.read_bytes())
        _ckpt(path).write_bytes(whole[:cut])
        resume(path, bench.signer()).close()
        kept = first if cut > first else 0
        assert _ckpt(path).read_bytes().startswith(whole[:kept])
        assert sizes(path) == ([2, 4] if kept else [4])
        assert path.with_name(path.name + ".ckpt.torn").read_bytes() == whole[kept:cut] + b"\n"


def test_a_torn_note_is_moved_aside_also_when_nobody_signs(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    create(path).close()
    whole = _ckpt(path).read_bytes()
    _ckpt(path).write_bytes(whole + whole[:40])
    Writer.reopen(path).seal(bench.end())
    assert sizes(path) == [2]
    assert path.with_name("run.jsonl.ckpt.torn").read_bytes() == whole[:40] + b"\n"


@pytest.mark.parametrize("left", [b"", b"lab.exa"])
def test_a_file_that_never_held_a_whole_note_does_not_stay(tmp_path: Path, left: bytes) -> None:
    path = bench.honest(tmp_path / "run.jsonl", sealed=False)
    _ckpt(path).write_bytes(left)
    Writer.reopen(path).close()
    assert not _ckpt(path).exists()
    assert path.with_name("run.jsonl.ckpt.torn").exists() == bool(left)


def test_a_second_signer_adds_a_note_to_a_sealed_cassette(tmp_path: Path) -> None:
    path = bench.honest(tmp_path / "run.jsonl", signer=bench.signer())
    bob, leaves = bench.signer("lab.example/bob", 2), bench.leaves(path)
    origin = f"{bench.PREFIX}/{leaves[0].hex()}"
    with _ckpt(path).open("ab") as file:
        file.write(origin.encode()[:20])
    cassette_notes.add(path, bob, origin, len(leaves), bench.root(leaves))
    last = notes(path)[-1]
    assert sizes(path) == [2, 6, 6]
    assert last.note.lines[0].verifies(bob.public, last.note.text)
    assert not last.note.lines[0].counts_for(bench.signer().public)
    assert path.with_name("run.jsonl.ckpt.torn").read_bytes() == origin.encode()[:20] + b"\n"


def test_a_first_note_by_whoever_signs_afterwards(tmp_path: Path) -> None:
    path = bench.honest(tmp_path / "run.jsonl")
    leaves = bench.leaves(path)
    cassette_notes.add(path, bench.signer(), f"{bench.PREFIX}/{leaves[0].hex()}", 6, bench.root(leaves))
    assert sizes(path) == [6]


def test_two_who_add_notes_do_not_mix_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = bench.honest(tmp_path / "run.jsonl", signer=bench.signer())
    leaves, sync = bench.leaves(path), os.fsync
    origin, told = f"{bench.PREFIX}/{leaves[0].hex()}", []

    def meanwhile(descriptor: int) -> None:
        with pytest.raises(CassetteLocked, match=r"run.jsonl.ckpt: somebody else"):
            cassette_notes.add(path, bench.signer(seed=3), origin, 6, bench.root(leaves))
        told.append(True)
        sync(descriptor)

    monkeypatch.setattr(os, "fsync", meanwhile)
    cassette_notes.add(path, bench.signer(seed=2), origin, 6, bench.root(leaves))
    assert told == [True]
    assert sizes(path) == [2, 6, 6]


def test_a_note_that_can_not_be_written_stops_the_recording_but_keeps_its_records(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, clock = tmp_path / "run.jsonl", Clock()
    writer = create(path, clock)
    before, write = _ckpt(path).read_bytes(), os.write

    def short(descriptor: int, data: bytes) -> int:
        if bytes(data[:1]) == b"{":
            return write(descriptor, data)
        if bytes(data[:4]) == b"lab.":
            return write(descriptor, data[:40])
        raise OSError(28, "no space")

    clock.now += 5
    with monkeypatch.context() as failing:
        failing.setattr(os, "write", short)
        assert writer.append(bench.interaction("kept")).result() == 2
        with pytest.raises(CassetteError, match=r"run.jsonl.ckpt: could not be written: no space left"):
            writer.close()
    assert _ckpt(path).read_bytes() == before
    assert len(bench.records(path)) == 3
    resume(path, bench.signer()).close()
    assert sizes(path) == [2, 4]


def _refuses(message: bytes) -> bytes:
    raise OSError("the passphrase was hunter2")


@pytest.mark.parametrize(
    ("sign", "message"),
    [
        (_refuses, r"the checkpoint at 2 records could not be signed \(OSError\)"),
        (lambda message: bytes(64), "does not verify under its own public key"),
        (lambda message: b"", "does not verify under its own public key"),
        (bench.signer(seed=9).sign, "does not verify under its own public key"),
    ],
)
def test_no_note_without_a_signature_that_holds(tmp_path: Path, sign, message: str) -> None:
    honest = bench.signer()
    with pytest.raises(CassetteError, match=message) as caught:
        create(tmp_path / "run.jsonl", signer=Signer(honest.name, honest.public, sign))
    assert "hunter2" not in str(caught.value)
    assert os.listdir(tmp_path) == []


def test_a_signer_shows_nothing_of_its_private_key() -> None:
    class Secret:
        def __repr__(self) -> str:
            return "hunter2"

        def __call__(self, message: bytes) -> bytes:
            return b""

    shown = repr(Signer("lab.example/alice", PublicKey(bytes(32)), Secret()))
    assert "hunter2" not in shown
    assert "lab.example/alice" in shown
    with pytest.raises(KeyRefused, match="not a key name"):
        Signer("Not A Name", PublicKey(bytes(32)), Secret())


def test_the_file_stays_small_enough_for_every_reader(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, clock, limit = tmp_path / "run.jsonl", Clock(), 1 << 20
    monkeypatch.setattr(cassette_notes, "MAX_FILE", limit)  # of the 64 MiB that it is
    writer = create(path, clock)
    note = _ckpt(path).read_bytes()
    half = limit // 2 // len(note) + 1
    _ckpt(path).write_bytes(note * half)
    for number in range(3):
        clock.now += 5
        writer.append(bench.interaction(f"say {number}")).result()
    writer.close()
    assert len(sizes(path)) == half + 2  # one that noticed, none along the way, one at the end

    leaves = bench.leaves(path)
    origin = f"{bench.PREFIX}/{leaves[0].hex()}"
    _ckpt(path).write_bytes(note * (limit // len(note)))
    with pytest.raises(CassetteError, match="full: a reader takes 1 MiB"):
        NoteFile(path, origin).add(bench.signer(), 5, bench.root(leaves))
    with _ckpt(path).open("ab") as file:
        file.write(note)
    with pytest.raises(LimitError, match="larger than 1 MiB"):
        resume(path)


@pytest.mark.parametrize("kind", ["link", "folder", "pipe"])
def test_notes_go_to_a_regular_file_alone(tmp_path: Path, kind: str) -> None:
    path = bench.honest(tmp_path / "run.jsonl")
    if kind == "link":
        _ckpt(path).symlink_to(tmp_path / "elsewhere")
    elif kind == "folder":
        _ckpt(path).mkdir()
    else:
        os.mkfifo(_ckpt(path))
    leaves = bench.leaves(path)
    with pytest.raises(CassetteError, match=r"run.jsonl.ckpt: could not be opened"):
        cassette_notes.add(path, bench.signer(), f"{bench.PREFIX}/{leaves[0].hex()}", 6, bench.root(leaves))
    assert not (tmp_path / "elsewhere").exists()
