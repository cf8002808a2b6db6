"""Cassettes in the tutorial's format: their chain is checked, and their answers stay reachable."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from provtape.convert import tutorial
from provtape.convert.tutorial import Entry, Torn, import_file, read
from provtape.errors import (
    CassetteExists,
    ConvertError,
    Exhausted,
    InputError,
    LimitError,
    Miss,
    Missed,
    SessionError,
)
from provtape.format.foreign import is_tutorial
from provtape.format.strict import Number
from provtape.session import Call, Session
from provtape.verify import verify

SEEDS = [
    ("ping", "m", {"temperature": 0.7}),
    ("Größe? 😀", "m", None),
    ("ping", "m", {"temperature": 0.7}),
    ([{"a": 1}], "n", {}),
]


class Recorder:
    """An independent recorder of that format, as the tutorial has it: opened again, it begins at genesis again."""

    def __init__(self, path: Path) -> None:
        self.path, self.prev = path, "genesis"

    @staticmethod
    def key(prompt: object, model: str, params: object) -> str:
        text = json.dumps({"p": prompt, "m": model, "x": params}, sort_keys=True, ensure_ascii=False)
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    def record(
        self,
        prompt: object,
        model: str,
        params: object,
        output: object,
        meta: object = None,
        ts: object = 1.5,
    ) -> None:
        entry = {"prev": self.prev, "key": self.key(prompt, model, params), "output": output, "meta": meta}
        text = json.dumps(entry, sort_keys=True, ensure_ascii=False)
        self.prev = hashlib.sha256(text.encode()).hexdigest()
        with self.path.open("a", encoding="utf-8", newline="") as file:
            file.write(json.dumps({**entry, "ts": ts, "hash": self.prev}, ensure_ascii=False) + "\n")


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """Four answers in two chains, the first and third to one question."""
    path = tmp_path / "seed.jsonl"
    first, second = Recorder(path), Recorder(path)
    for number, (prompt, model, params) in enumerate(SEEDS):
        recorder = first if number < 2 else second
        recorder.record(prompt, model, params, {"text": f"answer {number}", "p": 1e-07}, {"n": number})
    return path


def entries(path: Path) -> list[Entry]:
    found = list(read(path))
    assert all(isinstance(entry, Entry) for entry in found)
    return [entry for entry in found if isinstance(entry, Entry)]


def test_an_import_keeps_every_answer_and_says_what_was_not_covered(source: Path, tmp_path: Path) -> None:
    target = tmp_path / "run.jsonl"
    report = import_file(source, target, meta={"from": "seed.jsonl"})
    assert (report.answers, report.chains, report.restarts, report.torn) == (4, 2, 1, None)
    said = str(report)
    assert said.startswith(
        "4 answers imported, 2 chains checked\nthe source's own chain does not cover:\n  - times"
    )
    for word in ("ts", "prompts", "cut off", "signature", "restarts"):
        assert word in said
    first, run, *interactions = (json.loads(line) for line in target.read_bytes().splitlines())
    assert (first["prefix"], run["capture"]["road"], run["meta"]) == (
        "anonymous",
        "import",
        {"from": "seed.jsonl"},
    )
    assert [row["meta"]["tutorial"]["ts"] for row in interactions] == [1.5] * 4
    assert [row["meta"]["tutorial"]["meta"] for row in interactions] == [{"n": n} for n in range(4)]
    assert [row["meta"]["tutorial"]["hash"] for row in interactions] == [
        entry.hash for entry in entries(source)
    ]
    assert [row["scrubbed"] for row in interactions] == [[]] * 4
    assert b'"p":1e-07' in target.read_bytes()  # the number as it was spelled
    assert verify(target).findings[0].code == "trust.no-key"


def test_answers_are_reached_by_their_keys_in_recorded_order(source: Path, tmp_path: Path) -> None:
    import_file(source, tmp_path / "run.jsonl")
    keys = [Recorder.key(*seed) for seed in SEEDS]
    with Session.open(tmp_path / "run.jsonl", "replay") as session:
        answers = [session.answer(key) for key in keys]
        assert answers == [{"text": f"answer {number}", "p": 1e-07} for number in range(4)]
        assert session.summary.unused == 0
    session = Session.open(tmp_path / "run.jsonl", "replay")
    session.answer(keys[1])
    with pytest.raises(Exhausted):
        session.answer(keys[1])
    with pytest.raises(Miss, match="no llm request is recorded around here to compare it with"):
        session.answer("0123456789abcdef")
    with pytest.raises(SessionError, match="16 hex"):
        session.answer("PING")
    with pytest.raises(Missed):
        session.close()


def test_answers_are_reached_by_calls_that_hash_to_their_keys(source: Path, tmp_path: Path) -> None:
    import_file(source, tmp_path / "run.jsonl")
    with Session.open(tmp_path / "run.jsonl", "replay") as session:
        for number, (prompt, model, params) in enumerate(SEEDS):
            answer = session.ask(Call(model, prompt, params or {}))
            assert answer == {"text": f"answer {number}", "p": 1e-07}
    session = Session.open(tmp_path / "run.jsonl", "replay")
    with pytest.raises(Miss):
        session.ask(Call("m", "ping", {"temperature": 0.8}))
    with pytest.raises(Missed):
        session.close()


def test_auto_serves_imported_answers_and_adds_new_ones(source: Path, tmp_path: Path) -> None:
    target = tmp_path / "run.jsonl"
    import_file(source, target)
    asked: list[Call] = []

    def live(call: Call) -> str:
        asked.append(call)
        return "new"

    ping = Call("m", "ping", {"temperature": 0.7})
    with Session.open(target, "auto", live=live) as session:
        assert [session.ask(ping)["text"] for _ in range(2)] == ["answer 0", "answer 2"]
        assert session.ask(ping) == "new"
    with Session.open(target, "replay") as session:
        assert session.ask(ping) == "new"
        assert [session.ask(ping)["text"] for _ in range(2)] == ["answer 0", "answer 2"]
    assert asked == [ping]


def test_secrets_in_imported_answers_are_scrubbed(tmp_path: Path) -> None:
    secret = "gh" + "p_" + "A1b2C3d4E5f6" * 3
    source = tmp_path / "seed.jsonl"
    Recorder(source).record("x", "m", {}, f"use {secret}", {"note": secret})
    import_file(source, tmp_path / "run.jsonl")
    assert secret.encode() not in (tmp_path / "run.jsonl").read_bytes()


@settings(deadline=None)
@given(
    st.lists(
        st.tuples(
            st.text(st.characters(exclude_categories=["Cs"])),
            st.floats(allow_nan=False, allow_infinity=False),
            st.integers(),
        ),
        max_size=5,
    )
)
def test_whatever_such_a_recorder_writes_is_read(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[str, float, int]]
) -> None:
    path = tmp_path_factory.mktemp("seed") / "seed.jsonl"
    recorder = Recorder(path)
    recorder.record("x", "m", {}, "first")
    for text, number, big in rows:
        recorder.record(text, "m", {}, [text, number, big], {text: number}, ts=text)
    found = entries(path)
    assert [json.loads(json.dumps(entry.ts)) for entry in found[1:]] == [text for text, _, _ in rows]
    assert not any(entry.restarted for entry in found)


def lines(path: Path) -> list[bytes]:
    return path.read_bytes().splitlines(keepends=True)


def changed(number: int, old: bytes, new: bytes) -> Callable[[list[bytes]], list[bytes]]:
    def change(rows: list[bytes]) -> list[bytes]:
        assert old in rows[number]
        return [*rows[:number], rows[number].replace(old, new, 1), *rows[number + 1 :]]

    return change


@pytest.mark.parametrize(
    ("attack", "message"),
    [
        (changed(1, b"answer 1", b"answer 7"), 'line 2: "hash" is not that of the line'),
        (changed(0, b'"n": 0', b'"n": 5'), 'line 1: "hash" is not that of the line'),
        (changed(0, b"1e-07", b"1e-7"), None),
        (changed(0, b"1.5", b"9.9"), None),
        (lambda rows: [rows[1], *rows[2:]], 'line 1: "prev" of the first line is not "genesis"'),
        (lambda rows: [rows[0], rows[0].replace(b"genesis", b"x"), *rows[2:]], 'line 2: "hash" is not that'),
        (lambda rows: [rows[0], rows[3]], 'line 2: "prev" is not the hash of the line before'),
        (lambda rows: [rows[0], rows[1], rows[1]], 'line 3: "prev" is not the hash of the line before'),
        (lambda rows: [rows[0], b"\n", rows[1]], "line 2: not JSON"),
        (lambda rows: [rows[0], b"[1]\n"], "line 2: not an object"),
        (lambda rows: [rows[0], rows[1][:40] + b"\n", rows[2]], "line 2: not JSON"),
        (changed(0, b'{"prev"', b'{"prev": "x", "prev"'), "line 1: a name stands twice"),
        (changed(0, b'{"prev"', b'{"approved": true, "prev"'), "line 1: its names are not"),
        (changed(0, b'"ts"', b'"when"'), "line 1: its names are not"),
        (changed(0, b'"key": "', b'"key": "z'), 'line 1: "key" is not 16 hex digits'),
        (changed(0, b'"hash": "', b'"hash": "z'), 'line 1: "hash" is not 64 hex digits'),
        (changed(0, b"1.5", b"NaN"), "line 1: NaN and Infinity are not JSON"),
        (changed(0, b"1.5", b"[" * 70 + b"]" * 70), "line 1: nested deeper than 64"),
        (changed(0, b"1.5", b"7" * 5000), "line 1: a number with too many digits"),
        (lambda rows: [], "empty"),
    ],
)
def test_every_change_that_its_chain_covers_is_found(
    source: Path, tmp_path: Path, attack: Callable[[list[bytes]], list[bytes]], message: str | None
) -> None:
    source.write_bytes(b"".join(attack(lines(source))))
    target = tmp_path / "run.jsonl"
    if message is None:
        assert import_file(source, target).answers == 4
        return
    with pytest.raises(ConvertError) as caught:
        import_file(source, target)
    assert message in caught.value.message
    assert not target.exists()


def test_limit_lines_cut_off_or_moved_at_a_restart_leave_no_trace(source: Path) -> None:
    rows = lines(source)
    for kept in (rows[:3], rows[2:], rows[2:] + rows[:2]):
        source.write_bytes(b"".join(kept))
        assert [entry.line for entry in entries(source)] == list(range(1, len(kept) + 1))


def test_a_torn_last_line_is_left_out_and_said(source: Path, tmp_path: Path) -> None:
    whole = source.read_bytes()
    source.write_bytes(whole[:-30])
    assert isinstance(list(read(source))[-1], Torn)
    report = import_file(source, tmp_path / "run.jsonl")
    assert (report.answers, report.torn) == (3, 4)
    assert "line 4 is cut off and was left out" in str(report)
    source.write_bytes(whole[:-1])
    report = import_file(source, tmp_path / "whole.jsonl")
    assert (report.answers, report.torn) == (4, None)


def test_a_file_of_one_torn_line_holds_nothing(source: Path, tmp_path: Path) -> None:
    source.write_bytes(lines(source)[0][:50])
    with pytest.raises(ConvertError, match="line 1: cut off, and it is the only one"):
        import_file(source, tmp_path / "run.jsonl")


def test_a_line_without_end_is_a_readers_limit(source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tutorial, "MAX_LINE", 300)
    source.write_bytes(lines(source)[0] + b"{" * 301)
    with pytest.raises(LimitError, match="line 2: more than"):
        list(read(source))


def test_a_windows_line_end_is_no_part_of_the_hash(source: Path) -> None:
    source.write_bytes(source.read_bytes().replace(b"\n", b"\r\n"))
    assert len(entries(source)) == 4


def test_numbers_are_kept_as_they_are_spelled(tmp_path: Path) -> None:
    path = tmp_path / "seed.jsonl"
    Recorder(path).record("x", "m", {}, [1e-07, 2**80, 1.0])
    (entry,) = entries(path)
    assert entry.output == [Number("1e-07"), Number(str(2**80)), Number("1.0")]


def test_an_import_overwrites_nothing(source: Path, tmp_path: Path) -> None:
    import_file(source, tmp_path / "run.jsonl")
    with pytest.raises(CassetteExists):
        import_file(source, tmp_path / "run.jsonl")
    with pytest.raises(InputError):
        import_file(tmp_path / "nothing", tmp_path / "other.jsonl")
    os.mkfifo(tmp_path / "pipe")
    for name in ("pipe", "", "no\0name"):
        with pytest.raises(InputError):
            import_file(tmp_path / name, tmp_path / "other.jsonl")
    assert not (tmp_path / "other.jsonl").exists()


def test_the_format_is_known_by_its_first_line(source: Path, tmp_path: Path) -> None:
    assert is_tutorial(lines(source)[0])
    target = tmp_path / "run.jsonl"
    import_file(source, target)
    for line in (
        lines(target)[0],
        b"",
        b"[]",
        b"{}",
        b"\xff",
        b"[" * 100_000,
        b'{"prev":1,"key":2,"output":3,"hash":4,"seq":5}',
    ):
        assert not is_tutorial(line)
