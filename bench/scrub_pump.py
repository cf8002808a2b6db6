"""How the time of each rule grows on text that is built to hurt it, and what a clean text costs.

python bench/scrub_pump.py      # prints one row for each rule: the worst growth on doubling (2 is linear) and MB/s there
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterator

from provtape.scrub.engine import Scrubber
from provtape.scrub.matcher import Matcher
from provtape.scrub.rulefile import Rule
from provtape.scrub.rules import PACKS, default_rules, pack

SIZE = 100_000
FILLERS = (
    b"",
    b"A",
    b"a1",
    b" ",
    b"=",
    b"/",
    b"A" * 30,
    b"a1B2-_" * 8,
    b"-" * 5 + b"BEGIN" + b" PRIVATE KEY" + b"-" * 5 + b"A" * 16,
)


def pumps(rule: Rule) -> Iterator[bytes]:
    """Texts in which the rule starts again and again and never comes to an end."""
    for keyword in rule.keywords:
        for filler in FILLERS:
            unit = keyword.encode() + filler
            yield unit
            yield unit + b"=" + filler
            yield b"a" + unit + b'": "'


def seconds(*works: Callable[[], object], rounds: int = 3) -> list[float]:
    """The shortest time of each, taken in turns, so that a busy minute of the machine meets all of them."""
    best = [float("inf")] * len(works)
    for _ in range(rounds):
        for index, work in enumerate(works):
            start = time.perf_counter()
            work()
            best[index] = min(best[index], time.perf_counter() - start)
    return best


def measure(rule: Rule) -> tuple[float, float]:
    """The growth on doubling and the MB/s on the pump that is slowest per byte."""
    matcher = Matcher(0, rule)

    def work(unit: bytes, size: int) -> Callable[[], object]:
        text = (unit * (size // len(unit) + 1))[:size]
        return lambda: sum(1 for _ in matcher.spans(text))

    work(b"x", 10)()  # compiles the rule
    units = sorted(set(pumps(rule)))
    times = seconds(*(work(unit, SIZE // 10) for unit in units))
    worst = units[times.index(max(times))]
    small, large = seconds(work(worst, SIZE), work(worst, 2 * SIZE), rounds=9)
    return large / small, 2 * SIZE / large / 1e6


def clean() -> None:
    """The cost of 2 KB in which nothing is found, beside the SHA-256 of the same bytes."""
    text = " ".join(f"sentence {number} of a well known story, told once more;" for number in range(60))[
        :2048
    ]
    texts = [f"{number:04}{text[4:]}" for number in range(2000)]
    scrubber = Scrubber(default_rules())
    look, sha = seconds(
        lambda: [scrubber.suspects((text,)) for text in texts],
        lambda: [hashlib.sha256(text.encode()).digest() for text in texts],
        rounds=9,
    )
    each = 1e6 / len(texts)
    print(f"clean 2 KB: {look * each:.1f} us (SHA-256 of it: {sha * each:.1f} us)")


def main() -> None:
    """Print everything."""
    clean()
    for rule in {rule.id: rule for name, version in PACKS for rule in pack(name, version).rules}.values():
        growth, speed = measure(rule)
        print(
            f"{rule.id:24} x{growth:.2f} {speed:8.1f} MB/s{'  <- more than linear' if growth > 2.6 else ''}"
        )


if __name__ == "__main__":
    main()
