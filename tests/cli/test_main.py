"""The command line as a stranger meets it: real processes, exit codes, one line for each error, one object for `--json`."""

from __future__ import annotations

import json
import os
import pty
import shutil
import subprocess
import sysconfig
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import jsonschema
import pytest

ROOT = Path(__file__).resolve().parents[2]
PROVTAPE = str(Path(sysconfig.get_path("scripts")) / "provtape")
CASES = ROOT / "spec" / "vectors" / "cases"
KEY = (CASES / "keys" / "alice.vkey").read_text("utf-8").strip()
SCHEMA = json.loads((ROOT / "spec" / "report.schema.json").read_text("utf-8"))
TUTORIAL = (
    b'{"prev": "genesis", "key": "0123456789abcdef", "output": "x", "meta": {}, "ts": 1, "hash": "00"}\n'
)

Done = subprocess.CompletedProcess[bytes]


def provtape(*arguments: str | bytes | Path, folder: Path | None = None, **environment: str) -> Done:
    """Run the installed command to its end; a command that waits for something is a failure."""
    return subprocess.run(
        [PROVTAPE, *arguments],
        cwd=folder,
        env=os.environ | environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=60,
        check=False,
    )


def report(done: Done) -> dict[str, Any]:
    """The one object on stdout; its exit code is that of the process."""
    assert done.stdout.endswith(b"}\n")
    assert done.stdout.count(b"\n") == 1
    value: dict[str, Any] = json.loads(done.stdout.decode("ascii"))
    jsonschema.validate(value, SCHEMA)
    assert value["exit"] == done.returncode
    return value


def codes(done: Done) -> list[str]:
    return [finding["code"] for finding in report(done)["findings"]]


def assert_one_error(done: Done) -> str:
    """One line in the house's voice, perhaps one hint, nothing on stdout; returns the line without its prefix."""
    assert (done.returncode, done.stdout) == (2, b"")
    first, *hints = done.stderr.decode("utf-8").splitlines()
    assert first.startswith("provtape: ")
    line = first.removeprefix("provtape: ")
    assert line[0] == line[0].lower()
    assert not line.endswith(".")
    assert len(hints) <= 1
    assert all(hint.startswith("  ") for hint in hints)
    return line


@pytest.fixture
def honest(tmp_path: Path) -> Path:
    """A signed cassette with its evidence, in a folder of its own."""
    shutil.copytree(CASES / "intact" / "plain", tmp_path / "published")
    return tmp_path / "published" / "cassette.jsonl"


@pytest.fixture
def private(tmp_path: Path) -> Path:
    path = tmp_path / "home" / "bob.key"
    path.parent.mkdir()
    assert provtape("keygen", "--name", "lab.example/bob", "--out", path).returncode == 0
    return path


def missing(path: Path) -> None:
    assert not path.exists()


BAD_INPUT: dict[str, tuple[Callable[[Path], object], str]] = {
    "missing": (missing, "input.unreadable"),
    "folder": (Path.mkdir, "input.unreadable"),
    "fifo": (os.mkfifo, "input.unreadable"),
    "device": (lambda path: path.symlink_to("/dev/zero"), "input.unreadable"),
    "loop": (lambda path: path.symlink_to(path.name), "input.unreadable"),
    "tutorial": (lambda path: path.write_bytes(TUTORIAL), "input.tutorial"),
}
BROKEN: dict[str, tuple[bytes, str]] = {
    "empty": (b"", "cassette.empty"),
    "half a line": (b'{"prev":"', "cassette.empty"),
    "noise": (bytes(range(256)) + b"\n", "record.start"),
    "zeros": (bytes(4096) + b"\n", "record.start"),
    "deep": (b"[" * 100_000 + b"\n", "record.start"),
    "only line feeds": (b"\n\n\n", "record.start"),
    "html": (b"<!doctype html>\n<title>404</title>\n", "record.start"),
}


# The four words and their exit codes.


def test_the_version_is_one_line() -> None:
    done = provtape("--version")
    assert (done.returncode, done.stdout.split()[0], done.stderr) == (0, b"provtape", b"")


def test_without_a_command_the_commands_are_listed_line_by_line() -> None:
    done = provtape()
    assert done.returncode == 2
    lines = (done.stdout + done.stderr).decode().splitlines()
    assert any(line.split()[:1] == ["verify"] for line in lines)


@pytest.mark.parametrize("command", ["keygen", "import", "show", "sign", "verify"])
def test_help_has_an_example(command: str) -> None:
    done = provtape(command, "--help")
    assert (done.returncode, done.stderr) == (0, b"")
    assert f"Example: provtape {command}".encode() in done.stdout


def test_a_signed_cassette_is_verified(honest: Path) -> None:
    done = provtape("verify", honest, "--pubkey", KEY)
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.splitlines()[0] == b"VERIFIED  cassette.jsonl"
    assert report(provtape("verify", honest, "--pubkey", KEY, "--json"))["verdict"] == "VERIFIED"


def test_one_byte_changed_is_failed_and_the_attack_stands_in_the_first_line(honest: Path) -> None:
    data = honest.read_bytes()
    assert data.count(b"Carbon dioxide.") == 1
    honest.write_bytes(data.replace(b"Carbon dioxide.", b"Carbon monoxide"))
    done = provtape("verify", honest, "--pubkey", KEY)
    assert (done.returncode, done.stdout.splitlines()[0]) == (1, b"FAILED  (edit)  cassette.jsonl")
    found = report(provtape("verify", honest, "--pubkey", KEY, "--json"))
    assert (found["verdict"], found["findings"][0]["code"], found["findings"][0]["record"]) == (
        "FAILED",
        "chain.prev",
        3,
    )


def test_without_a_key_it_is_unverified(honest: Path) -> None:
    done = provtape("verify", honest)
    assert (done.returncode, done.stdout.splitlines()[0]) == (3, b"UNVERIFIED  cassette.jsonl")
    assert codes(provtape("verify", honest, "--json")) == ["trust.no-key"]


def test_the_default_is_run_jsonl_in_this_folder(honest: Path) -> None:
    for file in list(honest.parent.glob("cassette.jsonl*")):
        file.rename(file.with_name(file.name.replace("cassette", "run")))
    done = provtape("verify", "--pubkey", KEY, "--only", "--json", folder=honest.parent)
    assert report(done)["facts"]["cassettes"][0]["name"] == "run.jsonl"


# What can not be read is no verdict.


@pytest.mark.parametrize("kind", BAD_INPUT)
def test_what_can_not_be_read_is_an_error(tmp_path: Path, kind: str) -> None:
    make, code = BAD_INPUT[kind]
    path = tmp_path / "given.jsonl"
    make(path)
    done = provtape("verify", path, "--pubkey", KEY)
    assert (done.returncode, done.stdout.splitlines()[0].split()[0]) == (2, b"ERROR")
    assert codes(provtape("verify", path, "--pubkey", KEY, "--json")) == [code]


@pytest.mark.parametrize("kind", [kind for kind in BAD_INPUT if kind != "tutorial"])
def test_show_and_sign_say_so_in_one_line(tmp_path: Path, private: Path, kind: str) -> None:
    path = tmp_path / "elsewhere" / "given.jsonl"
    path.parent.mkdir()
    BAD_INPUT[kind][0](path)
    assert "given.jsonl" in assert_one_error(provtape("show", path))
    assert "given.jsonl" in assert_one_error(provtape("sign", path, "--key", private))


def test_a_file_in_the_tutorials_format_is_named_and_so_is_the_way_in(tmp_path: Path, private: Path) -> None:
    path = tmp_path / "elsewhere" / "seed.jsonl"
    path.parent.mkdir()
    path.write_bytes(TUTORIAL)
    for done in (provtape("verify", path, "--pubkey", KEY), provtape("sign", path, "--key", private)):
        assert done.returncode == 2
        assert b"provtape import seed.jsonl" in done.stdout + done.stderr


@pytest.mark.parametrize("kind", BROKEN)
def test_what_is_no_cassette_fails_and_is_never_signed(tmp_path: Path, private: Path, kind: str) -> None:
    data, code = BROKEN[kind]
    path = tmp_path / "elsewhere" / "given.jsonl"
    path.parent.mkdir()
    path.write_bytes(data)
    done = provtape("verify", path, "--pubkey", KEY, "--json")
    assert (done.returncode, codes(done)[0]) == (1, code)
    assert "not signed" in assert_one_error(provtape("sign", path, "--key", private))
    assert [file.name for file in path.parent.iterdir()] == ["given.jsonl"]
    assert path.read_bytes() == data


@pytest.mark.parametrize("kind", BROKEN)
def test_show_shows_what_is_no_cassette_without_a_control_character(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "given.jsonl"
    path.write_bytes(BROKEN[kind][0])
    done = provtape("show", path)
    assert (done.returncode, done.stderr) == (0, b"")
    assert all(character.isprintable() or character == "\n" for character in done.stdout.decode())


@pytest.mark.parametrize("option", ["--manifest", "--checkpoints", "--seen"])
@pytest.mark.parametrize("kind", ["missing", "folder", "fifo"])
def test_evidence_that_was_named_and_can_not_be_read_is_an_error(
    honest: Path, option: str, kind: str
) -> None:
    path = honest.parent.parent / "evidence"
    BAD_INPUT[kind][0](path)
    done = provtape("verify", honest, "--pubkey", KEY, option, path, "--json")
    assert (done.returncode, codes(done)[0]) == (2, "input.unreadable")


# The command line that can not be understood.


@pytest.mark.parametrize(
    "arguments",
    [
        ["verify", "--nope"],
        ["verify", "a.jsonl", "b.jsonl"],
        ["verify", "--pubkey"],
        ["verify", "--expect-records", "many"],
        ["verify", "--workers", "0"],
        ["show", "run.jsonl", "third"],
        ["sign", "run.jsonl"],
        ["keygen"],
        ["launch"],
    ],
    ids=" ".join,
)
def test_a_command_that_can_not_be_understood(arguments: Sequence[str]) -> None:
    assert_one_error(provtape(*arguments))
    if arguments[0] in ("verify", "sign"):
        assert codes(provtape(arguments[0], "--json", *arguments[1:])) == ["usage"]


def test_expectations_of_one_cassette_do_not_go_with_a_manifest_of_two() -> None:
    manifest = CASES / "intact" / "two-cassettes" / "paper.intoto.jsonl"
    assert codes(provtape("verify", manifest, "--pubkey", KEY, "--expect-records", "6", "--json")) == [
        "usage"
    ]


# Keys.


@pytest.mark.parametrize(
    "text", ["junk", "", "a+b+c", KEY[:-1], KEY + "A", "ssh-rsa AAAA", "-----BEGIN PUBLIC KEY-----"]
)
def test_what_is_no_public_key_is_refused(honest: Path, text: str) -> None:
    assert_one_error(provtape("verify", honest, f"--pubkey={text}"))
    assert codes(provtape("verify", honest, f"--pubkey={text}", "--json")) == ["key.refused"]


@pytest.mark.parametrize("name", ["rsa.ssh", "small-order.vkey", "wrong-id.vkey"])
def test_a_public_key_that_nobody_may_trust_is_refused(honest: Path, name: str) -> None:
    assert codes(provtape("verify", honest, "--pubkey", CASES / "keys" / name, "--json")) == ["key.refused"]


def test_a_private_key_given_as_public_is_refused_and_not_repeated(honest: Path, private: Path) -> None:
    text = private.read_text("ascii")
    secret = text.splitlines()[1]
    for given in (str(private), text):
        done = provtape("verify", honest, f"--pubkey={given}")
        assert "private key" in assert_one_error(done)
        machine = provtape("verify", honest, f"--pubkey={given}", "--json")
        assert codes(machine) == ["key.refused"]
        assert secret.encode() not in done.stderr + machine.stdout + machine.stderr


def test_a_public_key_given_as_private_is_refused(honest: Path, private: Path) -> None:
    public = private.with_suffix(".pub")
    assert_one_error(provtape("sign", honest, "--key", public))
    public.chmod(0o600)  # else it is refused for being open to others
    assert "no private key" in assert_one_error(provtape("sign", honest, "--key", public))


def test_a_key_is_never_overwritten(private: Path) -> None:
    before = private.read_bytes()
    assert_one_error(provtape("keygen", "--name", "lab.example/bob", "--out", private))
    assert private.read_bytes() == before
    assert private.stat().st_mode & 0o777 == 0o600


def test_a_key_beside_the_cassette_is_used_and_said_to_lie_there(honest: Path) -> None:
    beside = honest.with_name("alice.pub")
    beside.write_text(KEY + "\n", "ascii")
    done = provtape("verify", honest, "--pubkey", beside)
    assert done.returncode == 0
    said, fingerprint = done.stderr.decode().splitlines()
    assert said.startswith("provtape: the key file lies beside the cassette")
    machine = provtape("verify", honest, "--pubkey", beside, "--json")
    assert report(machine)["facts"]["cassettes"][0]["covers"][0]["fingerprint"] == fingerprint.strip()


# Nobody reads the answer.


def without_stdout(*arguments: str) -> int:
    command = ["/bin/sh", "-c", 'exec "$@" >&-', "sh", PROVTAPE, *arguments]
    done = subprocess.run(command, stderr=subprocess.PIPE, timeout=60, check=False)
    assert b"Traceback" not in done.stderr
    return done.returncode


def into_closed_pipe(*arguments: str) -> int:
    reading, writing = os.pipe()
    os.close(reading)
    try:
        done = subprocess.run(
            [PROVTAPE, *arguments], stdout=writing, stderr=subprocess.PIPE, timeout=60, check=False
        )
    finally:
        os.close(writing)
    assert b"Traceback" not in done.stderr
    return done.returncode


def into_full_disk(*arguments: str) -> int:
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            [PROVTAPE, *arguments], stdout=full, stderr=subprocess.PIPE, timeout=60, check=False
        )
    assert b"Traceback" not in done.stderr
    return done.returncode


@pytest.mark.parametrize("run", [without_stdout, into_closed_pipe, into_full_disk])
def test_a_verdict_that_nobody_can_read_is_exit_2(honest: Path, run: Callable[..., int]) -> None:
    data = honest.read_bytes()
    for cassette in (data, data.replace(b"Carbon dioxide.", b"Carbon monoxide")):
        honest.write_bytes(cassette)
        assert run("verify", str(honest), "--pubkey", KEY) == 2
        assert run("verify", str(honest), "--pubkey", KEY, "--json") == 2
    assert run("verify", str(honest.with_name("absent")), "--json") == 2
    assert run("show", str(honest)) == 2
    assert run("verify", "--nope", "--json") == 2


def test_without_stderr_the_verdict_is_still_told(honest: Path) -> None:
    command = ["/bin/sh", "-c", 'exec "$@" 2>&-', "sh", PROVTAPE, "verify", str(honest), "--pubkey", KEY]
    done = subprocess.run(command, stdout=subprocess.PIPE, timeout=60, check=False)
    assert (done.returncode, done.stdout.split()[0]) == (0, b"VERIFIED")


# What a terminal is shown.


def on_terminal(*arguments: str, **environment: str) -> str:
    """The output of a command whose stdout is a terminal."""
    ours, theirs = pty.openpty()
    try:
        variables = {name: value for name, value in os.environ.items() if name != "NO_COLOR"} | environment
        process = subprocess.Popen(
            [PROVTAPE, *arguments], stdin=theirs, stdout=theirs, stderr=theirs, env=variables
        )
        os.close(theirs)
        output = b""
        while True:
            try:
                output += os.read(ours, 4096) or b""
            except OSError:  # Linux says "input/output error" once the other side is closed
                break
        assert process.wait(60) in (0, 1)
    finally:
        os.close(ours)
    return output.decode()


def test_colour_is_for_terminals_only_and_no_color_is_honoured(honest: Path) -> None:
    asked = ("verify", str(honest), "--pubkey", KEY)
    assert on_terminal(*asked, TERM="xterm").startswith("\x1b[1;32mVERIFIED\x1b[0m")
    assert "\x1b" not in on_terminal(*asked, TERM="xterm", NO_COLOR="1")
    assert b"\x1b" not in provtape(*asked, TERM="xterm", FORCE_COLOR="1", CLICOLOR_FORCE="1").stdout


@pytest.mark.parametrize(
    "name", ["\x1b[2Jx.jsonl", "a\nVERIFIED.jsonl", "\u202ex.jsonl", "\u2028.jsonl"], ids=ascii
)
@pytest.mark.parametrize("there", [True, False])
def test_a_hostile_file_name_can_not_draw(honest: Path, name: str, there: bool) -> None:
    path = honest.with_name(name)
    if there:
        honest.rename(path)
    hidden = next(character for character in name if not character.isprintable())
    for arguments in (
        ("verify", str(path), "--pubkey", KEY),
        ("show", str(path) + "x"),
        ("show", str(path), "99"),
    ):
        done = provtape(*arguments)
        shown = (done.stdout + done.stderr).decode()
        assert f"\\u{{{ord(hidden):x}}}" in shown
        assert all(character.isprintable() or character == "\n" for character in shown)
        assert not any(line.startswith("VERIFIED.jsonl") for line in shown.splitlines())


def test_a_name_that_is_no_utf_8_is_still_one_json_object(honest: Path) -> None:
    path = os.fsencode(honest.parent) + b"/bad\xff.jsonl"
    os.rename(honest, path)
    done = provtape("verify", path, "--pubkey", KEY, "--json")
    name = report(done)["facts"]["cassettes"][0]["name"]
    assert name.encode("utf-8", "strict"), "a lone surrogate is no text for a strict reader"
    assert done.returncode == 3


def test_nothing_of_a_prompt_or_an_answer_is_in_a_verdict(honest: Path) -> None:
    data = honest.read_bytes()
    for cassette in (data, data.replace(b"Carbon dioxide.", b"Carbon monoxide"), data[:-40]):
        honest.write_bytes(cassette)
        for machine in ((), ("--json",)):
            done = provtape("verify", honest, "--pubkey", KEY, *machine)
            assert b"gas" not in done.stdout + done.stderr
            assert b"oxide" not in done.stdout + done.stderr


# The author's day, in commands.


def test_a_cassette_is_signed_by_a_second_key_and_shown(honest: Path, private: Path) -> None:
    assert report(provtape("sign", honest, "--key", private, "--json"))["verdict"] == "VERIFIED"
    bob = private.with_suffix(".pub")
    covers = report(provtape("verify", honest, "--pubkey", KEY, "--pubkey", bob, "--json"))["facts"][
        "cassettes"
    ][0]["covers"]
    assert [(key["name"], key["records"], key["manifest"]) for key in covers] == [
        ("lab.example/alice", 6, True),
        ("lab.example/bob", 6, True),
    ]
    assert "signed" in assert_one_error(provtape("sign", honest, "--key", private))
    assert len(provtape("show", honest).stdout.splitlines()) == 6
    assert b"Carbon dioxide." in provtape("show", honest, "2").stdout


def test_an_error_of_our_own_is_exit_2_and_one_line(tmp_path: Path) -> None:
    """A broken installation: a module of ours that can not be loaded any more."""
    package = tmp_path / "provtape"
    shutil.copytree(ROOT / "src" / "provtape", package, ignore=shutil.ignore_patterns("__pycache__", ".*"))
    (package / "verify" / "checks.py").write_text("raise RuntimeError('secret words')\n", "utf-8")
    line = assert_one_error(provtape("verify", "x.jsonl", PYTHONPATH=str(tmp_path)))
    assert "RuntimeError" in line
    assert "secret words" not in line
    assert codes(provtape("verify", "x.jsonl", "--json", PYTHONPATH=str(tmp_path))) == ["internal"]
