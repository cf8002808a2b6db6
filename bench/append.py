"""What one append costs: CPU of the whole process (both threads), and how many syncs were asked for.

    python bench/append.py [ROUNDS]

Every measure is taken once a round, turn by turn, and the smallest is shown: ratios within one run mean something,
microseconds of two runs on a shared machine do not. The records have 2 KB and are made before the clock starts, but for
`scrub_and_append`, which takes the whole way through the door. `floor` is a bare write and fsync of the same bytes;
`hand_over` is a future through a queue to a thread that does nothing: what any writer thread pays.
"""

from __future__ import annotations

import json
import os
import queue
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

import workbench
from provtape.cassette.writer import Writer
from provtape.format.record import Scrubbed
from provtape.scrub.door import Door
from provtape.scrub.rules import default_rules

APPENDS = 1000
THREADS = 16


class Syncs:
    """An fsync that counts and, when asked, does nothing else."""

    def __init__(self) -> None:
        self.calls, self.real, self._fsync = 0, True, os.fsync
        os.fsync = self

    def __call__(self, descriptor: int) -> None:
        self.calls += 1
        if self.real:
            self._fsync(descriptor)


def record(number: int) -> Scrubbed:
    made = workbench.interaction(f"say {number}", "")
    return workbench.interaction(f"say {number}", "x" * (2048 - len(made.data) - 100))


def one_after_the_other(writer: Writer, records: list[Scrubbed]) -> None:
    for item in records:
        writer.append(item).result()


def together(writer: Writer, records: list[Scrubbed]) -> None:
    workers = [
        threading.Thread(target=one_after_the_other, args=(writer, records[first::THREADS]))
        for first in range(THREADS)
    ]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()


def scrubbed(writer: Writer, door: Door) -> None:
    """The whole way of an interaction of 2 KB: through the door, and until it is durable."""
    for number in range(APPENDS):
        request, found = door.request(
            "llm", {"model": "m", "prompt": f"say {number} " + "word " * 160, "params": {"temperature": 0.7}}
        )
        response = {"output": "an answer of some length " * 36}
        made = door.interaction(
            "llm", "0" * 64, request, found, response, workbench.TIME, 3, {}, workbench.random22(number)
        )
        writer.append(made).result()


def bare(path: Path, records: list[Scrubbed]) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    for item in records:
        os.write(descriptor, item.data)
        os.fsync(descriptor)
    os.close(descriptor)


def hand_over(records: list[Scrubbed]) -> None:
    waiting: queue.SimpleQueue[tuple[Scrubbed, Future[int]] | None] = queue.SimpleQueue()

    def serve() -> None:
        while item := waiting.get():
            item[1].set_result(0)

    worker = threading.Thread(target=serve)
    worker.start()
    for one in records:
        future: Future[int] = Future()
        waiting.put((one, future))
        future.result()
    waiting.put(None)
    worker.join()


def main(rounds: int) -> None:
    syncs, records = Syncs(), [record(number) for number in range(APPENDS)]
    spent: dict[str, float] = {}
    counted: dict[str, float] = {}

    def measure(name: str, work: Callable[[], None], *, real: bool = True) -> None:
        syncs.calls, syncs.real = 0, real
        begun = time.process_time()
        work()
        cost = (time.process_time() - begun) / APPENDS * 1e6
        spent[name], counted[name] = min(cost, spent.get(name, cost)), syncs.calls / APPENDS
        syncs.real = True

    for number in range(rounds):
        with tempfile.TemporaryDirectory() as folder:
            measure("floor", lambda path=Path(folder, "bare"): bare(path, records))
            measure("hand_over", lambda: hand_over(records))
            path = Path(folder, f"{number}.jsonl")
            opening, run, signer = workbench.opening(), workbench.run(), workbench.signer()
            with Writer.create(path, opening, run, prefix=workbench.PREFIX, signer=signer) as writer:
                measure("append", lambda writer=writer: one_after_the_other(writer, records))
                door = Door(default_rules())
                measure("scrub_and_append", lambda writer=writer, door=door: scrubbed(writer, door))
                measure(
                    "append_without_disk",
                    lambda writer=writer: one_after_the_other(writer, records),
                    real=False,
                )
                measure("append_16_threads", lambda writer=writer: together(writer, records))
    report = {f"{name}_cpu_us": round(cost, 1) for name, cost in spent.items()}
    report |= {
        f"{name}_syncs": round(calls, 3) for name, calls in counted.items() if name.startswith("append")
    }
    print(json.dumps({"record_bytes": len(records[0].data), "rounds": rounds, **report}, indent=1))


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 10)
