"""Some bodies say by themselves that they are whole; a connection that was left says nothing."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from provtape.dialects.ending import says_whole

SSE = "text/event-stream; charset=utf-8"

WHOLE = {
    "chat": (SSE, b'data: {"a":1}\n\ndata: [DONE]\n\n'),
    "chat with CR LF": (SSE, b'data: {"a":1}\r\n\r\ndata: [DONE]\r\n\r\n'),
    "one line feed is enough for a client": (SSE, b"data: {}\n\ndata: [DONE]\n"),
    "no blank": (SSE, b"data:[DONE]\n\n"),
    "messages": (SSE, b'event: message_stop\ndata: {"type":"message_stop"}\n\n'),
    "a closing type": (SSE, b'data: {"type":"response.completed","response":{}}\n\n'),
    "a document": ("application/json", b'{"a":[1,2]} \n'),
    "a list": ("Application/Problem+JSON", b"[]"),
    "lines": ("application/x-ndjson", b'{"done":false}\n{"done":true}\n'),
}
CUT = {
    "no event": (SSE, b""),
    "a stream without its end": (SSE, b'data: {"a":1}\n\n'),
    "a stream cut in its last line": (SSE, b"data: {}\n\ndata: [DONE]"),
    "done is no closing word elsewhere": (SSE, b'data: [DONE]\n\ndata: {"a":1}\n\n'),
    "done in a text": (SSE, b'data: {"text":"[DONE]"}\n\n'),
    "a type that does not close": (SSE, b'event: message_delta\ndata: {"type":"message_delta"}\n\n'),
    "a cut document": ("application/json", b'{"a":[1,2]'),
    "a number may go on": ("application/json", b"12"),
    "nothing": ("application/json", b""),
    "lines without the last": ("application/x-ndjson", b'{"done":false}\n'),
    "a cut line": ("application/x-ndjson", b'{"done":true}'),
    "text": ("text/plain", b"[DONE]\n"),
    "no type": ("", b"{}"),
}


@pytest.mark.parametrize("name", WHOLE)
def test_whole(name: str) -> None:
    assert says_whole(*WHOLE[name])


@pytest.mark.parametrize("name", CUT)
def test_not_whole(name: str) -> None:
    assert not says_whole(*CUT[name])


@pytest.mark.parametrize("name", ["chat", "messages", "a closing type", "a document", "lines"])
def test_no_shorter_body_is_whole(name: str) -> None:
    kind, body = WHOLE[name]
    body = body.rstrip(b" \n") + (b"" if "document" in name else b"\n")
    assert says_whole(kind, body)
    assert [at for at in range(len(body)) if says_whole(kind, body[:at])] == []


@given(st.sampled_from([SSE, "application/json", "application/x-ndjson", "x/y"]), st.binary(max_size=80))
def test_noise_never_raises(kind: str, noise: bytes) -> None:
    assert says_whole(kind, noise) in (True, False)
