"""Repositories made by the real git, with nothing of this machine's configuration in them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from gitstage import Repository, make


@pytest.fixture(autouse=True)
def _own_configuration(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith("GIT_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path_factory.mktemp("home")))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", "/dev/null")
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")


@pytest.fixture
def empty(tmp_path: Path) -> Repository:
    """A repository without a commit."""
    return make(tmp_path / "work")


@pytest.fixture
def repository(empty: Repository) -> Repository:
    """A benchmark under version control: two files, one commit, nothing changed since."""
    empty.write("bench.py", "print(42)\n")
    empty.write("data/items.txt", "one\ntwo\n")
    empty.write(".gitignore", "*.cache\n")
    empty.commit()
    return empty


@pytest.fixture
def library(tmp_path: Path) -> Repository:
    """Another repository, to be a submodule."""
    made = make(tmp_path / "library")
    made.write("lib.py", "one = 1\n")
    made.commit()
    return made
