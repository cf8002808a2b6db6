"""A program that knows nothing of provtape: recorded, replayed with nobody listening, served to a reviewer."""

from __future__ import annotations

import http.server
import json
import os
import signal
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

PROVTAPE = [sys.executable, "-c", "from provtape.cli.main import main; main()"]
PROGRAM = """
import json, sys, threading, urllib.request
def ask(question):
    body = json.dumps({"q": question}).encode()
    request = urllib.request.Request(sys.argv[1], body, {"content-type": "application/json", "authorization": "Bearer x"})
    return urllib.request.urlopen(request, timeout=20).read().decode()
for question in ("a", "b", "a"):
    print(ask(question))
thread = threading.Thread(target=lambda: print(ask("from a thread")))
thread.start()
thread.join()
sys.exit(int(sys.argv[2]))
"""


class Upstream(http.server.BaseHTTPRequestHandler):
    """Numbers its answers, so that no two are the same."""

    protocol_version = "HTTP/1.1"
    answered = 0

    def do_POST(self) -> None:
        Upstream.answered += 1
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        answer = json.dumps({"number": Upstream.answered, "asked": asked["q"]}).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, format: str, *args: object) -> None:
        """Silent."""


@pytest.fixture
def upstream() -> Iterator[str]:
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Upstream)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


def provtape(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*PROVTAPE, *words], cwd=folder, capture_output=True, text=True, timeout=120)


def program(base: str, status: int = 0, source: str = PROGRAM) -> list[str]:
    return [sys.executable, "-c", source, f"{base}/v1/x", str(status)]


@pytest.fixture(params=[[], ["--no-enclosure"]], ids=["enclosed", "beside"])
def road(request: pytest.FixtureRequest) -> list[str]:
    return request.param


def recorded(folder: Path, base: str, road: list[str]) -> str:
    """Record the program; its output. (`NAME=URL` names a service on a port of its own.)"""
    done = provtape(folder, "record", *road, "--route", f"up={base}", "--no-code", "--", *program(base))
    assert done.returncode == 0, done.stderr
    assert "4 recorded" in done.stderr
    return done.stdout


def test_a_program_is_recorded_and_replayed_with_nobody_listening(
    tmp_path: Path, upstream: str, road: list[str]
) -> None:
    live = recorded(tmp_path, upstream, road)
    before = Upstream.answered
    again = provtape(tmp_path, "replay", *road, "--", *program(upstream, 3))
    assert (again.stdout, again.returncode) == (live, 3)
    assert Upstream.answered == before
    records = [json.loads(line) for line in (tmp_path / "run.jsonl").read_text().splitlines()]
    assert records[1]["capture"]["enclosed"] == (not road)
    assert all("authorization" not in dict(record["request"]["headers"]) for record in records[2:])


def test_a_changed_question_is_a_loud_miss(tmp_path: Path, upstream: str) -> None:
    recorded(tmp_path, upstream, [])
    changed = PROGRAM.replace('"b"', '"c"')
    done = provtape(
        tmp_path,
        "replay",
        "--",
        *program(upstream, 0, f"try:\n  exec({changed!r})\nexcept OSError:\n  pass\n"),
    )
    assert done.returncode == 1
    assert "[-b-]{+c+}" in done.stderr


def test_a_call_goes_on_with_auto(tmp_path: Path, upstream: str) -> None:
    live = recorded(tmp_path, upstream, [])
    more = PROGRAM.replace('"a", "b", "a"', '"a", "new"')
    words = ["record", "--auto", "--route", f"up={upstream}", "--no-code", "--", *program(upstream, 0, more)]
    done = provtape(tmp_path, *words)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[0] == live.splitlines()[0]
    assert len((tmp_path / "run.jsonl").read_text().splitlines()) == 8  # open, run, 4, run, 1


def test_zero_served_is_no_success_and_the_childs_status_is_passed_on(tmp_path: Path, upstream: str) -> None:
    recorded(tmp_path, upstream, [])
    idle = provtape(tmp_path, "replay", "--", sys.executable, "-c", "pass")
    assert (idle.returncode, "nothing was served" in idle.stderr) == (1, True)
    assert provtape(tmp_path, "replay", "--", "no-such-program").returncode == 127
    again = provtape(tmp_path, "record", "--", sys.executable, "-c", "pass")
    assert (again.returncode, "never overwrites" in again.stderr) == (125, True)
    nothing = provtape(
        tmp_path, "record", "other.jsonl", "--no-code", "--", sys.executable, "-c", "raise SystemExit(5)"
    )
    assert (nothing.returncode, "no call was recorded" in nothing.stderr) == (5, True)


def test_a_cassette_is_served_to_reviewers(tmp_path: Path, upstream: str) -> None:
    recorded(tmp_path, upstream, [])
    server = subprocess.Popen(
        [*PROVTAPE, "serve", "--port", "0"], cwd=tmp_path, stderr=subprocess.PIPE, text=True
    )
    assert server.stderr is not None
    said = ""
    while "http://" not in said:
        said = server.stderr.readline()
        assert said, "the server ended"
    base = said.split(" on ")[1].split()[0]

    def ask(question: str) -> dict[str, object]:
        request = urllib.request.Request(f"{base}/v1/x", json.dumps({"q": question}).encode())
        request.add_header("content-type", "application/json")
        with urllib.request.urlopen(request, timeout=20) as answer:
            return json.loads(answer.read())

    try:
        numbers = [ask("a")["number"] for _ in range(4)]
        assert numbers == [numbers[0], numbers[1]] * 2  # recorded twice, then round again
        assert numbers[0] != numbers[1]
        with pytest.raises(urllib.error.HTTPError) as miss:
            ask("never asked")
        with miss.value:
            assert miss.value.code == 422
            assert json.loads(miss.value.read())["error"]["type"] == "provtape_miss"
    finally:
        os.kill(server.pid, signal.SIGTERM)
        server.wait(20)
        server.stderr.close()
    assert server.returncode == 0
