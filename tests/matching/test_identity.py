"""Which requests are the same: the key of spec Q1 to Q6."""

from __future__ import annotations

import base64
import hashlib
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from provtape.errors import FormatError, SessionError
from provtape.format import strict
from provtape.matching.identity import Match, identity, key

scalars = (
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.text(st.characters(exclude_categories=["Cs"]))
)
values = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text("abé\u2028~/", max_size=3), inner, max_size=4)
    ),
)


def llm(prompt: object = "ping", **params: object) -> dict[str, object]:
    return {"model": "m", "prompt": prompt, "params": params}


def http(
    body: bytes | None = None, headers: object = (), url: str = "https://h/v1", method: str = "POST"
) -> dict[str, object]:
    stored: dict[str, str] | None = None
    if body:
        try:
            stored = {"text": body.decode()}
        except UnicodeDecodeError:
            stored = {"base64": base64.b64encode(body).decode()}
    return {"method": method, "url": url, "headers": [list(pair) for pair in headers], "body": stored}


def http_key(*args: object, **kwargs: object) -> str:
    return key("http", http(*args, **kwargs))


def backwards(value: object) -> object:
    """The same JSON value with every object's names in the opposite order."""
    if isinstance(value, dict):
        return {name: backwards(value[name]) for name in reversed(value)}
    return [backwards(item) for item in value] if isinstance(value, list) else value


def test_keys_made_by_somebody_else_come_out() -> None:
    """Computed independently of this project, one for each kind."""
    question = {
        "model": "smollm2",
        "prompt": "Größe? 😀 \u2028",
        "params": {"seed": 7, "temperature": strict.Number("1.0")},
    }
    assert key("llm", question) == "8d8721ae7c36cd976443d71b0069cae49f2d6c01c866b34a1dfecfb64bfd138a"
    clock = {"name": "clock", "arguments": {}}
    assert key("tool", clock) == "a0c05ea29e325593177e73fbbda0506078b25eef6b57f0609e609fb26c7a4ae4"
    body = b'{"stream":true,"model":"smollm2","messages":[]}'
    chat = http(body, [("content-type", "application/json")], "http://127.0.0.1:8091/v1/chat/completions")
    assert key("http", chat) == "9ee0b20e5e0aa65287e5e722e9ba1b99e070eb6deea547677fb655444410d02e"


@settings(deadline=None)
@given(values)
def test_the_key_is_the_digest_of_the_sorted_text(prompt: object) -> None:
    text = json.dumps(
        {"kind": "llm", **llm(prompt)}, sort_keys=True, ensure_ascii=False, separators=(",", ":")
    )
    assert key("llm", llm(prompt)) == hashlib.sha256(b"provtape/1 key\n" + text.encode()).hexdigest()


@settings(deadline=None)
@given(values)
def test_the_order_of_names_changes_no_key(prompt: object) -> None:
    assert key("llm", llm(prompt)) == key("llm", backwards(llm(prompt)))


@settings(deadline=None)
@given(values, values)
def test_different_values_have_different_keys(first: object, second: object) -> None:
    same = json.dumps(first, sort_keys=True) == json.dumps(second, sort_keys=True)
    assert (key("llm", llm(first)) == key("llm", llm(second))) is same


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ([1, 2], [2, 1]),
        (1, "1"),
        (1, 1.0),
        (1.0, strict.Number("1e0")),
        ({"a": None}, {}),
        (True, 1),
        ("é", "e\u0301"),
        ([], {}),
        (strict.Number("1e400"), strict.Number("1e401")),
    ],
)
def test_what_looks_alike_stays_apart(one: object, other: object) -> None:
    assert key("llm", llm(one)) != key("llm", llm(other))
    assert key("llm", llm(x=one)) != key("llm", llm(x=other))


def test_every_part_of_a_request_is_in_the_key() -> None:
    plain = llm(temperature=0.7)
    others = [{**plain, "model": "n"}, llm(), llm(temperature=0.8), llm(temperature=0.7, num_ctx=4096)]
    keys = {key("llm", request) for request in (plain, *others)}
    assert len(keys) == 5
    assert key("tool", {"name": "m", "arguments": {}}) not in keys


def test_what_json_can_not_say_has_no_key() -> None:
    for value in (float("nan"), {1: 2}, object(), "\ud800"):
        with pytest.raises(FormatError):
            key("llm", llm(value))


# HTTP


def test_userinfo_and_fragment_are_no_part_of_a_url() -> None:
    plain = http_key(url="https://h:8443/a%20b?x=1&x=2#")
    assert plain == http_key(url="https://alice:pw@h:8443/a%20b?x=1&x=2#top")
    assert identity("http", http(url="https://u@v@h/?q=a@b#c"))["url"] == "https://h/?q=a@b"
    assert identity("http", http(url="/path@here?x"))["url"] == "/path@here?x"
    for url in ("https://h:8443/a b?x=1&x=2", "https://h:8443/a%20b?x=2&x=1", "https://h:8443/a%20b?x=1"):
        assert http_key(url=url) != plain


def test_only_named_headers_count_and_repeats_keep_their_order() -> None:
    noise = [("user-agent", "sdk/1"), ("x-stainless-retry-count", "2")]
    beta = [("anthropic-beta", "a"), ("anthropic-beta", "b")]
    version = [("anthropic-version", "2023-06-01")]
    assert http_key(headers=noise) == http_key()
    assert http_key(headers=[*version, *noise, *beta]) == http_key(headers=beta + version)
    assert http_key(headers=beta[::-1] + version) != http_key(headers=beta + version)
    with_agent = Match.of(headers=("user-agent",))
    assert key("http", http(headers=noise), with_agent) != key("http", http(), with_agent)


def test_json_bodies_are_compared_as_json_whatever_the_content_type_says() -> None:
    plain = http_key(b'{"a":1,"b":[1,2]}')
    assert plain == http_key(b' {"b": [1, 2],\r\n "\\u0061": 1} ', [("content-type", "text/plain")])
    for body in (
        b'{"a":1,"b":[2,1]}',
        b'{"a":"1","b":[1,2]}',
        b'{"a":1.0,"b":[1,2]}',
        b'{"a":null,"b":[1,2]}',
        b'{"b":[1,2]}',
    ):
        assert http_key(body) != plain


@pytest.mark.parametrize(
    "body",
    [
        b'{"a":1,"a":2}',
        b"12",
        b'"text"',
        b"a=1&b=2",
        bytes(range(256)),
        b"\xef\xbb\xbf{}",
        b"[" * 80 + b"]" * 80,
    ],
)
def test_other_bodies_are_compared_by_digest(body: bytes) -> None:
    assert identity("http", http(body))["body"] == {"sha256": hashlib.sha256(body).hexdigest()}
    assert http_key(body) != http_key(body + b" ")


def test_no_body_is_null() -> None:
    assert identity("http", http())["body"] is None
    assert http_key() != http_key(b"{}")


def upload(boundary: str, content: bytes, quoted: bool = False) -> str:
    part = b'--%s\r\ncontent-disposition: form-data; name="f"\r\n\r\n%s\r\n--%s--\r\n' % (
        boundary.encode(),
        content,
        boundary.encode(),
    )
    value = (
        f'multipart/form-data; charset=x; Boundary="{boundary}"'
        if quoted
        else f"multipart/form-data; boundary={boundary}"
    )
    return http_key(part, [("content-type", value)])


def test_a_fresh_multipart_boundary_changes_no_key() -> None:
    audio = bytes(range(256))
    assert upload("0123abc", audio) == upload("ffffeee", audio) == upload("a b", audio, quoted=True)
    assert upload("0123abc", audio) != upload("0123abc", audio[:-1] + b"!")
    assert upload("0123abc", b"text") == upload("ffffeee", b"text")


# match.ignore


def test_ignored_members_are_no_part_of_the_key() -> None:
    match = Match.of(ignore=("/prompt/*/id", "/params/user"))
    first = {
        "model": "m",
        "prompt": [{"id": "1", "text": "a"}, {"id": "2", "text": "b"}],
        "params": {"user": "x", "n": 1},
    }
    second = {"model": "m", "prompt": [{"id": "3", "text": "a"}, {"text": "b"}], "params": {"n": 1}}
    third = {**second, "prompt": [{"text": "a"}, {"text": "c"}]}
    assert key("llm", first, match) == key("llm", second, match)
    assert key("llm", first, match) != key("llm", third, match)
    assert key("llm", first) != key("llm", second)


def test_a_pointer_names_one_place_and_a_star_one_whole_segment() -> None:
    def left(value: object, *ignore: str) -> object:
        return identity("llm", llm(value), Match.of(ignore=ignore))["prompt"]

    assert left([10, 11, 12], "/prompt/0", "/prompt/2") == [11]
    assert left([10, 11], "/prompt/00", "/prompt/-") == [10, 11]
    assert left({"a/b": 1, "m~n": 2, "c": 3}, "/prompt/a~1b", "/prompt/m~0n") == {"c": 3}
    assert left({"a": {"x": 1}, "b": {"x": 2, "y": 3}}, "/prompt/*/x") == {"a": {}, "b": {"y": 3}}
    assert left({"id": 1, "idx": 2}, "/prompt/i*") == {"id": 1, "idx": 2}
    assert left({"": 1, "a": 2}, "/prompt/") == {"a": 2}
    body = identity("http", http(b'{"id":1,"x":2}'), Match.of(ignore=("/body/json/id",)))["body"]
    assert body == {"json": {"x": 2}}


@pytest.mark.parametrize("pointer", ["", "prompt", "/a~2b", "/a~"])
def test_what_is_no_pointer_is_refused_by_its_number(pointer: str) -> None:
    with pytest.raises(SessionError, match="entry 1 is no JSON Pointer"):
        Match.of(ignore=("/params/user", pointer))


def test_a_cassette_can_not_make_matching_slow_by_ignoring_everything() -> None:
    assert len(Match.of(ignore=("/params/x",) * 1000).pointers) == 1000
    with pytest.raises(SessionError, match="more than 1000 entries"):
        Match.of(ignore=("/params/x",) * 1001)
