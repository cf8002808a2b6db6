"""Unmodified clients through a base URL: recorded, then replayed with nothing listening; what they see is equal."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import anthropic
import httpx
import openai
import pytest
from relay_stage import interactions, recording, serving
from relay_upstream import TestUpstream

from provtape.errors import Missed

MESSAGES = [{"role": "user", "content": "hi"}]


@pytest.fixture
def upstream() -> Iterator[TestUpstream]:
    with TestUpstream() as started:
        yield started


def with_openai(base: str) -> list[object]:
    with openai.OpenAI(base_url=f"{base}/v1", api_key="sk-none", max_retries=0) as client:
        answers: list[object] = []
        for _ in range(3):
            done = client.chat.completions.create(model="m", messages=MESSAGES, temperature=0.7)
            answers.append(done.choices[0].message.content)
        stream = client.chat.completions.create(model="m", messages=MESSAGES, stream=True)
        answers.append([part.choices[0].delta.content for part in stream])
        return answers


def with_httpx(base: str) -> list[object]:
    with httpx.Client() as client:
        found = [
            client.get(f"{base}{path}").content for path in ("/gzip", "/bytes", "/until-close", "/trailers")
        ]
        for path in ("/in-a-chunk", "/short", "/reset"):
            with pytest.raises(httpx.TransportError) as caught:
                client.get(f"{base}{path}")
            found.append(type(caught.value).__name__.encode())
        return [*found]


@pytest.mark.parametrize("program", [with_openai, with_httpx])
def test_a_program_sees_the_same_when_nothing_listens(
    program: Callable[[str], list[object]], upstream: TestUpstream, tmp_path: Path
) -> None:
    path = tmp_path / "run.jsonl"
    with recording(path, upstream) as (port, _):
        live = program(f"http://127.0.0.1:{port}/up")
    assert len(interactions(path)) == len(live)
    upstream.stop()
    with serving(path, "replay", {"up": upstream.url}) as (port, session):
        assert program(f"http://127.0.0.1:{port}/up") == live
        assert (session.summary.served, session.summary.unused) == (len(live), 0)


def test_sdks_do_not_retry_a_miss_and_show_it(upstream: TestUpstream, tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    with recording(path, upstream) as (port, _):
        with_openai(f"http://127.0.0.1:{port}/up")
    with serving(path, "replay", {"up": upstream.url}, fails=True) as (port, session):
        base = f"http://127.0.0.1:{port}/up"
        with (
            openai.OpenAI(base_url=f"{base}/v1", api_key="sk-none") as client,
            pytest.raises(openai.UnprocessableEntityError, match="nearest is record 2"),
        ):
            client.chat.completions.create(model="m", messages=MESSAGES, temperature=0.8)
        with (
            anthropic.Anthropic(base_url=base, api_key="none") as other,
            pytest.raises(anthropic.UnprocessableEntityError, match="no recorded http request"),
        ):
            other.messages.create(model="m", max_tokens=5, messages=MESSAGES)
    with pytest.raises(Missed, match="2 requests missed"):
        session.close()


def test_no_credential_is_written(upstream: TestUpstream, tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    secret = "-".join(("sk", "not", "4f9a8b7c6d5e4f3a2b1c"))
    with recording(path, upstream) as (port, _), httpx.Client() as client:
        url = f"http://127.0.0.1:{port}/up/echo"
        client.post(url, headers={"Authorization": f"Bearer {secret}"}, content=f"I am {secret}")
    assert secret not in path.read_text("utf-8")
    assert len(interactions(path)) == 1
    assert upstream.seen[0].header("authorization") == f"Bearer {secret}"
