"""The Merkle tree over a cassette's leaves (RFC 6962 §2.1, spec C8).

Decides what root(n) is. A `Frontier` holds the roots of the complete subtrees only (at most one for each bit of n), so a
writer can state a root at any time, and a verifier many roots in one sweep.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Final

LEAF: Final = 32


def node(left: bytes, right: bytes) -> bytes:
    """SHA-256(0x01 ‖ left ‖ right): the hash of an inner node."""
    return hashlib.sha256(b"\x01" + left + right).digest()


class Frontier:
    """The complete subtrees of a growing tree, largest first."""

    __slots__ = ("_subtrees", "size")

    def __init__(self) -> None:
        self.size = 0
        self._subtrees: list[bytes] = []

    def append(self, leaf: bytes) -> None:
        """Add one leaf (32 bytes)."""
        subtrees, bits = self._subtrees, self.size
        while bits & 1:
            leaf = hashlib.sha256(b"\x01" + subtrees.pop() + leaf).digest()
            bits >>= 1
        subtrees.append(leaf)
        self.size += 1

    def root(self) -> bytes:
        """root(size), 32 bytes; of no leaves, SHA-256 of nothing (RFC 6962 §2.1)."""
        if not self._subtrees:
            return hashlib.sha256(b"").digest()
        root = self._subtrees[-1]
        for left in reversed(self._subtrees[:-1]):
            root = node(left, root)
        return root


class Roots:
    """root(n) for chosen n, in one sweep over growing leaves: memory does not grow with their number."""

    __slots__ = ("_frontier", "_wanted", "found")

    def __init__(self, sizes: Iterable[int] = ()) -> None:
        self._frontier = Frontier()
        self._wanted = sorted(set(sizes), reverse=True)
        self.found: dict[int, bytes] = {}

    @property
    def size(self) -> int:
        """The number of leaves so far."""
        return self._frontier.size

    def extend(self, leaves: bytes) -> None:
        """Add leaves, 32 bytes each, one after the other."""
        wanted, frontier = self._wanted, self._frontier
        for position in range(0, len(leaves), LEAF):
            frontier.append(leaves[position : position + LEAF])
            while wanted and wanted[-1] <= frontier.size:
                if wanted.pop() == frontier.size:
                    self.found[frontier.size] = frontier.root()

    def root(self) -> bytes:
        """root(size) over all leaves so far, 32 bytes."""
        return self._frontier.root()
