"""The environment of a captured command: trust and silence are added, proxies go, keys are invented only where a client insists."""

from __future__ import annotations

import pytest

from provtape.capture.surroundings import DUMMY, METADATA, TRUST, dummy_keys, surroundings

CHAT = "https://api.openai.com/v1/chat/completions"


def test_what_was_there_stays_and_trust_is_added() -> None:
    made = surroundings({"HOME": "/home/a", "SSL_CERT_FILE": "/old.pem"}, "/run.pem", enclosed=False)
    assert made == {"HOME": "/home/a", **dict.fromkeys(TRUST, "/run.pem"), **METADATA}


def test_inside_there_is_no_proxy() -> None:
    """It would be an address like all the others, at a port that nobody serves."""
    proxies = {
        "HTTPS_PROXY": "http://proxy:3128",
        "http_proxy": "http://proxy:3128",
        "ALL_PROXY": "socks5://proxy",
    }
    made = surroundings({**proxies, "NO_PROXY": "localhost"}, "/run.pem", enclosed=True)
    assert made.keys() & proxies.keys() == set()
    assert made["NO_PROXY"] == "localhost"
    assert surroundings(proxies, "/run.pem", enclosed=False).items() >= proxies.items()


def test_inside_a_name_is_looked_up_as_it_stands_first() -> None:
    assert surroundings({}, "/run.pem", enclosed=True)["RES_OPTIONS"] == "ndots:1"
    assert (
        surroundings({"RES_OPTIONS": "use-vc"}, "/run.pem", enclosed=True)["RES_OPTIONS"] == "use-vc ndots:1"
    )


@pytest.mark.parametrize(
    ("url", "names"),
    [
        (CHAT, {"OPENAI_API_KEY"}),
        ("https://api.anthropic.com/v1/messages", {"ANTHROPIC_API_KEY"}),
        (
            "https://lab.openai.azure.com/openai/deployments/a/chat/completions",
            {"AZURE_OPENAI_API_KEY"},
        ),
        (
            "https://bedrock-runtime.eu-west-1.amazonaws.com/model/a/invoke",
            {"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"},
        ),
        ("http://localhost:8000/v1/chat/completions", {"OPENAI_API_KEY"}),
        ("http://127.0.0.1:9/v1/messages?beta=true", {"ANTHROPIC_API_KEY"}),
        ("https://notopenai.com/data", set()),
        ("https://openai.com.evil.example/data", set()),
        ("http://[broken/chat/completions", set()),
        ("", set()),
    ],
)
def test_a_client_that_insists_gets_a_key_that_opens_nothing(url: str, names: set[str]) -> None:
    assert dummy_keys({}, [url]) == dict.fromkeys(names, DUMMY)


def test_only_the_providers_that_were_recorded_get_one() -> None:
    """A program that chooses by which keys are there must choose as it did."""
    assert dummy_keys({}, [CHAT, CHAT]).keys() == {"OPENAI_API_KEY"}
    assert dummy_keys({}, []) == {}


@pytest.mark.parametrize(
    ("inherited", "url"),
    [
        ({"OPENAI_API_KEY": "own"}, CHAT),
        (
            {"GEMINI_API_KEY": "own"},
            "https://generativelanguage.googleapis.com/v1beta/models/a:generateContent",
        ),
        ({"AWS_PROFILE": "own"}, "https://bedrock-runtime.eu-west-1.amazonaws.com/model/a/invoke"),
        ({"AWS_ACCESS_KEY_ID": "own"}, "https://bedrock-runtime.eu-west-1.amazonaws.com/model/a/invoke"),
    ],
)
def test_a_key_that_is_set_stays_alone(inherited: dict[str, str], url: str) -> None:
    assert dummy_keys(inherited, [url]) == {}


def test_an_empty_key_is_none() -> None:
    assert dummy_keys({"OPENAI_API_KEY": ""}, [CHAT]) == {"OPENAI_API_KEY": DUMMY}
