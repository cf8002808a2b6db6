"""Which program this is: the version, and the name under which it stands in what it writes."""

from __future__ import annotations

__version__ = "0.1.0"
RECORDER = f"provtape {__version__}"
