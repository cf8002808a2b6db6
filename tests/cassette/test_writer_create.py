"""A cassette is made once, whole, and never over anything that is there."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest
from cassette_stories import prompts

import workbench as bench
from provtape.cassette.writer import Writer
from provtape.errors import CassetteError, CassetteExists, CassetteSealed, LimitError
from provtape.format import record, strict
from provtape.format.chain import MAX_RECORD
from provtape.format.record import Scrubbed


def create(path: Path, **changes: object) -> Writer:
    return Writer.create(path, bench.opening(**changes), bench.run(), prefix=bench.PREFIX)


def test_an_honest_cassette_from_its_first_record_to_its_end(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    with create(path) as writer:
        assert (writer.records, writer.path, writer.prefix, writer.torn) == (2, path, bench.PREFIX, 0)
        assert [writer.append(bench.interaction(f"say {n}")).result() for n in range(3)] == [2, 3, 4]
        assert writer.records == 5
        writer.seal(bench.end())
    found = bench.records(path)
    assert [item["type"] for item in found] == ["open", "run", *["interaction"] * 3, "end"]
    for line in path.read_bytes().splitlines():
        value = strict.read(line)
        assert isinstance(value, dict)
        record.check_record(str(value["type"]), value)
    first = path.read_bytes().split(b"\n")[0] + b"\n"
    assert writer.origin == f"{bench.PREFIX}/{hashlib.sha256(bytes(1) + first).hexdigest()}"
    assert sorted(os.listdir(tmp_path)) == ["run.jsonl"]


def test_both_first_records_are_on_disk_before_anybody_is_recorded(tmp_path: Path) -> None:
    writer = create(tmp_path / "run.jsonl")
    assert len(bench.records(tmp_path / "run.jsonl")) == 2
    writer.close()


def test_the_file_is_readable_by_others_and_written_by_its_owner(tmp_path: Path) -> None:
    before = os.umask(0o022)
    try:
        bench.honest(tmp_path / "run.jsonl", signer=bench.signer())
    finally:
        os.umask(before)
    for name in ("run.jsonl", "run.jsonl.ckpt"):
        assert (tmp_path / name).stat().st_mode & 0o777 == 0o644


def test_record_never_overwrites(tmp_path: Path) -> None:
    path = bench.honest(tmp_path / "run.jsonl")
    before = path.read_bytes()
    with pytest.raises(CassetteExists, match="never overwrites"):
        create(path)
    assert path.read_bytes() == before


@pytest.mark.parametrize("target", ["elsewhere.jsonl", "nowhere.jsonl"])
def test_a_link_is_not_followed(tmp_path: Path, target: str) -> None:
    (tmp_path / "elsewhere.jsonl").write_bytes(b"")
    (tmp_path / "run.jsonl").symlink_to(tmp_path / target)
    with pytest.raises(CassetteExists, match="a symbolic link is there already"):
        create(tmp_path / "run.jsonl")
    assert (tmp_path / "elsewhere.jsonl").read_bytes() == b""
    assert not (tmp_path / "nowhere.jsonl").exists()


@pytest.mark.parametrize("suffix", [".ckpt", ".intoto.jsonl", ".torn", ".ckpt.torn"])
def test_evidence_of_an_older_cassette_is_not_taken_over(tmp_path: Path, suffix: str) -> None:
    (tmp_path / f"run.jsonl{suffix}").write_bytes(b"older")
    with pytest.raises(CassetteExists, match="evidence of an older cassette") as caught:
        create(tmp_path / "run.jsonl")
    assert caught.value.hint == "move it away or give another name"
    assert os.listdir(tmp_path) == [f"run.jsonl{suffix}"]


@pytest.mark.parametrize("name", ["missing/run.jsonl", "\x00.jsonl"])
def test_a_place_where_no_file_can_be_is_an_error(tmp_path: Path, name: str) -> None:
    with pytest.raises(CassetteError, match="could not be made"):
        create(tmp_path / name)


@pytest.mark.parametrize("prefix", ["lab.example/bob", "Not A Prefix", ""])
def test_the_prefix_is_the_one_that_record_0_names(tmp_path: Path, prefix: str) -> None:
    with pytest.raises(CassetteError, match="record 0 does not name this prefix"):
        Writer.create(tmp_path / "run.jsonl", bench.opening(), bench.run(), prefix=prefix)
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda data: data + data, "not one line"),
        (lambda data: data[:-1], "not one line"),
        (lambda data: data[:-2] + b" \n", "not one line"),
        (lambda data: data.replace(b"say", b"s\r\ny"), "not one line"),
        (lambda data: data.replace(b'"interaction"', b'"end"', 1), "not a record of type interaction"),
        (lambda data: b"{" + data, "not a record of type interaction"),
        (lambda data: b"", "not a record of type interaction"),
    ],
)
def test_nothing_that_would_break_the_file_becomes_a_line(tmp_path: Path, spoil, message: str) -> None:
    with create(tmp_path / "run.jsonl") as writer:
        with pytest.raises(CassetteError, match=message):
            writer.append(Scrubbed(spoil(bench.interaction().data)))
        assert writer.append(bench.interaction()).result() == 2
    assert len(bench.records(tmp_path / "run.jsonl")) == 3


def test_a_line_that_no_reader_takes_is_not_written(tmp_path: Path) -> None:
    class Huge(bytes):
        def __len__(self) -> int:
            return MAX_RECORD

        def find(self, *_: object) -> int:
            return MAX_RECORD - 1

    with create(tmp_path / "run.jsonl") as writer:
        with pytest.raises(LimitError, match="256 MiB"):
            writer.append(Scrubbed(Huge(bench.interaction().data)))
        writer.append(bench.interaction("small")).result()
    assert prompts(tmp_path / "run.jsonl") == ["small"]


def test_a_sealed_and_a_closed_writer_take_nothing(tmp_path: Path) -> None:
    sealed = create(tmp_path / "sealed.jsonl")
    sealed.seal(bench.end())
    with pytest.raises(CassetteSealed):
        sealed.append(bench.interaction())
    with pytest.raises(CassetteSealed):
        sealed.seal(bench.end())
    closed = create(tmp_path / "closed.jsonl")
    closed.close()
    closed.close()
    with pytest.raises(CassetteError, match="closed"):
        closed.append(bench.interaction())
    assert [item["type"] for item in bench.records(sealed.path)] == ["open", "run", "end"]
    assert [item["type"] for item in bench.records(closed.path)] == ["open", "run"]


def test_an_error_on_its_way_is_not_hidden_by_closing(tmp_path: Path) -> None:
    def story() -> None:
        with create(tmp_path / "run.jsonl") as writer:
            (tmp_path / "run.jsonl").write_bytes(b"somebody else was here")
            writer.append(bench.interaction())
            raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        story()
