"""The files that stand beside a cassette: its name and one of these endings."""

from __future__ import annotations

from typing import Final

CHECKPOINTS: Final = ".ckpt"
MANIFEST: Final = ".intoto.jsonl"
PATCH: Final = ".patch"
TORN: Final = ".torn"
BESIDE: Final = (CHECKPOINTS, MANIFEST, PATCH, TORN, CHECKPOINTS + TORN)
