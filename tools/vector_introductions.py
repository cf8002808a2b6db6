"""What stands above the tables in spec/vectors/README.md and spec/vectors/cases/README.md."""

from __future__ import annotations

from typing import Final

ROWS: Final = (
    ("strict.json", "`base64` of a text; `ok`: the strict reader takes it (C6)"),
    ("spelling.json", "`base64` of a text that C6 takes; `one_spelling`: it passes C7"),
    (
        "members.json",
        "`record`: base64 of a record with its LF; `ok`: it passes C3, C6, C7, C12 to C21; "
        "`from`: the good row it derives from; `rule`: the rule it breaks, or just keeps",
    ),
    ("chain.json", "leaves of records, and roots over the first n of a thousand (C8)"),
    (
        "keys.json",
        "`text` as a person gives it; `ok`: it names a key (K2, K4), with `public` in hex and `fingerprint` (M3)",
    ),
    ("signatures.json", "`public`, `message`, `signature` in hex; `ok`: it verifies (K1, K3, K4)"),
    (
        "notes.json",
        "`base64` of a checkpoint file to lie beside `cases/intact/plain/cassette.jsonl`; "
        "`codes`: all findings `checkpoint.…` when `cases/keys/alice.vkey` is named",
    ),
    (
        "manifests.json",
        "`base64` of a manifest to lie beside the same cassette; `codes`: all findings `manifest.…`",
    ),
    (
        "match_key.json",
        "`kind` and `request` as stored, `match` of record 0; `canonical`: C(identity); `key` (Q1)",
    ),
    ("cases/", "whole cassettes with evidence, and the report each must get: [the table](cases/README.md)"),
)

VECTORS: Final = """# Vectors

Made by `tools/build_vectors.py` from fixed seeds, times and nonces; `python tools/build_vectors.py --check` says whether
these are the bytes it makes. It shares no code with the writer or the verifiers. There is one fault in each vector.
The seeds are written down in the builder: its keys guard nothing, never trust them.

| file | a row |
|---|---|
""" + "".join(f"| `{name}` | {row} |\n" for name, row in ROWS)

CASES: Final = """# Cases

Whole cassettes with their evidence, and the exact report that each must get. In each folder `case.json` says how it is
verified and what comes out:

- `keys`: files below `keys/`, each named with `--pubkey`, in this order; an empty list means that no key is named.
- `options`: `target` (the file to verify, `cassette.jsonl` if absent), `checkpoints`, `manifest` and `seen` (files below
  the case's folder), `only`, `allow-withheld`, `expect-origin`, `expect-commit`, `expect-records`. Evidence beside the
  target is found without being named.
- `verdict` and `exit`; `codes`: the codes of all findings in their order; `first`: the decisive finding, or null; `why`.

A case named `mirror-…` does the same thing just inside the rules. A case named `…-signed` has a fault that the signer
signed: the evidence agrees with the bytes, and a verifier that asks for signatures only would pass it. This table and
the folders are made by `tools/build_vectors.py`.

| case | verdict | codes | why |
|---|---|---|---|
"""
