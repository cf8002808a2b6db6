"""The story of `environment`: enough to rebuild the machine's make, too little to find the machine."""

from __future__ import annotations

import getpass
import hashlib
import json
import os
import platform
import socket
from pathlib import Path

import pytest

from provtape.provenance import environment as room
from provtape.provenance.environment import environment


def part(told: dict[str, object], name: str) -> dict[str, str | None]:
    found = told[name]
    assert isinstance(found, dict)
    return found


def test_interpreter_and_platform(tmp_path: Path) -> None:
    told = environment(tmp_path)

    assert told["python"] == {
        "implementation": platform.python_implementation(),
        "version": platform.python_version(),
    }
    assert part(told, "platform")["system"] == platform.system()
    assert part(told, "platform")["machine"] == platform.machine()
    assert told["locks"] == {}
    assert list(told) == ["python", "platform", "locks"]


@pytest.mark.parametrize(
    ("release", "expected"),
    [
        ("6.1.0-18-amd64", "6.1"),
        ("23.5.0", "23.5"),
        ("10", "10"),
        ("5.15-build.of.ada@tower", "5.15"),
        ("odd", None),
    ],
)
def test_the_release_is_its_class(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, release: str, expected: str | None
) -> None:
    monkeypatch.setattr(platform, "release", lambda: release)
    assert part(environment(tmp_path), "platform")["release"] == expected


def test_no_host_no_user_no_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(socket, "gethostname", lambda: "tower-of-ada")
    monkeypatch.setattr(platform, "node", lambda: "tower-of-ada")
    monkeypatch.setenv("USER", "ada-at-work")
    monkeypatch.setenv("LOGNAME", "ada-at-work")
    assert getpass.getuser() == "ada-at-work"
    (tmp_path / "uv.lock").write_text("locked\n")

    told = json.dumps(environment(tmp_path))

    assert "tower-of-ada" not in told
    assert "ada-at-work" not in told
    assert str(tmp_path) not in told


def test_lock_files_of_the_root_by_digest(tmp_path: Path) -> None:
    names = [
        *("Pipfile.lock", "conda-lock.yml", "package-lock.json", "pdm.lock", "pnpm-lock.yaml", "poetry.lock"),
        *(
            "pylock.dev.toml",
            "pylock.toml",
            "requirements-dev.txt",
            "requirements.txt",
            "uv.lock",
            "yarn.lock",
        ),
    ]
    for name in [*names, "readme.txt", "my-uv.lock", "uv.lock.bak", "requirements\n.txt"]:
        (tmp_path / name).write_text(name)
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "poetry.lock").write_text("elsewhere")

    locks = part(environment(tmp_path), "locks")

    assert locks == {name: hashlib.sha256(name.encode()).hexdigest() for name in names}
    assert list(locks) == sorted(names)


def test_what_is_no_regular_file_is_there_but_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "secret").write_text("elsewhere\n")
    (tmp_path / "uv.lock").symlink_to("secret")
    (tmp_path / "poetry.lock").mkdir()
    os.mkfifo(tmp_path / "yarn.lock")
    with socket.socket(socket.AF_UNIX) as listening:
        monkeypatch.chdir(tmp_path)
        listening.bind("pdm.lock")
        locks = part(environment(tmp_path), "locks")

    assert locks == {"pdm.lock": None, "poetry.lock": None, "uv.lock": None, "yarn.lock": None}


def test_a_lock_file_has_a_largest_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room, "MAX_LOCK", 10)
    (tmp_path / "uv.lock").write_bytes(b"0123456789")
    (tmp_path / "pdm.lock").write_bytes(b"0123456789+")

    locks = part(environment(tmp_path), "locks")

    assert locks["pdm.lock"] is None
    assert locks["uv.lock"] == hashlib.sha256(b"0123456789").hexdigest()


def test_a_directory_that_is_not_there_locks_nothing(tmp_path: Path) -> None:
    assert part(environment(tmp_path / "missing"), "locks") == {}
