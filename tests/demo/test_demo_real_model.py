"""The whole tour with the real model, as a person takes it."""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sysconfig
from pathlib import Path

import pytest

from provtape.demo import model
from provtape.demo.attacks import ATTACKS, NAME
from provtape.demo.page import WIDTH
from provtape.errors import InputError
from workbench import records

PROVTAPE = str(Path(sysconfig.get_path("scripts")) / "provtape")


@pytest.fixture
def everything_installed() -> None:
    """Where the model is missing this is a skip that says how to get it; in CI it is a failure."""
    try:
        model.check_installed()
    except InputError as error:
        if os.environ.get("CI"):
            pytest.fail(f"{error.message}: {error.hint}")
        pytest.skip(f"{error.message}: {error.hint}")


@pytest.mark.demo
@pytest.mark.usefixtures("everything_installed")
def test_the_tour(tmp_path: Path) -> None:
    polluted = {
        "OPENAI_API_KEY": "of-somebody-else",
        "OPENAI_ORG_ID": "x",
        "HTTP_PROXY": "http://127.0.0.1:9",
    }
    done = subprocess.run(
        [PROVTAPE, "demo"],
        cwd=tmp_path,
        env=os.environ | polluted,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    folder = tmp_path / "provtape-demo"
    what_was_said(done.stdout)
    what_was_recorded(folder / "published")
    what_was_replayed(folder / "published")
    again_is_refused(tmp_path)


def what_was_said(out: str) -> None:
    assert max(map(len, out.splitlines())) <= WIDTH
    assert "\x1b" not in out
    for attack in ATTACKS:
        verdict = f"{attack.word} ({attack.named})" if attack.named else attack.word
        assert out.count(f"provtape verify  {verdict}\n") == out.count(f"verifier.py      {verdict}\n") == 1
    assert "0 calls to the network" in out
    port = re.search(r"127\.0\.0\.1:([0-9]+)/v1", out)
    assert port is not None
    with pytest.raises(OSError, match="refused"):
        socket.create_connection(("127.0.0.1", int(port[1])), timeout=5).close()


def what_was_recorded(published: Path) -> None:
    found = records(published / "run.jsonl")
    assert found[0]["prefix"] == NAME
    asked = [json.dumps(record["request"]) for record in found if record["type"] == "interaction"]
    params = [json.loads(request)["params"] for request in asked]
    assert sum(each["max_tokens"] for each in params) <= 400
    assert min(each["temperature"] for each in params) > 0
    assert sorted(asked.count(request) for request in set(asked)) == [1, 1, 1, 1, 3]
    assert b"of-somebody-else" not in (published / "run.jsonl").read_bytes()


def what_was_replayed(published: Path) -> None:
    for name in ("answers", "scores"):
        first, second = (published / f"{name}.json", published / f"{name}.replay.json")
        assert first.read_bytes() == second.read_bytes()
    outputs = [
        record["response"]["output"]
        for record in map(json.loads, (published / "run.jsonl").read_bytes().split(b"\n")[:-1])
        if record["type"] == "interaction"
    ]
    assert [row["answer"] for row in json.loads((published / "answers.json").read_bytes())] == outputs


def again_is_refused(folder: Path) -> None:
    again = subprocess.run(
        [PROVTAPE, "demo"], cwd=folder, capture_output=True, text=True, check=False, timeout=60
    )
    assert (again.returncode, again.stdout) == (2, "")
    assert again.stderr.startswith("provtape: provtape-demo is not empty\n")
