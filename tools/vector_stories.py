"""The honest runs: what was recorded before anybody touched it.

`plain` is the run that most attacks start from: open, run, three model calls, end.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from vector_record import (
    FIRST,
    SECOND,
    Body,
    Cassette,
    chain,
    ending,
    http,
    llm,
    opening,
    relink,
    running,
    tool,
)
from vector_text import Json, Raw, b64, spelled

ANSWERS: Final = (
    llm("Which gas do plants take in?", "Carbon dioxide.", 4),
    llm([{"role": "user", "content": "Name a prime below ten."}], "Seven is prime.", 9),
    llm("Translate: guten Morgen", "Good morning.", 15),
)


def plain_bodies() -> list[Body]:
    """Open, run, three model calls, end."""
    return [opening("plain"), running(code=FIRST), *ANSWERS, ending()]


def plain() -> Cassette:
    """Six records, sealed."""
    return Cassette(chain(plain_bodies()))


def open_run() -> Cassette:
    """The same run before it was sealed: five records."""
    return Cassette(plain().records[:5])


def with_record(number: int, body: Body) -> Cassette:
    """`plain` as it would have been recorded with another record at `number`."""
    bodies = plain_bodies()
    bodies[number] = body
    return Cassette(chain(bodies))


def rewritten(number: int, old: bytes, new: bytes) -> Cassette:
    """`plain` with bytes of one record exchanged and every link recomputed: a signer's own odd record."""
    return Cassette(relink(exchanged(plain().records, number, old, new)))


def exchanged(records: Sequence[bytes], number: int, old: bytes, new: bytes) -> tuple[bytes, ...]:
    """`records` with `old`, which stands once in record `number`, exchanged for `new`; links as they were."""
    assert records[number].count(old) == 1, (number, old)
    changed = records[number].replace(old, new)
    return (*records[:number], changed, *records[number + 1 :])


def changed(number: int, old: bytes, new: bytes) -> bytes:
    """The file of `plain` with bytes of one record exchanged, links as they were."""
    return b"".join(exchanged(plain().records, number, old, new))


def held(digests: Mapping[int, str | None]) -> bytes:
    """The file of `plain` with records withheld; None stands for the true leaf (rule C22)."""
    run = plain()
    lines = list(run.records)
    for number, digest in digests.items():
        lines[number] = spelled({"withheld": digest or run.leaves[number].hex()}).encode() + b"\n"
    return b"".join(lines)


def other() -> Cassette:
    """Another run of the same author: six records, sealed."""
    return Cassette(chain([opening("other"), running(), *reversed(ANSWERS), ending()]))


def continued() -> Cassette:
    """A cassette that goes on where `plain` was sealed."""
    before = plain()
    previous = {"origin": before.origin, "records": 6, "root": before.root(6).hex()}
    again = llm("Name a prime below ten.", "Two.", 24)
    return Cassette(chain([opening("continued", previous=previous), running(20), again, ending()]))


def unicode() -> Cassette:
    """Line separators, a byte order mark, controls, right-to-left marks: all inside strings."""
    hostile = "one\u2028two\u0085three\u2029\ufeff\x7f\x0b\x0c\x1c \u202eabc\u202c \U0001f4fc e\u0301 \x00"
    return Cassette(chain([opening("unicode"), running(), llm(hostile, "line\r\nline\r\n", 4), ending()]))


def odd_numbers() -> Cassette:
    """Numbers no machine word holds, and containers nested 64 deep, the record being the first."""
    deep: Json = Raw("[" * 61 + "]" * 61)
    odd: Json = [Raw("1e400"), Raw("-0"), Raw("9" * 5000), Raw("1E+2"), Raw("0.10"), deep]
    return Cassette(chain([opening("odd"), running(), llm(odd, "noted", 4), ending()]))


def no_calls() -> Cassette:
    """A run in which nothing was asked."""
    return Cassette(chain([opening("no calls"), running(), ending()]))


def rich_bodies() -> list[Body]:
    """Two runs of two commits, all kinds, all endings."""
    capture: Json = {
        "road": "command",
        "enclosed": True,
        "allow": ["localhost:5432"],
        "pass": ["telemetry.example"],
        "routes": {"openai": "https://api.openai.example/v1"},
    }
    asked = '{"model": "tiny-1", "messages": [], "temperature": 0.50}'
    stream = "data: Se\r\n\r\ndata: ven\r\n\r\ndata: [DONE]\r\n\r\n"
    url = "https://api.openai.example/v1/chat/completions"
    event: Json = [("content-type", "text/event-stream")]
    streamed: Json = {
        "ended": "complete",
        "error": None,
        "status": 200,
        "headers": event,
        "body": {"text": stream},
        "chunks": [(12, 31), (13, 44), (16, 45)],
    }
    image = bytes.fromhex("89504e470d0a1a0a00ff")
    broke: Json = {
        "ended": "upstream_broke",
        "error": "reset",
        "status": 200,
        "headers": [("content-type", "image/png"), ("set-cookie", "~REDACTED~header~"), ("set-cookie", "b")],
        "body": {"base64": b64(image)},
        "chunks": None,
    }
    nothing: Json = {
        "ended": "no_response",
        "error": "timeout",
        "status": None,
        "headers": [],
        "body": None,
        "chunks": None,
    }
    parsed: Json = {"json": {"model": "tiny-1", "messages": [], "temperature": Raw("0.50")}}
    return [
        opening(
            "rich", match={"headers": ["anthropic-version"], "ignore": ["/body/json/user", "/params/*/id"]}
        ),
        running(
            1, code=FIRST, command=["python", "bench.py", "--n", "3"], capture=capture, meta={"note": "first"}
        ),
        http(url, {"text": asked}, parsed, streamed, 5),
        tool("lookup", {"id": 12, "deep": [None, True]}, {"result": {"rows": []}}, 8),
        running(20, code=SECOND, command=["python", "bench.py"], capture=capture),
        llm("And eleven?", "Also prime.", 24, scrubbed=[{"rule": "header", "where": "/request", "count": 2}]),
        tool("lookup", {"id": 13}, {"error": {"type": "NotFound"}}, 27),
        http(url, {"text": asked}, parsed, broke, 31),
        http(url, None, None, nothing, 36),
        ending(),
    ]


def rich() -> Cassette:
    """Ten records, sealed."""
    return Cassette(chain(rich_bodies()))
