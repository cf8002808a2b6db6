"""Reads the sources of the house, so that a test can ask who imports whom. Runs none of them."""

from __future__ import annotations

import ast
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "src" / "provtape"


@dataclass(frozen=True, slots=True)
class Import:
    """One imported module, and the line it stands on."""

    module: str
    line: int


@dataclass(frozen=True, slots=True)
class Source:
    """One file of the package."""

    path: Path

    @property
    def name(self) -> str:
        return self.path.relative_to(PACKAGE).as_posix()

    @property
    def module(self) -> str:
        parts = ("provtape", *self.path.relative_to(PACKAGE).with_suffix("").parts)
        return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)

    @property
    def room(self) -> str:
        return room(self.module)

    @property
    def tree(self) -> ast.Module:
        return _parsed(self.path)

    @property
    def lines(self) -> int:
        return len(self.path.read_text("utf-8").splitlines())

    def imports(self) -> Iterator[Import]:
        """Every import, wherever it stands: at the top, in a function, under TYPE_CHECKING."""
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Import):
                yield from (Import(alias.name, node.lineno) for alias in node.names)
            elif isinstance(node, ast.ImportFrom):
                yield from self._imported_from(node)
            elif isinstance(node, ast.Call) and called(node) in ("import_module", "__import__"):
                yield from _by_name(node)

    def _imported_from(self, node: ast.ImportFrom) -> Iterator[Import]:
        assert node.level == 0, f"{self.name}:{node.lineno}: imports are absolute here"
        base = node.module or ""
        for alias in node.names:
            inner = f"{base}.{alias.name}"
            yield Import(inner if _is_module(inner) else base, node.lineno)

    def calls(self) -> Iterator[tuple[str, int]]:
        """The last name of everything called, and its line."""
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Call):
                yield called(node), node.lineno


def room(module: str) -> str:
    """The room of a module of ours: the name after `provtape`, or `provtape` itself."""
    parts = module.split(".")
    return parts[1] if len(parts) > 1 else "provtape"


def sources() -> list[Source]:
    """Every Python file of the package."""
    return [Source(path) for path in sorted(PACKAGE.rglob("*.py"))]


def repository_files() -> list[Path]:
    """What the repository holds or is about to hold; every file, where it is no checkout."""
    command = ["git", "-C", str(ROOT), "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, capture_output=True, check=False) if (ROOT / ".git").exists() else None
    if listed is None or listed.returncode != 0:
        return sorted(path for path in ROOT.rglob("*") if path.is_file())
    names = listed.stdout.decode().split("\0")
    return sorted(path for name in names if name and (path := ROOT / name).is_file())


@cache
def _parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text("utf-8"), str(path))


def called(node: ast.Call) -> str:
    """The last name of what is called."""
    if isinstance(node.func, ast.Name):
        return node.func.id
    return node.func.attr if isinstance(node.func, ast.Attribute) else ""


def _by_name(node: ast.Call) -> Iterator[Import]:
    """`import_module("provtape.x")` is an import too; a name that is computed is judged by its own test."""
    first = node.args[0] if node.args else None
    if isinstance(first, ast.Constant) and isinstance(first.value, str):
        yield Import(first.value, node.lineno)


def _is_module(name: str) -> bool:
    if not name.startswith("provtape."):
        return False
    path = PACKAGE.joinpath(*name.split(".")[1:])
    return path.with_suffix(".py").is_file() or (path / "__init__.py").is_file()
