"""Ed25519 by hand: the arithmetic that makes signatures no honest signer makes.

Affine formulas in plain integers, slow and short. Only vectors are made with it; nothing secret passes through.
RFC 8032 section 5.1.
"""

from __future__ import annotations

import hashlib
from typing import Final

P: Final = 2**255 - 19
L: Final = 2**252 + 27742317777372353535851937790883648493
D: Final = -121665 * pow(121666, -1, P) % P
SQRT_MINUS_ONE: Final = pow(2, (P - 1) // 4, P)

Point = tuple[int, int]
IDENTITY: Final[Point] = (0, 1)


def add(one: Point, two: Point) -> Point:
    """The sum of two points."""
    (x1, y1), (x2, y2) = one, two
    product = D * x1 * x2 * y1 * y2 % P
    x3 = (x1 * y2 + x2 * y1) * pow(1 + product, -1, P) % P
    y3 = (y1 * y2 + x1 * x2) * pow(1 - product, -1, P) % P
    return x3, y3


def times(factor: int, point: Point) -> Point:
    """`factor` times `point`."""
    total = IDENTITY
    while factor:
        if factor & 1:
            total = add(total, point)
        point = add(point, point)
        factor >>= 1
    return total


def abscissa(y: int) -> int | None:
    """The even x of the point with this y, None when there is no such point."""
    square = (y * y - 1) * pow(D * y * y + 1, -1, P) % P
    x = pow(square, (P + 3) // 8, P)
    if x * x % P != square:
        x = x * SQRT_MINUS_ONE % P
    if x * x % P != square:
        return None
    return x if x % 2 == 0 else P - x


def encode(point: Point) -> bytes:
    """32 bytes: y little-endian, the lowest bit of x on top."""
    x, y = point
    return (y | (x & 1) << 255).to_bytes(32, "little")


def _base() -> Point:
    y = 4 * pow(5, -1, P) % P
    x = abscissa(y)
    assert x is not None
    return x, y


BASE: Final = _base()


def _order_eight() -> Point:
    """The first point of order 8 that multiplying by L finds."""
    for y in range(2, 100):
        x = abscissa(y)
        if x is not None and times(4, candidate := times(L, (x, y))) != IDENTITY:
            return candidate
    raise AssertionError("no point of order 8")


TORSION: Final = _order_eight()
SMALL_Y: Final = sorted({times(i, TORSION)[1] for i in range(8)})


def scalar(seed: bytes) -> int:
    """The secret scalar of an RFC 8032 seed."""
    low = int.from_bytes(hashlib.sha512(seed).digest()[:32], "little")
    return (low & ((1 << 254) - 8)) | (1 << 254)


def challenge(commitment: bytes, public: bytes, message: bytes) -> int:
    """K = SHA-512(R, A, M) mod L."""
    return int.from_bytes(hashlib.sha512(commitment + public + message).digest(), "little") % L
