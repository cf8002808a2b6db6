"""Write spec/vectors/ anew, or compare it with what would be written.

    python tools/build_vectors.py            rewrites spec/vectors/
    python tools/build_vectors.py --check    says what differs, exit 1 if anything does

Shares nothing with the writer or the verifiers: standard library and cryptography only, and everything that is written
down as expected was derived from spec/ by hand. Seeds, times and nonces are fixed, so every build gives the same bytes.
"""

from __future__ import annotations

import argparse
import shutil
import sys
from pathlib import Path
from typing import Final

from vector_case import Case
from vector_cases_cut import cut, torn_notes, withheld
from vector_cases_edit import edited, misspelled, shaped, wrong_starts
from vector_cases_intact import intact, subjects, unsealed
from vector_cases_manifests import contents, forms
from vector_cases_notes import forgeries, notes
from vector_cases_order import added, converted, moved
from vector_cases_pair import pairs
from vector_cases_rechain import forks, rechained
from vector_cases_trust import expected, refused, trusted
from vector_introductions import CASES, VECTORS
from vector_json import spelling_file, strict_file
from vector_keys import ALICE, BOB, MALLORY, RIG, key_id, pem, ssh, vkey
from vector_manifests import manifests_file
from vector_notes import notes_file
from vector_requests import match_key_file
from vector_shapes import chain_file, members_file
from vector_signatures import keys_file, signatures_file
from vector_text import b64, table

FOLDER: Final = Path(__file__).resolve().parent.parent / "spec" / "vectors"
STORIES: Final = (
    *(intact, unsealed, subjects, pairs, expected, trusted, refused),
    *(edited, wrong_starts, misspelled, shaped, moved, added, converted),
    *(cut, torn_notes, withheld, rechained, forks),
    *(notes, forgeries, forms, contents),
)


def key_files() -> dict[str, bytes]:
    """Public keys that the cases name."""
    small, alice = bytes(32), ALICE.public
    wrong = f"{ALICE.name}+{key_id(BOB.name, alice).hex()}+{b64(bytes([1]) + alice)}"
    rsa = b"\x00\x00\x00\x07ssh-rsa\x00\x00\x00\x01\x03\x00\x00\x00\x09\x00" + b"\xc5" * 8
    texts = {
        f"{s.name.rsplit('/', 1)[-1]}.vkey": vkey(s.name, s.public) + "\n" for s in (ALICE, BOB, RIG, MALLORY)
    }
    texts |= {"alice.pem": pem(alice), "alice.ssh": ssh(alice, "alice@lab.example")}
    texts |= {"small-order.vkey": vkey("lab.example/zero", small) + "\n", "wrong-id.vkey": wrong + "\n"}
    texts["rsa.ssh"] = f"ssh-rsa {b64(rsa)} alice@lab.example\n"
    return {f"cases/keys/{name}": text.encode() for name, text in texts.items()}


def case_files(cases: list[Case]) -> dict[str, bytes]:
    """Every file of every case."""
    made: dict[str, bytes] = {}
    for case in cases:
        folder = f"cases/{case.path}"
        assert f"{folder}/case.json" not in made, case.path
        made |= {f"{folder}/{name}": content for name, content in case.files.items()}
        made[f"{folder}/case.json"] = case.row()
    return made


def readme(cases: list[Case]) -> bytes:
    """The table of cases/README.md."""
    rows = []
    for case in sorted(cases, key=lambda case: case.path):
        codes = " ".join(f"`{code}`" for code in case.codes) or "–"
        rows.append(f"| [{case.path}]({case.path}) | {case.verdict} | {codes} | {case.why} |")
    return (CASES + "\n".join(rows) + "\n").encode()


def small_files() -> dict[str, bytes]:
    """One file of vectors for each page."""
    tables = {
        "strict.json": strict_file(),
        "spelling.json": spelling_file(),
        "members.json": members_file(),
        "keys.json": keys_file(),
        "signatures.json": signatures_file(),
        "notes.json": notes_file(),
        "manifests.json": manifests_file(),
        "match_key.json": match_key_file(),
    }
    return {name: table(rows) for name, rows in tables.items()} | {"chain.json": chain_file()}


def everything() -> dict[str, bytes]:
    """Path below spec/vectors/, and bytes."""
    cases = [case for told in STORIES for case in told()]
    pages = {"README.md": VECTORS.encode(), "cases/README.md": readme(cases)}
    return pages | small_files() | key_files() | case_files(cases)


def present(folder: Path) -> dict[str, bytes]:
    """What lies there now."""
    found = (path for path in sorted(folder.rglob("*")) if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in found}


def write(folder: Path, made: dict[str, bytes]) -> None:
    """Replace `folder` by what was made."""
    shutil.rmtree(folder, ignore_errors=True)
    for name, content in sorted(made.items()):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


def main() -> int:
    """The command line; 0 when all is well, 1 when `--check` finds a difference."""
    parser = argparse.ArgumentParser(description="write spec/vectors anew")
    parser.add_argument("--check", action="store_true", help="compare only")
    parser.add_argument("--out", type=Path, default=FOLDER, help="the folder to write or compare")
    options = parser.parse_args()
    made = everything()
    if not options.check:
        write(options.out, made)
        print(f"{len(made)} files, {sum(map(len, made.values()))} bytes", file=sys.stderr)
        return 0
    there = present(options.out)
    different = sorted(name for name in made.keys() | there.keys() if made.get(name) != there.get(name))
    for name in different:
        print(f"differs: {name}", file=sys.stderr)
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
