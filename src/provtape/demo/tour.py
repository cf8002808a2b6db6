"""The tour's steps, in their order: record, sign, verify, replay without the model, attack copies.

Decides what is shown and what must come out; every outcome is checked, and the first that is not as it must be ends the tour.
Everything is done by commands that a person could type, run as processes of their own (`commands`); only the attacks are made
here, from what is public (`attacks`).
"""

from __future__ import annotations

import filecmp
import os
import shutil
import sys
from importlib.resources import files
from pathlib import Path
from typing import Final, TextIO

from provtape.demo import model
from provtape.demo.attacks import ATTACKS, CASSETTE, EVIDENCE, NAME, RESULT, SCRIPT, Attack
from provtape.demo.commands import Commands, Said
from provtape.demo.page import Page, typed
from provtape.demo.upstream import Upstream
from provtape.errors import DemoError, InputError, ProvtapeError
from provtape.format.printable import printable

PUBLISHED: Final = "published"
KEY: Final = "private/alice.key"
PUBLIC: Final = "private/alice.pub"
VERIFIER: Final = "verifier.py"
RESULTS: Final = ("answers", "scores")
IGNORED: Final = "# Private keys stay out of every repository.\n*.key\n"

_SCRIPT: Final = f"{PUBLISHED}/{SCRIPT}"
_RECORDED: Final = f"{PUBLISHED}/{CASSETTE}"


def run(folder: Path, stream: TextIO, *, colour: bool) -> int:
    """Give the whole tour.

    Args:
        folder: A new or empty folder; everything is left there.
        stream: Where the tour is printed.
        colour: Whether to use ANSI colours.

    Returns:
        0 when everything came out as it must, 1 when a step did not.

    Raises:
        InputError: The demo's packages are missing, or the folder is in use: nothing was done.
    """
    model.check_installed()
    prepare(folder)
    page = Page(stream, colour=colour)
    try:
        Tour(folder, page).all()
    except BrokenPipeError:
        raise  # nobody reads the tour any more
    except ProvtapeError as error:
        return _broken(error.message, error.hint)
    except OSError as error:
        return _broken(f"a file could not be used: {(error.strerror or type(error).__name__).lower()}", None)
    return 0


def prepare(folder: Path) -> None:
    """Make the folder and put in what the tour begins with: the benchmark and the second verifier.

    Raises:
        InputError: Something is there already, or it can not be made.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if any(folder.iterdir()):
            raise InputError(f"{folder} is not empty", "name a new folder: provtape demo FOLDER")
        for name in (PUBLISHED, "private", "attacks"):
            (folder / name).mkdir(mode=0o700 if name == "private" else 0o777)
        (folder / ".gitignore").write_text(IGNORED, "utf-8")
        (folder / _SCRIPT).write_bytes(files("provtape.demo").joinpath("bench.py.txt").read_bytes())
        (folder / VERIFIER).write_bytes(files("provtape").joinpath("verifier.py").read_bytes())
    except OSError as error:
        raise InputError(f"{folder} can not be used: {os.strerror(error.errno or 0).lower()}") from None


def _broken(message: str, hint: str | None) -> int:
    print(f"\nprovtape: the demo ends here: {printable(message)}", file=sys.stderr)
    if hint:
        print(f"  {printable(hint)}", file=sys.stderr)
    return 1


class Tour:
    """One tour through one folder, which was prepared.

    Args:
        folder: See `prepare`.
        page: Where it is printed.
    """

    def __init__(self, folder: Path, page: Page) -> None:
        self._folder = folder
        self._page = page
        self._commands = Commands(folder, page)

    def all(self) -> None:
        """Every step, in order.

        Raises:
            ProvtapeError: A step did not come out as it must.
        """
        with Upstream.start(self._folder / "model.log") as upstream:
            self._record(upstream)
            self._sign()
            self._verify()
            self._stop(upstream)
            self._replay()
        for attack in ATTACKS:
            self.attack(attack)
        self._end()

    def attack(self, attack: Attack) -> None:
        """Make one attack on a copy of what is published, and ask both verifiers; where it is no forgery, replay.

        Raises:
            DemoError: Somebody did not say what must be said.
        """
        page, copy = self._page, f"attacks/{attack.name}"
        page.section(f"Attack: {attack.title}")
        page.say(f"On a copy, {copy}/. {attack.story}")
        self._copy(self._folder / copy)
        attack.make(self._folder / copy)
        target = f"{copy}/{CASSETTE}"
        ours = self._commands.provtape("verify", target, "--pubkey", PUBLIC, "--json", most=0)
        self._judge(attack, "provtape verify", ours)
        theirs = self._commands.verifier(VERIFIER, target, "--pubkey", PUBLIC, "--json", most=0)
        self._judge(attack, "verifier.py", theirs)
        if not attack.is_forgery:
            self._miss(f"{copy}/{SCRIPT}")

    def _record(self, upstream: Upstream) -> None:
        page = self._page
        page.section("A real model, asked and recorded")
        page.say(
            f"SmolLM2 (135 million parameters) answers on 127.0.0.1:{upstream.port}, in a process of its own, and "
            "writes to model.log. bench.py asks it with the openai client; each answer is on disk before bench.py gets it."
        )
        page.command(typed(["cd", str(self._folder)]))
        self._need(0, self._commands.bench(_SCRIPT, "record", upstream.base_url))

    def _sign(self) -> None:
        page = self._page
        page.section("The author signs")
        page.say("The private key stays in private/; what is published is published/.")
        self._need(0, self._commands.provtape("keygen", "--name", NAME, "--out", KEY, most=5))
        self._need(
            0,
            self._commands.provtape(
                "sign", _RECORDED, "--key", KEY, "--result", f"{PUBLISHED}/{RESULT}", most=3
            ),
        )

    def _verify(self) -> None:
        page = self._page
        page.section("Anybody verifies, by either of two programs that share no code")
        self._need(0, self._commands.provtape("verify", _RECORDED, "--pubkey", PUBLIC))
        page.gap()
        self._need(0, self._commands.verifier(VERIFIER, _RECORDED, "--pubkey", PUBLIC, most=3))

    def _stop(self, upstream: Upstream) -> None:
        self._page.section("The model is stopped")
        if not upstream.listens():
            raise DemoError("the model had stopped before it was stopped", "model.log says why")
        upstream.stop()
        if upstream.listens():
            raise DemoError(f"something still listens on 127.0.0.1:{upstream.port}")
        self._page.say(
            f"Its process has ended. A connection to 127.0.0.1:{upstream.port}, accepted a moment ago, is now refused."
        )

    def _replay(self) -> None:
        page = self._page
        page.section("The same program, offline")
        page.say(
            "No model, no address, no API key in its environment. bench.py names no public key, so the session says that; "
            "step 3 named one."
        )
        said = self._commands.bench(_SCRIPT, "replay")
        self._need(0, said)
        if not said.lines or not said.lines[-1].endswith("; 0 calls to the network"):
            raise DemoError("the replay went to the network")
        published = self._folder / PUBLISHED
        for name in RESULTS:
            first, second = published / f"{name}.json", published / f"{name}.replay.json"
            if not filecmp.cmp(first, second, shallow=False):
                raise DemoError(f"the replay's {second.name} differs from {first.name}")
        page.say("answers.json = answers.replay.json and scores.json = scores.replay.json, byte for byte.")

    def _copy(self, copy: Path) -> None:
        copy.mkdir()
        for name in (CASSETTE, *EVIDENCE, RESULT, SCRIPT):
            shutil.copyfile(self._folder / PUBLISHED / name, copy / name)

    def _judge(self, attack: Attack, who: str, said: Said) -> None:
        """Show what a verifier said, and end the tour if it is not what must be said."""
        word, named, message = said.report()
        self._page.verdict(who, word, named, message)
        if attack.is_forgery and word == "VERIFIED":
            raise DemoError(
                f"A FORGERY WAS NOT CAUGHT: {who} says VERIFIED of attacks/{attack.name}/{CASSETTE}",
                "this is a fault of provtape: please report it with the folder",
            )
        if (word, named) != (attack.word, attack.named):
            wanted = f"{attack.word} ({attack.named})" if attack.named else attack.word
            raise DemoError(f"attack {attack.name}: {who} should have said {wanted}")

    def _miss(self, script: str) -> None:
        """The replay of a changed script must end loudly, and show what changed."""
        self._page.say("Nothing published was changed, so both say VERIFIED. But a replay notices:")
        said = self._commands.bench(script, "replay")
        self._need(1, said)
        if not any("{+Italy+}" in line for line in said.lines):
            raise DemoError("the replay of the changed question did not show the difference")

    def _end(self) -> None:
        page = self._page
        page.section("What is left")
        page.say(f"In {printable(str(self._folder))}/:")
        for name, what in _LEFT:
            page.output(f"{name:<12} {what}")
        page.say("Three commands to try there, the second after you changed a question in bench.py:")
        page.command(f"provtape show {_RECORDED} 3")
        page.command(f"python {_SCRIPT} replay")
        page.command(f"sed -i.bak s/France/Spain/ {_RECORDED}; provtape verify {_RECORDED} --pubkey {PUBLIC}")

    def _need(self, status: int, said: Said) -> None:
        if said.status != status:
            raise DemoError(f"`{said.typed}` ended with {said.status} instead of {status}")


_LEFT: Final = (
    ("published/", "cassette, checkpoint, manifest, scores, and bench.py to read and change"),
    ("private/", "the signing key: not for publication"),
    ("attacks/", "the five attacked copies"),
    ("verifier.py", "the second verifier: one file, needs the package cryptography alone"),
    ("model.log", "what the model's server had to say"),
)
