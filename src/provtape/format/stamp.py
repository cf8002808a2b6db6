"""How a time is written (spec C21). A time is a claim; nothing is ever compared with it."""

from __future__ import annotations

from datetime import datetime


def stamp(now: datetime) -> str:
    """A time in UTC as the format writes it, to the millisecond.

    >>> from datetime import UTC
    >>> stamp(datetime(2026, 1, 2, 3, 4, 5, 6789, tzinfo=UTC))
    '2026-01-02T03:04:05.006Z'
    """
    return f"{now:%Y-%m-%dT%H:%M:%S}.{now.microsecond // 1000:03d}Z"
