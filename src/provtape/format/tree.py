"""The Merkle tree over a cassette's leaves (RFC 6962 §2.1, spec C8).

Decides what root(n) is. A `Frontier` holds the roots of the complete subtrees only (at most one for each bit of n), so a
writer can state a root at any time, and a verifier many roots in one sweep.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

LEAF: int = 32


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


def roots(leaves: bytes | bytearray, sizes: Iterable[int]) -> dict[int, bytes]:
    """root(n) for every n of `sizes` that is at most the number of leaves, in one sweep.

    Args:
        leaves: The leaves one after the other, 32 bytes each.
        sizes: Sizes that somebody stated; larger ones are left out of the answer.
    """
    wanted = set(sizes)
    frontier = Frontier()
    found = {0: frontier.root()} if 0 in wanted else {}
    for position in range(0, len(leaves), LEAF):
        frontier.append(bytes(leaves[position : position + LEAF]))
        if frontier.size in wanted:
            found[frontier.size] = frontier.root()
    return found


def root(leaves: bytes | bytearray) -> bytes:
    """root(n) over all given leaves (32 bytes each, one after the other)."""
    size = len(leaves) // LEAF
    return roots(leaves, (size,))[size]
