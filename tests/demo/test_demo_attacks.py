"""Each attack of the tour does what it says, and both verifiers call it by its name."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from published import ANSWERS, published

from provtape.demo import attacks, tour
from provtape.demo.attacks import ATTACKS, CASSETTE, EVIDENCE, Attack
from provtape.errors import InputError
from verifiers import both, codes, first
from workbench import records

# Attack: the first finding of both verifiers.
CODES = {
    "byte": "chain.prev",
    "rechained": "checkpoint.root",
    "resigned": "trust.stranger",
    "cut": "checkpoint.records",
    "prompt": None,
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return published(tmp_path / "tour")


@pytest.fixture
def copy(folder: Path) -> Path:
    """A copy of what is published, without the private key."""
    return shutil.copytree(folder / tour.PUBLISHED, folder / "attacks" / "copy")


def test_every_attack_that_the_tour_promises_is_there() -> None:
    assert [attack.name for attack in ATTACKS] == list(CODES)
    assert [attack.name for attack in ATTACKS if not attack.is_forgery] == ["prompt"]
    assert [attack.name for attack in ATTACKS if attack.is_forgery and attack.word == "VERIFIED"] == []


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.name)
def test_both_verifiers_name_the_attack(attack: Attack, folder: Path, copy: Path) -> None:
    question = (copy / CASSETTE, "--pubkey", folder / tour.PUBLIC)
    assert first(both(*question)) == ("VERIFIED", None, None, None)
    attack.make(copy)
    word, code, named, _ = first(both(*question))
    assert (word, named, code) == (attack.word, attack.named, CODES[attack.name])


def test_one_byte_means_one_bit_of_an_answer(copy: Path) -> None:
    before = (copy / CASSETTE).read_bytes()
    attacks.flip_byte(copy)
    after = (copy / CASSETTE).read_bytes()
    places = [place for place, (old, new) in enumerate(zip(before, after, strict=True)) if old != new]
    assert len(places) == 1
    assert (before[places[0]] ^ after[places[0]]).bit_count() == 1
    changed = [json.loads(line)["response"]["output"] for line in after.split(b"\n")[2:-2]]
    assert changed == ["it's Paris.", *ANSWERS[1:]]


@pytest.mark.parametrize(
    ("answer", "flipped"), [('\\"\n', '\\"\n'), ("= 6", "= 7"), ("\t\u00e9z", "\t\u00e9Z")]
)
def test_an_escape_or_a_sign_is_no_letter_to_flip(tmp_path: Path, answer: str, flipped: str) -> None:
    copy = published(tmp_path / "tour", answer, *ANSWERS[1:]) / tour.PUBLISHED
    attacks.flip_byte(copy)
    lines = (copy / CASSETTE).read_bytes().split(b"\n")[2:-2]
    outputs = [json.loads(line)["response"]["output"] for line in lines]
    assert outputs[0] == flipped
    assert (outputs[1] == ANSWERS[1]) is (flipped != answer)


def test_where_no_answer_has_a_letter_the_attack_says_so(tmp_path: Path) -> None:
    copy = published(tmp_path / "tour", *["…"] * 7) / tour.PUBLISHED
    with pytest.raises(InputError, match="no answer has a letter to change"):
        attacks.flip_byte(copy)


def test_the_chain_of_a_rechained_copy_holds(copy: Path) -> None:
    before = records(copy / CASSETTE)
    attacks.rechain(copy)
    after = records(copy / CASSETTE)  # asserts every link
    assert after[2]["response"] == {"output": "An answer that no model gave."}
    assert [record["type"] for record in after] == [record["type"] for record in before]
    assert after[:2] == before[:2]


def test_the_forger_signs_under_the_authors_name_with_another_key(folder: Path, copy: Path) -> None:
    before = {name: (copy / name).read_bytes() for name in EVIDENCE}
    attacks.resign(copy)
    forged = copy / "mallory.pub"
    assert forged.read_bytes() != (folder / tour.PUBLIC).read_bytes()
    assert forged.read_text("utf-8").startswith("demo.example/alice+")
    assert {name: (copy / name).read_bytes() for name in EVIDENCE} != before
    assert first(both(copy / CASSETTE, "--pubkey", forged))[0] == "VERIFIED", (
        "who trusts the forger is deceived"
    )
    honest = both(copy / CASSETTE, "--pubkey", folder / tour.PUBLIC)
    assert codes(honest) == ["trust.stranger"]


def test_a_cut_copy_ends_at_the_end_of_a_record(copy: Path) -> None:
    before = (copy / CASSETTE).read_bytes()
    attacks.cut(copy)
    after = (copy / CASSETTE).read_bytes()
    assert before.startswith(after)
    assert after.endswith(b"\n")
    assert before.count(b"\n") - after.count(b"\n") == 2


def test_no_attack_reaches_for_the_authors_key(folder: Path, copy: Path) -> None:
    """With the key gone, every attack goes as before."""
    (folder / tour.KEY).unlink()
    for attack in ATTACKS:
        shutil.rmtree(copy)
        shutil.copytree(folder / tour.PUBLISHED, copy)
        attack.make(copy)
        assert first(both(copy / CASSETTE, "--pubkey", folder / tour.PUBLIC))[2] == attack.named
