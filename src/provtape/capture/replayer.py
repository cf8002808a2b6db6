"""One call that is answered from the cassette: read whole, looked up, played; or refused in words.

Decides what a client gets whose request was not recorded, and that in auto it goes live from there. Does not decide what was
recorded for it (`session.turns`) or how that looks on the wire (`wire.player`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from provtape.capture.desk import Desk, Outcome
from provtape.capture.relay import Relay
from provtape.capture.request import Request
from provtape.capture.roles import Client
from provtape.capture.tutorial import answered, asked
from provtape.errors import FormatError, Miss
from provtape.session.recorded import Answer
from provtape.session.turns import Turn
from provtape.wire.player import Close, Reset, Send, Step, Wait, play
from provtape.wire.refusal import Refusal, missed, refusal

READER: Final = "x-provtape-session"

_CONTINUE: Final = b"HTTP/1.1 100 Continue\r\n\r\n"
_READER: Final = re.compile(r"[A-Za-z0-9._~-]{1,128}")


class Replay:
    """One exchange between a client and the cassette.

    Args:
        client: The client's connection.
        request: Its request.
        desk: Asks the session.
    """

    def __init__(self, client: Client, request: Request, desk: Desk) -> None:
        self._client = client
        self._request = request
        self._desk = desk
        self._raw: list[bytes] = []
        self._keeps_raw = desk.turns.mode == "auto"
        self._gone = False
        self._refused = False
        self._full = False  # the client takes no more for now
        self._resting = False  # the next step is not due
        self._steps: Iterator[Step] = iter(())
        if _announced(request) > desk.settings.max_request:
            self._too_large()
        elif request.head.expects_continue:
            client.write(_CONTINUE)

    # From the client.

    def forward(self, data: bytes) -> None:
        """Bytes of the request after its head, kept for going live."""
        if self._keeps_raw and not self._refused:
            self._raw.append(data)

    def body(self, data: bytes) -> None:
        """The same bytes, transfer coding undone."""
        self._request.add(data)
        if self._request.over:
            self._too_large()

    def complete(self) -> None:
        """The request is whole: look it up."""
        if self._refused:
            return
        request, reader = self._request, ""
        if self._desk.settings.serves:
            given = request.header(READER)
            if given is not None and not _READER.fullmatch(given):
                self._refuse(refusal(400, "session", f"{READER} is not 1 to 128 of A-Z a-z 0-9 . _ ~ -"))
                return
            reader = given or ""
            if request.head.method == "POST" and request.head.target == "/":
                self._tutorial(reader)
                return
        self._desk.attempt(request.members, request.size, self._answer, reader)

    def client_lost(self) -> None:
        """The client left: nothing more is played."""
        self._gone = True

    def choked(self, full: bool) -> None:
        """Whether the client takes no more bytes for now."""
        self._full = full
        if not full:
            self._play()

    # What it gets.

    def _answer(self, outcome: Outcome) -> None:
        if self._gone:
            return
        if isinstance(outcome, Answer):
            self._begin_play(outcome)
        elif isinstance(outcome, Turn):
            self._go_live(outcome)
        elif isinstance(outcome, Exception):
            self._refuse(refusal(500, "unserved", outcome.message, hint=outcome.hint))
        else:
            self._desk.explain(outcome, self._miss)

    def _miss(self, error: Miss) -> None:
        self._refuse(missed(error), keep=self._request.head.keep_alive)

    def _begin_play(self, answer: Answer) -> None:
        head = self._request.head
        try:
            self._steps = play(
                answer.response,
                method=head.method,
                version=head.version,
                keep_alive=head.keep_alive,
                pace=self._desk.settings.pace,
            )
        except FormatError as error:
            self._refuse(refusal(500, "unserved", f"record {answer.seq}: {error.message}", hint=error.hint))
            return
        self._play()

    def _play(self) -> None:
        """Take steps until one makes us wait."""
        while not (self._gone or self._full or self._resting):
            step = next(self._steps, None)
            if isinstance(step, Send):
                self._client.write(step.data)
            elif isinstance(step, Wait):
                self._resting = True
                self._desk.loop.call_later(step.ms / 1000, self._waited)
            elif isinstance(step, Reset):
                self._gone = True
                self._client.reset()
            else:
                self._gone = True
                self._client.finished(not isinstance(step, Close))

    def _waited(self) -> None:
        self._resting = False
        self._play()

    def _go_live(self, turn: Turn) -> None:
        """Hand over to a relay, which gets the request as it came."""
        relay = Relay(self._client, self._request, self._desk, turn=turn)
        self._client.take_over(relay)
        for data in self._raw:
            relay.forward(data)
        relay.complete()

    def _tutorial(self, reader: str) -> None:
        members = asked(self._request.body)
        if members is None:
            text = "POST / takes one JSON object with prompt, and perhaps model and params"
            self._refuse(refusal(400, "request", text))
            return
        self._desk.attempt(lambda: members, self._request.size, self._tutorial_answer, reader, kind="llm")

    def _tutorial_answer(self, outcome: Outcome) -> None:
        if isinstance(outcome, Answer):
            self._refuse(answered(outcome), keep=self._request.head.keep_alive)
        else:
            self._answer(outcome)

    def _too_large(self) -> None:
        if not self._refused:
            text = f"the request is larger than the {self._desk.settings.max_request} bytes that are taken"
            self._refuse(refusal(413, "too_large", text))

    def _refuse(self, answer: Refusal, *, keep: bool = False) -> None:
        if self._gone:
            return
        self._refused = True
        self._client.refuse(answer, head_only=self._request.head.method == "HEAD", keep=keep)


def _announced(request: Request) -> int:
    length = request.header("content-length")
    return int(length) if length is not None and length.isdigit() else 0
