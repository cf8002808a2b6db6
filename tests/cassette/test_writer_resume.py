"""Going on with a cassette: only while it is open, whole, and under the same rules."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from cassette_stories import notes, prompts, resume

import workbench as bench
from provtape.cassette.writer import Writer
from provtape.errors import CassetteError, CassetteSealed, RulesDiffer
from provtape.format.chain import Chain


@pytest.fixture
def cassette(tmp_path: Path) -> Path:
    """An open cassette of five records."""
    return bench.honest(tmp_path / "run.jsonl", sealed=False)


def test_a_later_process_writes_a_run_first(cassette: Path) -> None:
    with resume(cassette) as writer:
        assert (writer.records, writer.torn, writer.prefix) == (6, 0, bench.PREFIX)
        assert writer.append(bench.interaction("later")).result() == 6
        writer.seal(bench.end())
    assert [item["type"] for item in bench.records(cassette)] == [
        "open", "run", *["interaction"] * 3, "run", "interaction", "end",
    ]  # fmt: skip


def test_cut_at_every_byte_of_the_last_line(cassette: Path, tmp_path: Path) -> None:
    whole = cassette.read_bytes()
    last = whole.rindex(b"\n", 0, -1) + 1
    for cut in range(last, len(whole)):
        path = tmp_path / f"{cut}.jsonl"
        path.write_bytes(whole[:cut])
        with resume(path) as writer:
            assert writer.torn == cut - last
            assert writer.append(bench.interaction("after the crash")).result() == 5
        assert prompts(path) == ["say 0", "say 1", "after the crash"]
        assert path.read_bytes().startswith(whole[:last])
        torn = path.with_name(path.name + ".torn")
        if cut == last:
            assert not torn.exists()
        else:
            assert torn.read_bytes() == whole[last:cut] + b"\n"


def test_two_crashes_leave_two_torn_tails_apart(cassette: Path) -> None:
    for tail in (b'{"prev":"first', b"\x00\x00\xff"):
        with cassette.open("ab") as file:
            file.write(tail)
        resume(cassette).close()
    assert cassette.with_name("run.jsonl.torn").read_bytes() == b'{"prev":"first\n\x00\x00\xff\n'
    assert [item["type"] for item in bench.records(cassette)][-2:] == ["run", "run"]


def test_a_torn_tail_that_can_not_be_kept_is_not_cut(cassette: Path, tmp_path: Path) -> None:
    with cassette.open("ab") as file:
        file.write(b"{")
    before = cassette.read_bytes()
    cassette.with_name("run.jsonl.torn").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(CassetteError, match="the torn tail could not be moved here"):
        resume(cassette)
    assert cassette.read_bytes() == before
    assert not (tmp_path / "elsewhere").exists()


def _lines(path: Path) -> list[bytes]:
    return path.read_bytes().splitlines(keepends=True)


def _swapped(lines: list[bytes]) -> list[bytes]:
    return [*lines[:2], lines[3], lines[2], *lines[4:]]


def _edited(number: int, old: bytes, new: bytes) -> Callable[[list[bytes]], list[bytes]]:
    return lambda lines: [*lines[:number], lines[number].replace(old, new), *lines[number + 1 :]]


DAMAGE: dict[str, tuple[Callable[[list[bytes]], list[bytes]], str]] = {
    "one byte of an answer": (_edited(2, b"answer", b"Answer"), "record 3: prev is not"),
    "a line lost": (lambda lines: lines[:3] + lines[4:], "record 3: says that it is record 4"),
    "a line twice": (lambda lines: [*lines[:3], lines[2], *lines[3:]], "record 3: says that it is record 2"),
    "two lines swapped": (_swapped, "record 2: says that it is record 3"),
    "an LF lost": (_edited(2, b"\n", b""), "record 3: says that it is record 4"),
    "an empty line": (lambda lines: [*lines[:3], b"\n", *lines[3:]], "record 3: does not start as a record"),
    "zeros in the middle": (
        lambda lines: [*lines[:3], bytes(80) + b"\n", *lines[4:]],
        "record 3: does not start",
    ),
    "other line ends": (
        lambda lines: [line[:-1] + b"\r\n" for line in lines],
        "record 0: ends in CR LF",
    ),
    "record 0 edited": (_edited(0, b"workbench", b"somebody"), "record 1: prev is not"),
    "record 0 spelled otherwise": (
        _edited(0, b'"meta":{}', b'"meta": {}'),
        "record 0: not in the one spelling",
    ),
    "record 0 without a member": (_edited(0, b',"meta":{}', b""), "record 0: the names of"),
    "record 0 lost": (lambda lines: lines[1:], "record 0: says that it is record 1"),
    "no record at all": (lambda lines: [], "holds no whole record"),
    "only a torn tail": (lambda lines: [lines[0][:-1]], "holds no whole record"),
    "another format": (_edited(0, b"provtape/1", b"provtape/9"), "a cassette of format provtape/9"),
    "not ours": (lambda lines: [b"hello\n"], "record 0: does not start as a record"),
}


@pytest.mark.parametrize("name", DAMAGE)
def test_damage_is_refused_by_record_and_rule_and_never_repaired(cassette: Path, name: str) -> None:
    damage, message = DAMAGE[name]
    cassette.write_bytes(b"".join(damage(_lines(cassette))))
    before = cassette.read_bytes()
    with pytest.raises(CassetteError) as caught:
        resume(cassette)
    assert message in caught.value.message
    assert "answer" not in caught.value.message
    assert "\n" not in caught.value.message
    assert cassette.read_bytes() == before
    assert os.listdir(cassette.parent) == ["run.jsonl"]


def test_records_in_the_wrong_place_are_refused(tmp_path: Path) -> None:
    stories = {
        "no run": ([bench.opening(), bench.interaction()], "record 1: a record of type interaction"),
        "sealed at once": ([bench.opening(), bench.end()], "record 1: a record of type end"),
        "two openings": ([bench.opening(), bench.run(), bench.opening()], "record 2: a record of type open"),
        "no opening": ([bench.run()], "record 0: a record of type run"),
        "more after the end": (
            [bench.opening(), bench.run(), bench.end(), bench.interaction()],
            "record 3: something follows the record end",
        ),
    }
    for name, (records, message) in stories.items():
        path, chain, data = tmp_path / f"{name}.jsonl", Chain(), b""
        for item in records:
            line = chain.link(item.data)
            chain, data = chain.extend(line), data + line
        path.write_bytes(data)
        with pytest.raises(CassetteError, match=message):
            resume(path)


def test_nothing_follows_the_end(cassette: Path) -> None:
    resume(cassette).seal(bench.end())
    for take_up in (resume, Writer.reopen):
        with pytest.raises(CassetteSealed):
            take_up(cassette)
    with cassette.open("ab") as file:
        file.write(b"{")
    with pytest.raises(CassetteError, match="record 7: something follows the record end"):
        resume(cassette)


def test_a_withheld_copy_is_not_gone_on_with(cassette: Path) -> None:
    lines, leaves = _lines(cassette), bench.leaves(cassette)
    lines[2] = b'{"withheld":"%s"}\n' % leaves[2].hex().encode()
    cassette.write_bytes(b"".join(lines))
    with pytest.raises(CassetteError, match=r"record 2: is withheld \(C22\)"):
        resume(cassette)


@pytest.mark.parametrize(
    ("changes", "which"),
    [
        ({"scrub": {**bench.SCRUB, "name": "other"}}, "scrub"),
        ({"scrub": {**bench.SCRUB, "rules": "# others\n"}}, "scrub"),
        ({"match": {**bench.MATCH, "ignore": ["/params/seed"]}}, "match"),
        ({"match": {"headers": [], "ignore": []}}, "match"),
    ],
)
def test_other_rules_are_another_cassette(cassette: Path, changes: dict[str, object], which: str) -> None:
    before = cassette.read_bytes()
    rules = {"scrub": bench.SCRUB, "match": bench.MATCH} | changes
    with pytest.raises(RulesDiffer, match=f"the {which} rules are not those of record 0"):
        Writer.resume(cassette, bench.run(), **rules)
    assert cassette.read_bytes() == before
    resume(cassette).close()


def test_rules_given_as_tuples_are_the_same_rules(cassette: Path) -> None:
    match = {"headers": ("anthropic-version",), "ignore": ()}
    Writer.resume(cassette, bench.run(), scrub=bench.SCRUB, match=match).close()
    assert len(bench.records(cassette)) == 6


def test_reopened_only_to_be_sealed(cassette: Path) -> None:
    with cassette.open("ab") as file:
        file.write(b'{"pr')
    with Writer.reopen(cassette, signer=bench.signer()) as writer:
        assert (writer.torn, writer.records) == (4, 5)
        with pytest.raises(CassetteError, match="opened to be sealed"):
            writer.append(bench.interaction())
        writer.seal(bench.end())
    assert [item["type"] for item in bench.records(cassette)][-2:] == ["interaction", "end"]
    assert [note.records for note in notes(cassette)] == [6]


def test_reopened_and_left_as_it_was(cassette: Path) -> None:
    before = cassette.read_bytes()
    Writer.reopen(cassette, signer=bench.signer()).close()
    assert cassette.read_bytes() == before
    assert os.listdir(cassette.parent) == ["run.jsonl"]


def test_a_cassette_whose_run_was_lost_takes_a_run_but_no_end(cassette: Path) -> None:
    lines = _lines(cassette)
    cassette.write_bytes(lines[0] + lines[1][:50])
    with pytest.raises(CassetteError, match="holds no run"):
        Writer.reopen(cassette)
    resume(cassette, bench.signer()).close()
    assert [item["type"] for item in bench.records(cassette)] == ["open", "run"]
    assert [note.records for note in notes(cassette)] == [2]


def test_notes_that_say_otherwise_are_not_written_past(tmp_path: Path) -> None:
    path = bench.honest(tmp_path / "run.jsonl", signer=bench.signer(), sealed=False)
    assert [note.records for note in notes(path)] == [2, 5]
    lines, evidence = _lines(path), path.with_name("run.jsonl.ckpt")
    honest = evidence.read_bytes()

    path.write_bytes(b"".join(lines[:4]))
    with pytest.raises(CassetteError, match=r"a note names 5 records, but 4 are there \(N8\)"):
        resume(path)
    path.write_bytes(b"".join(lines))
    other = bench.honest(tmp_path / "other.jsonl", signer=bench.signer(), nonce=1)
    shutil.copy(other.with_name("other.jsonl.ckpt"), evidence)
    with pytest.raises(CassetteError, match="a note names another origin"):
        resume(path)
    evidence.write_bytes(honest + b"junk")
    with pytest.raises(CassetteError, match=r"what follows the last note is no note \(N1\)"):
        resume(path)
    twin = _twin(path, tmp_path)
    shutil.copy(twin.with_name(twin.name + ".ckpt"), evidence)
    with pytest.raises(CassetteError, match="the note at 5 records states another root"):
        resume(path)
    assert path.read_bytes() == b"".join(lines)

    evidence.write_bytes(honest)
    resume(path, bench.signer()).close()
    assert [note.records for note in notes(path)] == [2, 5, 6]


def _twin(path: Path, tmp_path: Path) -> Path:
    """The same first records, another answer, and a note over it: a fork."""
    twin = tmp_path / "twin.jsonl"
    with Writer.create(
        twin, bench.opening(), bench.run(), prefix=bench.PREFIX, signer=bench.signer()
    ) as writer:
        for number in range(3):
            writer.append(bench.interaction(f"say {number}", "another answer"))
    assert _lines(twin)[:2] == _lines(path)[:2]
    return twin


@pytest.mark.parametrize("kind", ["missing", "folder", "pipe", "link"])
def test_what_is_no_cassette_file_is_refused_at_once(cassette: Path, tmp_path: Path, kind: str) -> None:
    path = tmp_path / "odd.jsonl"
    if kind == "folder":
        path.mkdir()
    elif kind == "pipe":
        os.mkfifo(path)
    elif kind == "link":
        path.symlink_to(cassette)
    with pytest.raises(CassetteError):
        resume(path)
    assert len(bench.records(cassette)) == 5
