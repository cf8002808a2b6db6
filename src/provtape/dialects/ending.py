"""Whether a body says by itself that it is whole.

Decides this for the streams and documents that model providers send: an event stream that ended with its closing event, a JSON
document that closes, JSON lines whose last one says `done`. A client may leave a stream after its closing event; the connection
then tells nothing, the bytes do. Anything else does not say it.
"""

from __future__ import annotations

from typing import Final

from provtape.errors import FormatError
from provtape.format import strict

CLOSING_EVENTS: Final = frozenset(
    ("message_stop", "response.completed", "response.failed", "response.incomplete")
)

_LAST: Final = 1024 * 1024


def says_whole(content_type: str, body: bytes) -> bool:
    """Whether a body is whole by what it says.

    Args:
        content_type: Value of the header, parameters and all.
        body: Codings undone.

    >>> says_whole("text/event-stream", b"data: {}\\n\\ndata: [DONE]\\n\\n")
    True
    """
    kind = content_type.partition(";")[0].strip().lower()
    if kind == "text/event-stream":
        return _stream(body)
    if kind in ("application/x-ndjson", "application/jsonl"):
        last = _parsed(body.rstrip(b"\r\n").rpartition(b"\n")[2]) if body.endswith(b"\n") else None
        return isinstance(last, dict) and last.get("done") is True
    if kind == "application/json" or kind.endswith("+json"):
        return isinstance(_parsed(body), dict | list)
    return False


def _stream(body: bytes) -> bool:
    """Whether the last event is a closing one, by its name, by its data, or by the `type` in its data."""
    text = body[-_LAST:].replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    if not text.endswith(b"\n"):
        return False
    fields = [line.partition(b":") for line in text.rstrip(b"\n").rpartition(b"\n\n")[2].split(b"\n")]
    names = {value.strip().decode("latin-1") for field, _, value in fields if field == b"event"}
    data = b"\n".join(value.removeprefix(b" ") for field, _, value in fields if field == b"data")
    if data.strip() == b"[DONE]" or (data and names & CLOSING_EVENTS):
        return True  # an event without data is none
    value = _parsed(data)
    return isinstance(value, dict) and value.get("type") in CLOSING_EVENTS


def _parsed(data: bytes) -> object:
    try:
        return strict.parse(data)
    except FormatError:
        return None
