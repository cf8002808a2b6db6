"""What may be shown of a text that came from somewhere else (spec V9)."""

from __future__ import annotations

import unicodedata
from typing import Final

_HIDDEN: Final = frozenset(("Cc", "Cf", "Cs", "Co", "Zl", "Zp"))


def printable(text: str) -> str:
    r"""The text with every control, format, surrogate, private-use and separator character spelled out.

    >>> printable("a\u202eb")
    'a\\u{202e}b'
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(f"\\u{{{ord(c):x}}}" if unicodedata.category(c) in _HIDDEN else c for c in text)
