"""A captured command begins and ends as it would without provtape: environment, signals, status."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import IO

import pytest
from enclosure_stage import Stage

from provtape.capture.child import Child
from provtape.capture.namespace import Enclosure
from provtape.errors import CaptureError, NotStarted

BOTH = pytest.mark.parametrize("road", ["enclosed", "plain"])


@BOTH
@pytest.mark.parametrize(
    ("script", "status"),
    [
        ("exit 0", 0),
        ("exit 7", 7),
        ("kill -KILL $$", 128 + 9),
        ("kill -TERM $$", 128 + 15),
        ("kill -INT $$", 128 + 2),
    ],
)
def test_the_status_is_passed_on(stage: Stage, road: str, script: str, status: int) -> None:
    assert stage.run("sh", "-c", script, road=road).status == status


@BOTH
def test_a_command_that_is_not_there_is_127(stage: Stage, road: str) -> None:
    ended = stage.run("no-such-command", road=road)
    assert (ended.status, ended.output) == (127, "")
    assert ended.errors == "'no-such-command' can not be started: no such file or directory\n"


@BOTH
def test_a_command_that_can_not_be_executed_is_126(stage: Stage, road: str) -> None:
    path = stage.folder / "text.txt"
    path.write_text("not a program", "utf-8")
    ended = stage.run(str(path), road=road)
    assert ended.status == 126
    assert ended.errors == f"'{path}' can not be started: permission denied\n"


@pytest.mark.parametrize("kind", [Enclosure, Child])
def test_the_environment_is_the_one_that_was_given(kind: type[Child], tmp_path: Path) -> None:
    """The C locale among it, for which an interpreter in between would set another."""
    given = {"PATH": "/usr/bin:/bin", "LANG": "C", "ODD": "a=b\nc", "EMPTY": "", "BYTES": "\udcff"}
    output = tmp_path / "output"
    with (
        output.open("wb") as file,
        kind.start(["cat", "/proc/self/environ"], environment=given, stdout=file) as child,
    ):
        child.go()
        assert child.wait() == 0
    assert output.read_bytes().split(b"\0")[:-1] == [
        os.fsencode(f"{name}={value}") for name, value in given.items()
    ]


@pytest.mark.parametrize("kind", [Enclosure, Child])
def test_a_directory_that_is_not_there_is_125(kind: type[Child], tmp_path: Path) -> None:
    with pytest.raises(NotStarted, match="'true' can not be started: no such file or directory") as caught:
        kind.start(["true"], environment={}, cwd=tmp_path / "no")
    assert caught.value.status == 125


@pytest.mark.parametrize("kind", [Enclosure, Child])
def test_a_command_that_never_gets_go_never_runs(kind: type[Child], tmp_path: Path) -> None:
    path = tmp_path / "made"
    with kind.start(["touch", str(path)], environment={"PATH": "/usr/bin:/bin"}) as child:
        assert child.poll() is None
        with pytest.raises(TimeoutError, match="'touch' still runs"):
            child.wait(timeout=0)
    assert child.poll() == 128 + signal.SIGKILL
    assert not path.exists()


@pytest.mark.parametrize("kind", [Enclosure, Child])
def test_a_process_that_was_ended_before_go_is_125(kind: type[Child]) -> None:
    with kind.start(["true"], environment={"PATH": "/usr/bin:/bin"}) as child:
        child.send(signal.SIGKILL)
        assert child.wait() == 128 + signal.SIGKILL
        with pytest.raises(NotStarted, match="'true' can not be started: its process was ended") as caught:
            child.go()
    assert caught.value.status == 125


@pytest.mark.parametrize(
    "ports", [[53], [0], [65_536], range(1000, 1101)], ids=["names", "0", "65536", "101 ports"]
)
def test_ports_that_an_enclosure_can_not_have(ports: Sequence[int]) -> None:
    with pytest.raises(CaptureError, match="at most 100 ports"):
        Enclosure.start(["true"], environment={}, ports=ports)


def test_a_hundred_ports_are_had() -> None:
    with Enclosure.start(["true"], environment={}, ports=range(1000, 1100)) as enclosure:
        assert {port for _, port in enclosure.sockets} == set(range(1000, 1100))
        assert enclosure.enclosed


@BOTH
def test_no_signal_is_blocked_or_ignored_that_was_not_before(stage: Stage, road: str) -> None:
    """Seen by a program that is no Python, since Python ignores two signals by itself."""
    command = ["grep", "-E", "^Sig(Blk|Ign)", "/proc/self/status"]
    ended = stage.run(*command, road=road)
    assert ended.output == "SigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\n"


def test_what_nohup_ignores_stays_ignored(stage: Stage) -> None:
    driver = stage.driver("grep", "SigIgn", "/proc/self/status")
    output, _ = stage.outcome(["sh", "-c", 'trap "" HUP INT; exec "$@"', "sh", *driver])
    assert output == "SigIgn:\t0000000000000003\n"


COUNTING = r"""
import os, signal
def came(number, frame):
    os.write(1, signal.Signals(number).name.encode() + b"\n")
    if number == signal.SIGTERM:
        os._exit(9)
for number in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM):
    signal.signal(number, came)
os.write(1, b"ready\n")
while True:
    signal.pause()
"""


def lines(stream: IO[bytes], *expected: bytes) -> None:
    """Read exactly these lines."""
    assert [stream.readline().rstrip(b"\r\n") for _ in expected] == list(expected)


@BOTH
def test_signals_that_are_sent_to_provtape_reach_the_command_once_each(stage: Stage, road: str) -> None:
    with stage.start(stage.python, "-c", COUNTING, road=road) as process:
        assert process.stdout is not None
        lines(process.stdout, b"ready")
        process.send_signal(signal.SIGHUP)
        lines(process.stdout, b"SIGHUP")
        process.send_signal(signal.SIGINT)
        lines(process.stdout, b"SIGINT")
        process.send_signal(signal.SIGTERM)
        rest, _ = process.communicate(timeout=60)
    assert (rest, process.returncode) == (b"SIGTERM\n", 9)


@BOTH
def test_ctrl_c_reaches_the_command_once(stage: Stage, road: str) -> None:
    """The terminal sends it to both of us; ours must not be passed on. A signal is passed on after all that came before it."""
    ours, terminal = pty.openpty()
    foreground = "import fcntl, os, sys, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0); os.execvp(sys.argv[1], sys.argv[1:])"
    driver = stage.driver(stage.python, "-c", COUNTING, road=road)
    process = subprocess.Popen(
        [stage.python, "-c", foreground, *driver],
        env=stage.environment,
        cwd=stage.folder,
        stdin=terminal,
        stdout=subprocess.PIPE,
        start_new_session=True,
        **stage.identity(),
    )
    os.close(terminal)
    with process:
        assert process.stdout is not None
        lines(process.stdout, b"ready")
        os.write(ours, b"\x03")
        lines(process.stdout, b"SIGINT")
        process.send_signal(signal.SIGTERM)
        rest, _ = process.communicate(timeout=60)
    os.close(ours)
    assert (rest, process.returncode) == (b"SIGTERM\n", 9)
