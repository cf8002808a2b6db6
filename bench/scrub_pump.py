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
    b"-" * 5 + b"BEGIN PRIVATE KEY" + b"-" * 5 + b"A" * 16,
)


def pumps(rule: Rule) -> Iterator[bytes]:
    """Texts in which the rule starts again and again and never comes to an end."""
    for keyword in rule.keywords:
        for filler in FILLERS:
            unit = keyword.encode() + filler
            yield unit
            yield unit + b"=" + filler
            yield b"a" + unit + b'": "'


def seconds(work: Callable[[], object]) -> float:
    """The shortest of three runs."""
    best = float("inf")
    for _ in range(3):
        start = time.perf_counter()
        work()
        best = min(best, time.perf_counter() - start)
    return best


def measure(rule: Rule) -> tuple[float, float]:
    """The growth on doubling and the MB/s on the pump that is slowest per byte."""
    matcher = Matcher(0, rule)

    def run(unit: bytes, size: int) -> float:
        text = (unit * (size // len(unit) + 1))[:size]
        return seconds(lambda: sum(1 for _ in matcher.spans(text)))

    run(b"x", 10)
    worst = max(set(pumps(rule)), key=lambda unit: run(unit, SIZE // 10))
    small, large = run(worst, SIZE), run(worst, 2 * SIZE)
    return large / small, 2 * SIZE / large / 1e6


def clean() -> None:
    """The cost of 2 KB in which nothing is found, beside the SHA-256 of the same bytes."""
    text = " ".join(f"sentence {number} of a well known story, told once more;" for number in range(60))[
        :2048
    ]
    texts = [f"{number:04}{text[4:]}" for number in range(2000)]
    scrubber = Scrubber(default_rules())
    look = seconds(lambda: [scrubber.suspects((text,)) for text in texts]) / len(texts)
    sha = seconds(lambda: [hashlib.sha256(text.encode()).digest() for text in texts]) / len(texts)
    print(f"clean 2 KB: {look * 1e6:.1f} us (SHA-256 of it: {sha * 1e6:.1f} us)")


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
