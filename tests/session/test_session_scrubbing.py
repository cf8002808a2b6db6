"""What a session writes has passed the door, and another person's secrets find the same answers."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from provtape.cassette.notes import Signer
from provtape.errors import Miss, Missed, ScrubError
from provtape.format.keys import PublicKey
from provtape.format.record import Code
from provtape.session import Call, Session
from provtape.session.opening import secret_values, stamp


def token(letter: str) -> str:
    """Something that the default rules take for a key; put together here so that none stands in a file."""
    return "gh" + "p_" + (letter + "1B2c3D4e5F6") * 3 + letter * 3


def test_a_secret_in_a_prompt_is_not_in_the_file_and_another_one_hits(tmp_path: Path) -> None:
    path, mine, yours = tmp_path / "run.jsonl", token("A"), token("Q")
    with Session.open(path, "record", live=lambda call: f"you said {call.prompt}") as session:
        live = session.ask(Call("m", f"use {mine} please"))
    assert live == f"you said use {mine} please"
    assert mine.encode() not in path.read_bytes()
    with Session.open(path, "replay") as session:
        replayed = session.ask(Call("m", f"use {yours} please"))
    assert "~REDACTED~" in str(replayed)
    assert mine not in str(replayed)


def test_a_miss_shows_no_secret(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, secret = tmp_path / "run.jsonl", token("Z")
    local = b"correct horse battery staple"
    with Session.open(path, "record", live=lambda call: "yes") as session:
        session.ask(Call("m", f"use {secret} here"))
    session = Session.open(path, "replay", literals=[local])
    with pytest.raises(Miss) as caught:
        session.ask(Call("m", f"use {token('Y')} there, {local.decode()}"))
    with pytest.raises(Miss) as ended:
        session.ask(Call("m", f"{secret}"))
    with pytest.raises(Missed) as closed:
        session.close()
    texts = [
        caught.value.message,
        *caught.value.__notes__,
        ended.value.message,
        *ended.value.__notes__,
        closed.value.message,
        *closed.value.__notes__,
        capsys.readouterr().err,
    ]
    for text in texts:
        assert secret not in text
        assert token("Y") not in text
        assert "battery" not in text
    assert "[-here-]{+there" in caught.value.__notes__[0]


def test_the_values_of_secret_variables_are_not_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "run.jsonl"
    monkeypatch.setenv("HOUSE_API_KEY", "swordfish-and-chips")
    with Session.open(path, "record", live=lambda call: {"swordfish-and-chips": call.prompt}) as session:
        session.ask(Call("m", "say swordfish-and-chips"))
    assert b"swordfish" not in path.read_bytes()
    assert b"~REDACTED~local~" in path.read_bytes()


def test_a_reviewers_own_environment_changes_no_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The author's prompt happens to hold what is a secret on the reviewer's machine."""
    path = tmp_path / "run.jsonl"
    with Session.open(
        path, "record", live=lambda call: "yes", literals=[b"on the author's machine"]
    ) as session:
        session.ask(Call("m", "my name is reviewer-alice"))
        session.ask(Call("m", "I work on the author's machine"))
    monkeypatch.setenv("REVIEWER_TOKEN", "reviewer-alice")
    with Session.open(path, "replay") as session:
        assert session.ask(Call("m", "my name is reviewer-alice")) == "yes"
    with Session.open(path, "replay", literals=[b"in the reviewer's cloud"]) as session:
        assert session.ask(Call("m", "I work in the reviewer's cloud")) == "yes"


def test_secret_variables_are_known_by_their_names() -> None:
    environment = {
        b"OPENAI_API_KEY": b"12345678",
        b"my_Token": b"123456789",
        b"DB_PASSWORD": b"12345678",
        b"SHORT_SECRET": b"1234567",
        b"PATH": b"/usr/bin:/bin",
        b"\xff_SECRET_": b"\xff\xfe\xfd\xfc\xfb\xfa\xf9\xf8",
    }
    assert secret_values(environment) == (b"123456789", b"12345678", b"\xff\xfe\xfd\xfc\xfb\xfa\xf9\xf8")


def test_an_exceptions_text_passes_the_door(tmp_path: Path) -> None:
    path, secret = tmp_path / "run.jsonl", token("K")

    def live(call: Call) -> object:
        raise PermissionError(f"key {secret} is revoked")

    with Session.open(path, "record", live=live) as session, pytest.raises(PermissionError):
        session.ask(Call("m", "x"))
    assert secret.encode() not in path.read_bytes()
    assert b'"type":"PermissionError"' in path.read_bytes()


def test_what_is_found_is_counted_in_the_record(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    with Session.open(path, "record", live=lambda call: [token("B")]) as session:
        session.ask(Call("m", token("B")))
    interaction = json.loads(path.read_bytes().splitlines()[2])
    assert [row["where"] for row in interaction["scrubbed"]] == ["/request/prompt", "/response/output/0"]


def test_an_answer_that_can_not_be_scrubbed_is_lost_loudly(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    session = Session.open(path, "record", live=lambda call: {token("C"): 1, token("D"): 2})
    with pytest.raises(ScrubError):
        session.ask(Call("m", "x"))
    with pytest.raises(Exception, match="1 live answer is not recorded"):
        session.close()
    assert len(path.read_bytes().splitlines()) == 2


def test_the_run_says_who_recorded(tmp_path: Path) -> None:
    path, secret = tmp_path / "run.jsonl", token("R")
    code = Code(f"https://x:{secret}@h.example/r.git", "1" * 40, "2" * 40, True)
    with Session.open(
        path,
        "record",
        code=code,
        command=["bench.py", "--api-key", secret],
        environment={"python": "3.11"},
        meta={"why": "table 2"},
        prefix="lab.example/bob",
    ):
        pass
    first, run = (json.loads(line) for line in path.read_bytes().splitlines())
    assert secret.encode() not in path.read_bytes()
    assert first["prefix"] == "lab.example/bob"
    assert first["match"] == {"headers": ["anthropic-beta", "anthropic-version", "openai-beta"], "ignore": []}
    assert (run["environment"], run["meta"]) == ({"python": "3.11"}, {"why": "table 2"})
    assert run["code"]["tree"] == "2" * 40
    assert run["capture"]["road"] == "session"


def test_a_signer_names_the_cassette_and_signs_along_the_way(tmp_path: Path) -> None:
    key = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
    public = PublicKey(key.public_key().public_bytes_raw(), "lab.example/alice")
    path = tmp_path / "run.jsonl"
    with Session.open(
        path, "record", live=lambda call: "yes", signer=Signer("lab.example/alice", public, key.sign)
    ) as session:
        session.ask(Call("m", "x"))
    notes = (tmp_path / "run.jsonl.ckpt").read_text().split("\n")
    assert notes[0].startswith("lab.example/alice/")
    assert notes[1] == "2"
    with Session.open(path, "replay", trusted=[public]) as session:
        assert session.ask(Call("m", "x")) == "yes"
        assert session.verdict is not None
        assert session.verdict.word == "UNVERIFIED"  # not sealed yet


def test_times_are_spelled_as_the_format_says() -> None:
    assert stamp(datetime(2026, 1, 2, 3, 4, 5, 999_999, tzinfo=UTC)) == "2026-01-02T03:04:05.999Z"
