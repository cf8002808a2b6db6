"""Which program this is: the version, and the name under which it stands in what it writes."""

from __future__ import annotations

from typing import Final

__version__: Final = "0.1.0"
RECORDER: Final = f"provtape {__version__}"
