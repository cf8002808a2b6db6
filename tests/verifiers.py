"""Both verifiers asked the same question, in this process or as the programs they are."""

from __future__ import annotations

import contextlib
import io
import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from provtape import verifier
from provtape.cli.main import run
from provtape.format.keys import parse_public
from provtape.verify import Question, verify

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "provtape" / "verifier.py"

Report = dict[str, object]
First = tuple[object, object, object, object]


def package(*arguments: str | Path) -> Report:
    """`provtape verify … --json`, in this process."""
    return _asked(lambda words: run(["verify", *words]), arguments)


def standalone(*arguments: str | Path) -> Report:
    """`verifier.py … --json`, in this process."""
    return _asked(verifier.main, arguments)


def both(*arguments: str | Path) -> Report:
    """Ask both; they must agree on the word, and on code, attack and record of the first finding."""
    ours, theirs = package(*arguments), standalone(*arguments)
    assert first(ours) == first(theirs), f"package {shown(ours)}, standalone {shown(theirs)}"
    return ours


def as_program(command: Sequence[str | Path], folder: Path) -> tuple[int, Report]:
    """Run a verifier as a program in a folder: its exit code and the one object it printed."""
    done = subprocess.run(
        [*map(str, command), "--json"], cwd=folder, capture_output=True, text=True, timeout=120
    )
    return done.returncode, json.loads(done.stdout)


PROGRAMS: dict[str, list[str]] = {
    "package": [sys.executable, "-c", "from provtape.cli.main import main; main()", "verify"],
    "standalone": [sys.executable, "-I", str(SOURCE)],
}


def quick(cassette: Path, key: Path) -> Report:
    """As `both`, without parsing command lines: for thousands of questions."""
    ours = verify(cassette, Question((parse_public(key.read_bytes()),))).report()
    theirs = verifier.verify(verifier.understand([str(cassette), "--pubkey", str(key)]))
    assert first(ours) == first(theirs), f"package {shown(ours)}, standalone {shown(theirs)}"
    return ours


def first(report: Report) -> First:
    """The word and the first finding: what verifiers must agree on."""
    findings = report["findings"]
    assert isinstance(findings, list)
    head = findings[0] if findings else {"code": None, "attack": None, "record": None}
    return report["verdict"], head["code"], head["attack"], head["record"]


def codes(report: Report) -> list[str]:
    """The codes of all findings, in order."""
    findings = report["findings"]
    assert isinstance(findings, list)
    return [finding["code"] for finding in findings]


def shown(report: Report) -> object:
    return report["verdict"], [(row["code"], row["record"], row["message"]) for row in report["findings"]]


def _asked(program: object, arguments: Sequence[str | Path]) -> Report:
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = program([*map(str, arguments), "--json"])
    report = json.loads(out.getvalue())
    assert code == report["exit"], (code, report, err.getvalue())
    return report
