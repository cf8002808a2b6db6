"""The two roles in one exchange: the client's connection, and whoever answers its request.

Decides what they may ask of each other, so that an answer knows nothing of sockets. Everything is called on the loop's thread.
"""

from __future__ import annotations

from typing import Protocol

from provtape.capture.request import Request
from provtape.capture.upstream import Upstream
from provtape.wire.refusal import Refusal


class Exchange(Protocol):
    """Whoever answers a request."""

    def forward(self, data: bytes) -> None:
        """Bytes after its head, as they came."""

    def body(self, data: bytes) -> None:
        """The same bytes, transfer coding undone."""

    def complete(self) -> None:
        """It is whole."""

    def client_lost(self) -> None:
        """The client left."""

    def choked(self, full: bool) -> None:
        """Whether the client takes no more bytes for now."""


class Client(Protocol):
    """The client's connection."""

    def write(self, data: bytes) -> None:
        """Send bytes."""

    def pause(self, paused: bool) -> None:
        """Read no more for now, or again."""

    def finished(self, keep: bool) -> None:
        """The exchange is over; `keep`: another may follow."""

    def reset(self) -> None:
        """Break the connection, once what was written is sent."""

    def lend(self, request: Request) -> Upstream | None:
        """The connection that the last exchange left for this origin, if it still stands."""

    def leave(self, upstream: Upstream) -> None:
        """Keep a connection for the next exchange."""

    def refuse(self, answer: Refusal, *, head_only: bool, keep: bool) -> None:
        """Give an answer of our own; without `keep` it is the last one."""

    def take_over(self, exchange: Exchange) -> None:
        """Let somebody else answer the request."""
