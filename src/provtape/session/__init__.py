"""Record, replay, auto: the one session through which every call goes."""

from __future__ import annotations

from provtape.session.call import Call
from provtape.session.session import Session
from provtape.session.summary import Summary

__all__ = ["Call", "Session", "Summary"]
