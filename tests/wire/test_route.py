"""One spelling for a URL, and the way there and back through routes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from provtape.errors import InputError
from provtape.wire.route import Authority, Bases, Routes, authority, split_url, stored_url


@pytest.mark.parametrize(
    ("scheme", "host", "target", "url"),
    [
        ("https", "api.example", "/v1/models", "https://api.example/v1/models"),
        ("https", "API.Example:443", "/V1?b=%2f&b=&a=+", "https://api.example/V1?b=%2f&b=&a=+"),
        ("http", "a:80", "/", "http://a/"),
        ("http", "a:443", "/", "http://a:443/"),
        ("https", "a:80", "/", "https://a:80/"),
        ("http", "[::1]:8000", "/x", "http://[::1]:8000/x"),
        ("http", "127.0.0.1:8000", "/x//y/../z", "http://127.0.0.1:8000/x//y/../z"),
        ("http", "proxy", "http://API.example:8080/x?y", "http://api.example:8080/x?y"),
        ("http", "proxy", "HTTPS://api.example", "https://api.example/"),
        ("http", "proxy", "http://api.example?q", "http://api.example/?q"),
        ("http", "a", "*", "http://a"),
        ("http", "a", "//b/c", "http://a//b/c"),
        ("http", "a", "/http://b/", "http://a/http://b/"),
    ],
)
def test_a_request_has_one_url(scheme: str, host: str, target: str, url: str) -> None:
    assert stored_url(scheme, host, target) == url


@pytest.mark.parametrize(
    ("scheme", "host", "target"),
    [
        ("http", "", "/"),
        ("http", "user@a", "/"),
        ("http", "a:0", "/"),
        ("http", "a:65536", "/"),
        ("http", "a:x", "/"),
        ("http", "a b", "/"),
        ("http", "a/b", "/"),
        ("http", "[::1", "/"),
        ("http", "a", ""),
        ("http", "a", "b:443"),
        ("http", "a", "/ b"),
        ("http", "a", "/\r\n"),
        ("http", "a", "ftp://b/"),
        ("http", "a", "http://user:word@b/"),
        ("ws", "a", "/"),
    ],
)
def test_what_names_no_server_has_none(scheme: str, host: str, target: str) -> None:
    assert stored_url(scheme, host, target) is None


def test_an_authority_is_host_and_port() -> None:
    assert authority("API.example:8443", "https") == Authority("api.example", 8443)
    assert authority("[2001:DB8::1]", "https") == Authority("2001:db8::1", 443)
    assert authority("a", "gopher") is None
    assert Authority("2001:db8::1", 8443).spelled("https") == "[2001:db8::1]:8443"


def test_a_url_comes_apart() -> None:
    assert split_url("https://a:8443/x?y#z") == ("https", Authority("a", 8443), "/x?y")
    assert split_url("http://a") == ("http", Authority("a", 80), "/")
    assert [split_url(url) for url in ("", "a", "file:///x", "http://u@a/")] == [None] * 4


ROUTES = Routes.of(
    {"lab": "https://API.example:443/v1/", "deep": "https://api.example/v1/deep", "host": "http://h:8000"}
)


@pytest.mark.parametrize(
    ("target", "url"),
    [
        ("/lab/chat?x=1", "https://api.example/v1/chat?x=1"),
        ("/lab", "https://api.example/v1"),
        ("/lab/", "https://api.example/v1/"),
        ("/lab?x=/y", "https://api.example/v1?x=/y"),
        ("/deep/chat", "https://api.example/v1/deep/chat"),
        ("/host//a/lab/b", "http://h:8000//a/lab/b"),
    ],
)
def test_a_route_leads_there_and_back(target: str, url: str) -> None:
    assert ROUTES.url(target) == url
    assert ROUTES.target(url) == target


def test_other_paths_are_no_routes() -> None:
    assert [
        ROUTES.url(target) for target in ("/other/x", "lab/x", "/", "", "/LAB/x", "/lab\n/x", "/lab/\r\n")
    ] == [None] * 7
    assert ROUTES.target("https://api.example/v10") is None
    assert ROUTES.target("http://api.example/v1/x") is None


@pytest.mark.parametrize(
    ("name", "url"),
    [
        ("Lab", "https://a"),
        ("a/b", "https://a"),
        ("", "https://a"),
        ("..", "https://a"),
        ("lab", "file:///etc"),
        ("lab", "https://user:word@a"),
        ("lab", "https://a/?key=1"),
        ("lab", "https://a/#x"),
        ("lab", "https://a/ b"),
        ("lab", None),
        ("lab", ["https://a"]),
    ],
)
def test_a_route_that_can_not_be_used_is_refused(name: str, url: object) -> None:
    with pytest.raises(InputError) as caught:
        Routes.of({name: url})
    assert "word" not in caught.value.message


def test_a_path_that_one_server_had_means_that_server() -> None:
    bases = Bases(
        ["https://a/v1/chat?x=1", "https://a/v1/models", "https://b/v1/models", "https://b/v2", "junk"]
    )
    assert bases.guess("/v1/chat?y=2") == "https://a/v1/chat?y=2"
    assert bases.guess("/v2") == "https://b/v2"
    assert bases.guess("/v1/models") is None
    assert bases.guess("/never") is None
    assert bases.guess("http://a/v2") is None


def test_with_one_server_every_path_means_it() -> None:
    """So a request that misses is compared with what that server was asked."""
    bases = Bases(["https://a:8443/v1/chat"] * 2)
    assert bases.guess("/never?x") == "https://a:8443/never?x"
    assert Bases([]).guess("/") is None


@given(st.text(max_size=30), st.text(max_size=30))
def test_noise_never_raises(host: str, target: str) -> None:
    url = stored_url("https", host, target)
    assert url is None or (url.startswith(("https://", "http://")) and " " not in url)
    assert ROUTES.url(target) is None or target.startswith(("/lab", "/deep", "/host"))
    assert split_url(target) is None or "://" in target
