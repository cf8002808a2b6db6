"""The tree id of a work tree as it is, made beside the repository and never in it.

Decides what belongs to the tree: what git would add now, untracked files included, ignored and excluded ones not. Content
decides; no flag and no cached stat of the user's index is believed. Not decided here: what is said about it (`worktree`).

The user's index is only read, as a list. A temporary index starts as the commit and takes that list, without flags and
stats, so git must read every file, and writes only what is new, to a temporary directory that borrows the repository's
objects. (Where git is about to write an object that is there already, it renews that file's time; it touches no more.)
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from provtape.errors import ProvenanceError
from provtape.provenance.git import Git, reason, shown, top

_GITLINK: Final = b"160000"
_UNREAD: Final = b"warning: could not open directory"


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A work tree as it was: commit and tree ids in hex, and whether the tree is more or less than the commit's.

    `git` runs in the work tree's top and sees the tree's objects; it does so only while the snapshot is open.
    """

    commit: str
    tree: str
    dirty: bool
    git: Git = field(repr=False)


@dataclass(frozen=True, slots=True)
class _Entry:
    """One line of an index or tree: mode in octal, object id in hex, stage."""

    mode: bytes
    oid: bytes
    stage: bytes = b"0"

    def line(self, path: bytes) -> bytes:
        return b"%s %s %s\t%s\0" % (self.mode, self.oid, self.stage, path)


# A path has several entries while a merge is not finished.
_Listing = dict[bytes, tuple[_Entry, ...]]


@contextmanager
def snapshot(root: Path, exclude: Sequence[Path] = ()) -> Iterator[Snapshot]:
    """The work tree whose top is `root`, as it is now.

    Args:
        root: The top of a work tree, as `git.top` gives it.
        exclude: Files that are no part of the tree; a tracked one stays as in the commit.

    Raises:
        ProvenanceError: There is no commit yet, or git can not take a file in.
    """
    with ExitStack() as stack:
        try:
            scratch = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="provtape-")))
            taken = _take(root, scratch, exclude)
        except OSError as error:
            raise ProvenanceError(
                f"the work tree at {shown(root)} can not be read: {error.strerror}"
            ) from None
        yield taken


def _take(root: Path, scratch: Path, exclude: Sequence[Path]) -> Snapshot:
    # The temporary directory may well lie inside the work tree that is looked at.
    outside = _relative(root, [*exclude, scratch])
    plain = Git(root)
    commit = _commit(plain)
    committed, listed = _tree(plain, commit), _index(plain)
    git = replace(plain, variables=_aside(plain, scratch), options=("-c", "core.sparseCheckout=false"))
    git.run("read-tree", commit)
    _turn(git, committed, listed)
    left_out = _left_out(plain, git, root, listed)
    _add(git, [path for path in outside if not _below_gitlink(path, listed)])
    added = _index(git)
    wanted = {path: entry for path, entry in added.items() if not _covered(path, outside)}
    wanted |= {path: listed[path] for path in left_out}
    wanted |= {path: entry for path, entry in committed.items() if _covered(path, outside)}
    changed, gitlinks = _follow_submodules(root, wanted, exclude)
    _turn(git, added, wanted | gitlinks)
    tree = git.run("write-tree", "--missing-ok").decode().strip()
    own = plain.run("rev-parse", "--verify", f"{commit}^{{tree}}").decode().strip()
    return Snapshot(commit, tree, changed or tree != own, git)


def _commit(git: Git) -> str:
    status, _ = git.status("rev-parse", "--quiet", "--verify", "HEAD^{commit}")
    if status:
        raise ProvenanceError(
            f"the repository at {shown(git.directory)} has no commit", "commit first, or record without code"
        )
    return git.run("rev-parse", "--verify", "HEAD^{commit}").decode().strip()


def _index(git: Git) -> _Listing:
    """The paths of an index with their entries, flags and stats left behind."""
    found: _Listing = {}
    for line in git.run("ls-files", "--stage", "--full-name", "-z").split(b"\0")[:-1]:
        head, _, path = line.partition(b"\t")
        mode, oid, stage = head.split(b" ")
        found[path] = (*found.get(path, ()), _Entry(mode, oid, stage))
    return found


def _tree(git: Git, commit: str) -> _Listing:
    """The paths of a commit's tree with their entries."""
    found: _Listing = {}
    for line in git.run("ls-tree", "-r", "-z", "--full-tree", commit).split(b"\0")[:-1]:
        head, _, path = line.partition(b"\t")
        mode, _, oid = head.split(b" ")
        found[path] = (_Entry(mode, oid),)
    return found


def _turn(git: Git, now: _Listing, then: _Listing) -> None:
    """Change the temporary index from one listing to another, and only where they differ: removals first."""
    changed = sorted(path for path in now.keys() | then.keys() if now.get(path) != then.get(path))
    removals = [replace(now[path][0], mode=b"0", stage=b"0").line(path) for path in changed if path in now]
    additions = [entry.line(path) for path in changed for entry in then.get(path, ())]
    if changed:
        git.run("update-index", "-z", "--index-info", stdin=b"".join(removals + additions))


def _aside(git: Git, scratch: Path) -> dict[str, str]:
    """The variables that keep index and new objects in a scratch directory."""
    (scratch / "objects").mkdir()
    named = git.run("rev-parse", "--git-path", "objects").removesuffix(b"\n")
    objects = os.path.join(os.fsencode(git.directory), named)
    quoted = b'"' + objects.replace(b"\\", b"\\\\").replace(b'"', b'\\"') + b'"'
    return {
        "GIT_INDEX_FILE": str(scratch / "index"),
        "GIT_OBJECT_DIRECTORY": str(scratch / "objects"),
        "GIT_ALTERNATE_OBJECT_DIRECTORIES": os.fsdecode(quoted),
    }


def _left_out(plain: Git, git: Git, root: Path, listed: _Listing) -> list[bytes]:
    """Paths that a sparse checkout leaves out by its patterns and that are indeed not there.

    The patterns decide, not the skip-worktree bit, which anybody can set on any file.
    """
    asked = plain.run("config", "--type=bool", "--get", "core.sparseCheckout", accept=(0, 1))
    named = plain.run("rev-parse", "--git-path", "info/sparse-checkout").removesuffix(b"\n")
    base = os.fsencode(root)
    patterns = os.path.join(base, named)
    if asked.strip() != b"true" or not os.path.isfile(patterns):
        return []
    wanted = git.run("ls-files", "--cached", "--ignored", "-z", b"--exclude-from=" + patterns)
    kept = frozenset(wanted.split(b"\0"))
    return [path for path in listed if path not in kept and not os.path.lexists(os.path.join(base, path))]


def _add(git: Git, outside: Iterable[bytes]) -> None:
    """Take the work tree into the temporary index, as `git add --all` does."""
    # Refreshed first: files equal to their entry are then not written again, which would touch the repository's packs.
    git.run("update-index", "-q", "--unmerged", "--ignore-submodules", "--really-refresh", accept=(0, 1))
    minus = [b":(top,exclude,literal)" + path for path in outside]
    status, said = git.status("add", "--all", "--", ":(top)", *minus)
    if status or _UNREAD in said:
        raise ProvenanceError(
            f"git can not take in the work tree at {shown(git.directory)}: {reason(said)}",
            "make it readable, commit it where it belongs, or ignore it; or record without code",
        )


def _follow_submodules(root: Path, wanted: _Listing, exclude: Sequence[Path]) -> tuple[bool, _Listing]:
    """Whether a submodule is dirty by the same test, and every gitlink with the commit that is checked out there."""
    dirty = False
    found: _Listing = {}
    for path in [path for path, entries in wanted.items() if entries[0].mode == _GITLINK]:
        directory = root / os.fsdecode(path)
        if directory.is_symlink() or not directory.is_dir():
            continue
        real = Path(os.path.realpath(directory))
        if not os.path.lexists(directory / ".git") or top(directory) != real:
            # Not checked out here. Files here belong to no repository's tree, so they can only be called dirt.
            dirty = dirty or any(directory.iterdir())
            continue
        with snapshot(real, exclude) as inner:
            dirty = dirty or inner.dirty
            found[path] = (_Entry(_GITLINK, inner.commit.encode()),)
    return dirty, found


def _relative(root: Path, paths: Iterable[Path]) -> list[bytes]:
    """Those paths that lie below the top, relative to it: a file, and if its name is a link, what it leads to."""
    found = set()
    for path in paths:
        for real in (Path(os.path.realpath(path.parent), path.name), Path(os.path.realpath(path))):
            if real != root and real.is_relative_to(root):
                found.add(os.fsencode(real.relative_to(root)))
    return sorted(found)


def _covered(path: bytes, outside: Iterable[bytes]) -> bool:
    return any(path == one or path.startswith(one + b"/") for one in outside)


def _below_gitlink(path: bytes, listed: _Listing) -> bool:
    return any(entries[0].mode == _GITLINK and path.startswith(one + b"/") for one, entries in listed.items())
