"""Whose code: what a `run` record says about the work tree that made it (DESIGN 2.1, spec C14).

Decides the four members of `code` and the patch that carries a dirty work tree. Not decided here: how the tree is made
(`snapshot`), and whether a dirty tree may be signed (`signing`).
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from provtape.errors import ProvenanceError
from provtape.format.record import Code
from provtape.format.suffix import BESIDE
from provtape.provenance.git import Git, shown, top
from provtape.provenance.snapshot import snapshot

_HEX: Final = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_URL: Final = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://([^/?#]*)(.*)", re.DOTALL)
_HOST: Final = re.compile(r"(\[[0-9A-Fa-f:.%]+\]|[^\[\]:@]*)(:[0-9]*)?")
_HELPER: Final = re.compile(r"[A-Za-z0-9+.-]+::")


def with_evidence(cassette: Path) -> tuple[Path, ...]:
    """The cassette and the files that provtape writes beside it: what every caller excludes from the tree."""
    return (cassette, *(cassette.with_name(cassette.name + suffix) for suffix in BESIDE))


def code(directory: Path, exclude: Iterable[Path] = ()) -> Code | None:
    """The code that a process started in this directory runs: commit, tree as it is now, and whether they differ.

    Untracked files are part of the tree, ignored ones are not. Repository, index and refs are only read.

    Args:
        directory: Any directory of the work tree; the whole work tree counts.
        exclude: Files that are not code: the cassette, its evidence (`with_evidence`), bound files. A tracked one
            counts as it is in the commit.

    Returns:
        None where there is no repository.

    Raises:
        ProvenanceError: git is missing or refuses, there is no commit, or a file can not be taken in.
    """
    root = top(directory)
    if root is None:
        return None
    with snapshot(root, tuple(exclude)) as taken:
        return Code(_origin(taken.git), taken.commit, taken.tree, taken.dirty)


def patch(directory: Path, code: Code, exclude: Iterable[Path] = ()) -> bytes:
    """The patch, binary files included, that leads from the commit's tree to the recorded tree.

    `git apply --index --whitespace=nowarn` on a checkout of the commit gives the tree `code.tree`. Changes inside a
    submodule are in no tree, so they are in no patch either; a patch of nothing has no bytes.

    Raises:
        ProvenanceError: The work tree is no longer the recorded tree, or `code` names no commit of this repository.
    """
    if not (_HEX.fullmatch(code.commit) and _HEX.fullmatch(code.tree)):
        raise ProvenanceError("code: commit or tree is not 40 or 64 hex digits")
    root = top(directory)
    if root is None:
        raise ProvenanceError(f"{shown(directory)} is in no git repository", "run where it was recorded")
    with snapshot(root, tuple(exclude)) as taken:
        if taken.tree != code.tree:
            hint = "bring back the files as they were, or record again"
            raise ProvenanceError(f"the work tree is no longer the recorded tree {code.tree[:12]}", hint)
        shape = (
            "-r",
            "-p",
            "--binary",
            "--full-index",
            "--no-renames",
            "--no-ext-diff",
            "--no-textconv",
            "--no-color",
        )
        return taken.git.run(
            "diff-tree", *shape, "--ignore-submodules=none", f"{code.commit}^{{tree}}", code.tree
        )


def _origin(git: Git) -> str | None:
    """The address of the remote `origin` as configured, without userinfo."""
    values = git.run("config", "--null", "--get-all", "remote.origin.url", accept=(0, 1)).split(b"\0")
    return without_userinfo(os.fsdecode(values[0]))


def without_userinfo(address: str) -> str | None:
    """A remote's address without user name and password; None if it is empty or they can not be told apart safely.

    >>> without_userinfo("https://me:secret@host.example/lab/bench.git")
    'https://host.example/lab/bench.git'
    >>> without_userinfo("git@host.example:lab/bench.git")
    'host.example:lab/bench.git'
    """
    if not address or not address.isprintable() or _HELPER.match(address):
        return None
    url = _URL.fullmatch(address)
    if url:
        host = url[2].rpartition("@")[2]
        # A password with a slash in it would end the host too early: then what follows holds the rest of it.
        told_apart = _HOST.fullmatch(host) and not (":" in host and "@" in url[3])
        return f"{url[1]}://{host}{url[3]}" if told_apart else None
    first, slash, rest = address.partition("/")
    if ":" not in first:
        return address
    host, colon, path = first.partition(":")
    if "@" in path and "@" not in host:
        return None
    return host.rpartition("@")[2] + colon + path + slash + rest
