"""Generated cassettes, generated attacks, garbage: the two verifiers agree, nothing forged passes, nothing crashes."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

import workbench
from provtape import signing, verifier
from provtape.cassette.writer import Writer
from provtape.errors import FormatError
from provtape.format import chain, strict
from provtape.format.tree import Roots
from verifiers import first, quick

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
numbers = st.integers(-(2**70), 2**70) | st.floats(allow_nan=False, allow_infinity=False)
values = st.recursive(
    st.none() | st.booleans() | numbers | texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=12,
)
slow = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@contextmanager
def recorded(prompts: list[object]) -> Iterator[tuple[Path, Path]]:
    """A signed cassette of these prompts and answers; yields it and the key's file."""
    with tempfile.TemporaryDirectory() as folder:
        signer, path = workbench.signer(), Path(folder) / "run.jsonl"
        with Writer.create(
            path, workbench.opening(), workbench.run(), prefix=workbench.PREFIX, signer=signer
        ) as writer:
            for number, prompt in enumerate(prompts):
                writer.append(workbench.interaction(number, prompt))
            writer.seal(workbench.end())
        signing.sign(path, signer, clock=workbench.clock)
        key = Path(folder) / "key.pub"
        key.write_text(signer.public.vkey)
        yield path, key


def relinked(lines: list[bytes]) -> bytes:
    """The lines numbered and chained anew: the deliberate forger's first step."""
    ends, forged = chain.Chain(), b""
    for line in lines:
        again = ends.link(line[line.index(b'"type":') :])
        ends, forged = ends.extend(again), forged + again
    return forged


@slow
@given(st.lists(values, max_size=4))
@example([{"a": [1.5, -0.0, 1e300, 2**63]}, "\u2028\u0085\x7f"])
def test_an_honest_cassette_is_verified(prompts: list[object]) -> None:
    with recorded(prompts) as (cassette, key):
        assert first(quick(cassette, key)) == ("VERIFIED", None, None, None)


def _swap(lines: list[bytes], a: int, b: int) -> list[bytes]:
    lines[a], lines[b] = lines[b], lines[a]
    return lines


ATTACKS: dict[str, Callable[[list[bytes], int, int], list[bytes]]] = {
    "swap": _swap,
    "drop": lambda lines, a, b: lines[:a] + lines[a + 1 :],
    "insert": lambda lines, a, b: [*lines[:a], lines[b], *lines[a:]],
    "edit": lambda lines, a, b: [*lines[:a], lines[a].replace(b"answer", b"Answer"), *lines[a + 1 :]],
    "truncate": lambda lines, a, b: lines[: max(a, 1)],
    "crlf": lambda lines, a, b: [*lines[:a], lines[a][:-1] + b"\r\n", *lines[a + 1 :]],
}


@slow
@given(st.sampled_from(sorted(ATTACKS)), st.integers(0, 6), st.integers(0, 6), st.booleans())
def test_every_attack_is_found_and_named_alike(attack: str, a: int, b: int, again: bool) -> None:
    """Each way to change an honest cassette, plain or chained again; the word is FAILED and both verifiers name it alike."""
    with recorded([f"answer {number}" for number in range(4)]) as (cassette, key):
        lines = cassette.read_bytes().splitlines(keepends=True)
        changed = ATTACKS[attack](list(lines), a % len(lines), b % len(lines))
        if changed == lines:
            return
        forged = relinked(changed) if again and attack != "crlf" else b"".join(changed)
        if forged == cassette.read_bytes():
            return
        cassette.write_bytes(forged)
        word, _, named, _ = first(quick(cassette, key))
        assert word == "FAILED"
        if not again and attack in ("crlf", "truncate", "drop", "insert", "swap"):
            tail_gone = attack == "drop" and a % len(lines) == len(lines) - 1
            assert named == ("truncate" if tail_gone else attack)


@slow
@given(st.binary(max_size=300), st.sampled_from(["run.jsonl", "run.jsonl.ckpt", "run.jsonl.intoto.jsonl"]))
@example(b"", "run.jsonl")
@example(b"", "run.jsonl.ckpt")
@example(b"", "run.jsonl.intoto.jsonl")
@example(b"\n", "run.jsonl")
@example(b"[" * 299, "run.jsonl")
def test_garbage_is_never_verified(garbage: bytes, name: str) -> None:
    with recorded(["answer"]) as (cassette, key):
        (cassette.parent / name).write_bytes(garbage)
        assert first(quick(cassette, key))[0] in ("FAILED", "ERROR")


@slow
@given(st.data())
def test_a_piece_moved_inside_the_evidence_is_never_verified(data: st.DataObject) -> None:
    with recorded(["answer"]) as (cassette, key):
        name = data.draw(st.sampled_from(["run.jsonl", "run.jsonl.ckpt", "run.jsonl.intoto.jsonl"]))
        path = cassette.parent / name
        original = path.read_bytes()
        start, end, to = sorted(data.draw(st.integers(0, len(original))) for _ in range(3))
        moved = original[:start] + original[end:to] + original[start:end] + original[to:]
        if moved == original:
            return
        path.write_bytes(moved)
        whole_notes = name.endswith(".ckpt") and sorted(moved.split(b"lab.")) == sorted(
            original.split(b"lab.")
        )
        assert first(quick(cassette, key))[0] != "VERIFIED" or whole_notes


@given(values)
def test_one_spelling_is_the_standard_librarys(value: object) -> None:
    """Outside number tokens, what is written is what json.dumps writes; and it reads back."""
    spelled = strict.dumps(value)
    assert strict.dumps(strict.read(spelled)) == spelled
    assert json.loads(spelled) == json.loads(json.dumps(value))


@given(st.binary(max_size=60) | st.text(max_size=40).map(lambda text: text.encode("utf-8", "surrogatepass")))
@example(b'{"a":1,"\\u0061":2}')
@example(b'["\\ud800"]')
@example(b'"\\ud83d\\ude00"')
@example(b"-0")
@example(b"1E5")
@example(b"1" * 5000)
def test_both_strict_readers_take_the_same_texts(data: bytes) -> None:
    try:
        strict.parse(data)
        ours = True
    except FormatError:
        ours = False
    try:
        spelled = verifier.read_json(data)[1]
        theirs = True
    except ValueError:
        theirs, spelled = False, False
    assert ours == theirs
    try:
        strict.read(data)
        one_spelling = True
    except FormatError:
        one_spelling = False
    assert one_spelling == spelled


@given(st.lists(st.binary(min_size=32, max_size=32), max_size=40))
def test_roots_are_those_of_the_recursion(leaves: list[bytes]) -> None:
    roots = Roots(range(len(leaves) + 1))
    roots.extend(b"".join(leaves))
    for size in range(1, len(leaves) + 1):
        assert roots.found[size] == workbench.root(leaves[:size])
    assert roots.root() == workbench.root(leaves)
