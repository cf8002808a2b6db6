"""match_key.json: which request is which (spec/key.md)."""

from __future__ import annotations

from collections.abc import Mapping

from vector_record import match_key
from vector_text import Json, Raw, b64, ordered, sha256, spelled


def _http(url: str, headers: Json, body: Json) -> Json:
    return {"method": "POST", "url": url, "headers": headers, "body": body}


def _identity(request: Mapping[str, Json], **changed: Json) -> dict[str, Json]:
    return {"kind": "http", **request, **changed}


def _multipart() -> list[tuple[str, Json, Json, Json]]:
    """Two spellings of one upload: the boundary is drawn anew by every client."""
    url = "https://api.example/v1/files"
    rows: list[tuple[str, Json, Json, Json]] = []
    plain = b"--boundary\r\n\r\nhello\r\n--boundary--\r\n"
    for drawn in ("x7Qa", "9b8c7d6e"):
        text = plain.decode().replace("boundary", drawn)
        kind = f"multipart/form-data; boundary={drawn}"
        request = {"method": "POST", "url": url, "headers": [("content-type", kind)], "body": {"text": text}}
        rows.append(
            (
                f"multipart, boundary {drawn}",
                request,
                {"headers": [], "ignore": []},
                _identity(
                    {"method": "POST", "url": url, "headers": [], "body": {"sha256": sha256(plain).hex()}}
                ),
            )
        )
    return rows


def requests() -> list[tuple[str, Json, Json, Json]]:
    """Name, request as stored, match rules, identity (rules Q2 to Q6)."""
    usual: Json = {"headers": ["anthropic-version", "openai-beta"], "ignore": []}

    def llm(params: Json) -> dict[str, Json]:
        return {"model": "tiny-1", "prompt": "a prime", "params": params}

    def spine(name: str, params: Json, **match: Json) -> tuple[str, Json, Json, Json]:
        return name, llm(params), {"headers": [], "ignore": []} | match, {"kind": "llm", **llm(params)}

    url = "https://api.example/v1/chat?b=2&a=1&a=%2F"
    body = '{"model":"tiny-1", "temperature":0.50, "user":"u-1"}'
    value: Json = {"model": "tiny-1", "temperature": Raw("0.50"), "user": "u-1"}
    plain = {"method": "POST", "url": url, "headers": [], "body": {"json": value}}
    marked = "https://ann:pw@api.example:8443/v1/chat?b=2#part"
    headers: Json = [
        ("openai-beta", "b"),
        ("accept", "*/*"),
        ("anthropic-version", "2"),
        ("openai-beta", "a"),
    ]
    picked: Json = [("anthropic-version", "2"), ("openai-beta", "b"), ("openai-beta", "a")]
    binary = bytes.fromhex("00ff00ff")
    calls: Json = {"name": "lookup", "arguments": {"b": 1, "a": [2, 3]}}
    rows = [
        spine("temperature 1", {"temperature": Raw("1")}),
        spine("temperature 1.0", {"temperature": Raw("1.0")}),
        spine("temperature 1e0", {"temperature": Raw("1e0")}),
        spine(
            "names are sorted by code point, not by UTF-16",
            {"\U0001f600": 1, "\uffee": 2, "b": 3, "a": 4, "B": 5},
        ),
        spine("strings keep their characters", {"stop": ["\u2028", "\x7f", "\n", "/", "\u00e9"]}),
        spine("order of an array counts", {"stop": ["b", "a"]}),
        (
            "tool",
            calls,
            {"headers": [], "ignore": []},
            {"kind": "tool", "name": "lookup", "arguments": {"b": 1, "a": [2, 3]}},
        ),
        ("http, body read as JSON", _http(url, [], {"text": body}), usual, _identity(plain)),
        (
            "http, content type does not matter",
            _http(url, [("content-type", "text/plain")], {"text": body}),
            usual,
            _identity(plain),
        ),
        ("http, no body", _http(url, [], None), usual, _identity(plain, body=None)),
        (
            "http, body is text",
            _http(url, [], {"text": "hello"}),
            usual,
            _identity(plain, body={"sha256": sha256(b"hello").hex()}),
        ),
        (
            "http, body is a JSON string alone",
            _http(url, [], {"text": '"hello"'}),
            usual,
            _identity(plain, body={"sha256": sha256(b'"hello"').hex()}),
        ),
        (
            "http, body has one name twice",
            _http(url, [], {"text": '{"a":1,"a":2}'}),
            usual,
            _identity(plain, body={"sha256": sha256(b'{"a":1,"a":2}').hex()}),
        ),
        (
            "http, body is binary",
            _http(url, [], {"base64": b64(binary)}),
            usual,
            _identity(plain, body={"sha256": sha256(binary).hex()}),
        ),
        (
            "http, userinfo and fragment are not in it",
            _http(marked, [], None),
            usual,
            _identity(plain, url="https://api.example:8443/v1/chat?b=2", body=None),
        ),
        (
            "http, headers picked, stably sorted",
            _http(url, headers, None),
            usual,
            _identity(plain, headers=picked, body=None),
        ),
    ]
    without = {"model": "tiny-1", "temperature": Raw("0.50")}
    skipped: Json = {"headers": [], "ignore": ["/body/json/user"]}
    star: Json = {"headers": [], "ignore": ["/arguments/rows/*/id", "/arguments/absent"]}
    rows += [
        (
            "ignore one member",
            _http(url, [], {"text": body}),
            skipped,
            _identity(plain, body={"json": without}),
        ),
        (
            "ignore in every element",
            {"name": "put", "arguments": {"rows": [{"id": 1, "v": 2}, {"id": 3, "v": 4}]}},
            star,
            {"kind": "tool", "name": "put", "arguments": {"rows": [{"v": 2}, {"v": 4}]}},
        ),
        (
            "ignore a name with a slash and a tilde",
            {"name": "put", "arguments": {"a/b~c": 1, "d": 2}},
            {"headers": [], "ignore": ["/arguments/a~1b~0c"]},
            {"kind": "tool", "name": "put", "arguments": {"d": 2}},
        ),
        (
            "ignore what is not there",
            calls,
            {"headers": [], "ignore": ["/body/json/user"]},
            {"kind": "tool", "name": "lookup", "arguments": {"b": 1, "a": [2, 3]}},
        ),
    ]
    return rows + _multipart()


def match_key_file() -> list[Json]:
    """Rows of match_key.json: `canonical` is C(identity), `key` is of Q1."""
    rows: list[Json] = []
    for name, request, match, identity in requests():
        assert isinstance(identity, Mapping)
        row: dict[str, Json] = {"name": name, "kind": identity["kind"], "request": request, "match": match}
        rows.append(row | {"canonical": spelled(ordered(identity)), "key": match_key(identity)})
    return rows
