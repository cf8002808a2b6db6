"""The story of `code`: an author changes something, in any way git knows to hide it, and the tree says so."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from gitstage import Repository, make

from provtape.errors import ProvenanceError
from provtape.format.record import Code
from provtape.provenance.worktree import code, patch, with_evidence, without_userinfo


def told(repository: Repository, *exclude: Path) -> Code:
    found = code(repository.path, exclude)
    assert found is not None
    return found


def tree_of_files(repository: Repository, tmp_path: Path) -> str:
    """The tree id that git gives the same files in a repository that has never seen them."""
    fresh = make(tmp_path / "fresh")
    shutil.copytree(
        repository.path, fresh.path, symlinks=True, dirs_exist_ok=True, ignore=shutil.ignore_patterns(".git")
    )
    fresh.git("add", "--all")
    return fresh.git("write-tree").decode().strip()


def test_a_clean_work_tree_is_its_commit(repository: Repository) -> None:
    expected = Code(None, repository.head("HEAD"), repository.head("HEAD^{tree}"), False)

    assert told(repository) == expected
    assert code(repository.path / "data") == expected


def directory_to_file(repository: Repository) -> None:
    shutil.rmtree(repository.path / "data")
    repository.write("data", "now a file\n")


def file_to_directory(repository: Repository) -> None:
    (repository.path / "bench.py").unlink()
    repository.write("bench.py/inner.py", "now a directory\n")


@pytest.mark.parametrize(
    "change",
    [
        lambda r: r.write("bench.py", "print(43)\n"),
        lambda r: r.write("extra.py", "new\n"),
        lambda r: (r.path / "bench.py").unlink(),
        lambda r: (r.path / "bench.py").chmod(0o755),
        lambda r: shutil.rmtree(r.path / "data"),
        lambda r: (r.path / "link").symlink_to("/etc/hostname"),
        directory_to_file,
        file_to_directory,
        lambda r: r.write("deep/er/and/deeper.bin", bytes(range(256))),
    ],
    ids=["edit", "untracked", "delete", "mode", "delete-dir", "link", "dir-to-file", "file-to-dir", "binary"],
)
def test_every_change_gives_the_tree_of_the_files(
    repository: Repository, tmp_path: Path, change: object
) -> None:
    assert callable(change)
    change(repository)

    found = told(repository)

    assert found.dirty
    assert found.tree == tree_of_files(repository, tmp_path)
    assert found.commit == repository.head("HEAD")


def test_odd_names_are_names(repository: Repository, tmp_path: Path) -> None:
    base = os.fsencode(repository.path)
    for name in (
        b"new\nline",
        b"\xff\xfe",
        b"tab\there",
        b'"quoted"',
        b":(top)magic",
        b"*",
        b" blank ",
        b"-n",
    ):
        with open(os.path.join(base, name), "wb") as file:
            file.write(name)

    found = told(repository)

    assert found.tree == tree_of_files(repository, tmp_path)
    # and as excluded files they are literal, too: the star takes nothing else with it
    odd = [
        Path(os.fsdecode(os.path.join(base, name)))
        for name in (b":(top)magic", b"*", b"new\nline", b"\xff\xfe")
    ]
    for path in odd:
        path.unlink()
    assert told(repository).tree != found.tree
    left = told(repository).tree
    for path in odd:
        path.write_bytes(b"again")
    assert told(repository, *odd).tree == left


def test_ignored_files_are_no_part_unless_they_are_tracked(repository: Repository) -> None:
    repository.write("big.cache", "ignored\n")
    assert not told(repository).dirty

    repository.git("add", "--force", "big.cache")
    assert told(repository).dirty, "staged by force, so tracked"

    repository.git("commit", "--quiet", "--message", "tracked")
    assert not told(repository).dirty
    repository.write("big.cache", "changed\n")
    assert told(repository).dirty


@pytest.mark.parametrize("flag", ["--assume-unchanged", "--skip-worktree"])
def test_index_flags_hide_nothing(repository: Repository, tmp_path: Path, flag: str) -> None:
    repository.git("update-index", flag, "bench.py", "data/items.txt")
    repository.write("bench.py", "print('cheat')\n")
    (repository.path / "data/items.txt").unlink()
    assert repository.git("status", "--porcelain") == b"", "git itself is blind here"

    found = told(repository)

    assert found.dirty
    assert found.tree == tree_of_files(repository, tmp_path)


def test_a_stat_that_looks_the_same_hides_nothing(repository: Repository, tmp_path: Path) -> None:
    path = repository.path / "bench.py"
    os.utime(path, ns=(10**18, 10**18))
    repository.git("config", "core.trustctime", "false")
    repository.git("config", "core.checkStat", "minimal")
    repository.git("update-index", "--refresh")
    path.write_bytes(b"print(43)\n")
    os.utime(path, ns=(10**18, 10**18))
    assert repository.git("status", "--porcelain") == b"", "git itself is blind here"

    assert told(repository).tree == tree_of_files(repository, tmp_path)
    assert told(repository).dirty


def test_configuration_hides_nothing_and_runs_nothing(repository: Repository, tmp_path: Path) -> None:
    trace = tmp_path / "ran"
    monitor = tmp_path / "hooks" / "monitor"
    monitor.parent.mkdir()
    for name in ("monitor", "post-index-change", "pre-commit", "post-checkout"):
        (monitor.parent / name).write_text(f"#!/bin/sh\ntouch '{trace}'\nexit 0\n")
        (monitor.parent / name).chmod(0o755)
    for name, value in {
        "core.ignoreStat": "true",
        "core.fsmonitor": str(monitor),
        "core.hooksPath": str(monitor.parent),
        "core.untrackedCache": "true",
        "core.splitIndex": "true",
        "core.safecrlf": "true",
        "status.showUntrackedFiles": "no",
        "add.ignoreErrors": "true",
        "core.pager": f"touch '{trace}'",
    }.items():
        repository.git("config", name, value)
    repository.write("bench.py", "print(43)\n")
    repository.write("extra.py", "new\n")
    trace.unlink(missing_ok=True)

    found = told(repository)

    assert found.dirty
    assert not trace.exists()
    assert found.tree == tree_of_files(repository, tmp_path)


def test_the_caller_s_environment_points_git_nowhere_else(
    repository: Repository, library: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    honest = told(repository)
    monkeypatch.setenv("GIT_DIR", str(library.path / ".git"))
    monkeypatch.setenv("GIT_WORK_TREE", str(library.path))
    monkeypatch.setenv("GIT_INDEX_FILE", str(library.path / ".git/index"))
    monkeypatch.setenv("GIT_LITERAL_PATHSPECS", "1")
    monkeypatch.setenv("GIT_CONFIG_COUNT", "1")
    monkeypatch.setenv("GIT_CONFIG_KEY_0", "remote.origin.url")
    monkeypatch.setenv("GIT_CONFIG_VALUE_0", "https://elsewhere.example")

    assert told(repository) == honest


def test_replaced_objects_are_not_believed(repository: Repository) -> None:
    first = repository.head("HEAD")
    repository.write("bench.py", "print(43)\n")
    second = repository.commit()
    honest = told(repository)
    repository.git("replace", second, first)

    assert told(repository) == honest
    assert not honest.dirty


def test_the_repository_is_only_read(repository: Repository, tmp_path: Path) -> None:
    repository.git("repack", "-a", "-d", "--quiet")
    repository.write("bench.py", "print(43)\n")
    repository.write("extra.bin", os.urandom(3000))
    repository.git("add", "--intent-to-add", "extra.bin")
    repository.age()
    before = repository.inside()

    found = told(repository)
    assert patch(repository.path, found)

    assert repository.inside() == before


def test_what_is_staged_already_is_only_read(repository: Repository) -> None:
    repository.write("bench.py", "print(43)\n")
    repository.git("add", "bench.py")
    before = {name: content for name, (_, content) in repository.inside().items()}

    assert told(repository).dirty

    assert {name: content for name, (_, content) in repository.inside().items()} == before


def test_a_staged_change_that_is_not_in_the_files_does_not_count(repository: Repository) -> None:
    honest = told(repository)
    repository.write("bench.py", "print(43)\n")
    repository.git("add", "bench.py")
    repository.write("bench.py", "print(42)\n")
    repository.git("rm", "--quiet", "--cached", "data/items.txt")

    assert told(repository) == honest


def test_a_merge_that_is_not_finished_is_what_lies_there(repository: Repository, tmp_path: Path) -> None:
    repository.git("checkout", "--quiet", "-b", "side")
    repository.write("bench.py", "print('side')\n")
    repository.commit()
    repository.git("checkout", "--quiet", "-")
    repository.write("bench.py", "print('main')\n")
    repository.commit()
    merge = subprocess.run(["git", "merge", "side"], cwd=repository.path, capture_output=True, check=False)
    assert merge.returncode == 1, "a conflict, as wanted"

    found = told(repository)

    assert found.dirty
    assert found.tree == tree_of_files(repository, tmp_path)


def test_the_cassette_and_its_evidence_are_no_part(repository: Repository) -> None:
    honest = told(repository)
    cassette = repository.write("runs/run.jsonl", "{}\n")
    for path in with_evidence(cassette)[1:]:
        path.write_bytes(b"evidence")
    scores = repository.write("scores.json", "{}\n")

    assert told(repository).dirty
    assert told(repository, *with_evidence(cassette)).dirty, "the scores are still there"
    assert told(repository, *with_evidence(cassette), scores) == honest


def test_a_tracked_cassette_stays_as_committed(repository: Repository) -> None:
    cassette = repository.write("run.jsonl", "old\n")
    repository.commit()
    honest = told(repository)
    assert not honest.dirty

    for change in (lambda: cassette.write_bytes(b"new\n"), cassette.unlink, lambda: cassette.mkdir()):
        change()
        assert told(repository, cassette) == honest
    (cassette / "inner").write_bytes(b"below")
    assert told(repository, cassette) == honest
    repository.git("add", "--all")
    assert told(repository, cassette) == honest, "staged or not"


def test_excluded_through_links_and_from_elsewhere(
    repository: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    honest = told(repository)
    (tmp_path / "alias").symlink_to(repository.path, target_is_directory=True)
    repository.write("run.jsonl", "{}\n")
    monkeypatch.chdir(repository.path / "data")

    assert told(repository, Path("../run.jsonl"), tmp_path / "elsewhere.json") == honest
    assert told(repository, tmp_path / "alias" / "run.jsonl") == honest
    assert code(tmp_path / "alias", [tmp_path / "alias" / "run.jsonl"]) == honest

    (repository.path / "other.jsonl").symlink_to("run.jsonl")
    assert told(repository, repository.path / "other.jsonl") == honest, "the link and what it leads to"


def test_a_temporary_directory_inside_the_work_tree_is_not_seen(
    repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    honest = told(repository)
    inside = repository.path / "tmp"
    inside.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(inside))

    assert told(repository) == honest
    assert list(inside.iterdir()) == []


def test_a_second_work_tree_is_its_own(repository: Repository, tmp_path: Path) -> None:
    repository.git("worktree", "add", "--quiet", str(tmp_path / "second"))
    second = Repository(tmp_path / "second")
    assert told(second) == told(repository)

    second.write("bench.py", "print(43)\n")
    second.age()
    repository.age()
    before = repository.inside()

    assert told(second).dirty
    assert not told(repository).dirty
    assert repository.inside() == before


@pytest.mark.parametrize("options", [("--cone",), ("--cone", "--sparse-index"), ("--no-cone",)])
def test_a_sparse_checkout_is_clean_until_something_changes(
    repository: Repository, options: tuple[str, ...]
) -> None:
    repository.write("kept/a.txt", "a\n")
    repository.write("left/b.txt", "b\n")
    repository.commit()
    honest = told(repository)
    repository.git("sparse-checkout", "set", *options, "kept")
    assert not (repository.path / "left").exists()
    assert told(repository) == honest

    repository.write("left/b.txt", "changed out of sight\n")
    assert told(repository).dirty
    (repository.path / "left/b.txt").unlink()
    assert told(repository) == honest

    repository.git("update-index", "--skip-worktree", "kept/a.txt")
    (repository.path / "kept/a.txt").unlink()
    assert told(repository).dirty, "the patterns say it belongs here, whatever its bit says"


def test_line_endings_and_filters_are_git_s_own(repository: Repository) -> None:
    repository.write(".gitattributes", "*.txt text\n*.up filter=up\n")
    repository.git("config", "core.autocrlf", "true")
    repository.git("config", "filter.up.clean", "tr a-z A-Z")
    repository.write("word.up", "word\n")
    repository.commit()
    repository.write("data/items.txt", "one\r\ntwo\r\n")

    assert not told(repository).dirty, "git would store the same bytes"
    repository.write("word.up", "WoRd\n")
    assert not told(repository).dirty
    repository.write("word.up", "other\n")
    assert told(repository).dirty


def test_a_required_filter_that_fails_is_said(repository: Repository) -> None:
    repository.write(".gitattributes", "*.up filter=up\n")
    repository.git("config", "filter.up.clean", "false")
    repository.git("config", "filter.up.required", "true")
    repository.write("word.up", "word\n")

    with pytest.raises(ProvenanceError, match="can not take in the work tree") as caught:
        told(repository)
    assert caught.value.hint is not None
    assert "\n" not in str(caught.value)


def with_submodule(repository: Repository, library: Repository) -> Repository:
    repository.git("submodule", "--quiet", "add", str(library.path), "vendored/library")
    repository.commit()
    return Repository(repository.path / "vendored/library")


@pytest.mark.parametrize("ignore", ["none", "all"])
def test_a_dirty_submodule_is_dirt(repository: Repository, library: Repository, ignore: str) -> None:
    inner = with_submodule(repository, library)
    repository.git("config", "submodule.vendored/library.ignore", ignore)
    honest = told(repository)
    assert not honest.dirty

    inner.git("update-index", "--assume-unchanged", "lib.py")
    inner.write("lib.py", "one = 2\n")
    found = told(repository)
    assert found.dirty
    assert found.tree == honest.tree, "what is inside a submodule is in no tree"
    assert patch(repository.path, found) == b""

    inner.git("update-index", "--no-assume-unchanged", "lib.py")
    inner.git("-c", "user.name=A", "-c", "user.email=a@lab.example", "commit", "--quiet", "-am", "moved on")
    moved = told(repository)
    assert moved.dirty
    assert moved.tree != honest.tree, "another commit of it is another tree"
    assert f"Subproject commit {inner.head('HEAD')}".encode() in patch(repository.path, moved)


def test_submodules_of_submodules_are_followed(
    repository: Repository, library: Repository, tmp_path: Path
) -> None:
    deepest = make(tmp_path / "deepest")
    deepest.write("core.py", "pass\n")
    deepest.commit()
    library.git("submodule", "--quiet", "add", str(deepest.path), "deepest")
    library.commit()
    with_submodule(repository, library)
    repository.git("submodule", "--quiet", "update", "--init", "--recursive")
    assert not told(repository).dirty

    cassette = repository.write("vendored/library/deepest/run.jsonl", "{}\n")

    assert told(repository).dirty
    assert not told(repository, cassette).dirty


def test_a_submodule_that_is_not_checked_out(
    repository: Repository, library: Repository, tmp_path: Path
) -> None:
    with_submodule(repository, library)
    repository.git("clone", "--quiet", str(repository.path), str(tmp_path / "clone"))
    clone = Repository(tmp_path / "clone")
    assert not told(clone).dirty

    clone.write("vendored/library/lib.py", "one = 3\n")
    assert clone.git("status", "--porcelain") == b"", "git itself is blind here"
    assert told(clone).dirty

    (clone.path / "vendored/library/.git").mkdir()
    with pytest.raises(ProvenanceError, match="not recognized"):
        told(clone)


def test_a_submodule_whose_files_are_said_to_be_elsewhere(
    repository: Repository, library: Repository, tmp_path: Path
) -> None:
    inner = with_submodule(repository, library)
    shutil.copytree(inner.path, tmp_path / "decoy", ignore=shutil.ignore_patterns(".git"))
    inner.git("config", "core.worktree", str(tmp_path / "decoy"))
    inner.write("lib.py", "one = 4\n")

    assert told(repository).dirty


def test_a_nested_repository_counts_like_a_submodule(repository: Repository) -> None:
    nested = make(repository.path / "nested")
    nested.write("a.py", "a\n")
    with pytest.raises(ProvenanceError, match="nested"):
        told(repository)

    commit = nested.commit()
    found = told(repository)
    assert found.dirty
    assert f"Subproject commit {commit}".encode() in patch(repository.path, found)

    nested_cassette = nested.write("run.jsonl", "{}\n")
    assert told(repository, nested_cassette) == found


def test_where_there_is_no_repository_there_is_no_code(tmp_path: Path) -> None:
    assert code(tmp_path) is None


def test_no_commit_no_work_tree_no_git_no_directory(
    repository: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    unborn = make(tmp_path / "unborn")
    with pytest.raises(ProvenanceError, match="has no commit") as caught:
        told(unborn)
    assert caught.value.hint == "commit first, or record without code"
    with pytest.raises(ProvenanceError, match="must be run in a work tree"):
        code(repository.path / ".git")
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / ".git").write_text("gitdir: /nowhere\n")
    with pytest.raises(ProvenanceError, match="git refuses"):
        code(tmp_path / "broken")
    with pytest.raises(ProvenanceError, match="not a directory"):
        code(tmp_path / "missing")
    monkeypatch.setenv("PATH", str(tmp_path / "nothing"))
    with pytest.raises(ProvenanceError, match="git can not be started"):
        told(repository)


def test_a_work_tree_at_an_odd_place(tmp_path: Path) -> None:
    odd = make(tmp_path / 'a:b "c"\\ d\nе\n')
    odd.write("bench.py", "print(42)\n")
    odd.commit()
    assert not told(odd).dirty

    odd.write("bench.py", "print(43)\n")
    found = told(odd)
    assert found.dirty
    assert b"+print(43)" in patch(odd.path, found)


def test_a_repository_with_long_ids(tmp_path: Path) -> None:
    long = make(tmp_path / "long", "--object-format=sha256")
    long.write("bench.py", "print(42)\n")
    long.commit()
    cassette = long.write("run.jsonl", "{}\n")
    found = told(long, cassette)
    assert len(found.commit) == len(found.tree) == 64
    assert not found.dirty


def test_the_patch_gives_the_recorded_tree_to_a_reviewer(repository: Repository, tmp_path: Path) -> None:
    repository.write("gone.txt", "gone\n")
    repository.write("noise.bin", os.urandom(5000))
    repository.write("plain.dat", "text\n")
    (repository.path / "link").symlink_to("bench.py")
    repository.commit()
    repository.git("config", "diff.noprefix", "true")
    repository.git("config", "diff.external", "false")
    repository.git("config", "diff.mnemonicPrefix", "true")
    repository.git("config", "color.ui", "always")
    repository.git("config", "core.quotePath", "false")
    repository.write("bench.py", "print(43)  \r\nno newline")
    repository.write("noise.bin", os.urandom(5000))
    repository.write("plain.dat", b"\0binary now\n")
    repository.write("tschüß\n.txt", "odd\n")
    repository.write("empty", "")
    (repository.path / "gone.txt").unlink()
    (repository.path / "link").unlink()
    repository.write("link/inner.sh", "#!/bin/sh\n").chmod(0o755)
    repository.write("run.jsonl", "{}\n")
    cassette = repository.path / "run.jsonl"
    found = told(repository, cassette)

    written = patch(repository.path, found, [cassette])

    repository.git("clone", "--quiet", str(repository.path), str(tmp_path / "reviewer"))
    reviewer = Repository(tmp_path / "reviewer")
    reviewer.git("checkout", "--quiet", found.commit)
    reviewer.git("apply", "--index", "--whitespace=nowarn", "-", stdin=written)
    assert reviewer.head("HEAD") == found.commit
    assert reviewer.git("write-tree").decode().strip() == found.tree
    assert (reviewer.path / "link/inner.sh").stat().st_mode & 0o100
    assert b"run.jsonl" not in written


def test_no_patch_for_another_tree(repository: Repository, tmp_path: Path) -> None:
    repository.write("bench.py", "print(43)\n")
    found = told(repository)
    repository.write("bench.py", "print(44)\n")
    with pytest.raises(ProvenanceError, match="no longer the recorded tree"):
        patch(repository.path, found)

    repository.write("bench.py", "print(43)\n")
    assert patch(repository.path, found)
    with pytest.raises(ProvenanceError, match="diff-tree failed"):
        patch(repository.path, Code(None, "0" * 39 + "1", found.tree, True))
    with pytest.raises(ProvenanceError, match="hex digits"):
        patch(repository.path, Code(None, "--output=/tmp/x", found.tree, True))
    with pytest.raises(ProvenanceError, match="in no git repository"):
        patch(tmp_path, found)


def test_the_remote_is_told_without_its_user(repository: Repository) -> None:
    assert told(repository).uri is None
    repository.git("remote", "add", "origin", "https://ada:token@host.example/lab/bench.git")
    assert told(repository).uri == "https://host.example/lab/bench.git"
    repository.git("config", "url.https://injected@host.example/.insteadOf", "https://host.example/")
    repository.git("remote", "set-url", "origin", "git@host.example:lab/bench.git")
    assert told(repository).uri == "host.example:lab/bench.git"


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        ("https://host.example/lab/x.git", "https://host.example/lab/x.git"),
        ("https://me@host.example/lab/x.git", "https://host.example/lab/x.git"),
        ("https://me:p%40ss@host.example:8443/x.git", "https://host.example:8443/x.git"),
        ("https://me:p@ss@host.example/x.git", "https://host.example/x.git"),
        ("https://host.example/@scope/x.git", "https://host.example/@scope/x.git"),
        ("ssh://git@[2001:db8::1]:22/x.git", "ssh://[2001:db8::1]:22/x.git"),
        ("git@[2001:db8::1]:x.git", "[2001:db8::1]:x.git"),
        ("me@corp@host.example:x.git", "host.example:x.git"),
        ("host.example:x.git", "host.example:x.git"),
        ("git@host.example:team@corp/x", "host.example:team@corp/x"),
        ("/srv/git/a@b:c.git", "/srv/git/a@b:c.git"),
        ("../bench", "../bench"),
        ("file:///srv/git/x.git", "file:///srv/git/x.git"),
        # where a name and a password can not be told apart safely, nothing is told
        ("https://me:pa/ss@host.example/x.git", None),
        ("https://me:12/ss@host.example/x.git", None),
        ("me:secret@host.example:x.git", None),
        ("ext::ssh -l me host.example %S x", None),
        ("https://host.example/\x1b[31m", None),
        ("https://host.example/\udcff", None),
        ("", None),
    ],
)
def test_addresses(address: str, expected: str | None) -> None:
    assert without_userinfo(address) == expected


def test_a_directory_that_can_not_be_read_is_said(repository: Repository) -> None:
    # Deeper than a path can be long: even root can not open it by name.
    step = os.open(repository.path, os.O_RDONLY)
    for _ in range(18):
        os.mkdir("d" * 250, dir_fd=step)
        deeper = os.open("d" * 250, os.O_RDONLY, dir_fd=step)
        os.close(step)
        step = deeper
    os.close(os.open("hidden.py", os.O_WRONLY | os.O_CREAT, dir_fd=step))
    os.close(step)

    with pytest.raises(ProvenanceError, match="can not take in the work tree"):
        told(repository)

    shutil.rmtree(repository.path / ("d" * 250))
    assert not told(repository).dirty


def test_a_partial_clone_asks_nobody_for_the_rest(repository: Repository, tmp_path: Path) -> None:
    repository.write("kept/a.txt", "a\n")
    repository.write("left/b.txt", "b\n")
    repository.commit()
    repository.git("config", "uploadpack.allowFilter", "true")
    options = ("--quiet", "--filter=blob:none", "--sparse", "--no-local")
    repository.git("clone", *options, f"file://{repository.path}", str(tmp_path / "partial"))
    partial = Repository(tmp_path / "partial")
    partial.git("sparse-checkout", "set", "kept")
    absent = repository.head("HEAD:left/b.txt")
    shown = ("git", "rev-list", "--objects", "--missing=print", "HEAD")
    listed = subprocess.run(shown, cwd=partial.path, capture_output=True, check=True).stdout
    assert f"?{absent}".encode() in listed, "that content is not here"

    assert not told(partial).dirty
    partial.write("kept/a.txt", "changed\n")
    found = told(partial)

    assert found.dirty
    assert b"+changed" in patch(partial.path, found)
    assert subprocess.run(shown, cwd=partial.path, capture_output=True, check=True).stdout == listed
