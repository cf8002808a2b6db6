"""Programs that write a cassette and come to a bad end: run as a child by the tests beside this file."""

from __future__ import annotations

import itertools
import os
import resource
import sys
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import workbench as bench
from provtape.cassette.writer import Writer
from provtape.errors import CassetteError, CassetteLocked

SAY = threading.Lock()


def say(*words: object) -> None:
    with SAY:
        sys.stdout.write(" ".join(map(str, words)) + "\n")
        sys.stdout.flush()


def go_on(path: Path, *, impatient: bool = False) -> Writer:
    """Take the cassette up; every look at the clock is a second later, so that notes are due all the time."""
    seconds = itertools.count()
    while True:
        try:
            return Writer.resume(
                path,
                bench.run(),
                scrub=bench.SCRUB,
                match=bench.MATCH,
                signer=bench.signer(),
                monotonic=lambda: float(next(seconds)),
            )
        except CassetteLocked:
            if impatient:
                raise
            time.sleep(0.005)


def until_killed(path: Path, label: str) -> None:
    """Four threads append records of many sizes and say of each when it is durable."""
    writer = go_on(path)

    def work(thread: int) -> None:
        for number in itertools.count():
            prompt = f"{label}-{thread}-{number}"
            size = (number * 7919 + thread) % 9000
            say(writer.append(bench.interaction(prompt, "x" * size)).result(), prompt)

    for thread in range(4):
        threading.Thread(target=work, args=(thread,), daemon=True).start()
    threading.Event().wait()


def until_full(path: Path, room: str) -> None:
    """Append until the file may not grow; the limit is the kernel's, the signal is ignored by Python."""
    writer = go_on(path)
    limit = path.stat().st_size + int(room)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))
    for number in itertools.count():
        try:
            say("kept", writer.append(bench.interaction(f"full-{number}", "x" * 700)).result())
        except CassetteError as error:
            say("refused", error.message)
            break
    for attempt in (lambda: writer.append(bench.interaction("later")), lambda: writer.seal(bench.end())):
        try:
            attempt()
        except CassetteError:
            say("closed")
    try:
        writer.close()
    except CassetteError:
        say("told again")
    writer.close()


def some(path: Path, label: str) -> None:
    with go_on(path) as writer:
        for number in range(25):
            say(writer.append(bench.interaction(f"{label}-{number}")).result())


def at_once(path: Path) -> None:
    try:
        go_on(path, impatient=True)
    except CassetteLocked as error:
        say(error.message)


def never_close(path: Path) -> None:
    """Hand records over and leave without a word."""
    writer = go_on(path)
    for number in range(50):
        writer.append(bench.interaction(f"left-{number}"))


def fork(path: Path) -> None:
    """A child process outlives its parent's recording; it says what it was told when it tried to write."""
    writer = go_on(path)
    if os.fork() == 0:
        for attempt in (lambda: writer.append(bench.interaction("child")), lambda: writer.seal(bench.end())):
            try:
                attempt()
            except CassetteError as error:
                say("child:", error.message)
        writer.close()
        say("child: waits")
        sys.stdin.read()
        os._exit(0)
    say("parent:", writer.append(bench.interaction("parent")).result())
    writer.close()
    say("parent: closed")


if __name__ == "__main__":
    _, story, where, *more = sys.argv
    globals()[story](Path(where), *more)
