"""provtape: record LLM runs once, replay them offline, and prove that nothing was changed.

The public names below are loaded when they are first used, so `import provtape` costs next to nothing.
"""

from __future__ import annotations

from provtape.format.recorder import __version__

TYPE_CHECKING = False  # typing itself would cost more than all the rest of this import
if TYPE_CHECKING:
    from provtape.errors import ProvtapeError as ProvtapeError
    from provtape.provenance.this_run import this_run as this_run
    from provtape.session import Call as Call
    from provtape.session import Session as Session


_PUBLIC = {
    "Call": "provtape.session",
    "ProvtapeError": "provtape.errors",
    "Session": "provtape.session",
    "this_run": "provtape.provenance.this_run",
}

__all__ = ["Call", "ProvtapeError", "Session", "__version__", "this_run"]  # lazy, see __getattr__


def __getattr__(name: str) -> object:
    if name not in _PUBLIC:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_PUBLIC[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
