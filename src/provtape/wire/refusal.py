"""What provtape itself answers: misses, and requests that it can not serve.

Decides status and body: shaped as model providers shape an error, so that every SDK shows the message, and an object `provtape`
for programs. 422 because SDKs do not retry it. Does not decide that something is a miss (`session`).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from http import HTTPStatus
from typing import Final

from provtape.errors import Exhausted, Miss
from provtape.format import strict

MISS: Final = 422

_KEY: Final = re.compile(r"\bkey ([0-9a-f]{64})\b")
_RECORD: Final = re.compile(r"\b(?:nearest is|last in) record ([0-9]{1,16})\b")


@dataclass(frozen=True, slots=True)
class Refusal:
    """An answer of provtape's own.

    Attributes:
        status: HTTP status.
        body: JSON, UTF-8, one object.
    """

    status: int
    body: bytes

    def wire(self, *, head_only: bool = False, keep_alive: bool = True) -> bytes:
        """The whole response as bytes.

        Args:
            head_only: It answers HEAD.
            keep_alive: Whether the connection may go on; if not, close it after these bytes.
        """
        lines = [
            f"HTTP/1.1 {self.status} {HTTPStatus(self.status).phrase}",
            "content-type: application/json",
            f"content-length: {len(self.body)}",
            "cache-control: no-store",
            "x-should-retry: false",
            *([] if keep_alive else ["connection: close"]),
        ]
        head = "\r\n".join(lines).encode("ascii") + b"\r\n\r\n"
        return head if head_only else head + self.body


def refusal(status: int, code: str, message: str, *, hint: str | None = None) -> Refusal:
    """An answer to a request that can not be served.

    Args:
        status: 400, 413, 421, 431, 501, …
        code: One word, stable, e.g. `upgrade`.
        message: One line, without content of the request.
        hint: What to do.
    """
    return _made(status, f"provtape_{code}", code, message, {"hint": hint})


def missed(error: Miss) -> Refusal:
    """The answer to a request that was not recorded.

    Its object `provtape` holds `key` (64 hex digits), `record` (the nearest one's number, or of an exhausted request the last that
    answered it; else null), `differences` (one line for each place, of scrubbed texts) and `hint`.
    """
    key, record = _KEY.search(error.message), _RECORD.search(error.message)
    notes = getattr(error, "__notes__", [])
    lines = [line.strip() for note in notes for line in str(note).splitlines()]
    details: dict[str, object] = {
        "key": key[1] if key else None,
        "record": int(record[1]) if record else None,
        "differences": lines,
        "hint": error.hint,
    }
    code = "exhausted" if isinstance(error, Exhausted) else "miss"
    return _made(MISS, "provtape_miss", code, error.message, details)


def _made(status: int, type_: str, code: str, message: str, details: dict[str, object]) -> Refusal:
    error = {"message": message, "type": type_, "param": None, "code": code}
    return Refusal(status, strict.dumps({"error": error, "provtape": details}))
