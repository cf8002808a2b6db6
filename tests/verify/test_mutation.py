"""Every byte of a small signed cassette, its checkpoint file and its manifest is changed in several ways; nothing passes.

No mutant is VERIFIED, and the two verifiers agree on the word and on the first finding of each. (Dropping a whole note under a
manifest changes nothing that anybody signed; that is a `limit` test of its own.)
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

import workbench
from provtape import signing
from verifiers import first, quick

MASKS = (0x01, 0x20, 0x80)


@pytest.fixture(scope="module")
def honest(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One llm answer, a checkpoint at 2 and one at the end, a manifest and a bound file."""
    folder = tmp_path_factory.mktemp("mutation")
    signer = workbench.signer()
    cassette = workbench.honest(folder / "run.jsonl", 1, signer)
    (folder / "scores.json").write_text('{"score": 1}\n')
    signing.sign(cassette, signer, [folder / "scores.json"], clock=workbench.clock)
    (folder / "key.pub").write_text(signer.public.vkey)
    return folder


def ask(folder: Path) -> object:
    return first(quick(folder / "run.jsonl", folder / "key.pub"))


def mutants(data: bytes) -> Iterator[tuple[str, bytes]]:
    for place in range(len(data)):
        for mask in MASKS:
            yield f"byte {place} ^ {mask:#x}", data[:place] + bytes([data[place] ^ mask]) + data[place + 1 :]


def cuts(data: bytes) -> Iterator[tuple[str, bytes]]:
    for place in range(len(data)):
        yield f"cut at {place}", data[:place]
        yield f"without byte {place}", data[:place] + data[place + 1 :]
    for extra in (b"\n", b" ", b"{", b"\0", data):
        yield f"with {extra[:4]!r} behind", data + extra


@pytest.mark.parametrize("name", ["run.jsonl", "run.jsonl.ckpt", "run.jsonl.intoto.jsonl", "scores.json"])
def test_no_changed_byte_is_verified(honest: Path, tmp_path: Path, name: str) -> None:
    folder = Path(shutil.copytree(honest, tmp_path / "copy"))
    assert ask(folder) == ("VERIFIED", None, None, None)
    original = (folder / name).read_bytes()
    survivors = []
    for what, mutant in mutants(original):
        (folder / name).write_bytes(mutant)
        if ask(folder)[0] == "VERIFIED":
            survivors.append(what)
    assert survivors == []


@pytest.mark.parametrize("name", ["run.jsonl", "run.jsonl.ckpt", "run.jsonl.intoto.jsonl"])
def test_nothing_cut_or_added_is_verified(honest: Path, tmp_path: Path, name: str) -> None:
    folder = Path(shutil.copytree(honest, tmp_path / "copy"))
    original = (folder / name).read_bytes()
    boundary = original.index(b"\n", original.index("—".encode()) if "ckpt" in name else 0) + 1
    survivors = []
    for what, mutant in cuts(original):
        (folder / name).write_bytes(mutant)
        if ask(folder)[0] == "VERIFIED":
            survivors.append(what)
    whole_notes = [f"cut at {boundary}", f"with {original[:4]!r} behind"] if "ckpt" in name else []
    assert survivors == whole_notes  # fewer notes, or the same notes twice: nothing unsigned, nothing missing
