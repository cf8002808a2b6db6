"""Looking up by key: every interaction in its place, nothing held in memory, nothing served that was not indexed."""

from __future__ import annotations

import random
import threading
import tracemalloc
from pathlib import Path

import pytest
from cassette_stories import resume

import workbench as bench
from provtape.cassette.index import Index, Place
from provtape.cassette.writer import Writer
from provtape.errors import CassetteError, InputError
from provtape.format.chain import Chain


def written(path: Path, *records: object) -> Path:
    """A cassette made at once, without a writer."""
    chain, data = Chain(), []
    for item in (bench.opening(), bench.run(), *records):
        line = chain.link(item.data)
        chain = chain.extend(line)
        data.append(line)
    path.write_bytes(b"".join(data))
    return path


def test_every_key_gives_its_answers_in_file_order(tmp_path: Path) -> None:
    order = [number % 7 for number in range(50)]
    random.Random(7).shuffle(order)
    path = tmp_path / "run.jsonl"
    with Writer.create(path, bench.opening(), bench.run(), prefix=bench.PREFIX) as writer:
        for number, prompt in enumerate(order):
            writer.append(bench.interaction(prompt, f"answer {number}"))
    with resume(path) as writer:
        writer.append(bench.interaction(3, "answer of a later run"))
        writer.seal(bench.end())
    found = bench.records(path)
    with Index(path) as index:
        assert (len(index), index.records, index.sealed, index.torn) == (51, 55, True, 0)
        assert index.opening == found[0]
        assert [run["seq"] for run in index.runs] == [1, 52]
        assert index.runs == [found[1], found[52]]
        for prompt in range(7):
            wanted = [item for item in found[2:-1] if item.get("key") == bench.key(prompt)]
            places = index.places(bench.key(prompt))
            assert [index.read(place) for place in places] == wanted
            assert len(places) == len(wanted)
            assert places[0].seq == wanted[0]["seq"]
            assert [place.seq for place in places[1:3]] == [item["seq"] for item in wanted[1:3]]
        all_of_them = list(index.interactions())
        assert [place.seq for place in all_of_them] == [*range(2, 52), 53]
        assert [index.read(place)["seq"] for place in all_of_them] == [*range(2, 52), 53]


@pytest.mark.parametrize("key", [bench.key("never asked"), "", "z" * 64, "A" * 64, "a" * 63, "a" * 64 + "\n"])
def test_what_was_not_recorded_has_no_place(tmp_path: Path, key: str) -> None:
    with Index(bench.honest(tmp_path / "run.jsonl")) as index:
        places = index.places(key)
        assert (len(places), list(places)) == (0, [])


def test_neighbouring_keys_are_told_apart(tmp_path: Path) -> None:
    keys = ["0" * 64, "0" * 63 + "1", "f" * 63 + "e", "f" * 64]
    path = written(
        tmp_path / "run.jsonl", *(bench.interaction(key, key=key) for key in keys for _ in range(2))
    )
    with Index(path) as index:
        assert [[place.seq for place in index.places(key)] for key in keys] == [
            [2, 3],
            [4, 5],
            [6, 7],
            [8, 9],
        ]


def test_a_growing_cassette_with_a_torn_tail(tmp_path: Path) -> None:
    path = bench.honest(tmp_path / "run.jsonl", sealed=False)
    with path.open("ab") as file:
        file.write(b'{"prev":"')
    with Index(path) as index:
        assert (len(index), index.records, index.sealed, index.torn) == (3, 5, False, 9)
        with resume(path) as writer:
            writer.append(bench.interaction("say 0", "written later")).result()
        assert len(index.places(bench.key("say 0"))) == 1
        assert index.read(index.places(bench.key("say 0"))[0])["response"] == {"output": "answer 0"}
    with Index(path) as index:
        assert len(index.places(bench.key("say 0"))) == 2


def test_a_file_changed_underneath_is_noticed(tmp_path: Path) -> None:
    path = bench.honest(tmp_path / "run.jsonl")
    before = path.read_bytes()
    with Index(path) as index:
        first, second, third = index.interactions()
        path.write_bytes(before.replace(b"answer 1", b"answer 7"))
        assert index.read(first)["response"] == {"output": "answer 0"}
        with pytest.raises(CassetteError, match="record 3: changed since the cassette was opened"):
            index.read(second)
        path.write_bytes(before[: third.offset + 10])
        with pytest.raises(CassetteError, match="record 4: changed"):
            index.read(third)


def test_only_places_of_this_index_are_read(tmp_path: Path) -> None:
    with Index(bench.honest(tmp_path / "run.jsonl")) as index:
        place = next(index.interactions())
        for wrong in (
            Place(0, 10, 0),
            place._replace(length=10**9),
            place._replace(seq=9),
            Place(10**9, 1, 2),
        ):
            with pytest.raises(CassetteError, match="no interaction stands at byte"):
                index.read(wrong)
        index.close()
        with pytest.raises(CassetteError, match="closed"):
            index.read(place)


def test_a_record_is_read_strictly_before_it_is_served(tmp_path: Path) -> None:
    path = written(
        tmp_path / "run.jsonl",
        bench.interaction("fine"),
        bench.interaction("no salt", salt="short"),
        bench.interaction("more", extra=1),
    )
    with Index(path) as index:
        fine, unsalted, more = index.interactions()
        assert index.read(fine)["request"]["prompt"] == "fine"
        with pytest.raises(CassetteError, match=r"run.jsonl: record 3: .*salt"):
            index.read(unsalted)
        with pytest.raises(CassetteError, match=r"run.jsonl: record 4: the names of"):
            index.read(more)


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda data: b"", "holds no whole record"),
        (lambda data: b"{", "holds no whole record"),
        (lambda data: data.replace(b"answer 1", b"answer 7"), "record 4: prev is not the leaf"),
        (lambda data: data.replace(b'"kind":"llm"', b'"kind":"???"', 1), "record 2: no kind and key"),
        (lambda data: data + b"{", "record 6: something follows"),
        (lambda data: b"\xef\xbb\xbf" + data, "record 0: does not start"),
    ],
)
def test_damage_is_named_and_nothing_is_served(tmp_path: Path, spoil, message: str) -> None:
    path = bench.honest(tmp_path / "run.jsonl")
    path.write_bytes(spoil(path.read_bytes()))
    with pytest.raises(CassetteError, match=message):
        Index(path)


def test_a_withheld_copy_has_nothing_to_serve(tmp_path: Path) -> None:
    path = bench.honest(tmp_path / "run.jsonl")
    lines = path.read_bytes().splitlines(keepends=True)
    lines[2] = b'{"withheld":"%s"}\n' % bench.leaves(path)[2].hex().encode()
    path.write_bytes(b"".join(lines))
    with pytest.raises(CassetteError, match="record 2: is withheld"):
        Index(path)


def test_a_missing_file_is_said(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"run.jsonl: no such file"):
        Index(tmp_path / "run.jsonl")


def test_many_threads_read_at_once(tmp_path: Path) -> None:
    path, wrong = bench.honest(tmp_path / "run.jsonl", 40), []
    with Index(path) as index:
        places = list(index.interactions())

        def work(seed: int) -> None:
            for place in random.Random(seed).choices(places, k=100):
                if index.read(place)["seq"] != place.seq:
                    wrong.append(place)

        threads = [threading.Thread(target=work, args=(seed,)) for seed in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert wrong == []


def test_memory_is_counted_in_bytes_per_interaction(tmp_path: Path) -> None:
    count = 20_000
    path = written(tmp_path / "run.jsonl", *(bench.interaction(n, "x" * 1000) for n in range(count)))
    tracemalloc.start()
    try:
        with Index(path) as index:
            held, peak = tracemalloc.get_traced_memory()
            assert len(index) == count
    finally:
        tracemalloc.stop()
    assert held < 150 * count
    assert peak < 400 * count  # 40 MB at 100,000, whatever the bodies
