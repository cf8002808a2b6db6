"""What an enclosure costs: from the call until its sockets are there, and from `go` until the command runs.

    python bench/enclosure.py [ROUNDS]

Every measure is taken once a round, turn by turn; medians in milliseconds. `floor` is an interpreter that does nothing, started
as the shim is; `without` is the same road without enclosure; `authority` is the certificates of a run, `leaf` one host's.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable

from provtape.capture.authority import Authority
from provtape.capture.child import Child
from provtape.capture.namespace import Enclosure

COMMAND = ["/bin/true"]


def floor() -> None:
    subprocess.run([sys.executable, "-I", "-S", "-c", "pass"], check=True)


def whole(kind: type[Child]) -> None:
    with kind.start(COMMAND, environment=dict(os.environ)) as child:
        child.go()
        child.wait()


def until_sockets() -> float:
    """Seconds until the enclosure stands; its end is not measured."""
    before = time.perf_counter()
    with Enclosure.start(COMMAND, environment=dict(os.environ)):
        return time.perf_counter() - before


def timed(work: Callable[[], object]) -> float:
    before = time.perf_counter()
    work()
    return time.perf_counter() - before


def main() -> None:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 20
    taken: dict[str, list[float]] = {}
    with Authority(os.environ) as authority:
        for turn in range(rounds):
            host = f"host-{turn}.example"
            for name, seconds in (
                ("floor", timed(floor)),
                ("without, whole", timed(lambda: whole(Child))),
                ("enclosure, until its sockets", until_sockets()),
                ("enclosure, whole", timed(lambda: whole(Enclosure))),
                ("authority", timed(lambda: Authority(os.environ).close())),
                ("leaf", timed(lambda host=host: authority.context(host))),
            ):
                taken.setdefault(name, []).append(seconds)
    for name, values in taken.items():
        print(f"{name:30} {statistics.median(values) * 1000:6.1f} ms")


if __name__ == "__main__":
    main()
