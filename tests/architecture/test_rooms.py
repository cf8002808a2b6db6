"""The architecture is a dictionary. Arrows point down only; whoever changes it changes this file in the same commit."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from house import ROOT, Import, Source, called, room, sources

# Room: the rooms it may import. `errors` is open to all, and so are the version and the recorder's name in `provtape` itself.
ROOMS: dict[str, set[str]] = {
    "errors": set(),
    "verifier": set(),
    "format": set(),
    "dialects": {"format"},
    "wire": {"format", "dialects"},
    "matching": {"format"},
    "scrub": {"format"},
    "cassette": {"format"},
    "provenance": {"format"},
    "verify": {"format", "scrub", "cassette"},
    "session": {"format", "matching", "scrub", "cassette", "verify"},
    "capture": {"session", "wire", "provenance", "format", "cassette", "scrub"},
    "signing": {"format", "cassette", "scrub", "provenance", "verify"},
    "convert": {"format", "cassette", "session"},
}
BELOW = {
    "format",
    "dialects",
    "wire",
    "matching",
    "scrub",
    "cassette",
    "provenance",
    "verify",
    "session",
    "signing",
    "convert",
    "capture",
}
# The roof: nobody imports it. One command starts the tour, and one module starts the command line.
ROOMS |= {"demo": BELOW, "cli": BELOW | {"demo"}, "__main__": {"cli"}}
# The package itself hands out public names, lazily.
ROOMS["provtape"] = {"session", "provenance", "format"}

# Room: what it may import that is neither ours nor Python's.
LIBRARIES: dict[str, set[str]] = {
    "format": {"cryptography", "orjson"},
    "provenance": {"cryptography"},
    "capture": {"cryptography"},
    "verify": {"orjson"},
    "dialects": {"backports", "brotli", "compression"},  # the last is Python's own from 3.14 on
    "wire": {"httptools"},
    "verifier": {"cryptography"},
    "cli": {"typer"},
    "demo": {"openai", "xllamacpp"},
}

# No file, clock, chance or machine: they come as arguments.
PURE_ROOMS = {"format", "dialects", "matching", "scrub", "wire"}
PURE_MODULES = {"provtape.session.decide", "provtape.capture.names", "provtape.capture.surroundings"}
# All of `verify/` is pure but its shell: what opens files and starts processes.
SHELL = {"provtape.verify", "provtape.verify.evidence", "provtape.verify.scan"}
WORLDLY = {
    "os",
    "io",
    "pathlib",
    "time",
    "random",
    "secrets",
    "subprocess",
    "socket",
    "logging",
    "tempfile",
    "shutil",
}
WORLDLY_CALLS = {"open", "print", "input", "exec", "eval", "now", "utcnow", "today"}

MODULE_LINES = 350
LONGER = {"verifier.py": 600}  # one file by intent: a sceptic copies it and reads it in one sitting

SOURCES = sources()
each_source = pytest.mark.parametrize("source", SOURCES, ids=lambda source: source.name)


def ours(source: Source) -> Iterator[Import]:
    return (found for found in source.imports() if found.module.split(".")[0] == "provtape")


def foreign(source: Source) -> Iterator[str]:
    tops = {found.module.split(".")[0] for found in source.imports()}
    return (top for top in sorted(tops) if top != "provtape" and top not in sys.stdlib_module_names)


def is_pure(module: str) -> bool:
    in_verify = room(module) == "verify" and module not in SHELL
    return in_verify or room(module) in PURE_ROOMS or module in PURE_MODULES


def test_every_room_is_in_the_dictionary() -> None:
    assert {source.room for source in SOURCES} <= ROOMS.keys()


def test_arrows_point_down_only() -> None:
    """No room can be reached from itself, whatever road is taken."""
    above: dict[str, set[str]] = {name: set(below) for name, below in ROOMS.items()}
    for _ in ROOMS:
        above = {name: below.union(*(above[other] for other in below)) for name, below in above.items()}
    assert [name for name, below in above.items() if name in below] == []


@each_source
def test_a_room_imports_only_what_it_may(source: Source) -> None:
    allowed = ROOMS[source.room] | {source.room, "errors", "provtape"}
    if source.room in ("errors", "verifier"):
        allowed = set()
    broken = [
        f"line {found.line}: {found.module}" for found in ours(source) if room(found.module) not in allowed
    ]
    assert broken == [], f"{source.name} may not import this"


@each_source
def test_of_the_package_itself_only_names_are_taken(source: Source) -> None:
    """`from provtape import …` brings the version or the recorder's name, never a back door to a room above."""
    taken = {
        alias.name
        for node in ast.walk(source.tree)
        if isinstance(node, ast.ImportFrom) and node.module == "provtape"
        for alias in node.names
    }
    rooms = {name for name in taken if name in ROOMS}
    assert taken - rooms <= {"RECORDER", "__version__"}


@each_source
def test_libraries_stay_in_their_rooms(source: Source) -> None:
    assert set(foreign(source)) <= LIBRARIES.get(source.room, set())


@pytest.mark.parametrize("library", ["typer", "rich", "pydantic", "click", "pygments"])
def test_the_command_line_library_stays_below_cli(library: str) -> None:
    assert [
        source.name for source in SOURCES if source.room != "cli" and library in set(foreign(source))
    ] == []


@pytest.mark.parametrize(
    "source", [source for source in SOURCES if is_pure(source.module)], ids=lambda source: source.name
)
def test_a_pure_module_touches_neither_files_nor_clock_nor_chance(source: Source) -> None:
    worldly = [found.module for found in source.imports() if found.module.split(".")[0] in WORLDLY]
    called = [f"line {line}: {name}()" for name, line in source.calls() if name in WORLDLY_CALLS]
    leaning = [
        found.module
        for found in ours(source)
        if not is_pure(found.module) and room(found.module) not in ("errors", "provtape")
    ]
    assert (worldly, called, leaning) == ([], [], [])


def test_the_modules_that_are_named_here_are_there() -> None:
    there = {source.module for source in SOURCES}
    assert there >= PURE_MODULES | SHELL | {"provtape.verify.checks", "provtape.verify.walk"}
    assert {source.name for source in SOURCES} >= LONGER.keys()


def test_only_the_door_makes_what_may_be_written() -> None:
    makers = {source.name for source in SOURCES for name, _ in source.calls() if name == "Scrubbed"}
    assert makers == {"scrub/door.py"}


@each_source
def test_no_module_is_loaded_because_data_says_so(source: Source) -> None:
    """A module's name that is computed stands in one place, where it comes from a table of constants."""
    computed = [
        f"line {node.lineno}"
        for node in ast.walk(source.tree)
        if isinstance(node, ast.Call)
        and called(node)
        in ("import_module", "__import__", "spec_from_file_location", "run_path", "run_module")
        and not (node.args and isinstance(node.args[0], ast.Constant))
    ]
    assert computed == [] or source.name == "__init__.py"


@each_source
def test_nothing_is_executed_or_unpickled(source: Source) -> None:
    """No `eval` or `exec`, no pickle, no YAML: what is read stays data."""
    assert [line for name, line in source.calls() if name in ("eval", "exec")] == []
    assert {found.module.split(".")[0] for found in source.imports()} & {
        "pickle",
        "marshal",
        "shelve",
        "yaml",
    } == set()


@each_source
def test_a_module_is_short_enough_to_be_read(source: Source) -> None:
    assert source.lines <= LONGER.get(source.name, MODULE_LINES)


def test_an_import_is_seen_wherever_it_stands(tmp_path: Path) -> None:
    path = tmp_path / "module.py"
    path.write_text(
        "import os.path\n"
        "from typing import TYPE_CHECKING\n"
        "if TYPE_CHECKING:\n    from provtape.verify import case\n"
        "def f():\n    from provtape.format.chain import leaf\n    import_module('provtape.signing')\n",
        "utf-8",
    )
    seen = [found.module for found in Source(path).imports()]
    assert sorted(seen) == [
        "os.path",
        "provtape.format.chain",
        "provtape.signing",
        "provtape.verify.case",
        "typing",
    ]


def loaded_by(statement: str) -> set[str]:
    """The top-level modules that a statement loads in a fresh interpreter."""
    code = f"import sys; before = set(sys.modules); {statement}; print(*sorted(set(sys.modules) - before))"
    command = [sys.executable, "-I", "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return {name.split(".")[0] for name in done.stdout.split()}


def test_importing_the_package_loads_nothing_of_anybody_else() -> None:
    assert loaded_by("import provtape") - set(sys.stdlib_module_names) == {"provtape"}


def test_importing_the_session_loads_no_command_line() -> None:
    loaded = loaded_by("from provtape import Session")
    assert "provtape" in loaded
    assert loaded & {"typer", "rich", "pydantic", "click", "pygments", "openai", "xllamacpp"} == set()


def test_the_verifier_alone_loads_cryptography_and_nothing_of_ours() -> None:
    path = ROOT / "src" / "provtape" / "verifier.py"
    load = f"import runpy; runpy.run_path({str(path)!r}, run_name='copied')"
    loaded = loaded_by(load) - set(sys.stdlib_module_names)
    assert "provtape" not in loaded
    assert loaded <= {"cryptography", "_cffi_backend", "cffi"}
