"""What the repository must hold, and must never hold."""

from __future__ import annotations

import ast
import base64
import re
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from house import ROOT, Source, repository_files, sources

from provtape.format.keys import parse_public

# Put together here, so that this file does not find itself.
WORDS = b"PRIVATE" + b" KEY"
BLOCK = re.compile(rb"-----BEGIN (?:[A-Z0-9]+ )*" + WORDS + rb"(?: BLOCK)?-----\s*[A-Za-z0-9+/=:\\-]")
OPENSSH = base64.b64encode(b"openssh-key" + b"-v1\0")[:19]
# What every unencrypted PKCS#8 Ed25519 key begins with, in base64: also found without its frame.
PKCS8 = base64.b64encode(bytes.fromhex("302e020100300506032b6570042204" + "20"))[:21]

FILES = repository_files()


def is_private(data: bytes) -> bool:
    return BLOCK.search(data) is not None or OPENSSH in data or PKCS8 in data


@pytest.mark.parametrize("kind", [PrivateFormat.PKCS8, PrivateFormat.OpenSSH])
def test_a_private_key_would_be_found(kind: PrivateFormat) -> None:
    made = Ed25519PrivateKey.generate().private_bytes(Encoding.PEM, kind, NoEncryption())
    assert is_private(made)
    assert is_private(b"".join(made.split(b"\n")[1:-2])), "without its frame"


def test_a_public_key_is_none() -> None:
    assert not is_private((ROOT / "spec/vectors/cases/keys/alice.pem").read_bytes())


def test_the_repository_holds_no_private_key() -> None:
    assert len(FILES) > 100
    assert [str(path.relative_to(ROOT)) for path in FILES if is_private(path.read_bytes())] == []


def test_the_folder_of_keys_holds_public_ones_only() -> None:
    keys = [path for path in (ROOT / "keys").rglob("*") if path.is_file() and path.name != "README.md"]
    assert [path.name for path in keys if not parse_public(path.read_bytes()).vkey] == []


@pytest.mark.parametrize(
    "name",
    [".ci/run", "README.md", "SECURITY.md", "CHANGELOG.md", "CONTRIBUTING.md", "LICENSE", "keys/README.md"],
)
def test_what_a_newcomer_looks_for_is_there(name: str) -> None:
    assert (ROOT / name).stat().st_size > 200


def test_every_link_between_the_pages_leads_somewhere() -> None:
    pages = [ROOT / name for name in ("README.md", "SECURITY.md", "CONTRIBUTING.md", "CHANGELOG.md")]
    pages += (
        sorted((ROOT / "docs").rglob("*.md"))
        + sorted((ROOT / "spec").glob("*.md"))
        + [ROOT / "keys/README.md"]
    )
    assert [f"{page.name}: {link}" for page in pages for link in dead_links(page)] == []


def dead_links(page: Path) -> list[str]:
    prose = re.sub(r"```.*?```", "", page.read_text("utf-8"), flags=re.DOTALL)
    links = re.findall(r"\]\(([^)#\s]+)", prose)
    local = [link for link in links if not re.match(r"[a-z]+:", link)]
    return [link for link in local if not (page.parent / link).exists()]


def test_every_dependency_has_a_line_that_says_why() -> None:
    declared = (ROOT / "pyproject.toml").read_text("utf-8")
    names = set(re.findall(r'"([A-Za-z0-9-]+)(?:\[[a-z]+\])?>=', declared))
    explained = set(
        re.findall(r"^\| `([A-Za-z0-9-]+)`", (ROOT / "docs/dependencies.md").read_text("utf-8"), re.MULTILINE)
    )
    assert names >= {"cryptography", "orjson", "typer", "hatchling"}
    assert names - explained == set()


@pytest.mark.parametrize("source", sources(), ids=lambda source: source.name)
def test_everything_public_says_what_it_promises(source: Source) -> None:
    assert ast.get_docstring(source.tree), "a module opens with what it decides"
    assert undescribed(source.tree.body) == []


def undescribed(body: list[ast.stmt]) -> list[str]:
    """Public functions, classes and methods without a docstring; the overloads of a described one need none."""
    found = []
    for node in body:
        if not isinstance(
            node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
        ) or node.name.startswith("_"):
            continue
        overload = any("overload" in ast.dump(decorator) for decorator in node.decorator_list)
        if not overload and not ast.get_docstring(node):
            found.append(f"{node.name} (line {node.lineno})")
        if isinstance(node, ast.ClassDef):
            found += undescribed(node.body)
    return found
