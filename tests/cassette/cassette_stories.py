"""What the stories of this folder share: going on with a cassette, and starting a child that writes it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import workbench as bench
from provtape.cassette.notes import Signer
from provtape.cassette.writer import Writer
from provtape.format.checkpoint import Checkpoint, parse_file

WRITING = Path(__file__).with_name("cassette_writing.py")


def resume(path: Path, signer: Signer | None = None) -> Writer:
    return Writer.resume(path, bench.run(), scrub=bench.SCRUB, match=bench.MATCH, signer=signer)


def start(story: str, path: Path, *more: str) -> subprocess.Popen[str]:
    command = [sys.executable, str(WRITING), story, str(path), *more]
    return subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def told(story: str, path: Path, *more: str) -> list[str]:
    """The lines that a child said; it ended well."""
    with start(story, path, *more) as child:
        out, errors = child.communicate(timeout=60)
    assert (child.returncode, errors) == (0, "")
    return out.splitlines()


def prompts(path: Path) -> list[object]:
    return [record["request"]["prompt"] for record in bench.records(path) if record["type"] == "interaction"]


def notes(path: Path) -> list[Checkpoint]:
    """The checkpoints beside a cassette; each must state what the cassette holds."""
    found, rest = parse_file(path.with_name(path.name + ".ckpt").read_bytes())
    leaves = bench.leaves(path)
    assert rest == b""
    for checkpoint in found:
        assert checkpoint.records <= len(leaves)
        assert checkpoint.origin == f"{bench.PREFIX}/{leaves[0].hex()}"
        assert checkpoint.root == bench.root(leaves[: checkpoint.records])
    return found
