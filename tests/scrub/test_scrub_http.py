"""URLs, headers and bodies at the door: what goes by its place, what goes by its look, and that every other byte stays."""

from __future__ import annotations

import itertools
import json
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scrub_examples import expand
from scrub_parts import (
    JSON,
    KEY,
    PLAIN,
    TOKEN,
    answer,
    body_of,
    door,
    http,
    through,
)

from provtape.scrub.door import Door
from provtape.scrub.rules import load


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        (
            "https://api.example/v1/chat?api-version=1&b=%41",
            "https://api.example/v1/chat?api-version=1&b=%41",
        ),
        (f"https://u:{PLAIN}@h:8/p", "https://h:8/p"),
        (f"https://h/p?alt=sse&KEY={PLAIN}&x", "https://h/p?alt=sse&KEY=~REDACTED~query~&x"),
        ("https://h/p?%6Bey=abc&sig=&x=1", "https://h/p?%6Bey=~REDACTED~query~&sig=&x=1"),
        (f"https://h/{TOKEN}/x?q={TOKEN}", "https://h/~REDACTED~github-token~/x?q=~REDACTED~github-token~"),
        ("https://h/#access_token=abc&state=1", "https://h/#access_token=~REDACTED~query~&state=1"),
        ("/relative?token=abc", "/relative?token=~REDACTED~query~"),
        (f"https://h/?q={TOKEN.replace('_', '%5F')}", "https://h/?q=~REDACTED~github-token~"),
        (f"https://h/{TOKEN.replace('_', '%5F')}/x", "https://h/~REDACTED~github-token~/x"),
        ("not a url at all", "not a url at all"),
        ("https://[::1]:80/?a=b", "https://[::1]:80/?a=b"),
    ],
)
def test_a_url_loses_its_secrets_and_no_other_byte(url: str, expected: str) -> None:
    the_door = door()
    request, _ = the_door.request("http", http(url))
    assert request["url"] == expected
    assert the_door.request("http", request)[0] == request


def test_in_a_host_the_placeholder_is_a_label() -> None:
    rules = load(
        'format = "provtape-scrub/1"\nname = "x"\n[[rules]]\nid = "tenant"\nregex = \'([a-z-]{2,40})\\.svc\'\nkeywords = [".svc"]\n'
    )
    the_door = Door(rules)
    request, found = the_door.request("http", http("https://our-team.svc.example/a"))
    assert request["url"] == "https://redacted-tenant.svc.example/a"
    assert found == [{"rule": "tenant", "where": "/request/url", "count": 1}]
    assert the_door.request("http", request) == (request, [])


SENT = {
    "openai": [
        ("authorization", f"Bearer {KEY}"),
        ("openai-organization", "org-x"),
        ("openai-project", "p"),
        ("cookie", "a=b"),
    ],
    "anthropic": [("x-api-key", KEY), ("authorization", "Bearer x")],
    "azure": [("api-key", PLAIN), ("ocp-apim-subscription-key", PLAIN)],
    "gemini": [("x-goog-api-key", PLAIN), ("x-goog-user-project", "p")],
    "bedrock": [
        ("authorization", "AWS4-HMAC-SHA256 x"),
        ("x-amz-security-token", "x"),
        ("x-amz-date", "x"),
        ("amz-sdk-invocation-id", "x"),
    ],
    "cohere": [("authorization", "Bearer x"), ("x-client-name", "x")],
    "openrouter": [("authorization", "Bearer x"), ("http-referer", "x"), ("x-title", "x")],
    "hugging face": [("authorization", "Bearer x"), ("x-hf-bill-to", "x")],
    "elevenlabs": [("xi-api-key", PLAIN)],
    "gateways": [
        ("cf-aig-authorization", "x"),
        ("x-portkey-api-key", "x"),
        ("helicone-auth", "x"),
        ("x-auth-email", "x"),
        ("x-acme-inside", "x"),
    ],
    "all": [
        ("referer", "x"),
        ("x-forwarded-for", "x"),
        ("traceparent", "x"),
        ("baggage", "x"),
        ("proxy-authorization", "x"),
    ],
}
CAME = {
    "openai": (
        [("set-cookie", "__cf_bm=x"), ("openai-organization", "x"), ("x-error-json", "x")],
        [("x-request-id", "r"), ("openai-version", "v")],
    ),
    "anthropic": (
        [("anthropic-organization-id", "x"), ("cf-ray", "x"), ("traceresponse", "x")],
        [("request-id", "r")],
    ),
    "azure": (
        [("x-ms-deployment-name", "x"), ("azureml-model-session", "x")],
        [("apim-request-id", "r"), ("x-ms-region", "x")],
    ),
    "gemini": ([("x-guploader-uploadid", "x")], [("date", "x")]),
    "bedrock": (
        [("x-amz-cf-id", "x"), ("x-amzn-trace-id", "x")],
        [("x-amzn-requestid", "r"), ("x-amzn-bedrock-input-token-count", "3")],
    ),
    "mistral": ([("x-kong-request-id", "x"), ("x-ratelimit-limit", "x")], [("mistral-correlation-id", "r")]),
    "cohere": ([("x-endpoint-monthly-call-limit", "x")], [("x-debug-trace-id", "r"), ("num_tokens", "3")]),
    "groq": ([("set-cookie", "x"), ("cf-ray", "x")], [("x-groq-region", "r")]),
    "gateways": (
        [("x-litellm-key", "x"), ("x-portkey-trace-id", "x"), ("via", "x"), ("etag", "x")],
        [("content-type", "text/plain")],
    ),
}


@pytest.mark.parametrize("sent", SENT.values(), ids=list(SENT))
def test_no_credential_or_identity_header_of_a_provider_is_kept(sent: list[tuple[str, str]]) -> None:
    request, found = door().request("http", http(headers=[("content-type", "application/json"), *sent]))
    assert request["headers"] == [["content-type", "application/json"]]
    assert found == [{"rule": "header", "where": "/request/headers", "count": len(sent)}]


@pytest.mark.parametrize(("dropped", "kept"), CAME.values(), ids=list(CAME))
def test_of_an_answer_only_evidence_is_kept(
    dropped: list[tuple[str, str]], kept: list[tuple[str, str]]
) -> None:
    value = through(door(), "http", http(), answer(headers=[*dropped, *kept]))
    assert value["response"]["headers"] == [list(pair) for pair in kept]
    assert value["scrubbed"] == [{"rule": "header", "where": "/response/headers", "count": len(dropped)}]


def test_kept_headers_still_pass_the_text_rules_and_urls_in_them_the_url_rules() -> None:
    came = [
        ("location", f"https://h/next?sig={PLAIN}&n=2"),
        ("x-request-id", TOKEN),
        ("x-goog-upload-url", "https://h/?upload_id=abcdef"),
    ]
    value = through(door(), "http", http(), answer(headers=came))
    assert value["response"]["headers"] == [
        ["location", "https://h/next?sig=~REDACTED~query~&n=2"],
        ["x-request-id", "~REDACTED~github-token~"],
        ["x-goog-upload-url", "https://h/?upload_id=~REDACTED~query~"],
    ]
    assert [row["where"] for row in value["scrubbed"]] == [f"/response/headers/{n}/1" for n in range(3)]


def test_a_credential_that_the_answer_echoes_is_known_from_the_request() -> None:
    value = through(
        door(), "http", http(headers=[("api-key", PLAIN)]), answer(body={"text": f"no such key: {PLAIN}"})
    )
    assert value["response"]["body"] == {"text": "no such key: ~REDACTED~local~"}
    value = through(
        door(), "http", http(headers=[("api-key", "not-needed")]), answer(body={"text": "not-needed"})
    )
    assert value["response"]["body"] == {"text": "not-needed"}


# Bodies


def test_only_the_spans_of_a_json_body_change() -> None:
    text = (
        '{ "a" : 1.0,\t"user":"jane", "a":1e400, "content":"\\u00e9 \\n\\ud83d\\ude00 '
        + KEY
        + '\\/", "x":"'
        + TOKEN
        + '" }\n'
    )
    expected = (
        text.replace(KEY, "~REDACTED~openai-key~")
        .replace(TOKEN, "~REDACTED~github-token~")
        .replace('"jane"', '"~REDACTED~pointer~"')
    )
    assert body_of(text) == expected


def test_a_secret_spelled_with_escapes_is_found() -> None:
    spelled = "".join(f"\\u{ord(char):04x}" for char in TOKEN)
    assert body_of(f'{{"x":"é {spelled}."}}') == '{"x":"é ~REDACTED~github-token~."}'


def test_a_secret_under_a_name_that_stands_twice_is_found() -> None:
    assert body_of(f'{{"x":"{TOKEN}","x":"y"}}') == '{"x":"~REDACTED~github-token~","x":"y"}'


def test_a_secret_in_a_member_name_of_a_body_is_found() -> None:
    request, found = door().request("http", http(body={"text": f'{{"{TOKEN}":{{"p":"{KEY}"}}}}'}))
    assert request["body"] == {"text": '{"~REDACTED~github-token~":{"p":"~REDACTED~openai-key~"}}'}
    assert [row["where"] for row in found] == [
        "/request/body/text#/~0REDACTED~0github-token~0",
        "/request/body/text#/~0REDACTED~0github-token~0/p",
    ]


def test_named_keys_and_pointers_take_strings_only_and_exact_names() -> None:
    clean = {
        "password": {"type": "string"},
        "max_tokens": 7,
        "token": "hello",
        "secret": 5,
        "key": "x",
        "properties": {"user": "x"},
    }
    assert json.loads(body_of(clean)) == clean
    dirty = {
        "user": "u",
        "metadata": {"user_id": "u", "other": "o"},
        "tools": [{"authorization": "a", "headers": {"X-Any": "h", "n": 1}}],
        "Client-Secret": "c",
        "list": [{"api.key": "k"}],
        "empty": {"password": ""},
    }
    pointer, named = "~REDACTED~pointer~", "~REDACTED~json-key~"
    assert json.loads(body_of(dirty)) == {
        "user": pointer,
        "metadata": {"user_id": pointer, "other": "o"},
        "tools": [{"authorization": named, "headers": {"X-Any": pointer, "n": 1}}],
        "Client-Secret": named,
        "list": [{"api.key": named}],
        "empty": {"password": ""},
    }


def test_a_form_loses_values_by_field_name() -> None:
    body = f"grant_type=x&client_secret={PLAIN}&Access-Token=b&text={TOKEN}&note=%67hp%5F{TOKEN[4:]}"
    request, _ = door().request(
        "http",
        http(
            headers=[("content-type", "application/x-www-form-urlencoded; charset=utf-8")],
            body={"text": body},
        ),
    )
    assert request["body"] == {
        "text": "grant_type=x&client_secret=~REDACTED~query~&Access-Token=~REDACTED~json-key~"
        "&text=~REDACTED~github-token~&note=~REDACTED~github-token~"
    }


@pytest.mark.parametrize(
    "text", [f'data: {{"x":"{TOKEN}"}}\n\n', f"{{broken {TOKEN}", "[" * 5000 + TOKEN, f'"{TOKEN}"']
)
def test_any_other_text_is_one_text(text: str) -> None:
    assert body_of(text) == text.replace(TOKEN, "~REDACTED~github-token~")


def test_bytes_that_are_no_text_stay_and_are_counted() -> None:
    request, found = door().request("http", http(body={"base64": "//79"}))
    assert request["body"] == {"base64": "//79"}
    assert found == [{"rule": "unread", "where": "/request/body/base64", "count": 3}]


def test_signatures_and_media_stay_whole_and_are_counted() -> None:
    noise = expand("AIza<A33>") + expand("<A96>")
    media = "data:image/png;base64," + noise
    value = {"encrypted_content": noise, "image_url": {"url": media}, "signature": expand("AIza<A33>")}
    request, found = door().request("http", http(body={"text": json.dumps(value)}))
    assert isinstance(request["body"], dict)
    assert json.loads(request["body"]["text"]) == {**value, "signature": "~REDACTED~google-api-key~"}
    assert found[:2] == [
        {"rule": "opaque", "where": "/request/body/text#/encrypted_content", "count": len(noise)},
        {"rule": "opaque", "where": "/request/body/text#/image_url/url", "count": len(media)},
    ]


def test_a_key_that_fills_a_signature_is_a_key() -> None:
    assert body_of({"signature": KEY}) == '{"signature": "~REDACTED~openai-key~"}'


def test_chunk_lengths_still_add_up_after_the_body_changed() -> None:
    text = f"data: é {KEY} and {TOKEN}\n\ndata: é\n\n"
    size = len(text.encode())
    chunks = [[8, 0], [10, 1], [60, 2], [size - 86, 3], [8, 4]]
    value = through(door(), "http", http(), answer(body={"text": text}, chunks=chunks))
    moved = value["response"]["chunks"]
    assert [time for _, time in moved] == [0, 1, 2, 3, 4]
    assert moved[0] == [8, 0]
    assert moved[-1] == [8, 4]
    assert moved[1] == [len("é ~REDACTED~openai-key~".encode()) - len("é ".encode()) + 1, 1]


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_chunks_of_any_cut_add_up_and_keep_their_text(data: st.DataObject) -> None:
    words = data.draw(
        st.lists(st.sampled_from([KEY, TOKEN, "é", "text", "\n\n", " ", "日本"]), min_size=1, max_size=12)
    )
    text = " ".join(words)
    size = len(text.encode())
    cuts = sorted(data.draw(st.lists(st.integers(0, size), max_size=6)))
    edges = [0, *cuts, size]
    chunks = [[b - a, n] for n, (a, b) in enumerate(itertools.pairwise(edges))]
    value = through(door(), "http", http(), answer(body={"text": text}, chunks=chunks))
    assert len(value["response"]["chunks"]) == len(chunks)


@settings(max_examples=200, deadline=None)
@given(JSON, st.sampled_from([None, 2]), st.booleans())
def test_a_json_body_comes_to_rest_and_stays_the_json_it_was(
    value: object, indent: int | None, ascii_only: bool
) -> None:
    text = json.dumps([value], indent=indent, ensure_ascii=ascii_only)
    once = body_of(text)
    assert KEY not in once
    assert TOKEN not in once
    assert body_of(once) == once
    kept = re.split(r"~REDACTED~[a-z-]+~", once)
    assert text.startswith(kept[0])
    assert text.endswith(kept[-1])
    assert _shape(json.loads(once)) == _shape(json.loads(text))


def _shape(value: object) -> object:
    if isinstance(value, dict):
        return [_shape(item) for item in value.values()]
    if isinstance(value, list):
        return [_shape(item) for item in value]
    return type(value) if isinstance(value, str) else value
