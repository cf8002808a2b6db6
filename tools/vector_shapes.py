"""members.json and chain.json: records with one member at fault, and the tree over many records."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from vector_record import FIRST, ZEROS, Body, ending, http, leaf, llm, opening, record, root, running, tool
from vector_text import Json, b64

GOOD_RESPONSE: Final[dict[str, Json]] = {
    "ended": "complete",
    "error": None,
    "status": 200,
    "headers": [("content-type", "text/plain"), ("x", "")],
    "body": {"text": "h\u00e9llo"},
    "chunks": [(4, 1), (2, 9)],
}
PREVIOUS: Final[Json] = {"origin": f"lab.example/alice/{'ab' * 32}", "records": 6, "root": "cd" * 32}


def _line(seq: int, body: Body) -> bytes:
    return record("12" * 32 if seq else ZEROS, seq, body)


def _good() -> dict[str, bytes]:
    """The records that the faulty ones derive from."""
    url = "https://api.example/v1/chat"
    broken: dict[str, Json] = {
        "ended": "no_response",
        "error": "timeout",
        "status": None,
        "headers": [],
        "body": None,
        "chunks": None,
    }
    silent = GOOD_RESPONSE | {"body": {"base64": b64(b"\xff\x00")}, "chunks": None}
    return {
        "open": _line(0, opening("members", previous=PREVIOUS)),
        "run": _line(1, running(code=FIRST, command=["python", "bench.py"])),
        "llm": _line(
            2, llm("a prime", "seven", 4, scrubbed=[{"rule": "header", "where": "/request", "count": 1}])
        ),
        "tool": _line(3, tool("lookup", {"id": 1}, {"result": None}, 5)),
        "http": _line(4, http(url, {"text": "hi"}, {"sha256": "00" * 32}, GOOD_RESPONSE, 6)),
        "http base64": _line(5, http(url, {"text": "hi"}, {"sha256": "00" * 32}, silent, 7)),
        "http without response": _line(6, http(url, None, None, broken, 8)),
        "end": _line(7, ending()),
    }


Fault = tuple[str, str, str, bytes, bytes]


def _faults() -> Sequence[Fault]:
    """Name, rule, good record, bytes of it (which stand there once), what stands there instead."""
    hexes, tree = b"3a" * 20, b'"tree":"' + b"5c" * 20
    return [
        ("another format", "C12", "open", b"provtape/1", b"provtape/0"),
        ("prefix in upper case", "C13", "open", b'"prefix":"lab', b'"prefix":"Lab'),
        (
            "prefix with an empty segment",
            "C13",
            "open",
            b'"prefix":"lab.example/alice',
            b'"prefix":"lab.example//alice',
        ),
        ("prefix empty", "C13", "open", b'"prefix":"lab.example/alice', b'"prefix":"'),
        ("prefix of 256 bytes", "C13", "open", b'"prefix":"lab.example/alice', b'"prefix":"' + b"a" * 256),
        ("recorder is a number", "C13", "open", b'"recorder":"vector builder 1"', b'"recorder":1'),
        ("digest of other rules", "C13", "open", b'"rules":"format', b'"rules":"Format'),
        ("scrub with another member", "C13", "open", b'"rules":"', b'"pack":"","rules":"'),
        ("scrub name is null", "C13", "open", b'"scrub":{"name":"vectors"', b'"scrub":{"name":null'),
        ("match without ignore", "C13", "open", b',"ignore":[]', b""),
        ("match header is a number", "C13", "open", b'"anthropic-beta"', b"1"),
        ("previous of no records", "C13", "open", b'"records":6', b'"records":0'),
        ("previous root in upper case", "C13", "open", b'"root":"cd', b'"root":"CD'),
        ("previous origin without a leaf", "C13", "open", b"/" + b"ab" * 32, b""),
        ("meta is null", "C13", "open", b'"meta":{}', b'"meta":null'),
        ("a member more", "C13", "open", b'"meta":{}', b'"meta":{},"approved":true'),
        (
            "created after recorder",
            "C13",
            "open",
            b'"created":"2026-03-14T09:00:00.250Z","recorder":"vector builder 1"',
            b'"recorder":"vector builder 1","created":"2026-03-14T09:00:00.250Z"',
        ),
        ("commit of 39 digits", "C14", "run", hexes, hexes[1:]),
        ("commit in upper case", "C14", "run", hexes, hexes.upper()),
        ("tree is null", "C14", "run", tree + b'"', b'"tree":null'),
        ("dirty is a word", "C14", "run", b'"dirty":false', b'"dirty":"false"'),
        ("uri is a number", "C14", "run", b'"uri":"https://git.example/lab/bench"', b'"uri":1'),
        ("code without tree", "C14", "run", b"," + tree + b'"', b""),
        ("code is a list", "C14", "run", b'"environment":{"python":"3.13.1"}', b'"environment":[]'),
        ("command is one string", "C14", "run", b'["python","bench.py"]', b'"python bench.py"'),
        ("command holds a number", "C14", "run", b'"bench.py"]', b"3]"),
        ("an unknown road", "C14", "run", b'"road":"session"', b'"road":"proxy"'),
        ("enclosed is null", "C14", "run", b'"enclosed":false', b'"enclosed":null'),
        ("enclosed is a number", "C14", "run", b'"enclosed":false', b'"enclosed":0'),
        ("allow holds a number", "C14", "run", b'"allow":[]', b'"allow":[5432]'),
        ("routes is an array", "C14", "run", b'"routes":{}', b'"routes":[]'),
        ("capture without pass", "C14", "run", b',"pass":[]', b""),
        ("key of 63 digits", "C15", "llm", b'"key":"', b'"key":"0'),
        ("no salt", "C15", "llm", b',"meta":{},"salt":', b',"salt":'),
        ("duration below zero", "C15", "llm", b'"elapsed_ms":44', b'"elapsed_ms":-44'),
        ("duration with a fraction", "C15", "llm", b'"elapsed_ms":44', b'"elapsed_ms":44.0'),
        ("duration with an exponent", "C15", "llm", b'"elapsed_ms":44', b'"elapsed_ms":44e0'),
        ("duration of 2^53", "C15", "llm", b'"elapsed_ms":44', b'"elapsed_ms":9007199254740992'),
        ("duration is minus zero", "C15", "llm", b'"elapsed_ms":44', b'"elapsed_ms":-0'),
        ("duration is true", "C15", "llm", b'"elapsed_ms":44', b'"elapsed_ms":true'),
        ("scrubbed row without where", "C15", "llm", b'"where":"/request",', b""),
        ("scrubbed count is a string", "C15", "llm", b'"count":1', b'"count":"1"'),
        ("scrubbed is null", "C15", "tool", b'"scrubbed":[]', b'"scrubbed":null'),
        ("an unknown kind", "C15", "llm", b'"kind":"llm"', b'"kind":"chat"'),
        ("model is null", "C16", "llm", b'"model":"tiny-1"', b'"model":null'),
        ("request without params", "C16", "llm", b',"params":{"temperature":0.70}', b""),
        (
            "request in another order",
            "C16",
            "llm",
            b'"model":"tiny-1","prompt":"a prime"',
            b'"prompt":"a prime","model":"tiny-1"',
        ),
        ("result of a model", "C16", "llm", b'"output":', b'"result":'),
        ("output and error", "C16", "llm", b'"output":"seven"', b'"output":"seven","error":null'),
        ("empty response", "C16", "llm", b'"output":"seven"', b""),
        ("output of a tool", "C16", "tool", b'"result":', b'"output":'),
        ("tool name is a number", "C16", "tool", b'"name":"lookup"', b'"name":1'),
        ("tool request with a model", "C16", "tool", b'"name":"lookup"', b'"model":"tiny-1","name":"lookup"'),
        ("method is null", "C17", "http", b'"method":"POST"', b'"method":null'),
        ("header name in upper case", "C17", "http", b'["x",""]', b'["X",""]'),
        ("header of three", "C17", "http", b'["x",""]', b'["x","",""]'),
        ("header value is null", "C17", "http", b'["x",""]', b'["x",null]'),
        ("headers are an object", "C17", "http without response", b'"headers":[],', b'"headers":{},'),
        ("an unknown ending", "C17", "http", b'"complete"', b'"done"'),
        ("status is a string", "C17", "http", b'"status":200', b'"status":"200"'),
        ("status with a fraction", "C17", "http", b'"status":200', b'"status":200.0'),
        ("error is an object", "C17", "http", b'"error":null', b'"error":{}'),
        ("no error member", "C17", "http", b'"error":null,', b""),
        (
            "request with chunks",
            "C17",
            "http",
            b'"body":{"text":"hi"}',
            b'"body":{"text":"hi"},"chunks":null',
        ),
        ("empty text", "C18", "http", b'{"text":"hi"}', b'{"text":""}'),
        ("text and base64", "C18", "http", b'{"text":"hi"}', b'{"text":"hi","base64":""}'),
        ("an unknown form of body", "C18", "http", b'{"text":"hi"}', b'{"json":"hi"}'),
        ("body is a string", "C18", "http", b'{"text":"hi"}', b'"hi"'),
        ("body is empty", "C18", "http", b'{"text":"hi"}', b"{}"),
        ("text is null", "C18", "http", b'{"text":"hi"}', b'{"text":null}'),
        ("base64 of UTF-8", "C18", "http base64", b'"/wA="', b'"aGk="'),
        ("base64 of nothing", "C18", "http base64", b'"/wA="', b'""'),
        ("base64 without padding", "C18", "http base64", b'"/wA="', b'"/wA"'),
        ("base64 with bits to spare", "C18", "http base64", b'"/wA="', b'"/wB="'),
        ("base64url", "C18", "http base64", b'"/wA="', b'"_wA="'),
        ("base64 with a blank", "C18", "http base64", b'"/wA="', b'"/w A="'),
        ("chunks that add up to characters, not bytes", "C19", "http", b"[4,1],[2,9]", b"[3,1],[2,9]"),
        ("chunks that add up to more", "C19", "http", b"[4,1],[2,9]", b"[4,1],[3,9]"),
        ("no chunks for a body", "C19", "http", b"[[4,1],[2,9]]", b"[]"),
        ("chunk without a time", "C19", "http", b"[4,1]", b"[4]"),
        ("chunk with a fraction", "C19", "http", b"[4,1]", b"[4,1.5]"),
        ("chunks below zero", "C19", "http", b"[4,1],[2,9]", b"[7,1],[-1,9]"),
        (
            "a chunk where there is no body",
            "C19",
            "http without response",
            b'"chunks":null',
            b'"chunks":[[1,1]]',
        ),
        ("end with a reason", "C20", "end", b'"meta":{}', b'"meta":{},"reason":""'),
        ("end without meta", "C20", "end", b',"meta":{}', b""),
        ("closed is null", "C20", "end", b'"2026-03-14T09:00:50.250Z"', b"null"),
        ("time without milliseconds", "C21", "end", b"50.250Z", b"50Z"),
        ("time in microseconds", "C21", "end", b"50.250Z", b"50.250000Z"),
        ("time with an offset", "C21", "llm", b"04.250Z", b"04.250+00:00"),
        ("time with a blank", "C21", "run", b"14T09", b"14 09"),
        ("time with digits of another script", "C21", "run", b"01.250Z", "0\u0661.250Z".encode()),
        ("time with a line feed after it", "C21", "end", b'50.250Z"', b'50.250Z\\n"'),
        (
            "nonce of 21 characters",
            "C21",
            "open",
            b'"nonce":"',
            b'"nonce":"',
        ),
        ("salt that stands for no 16 bytes", "C21", "llm", b'"salt":"', b'"salt":"'),
    ]


def _broken(name: str, good: bytes, old: bytes, new: bytes) -> bytes:
    """`good` with one fault."""
    if name == "nonce of 21 characters":
        start = good.index(old) + len(old)
        return good[:start] + good[start + 1 :]
    if name == "salt that stands for no 16 bytes":
        end = good.rindex(b'"}')
        return good[: end - 1] + b"B" + good[end:]
    assert good.count(old) == 1, (name, good.count(old))
    return good.replace(old, new)


def _still_good() -> Sequence[Fault]:
    """Changes that keep every rule."""
    return [
        ("prefix of 255 bytes", "C13", "open", b'"prefix":"lab.example/alice', b'"prefix":"' + b"a" * 255),
        (
            "prefix with all characters",
            "C13",
            "open",
            b'"prefix":"lab.example/alice',
            b'"prefix":"a-0.z/A.~_-9/b',
        ),
        (
            "no previous",
            "C13",
            "open",
            b'"previous":{"origin":"lab.example/alice/'
            + b"ab" * 32
            + b'","records":6,"root":"'
            + b"cd" * 32
            + b'"}',
            b'"previous":null',
        ),
        (
            "no code",
            "C14",
            "run",
            b'"code":{"uri":"https://git.example/lab/bench","commit":"'
            + b"3a" * 20
            + b'","tree":"'
            + b"5c" * 20
            + b'","dirty":false}',
            b'"code":null',
        ),
        ("no uri", "C14", "run", b'"uri":"https://git.example/lab/bench"', b'"uri":null'),
        ("commit of 64 digits", "C14", "run", b"3a" * 20, b"3a" * 32),
        ("command without words", "C14", "run", b'["python","bench.py"]', b"[]"),
        ("duration of 2^53-1", "C15", "llm", b'"elapsed_ms":44', b'"elapsed_ms":9007199254740991'),
        ("duration of nothing", "C15", "llm", b'"elapsed_ms":44', b'"elapsed_ms":0'),
        ("any JSON in meta", "C15", "tool", b'"meta":{}', b'"meta":{"a":[1e400,null,{"b":-0}]}'),
        ("a model's error", "C16", "llm", b'"output":"seven"', b'"error":{"type":"overloaded"}'),
        ("a tool's error is null", "C16", "tool", b'"result":null', b'"error":null'),
        ("prompt is null", "C16", "llm", b'"prompt":"a prime"', b'"prompt":null'),
        ("a status of five digits", "C17", "http", b'"status":200', b'"status":20000'),
        ("header name in no letters", "C17", "http", b'["x",""]', '["\u00c9",""]'.encode()),
        ("a text of one null character", "C18", "http", b'{"text":"hi"}', b'{"text":"\\u0000"}'),
        ("an empty chunk", "C19", "http", b"[4,1],[2,9]", b"[4,1],[0,1],[2,9]"),
        ("no chunks for no body", "C19", "http without response", b'"chunks":null', b'"chunks":[]'),
        (
            "a time that no calendar knows",
            "C21",
            "end",
            b"2026-03-14T09:00:50.250Z",
            b"0000-99-99T99:99:99.999Z",
        ),
    ]


def members_file() -> list[Json]:
    """Rows of members.json; `from` names the good record that a row derives from."""
    good = _good()
    rows: list[Json] = [
        {"name": name, "rule": None, "from": None, "ok": True, "record": b64(line)}
        for name, line in good.items()
    ]
    for ok, changes in ((True, _still_good()), (False, _faults())):
        for name, rule, source, old, new in changes:
            line = _broken(name, good[source], old, new)
            rows.append({"name": name, "rule": rule, "from": source, "ok": ok, "record": b64(line)})
    return rows


def chain_file() -> bytes:
    """chain.json: leaves of eighteen records, and roots over the first n of a thousand (rule C8)."""
    lines = [f"record {number}\n".encode() for number in range(1000)]
    leaves = [leaf(line) for line in lines]
    sizes = [*range(18), 31, 32, 33, 63, 64, 65, 100, 255, 256, 257, 999, 1000]
    leaf_rows = ",\n".join(
        f'  {{"record": "{b64(lines[n])}", "leaf": "{leaves[n].hex()}"}}' for n in range(18)
    )
    root_rows = ",\n".join(f'  {{"records": {n}, "root": "{root(leaves[:n]).hex()}"}}' for n in sizes)
    says = "record i is the text `record `, i in decimal, LF; roots are over records 0 to n-1"
    return f'{{\n"says": "{says}",\n"leaves": [\n{leaf_rows}\n],\n"roots": [\n{root_rows}\n]\n}}\n'.encode()
