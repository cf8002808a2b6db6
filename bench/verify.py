"""Verification against plain hashing and against the tutorial's verifier: wall time of whole processes, in turn, medians.

    python bench/verify.py [FOLDER] [ROUNDS]

FOLDER is made by `bench/workload.py` if it is not there. Prints one JSON object. Only the ratios mean something: all rows are taken
once in each round.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import workload

SOURCE = Path(__file__).parent.parent / "src" / "provtape" / "verifier.py"
HASH = """
import hashlib, sys, time
data = open(sys.argv[1], "rb").read()
start = time.perf_counter()
hashlib.sha256(data)
print(time.perf_counter() - start)
"""
PEAK = """
import resource, subprocess, sys
subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024)
"""
TUTORIAL = """
import hashlib, json, sys
prev = "genesis"
for line in open(sys.argv[1], encoding="utf-8"):
    r = json.loads(line)
    covered = {"prev": r["prev"], "key": r["key"], "output": r["output"], "meta": r["meta"]}
    text = json.dumps(covered, sort_keys=True, ensure_ascii=False)
    assert r["prev"] == prev and r["hash"] == hashlib.sha256(text.encode()).hexdigest()
    prev = r["hash"]
"""


def wall(*command: str | Path) -> float:
    """Seconds of a whole process that must end well."""
    start = time.perf_counter()
    subprocess.run([*map(str, command)], check=True, capture_output=True)
    return time.perf_counter() - start


def one_hash(path: Path) -> float:
    """Seconds of one hashlib.sha256 over the whole content."""
    return float(
        subprocess.run([sys.executable, "-c", HASH, str(path)], check=True, capture_output=True).stdout
    )


def peak(*command: str | Path) -> int:
    """The largest process of a command: resident MiB at most."""
    done = subprocess.run([sys.executable, "-c", PEAK, *map(str, command)], check=True, capture_output=True)
    return int(done.stdout)


def measure(folder: Path, rounds: int) -> dict[str, object]:
    """All rows, once in each round."""
    provtape = Path(sys.executable).with_name("provtape")
    large, small, key = folder / "large.jsonl", folder / "small" / "large.jsonl", folder / "large.pub"
    rows: dict[str, Callable[[], float]] = {
        "sha256sum": lambda: wall("sha256sum", large),
        "hashlib": lambda: one_hash(large),
        "verify 2 workers": lambda: wall(provtape, "verify", large, "--pubkey", key, "--workers", "2"),
        "verify 1 worker": lambda: wall(provtape, "verify", large, "--pubkey", key, "--workers", "1"),
        "tutorial": lambda: wall(sys.executable, "-c", TUTORIAL, folder / "tutorial.jsonl"),
        "small, 1 worker": lambda: wall(provtape, "verify", small, "--pubkey", key, "--workers", "1"),
        "small, verifier.py": lambda: wall(sys.executable, "-I", SOURCE, small, "--pubkey", key),
        "help": lambda: wall(provtape, "--help"),
        "python": lambda: wall(sys.executable, "-c", "pass"),
        "import provtape": lambda: wall(sys.executable, "-c", "import provtape"),
    }
    taken: dict[str, list[float]] = {name: [] for name in rows}
    for _ in range(rounds):
        for name, row in rows.items():
            taken[name].append(row())
    seconds = {name: round(statistics.median(values), 3) for name, values in taken.items()}

    def ratio(a: str, b: str) -> float:
        return round(statistics.median(x / y for x, y in zip(taken[a], taken[b], strict=True)), 2)

    return {
        "bytes": large.stat().st_size,
        "rounds": rounds,
        "seconds": seconds,
        "verify 2 workers / sha256sum": ratio("verify 2 workers", "sha256sum"),
        "verify 2 workers / hashlib": ratio("verify 2 workers", "hashlib"),
        "tutorial / verify 2 workers": ratio("tutorial", "verify 2 workers"),
        "small: verifier.py / verify 1 worker": ratio("small, verifier.py", "small, 1 worker"),
        "peak MiB, largest process": peak(provtape, "verify", large, "--pubkey", key, "--workers", "2"),
    }


def main() -> None:
    """Make the workload if needed, measure, print."""
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else tempfile.mkdtemp(prefix="provtape-bench-"))
    folder.mkdir(exist_ok=True)
    if not (folder / "large.jsonl").exists():
        workload.write(folder, 100_000)
    if not (folder / "small").exists():
        (folder / "small").mkdir()
        workload.write(folder / "small", 2_000)
    print(json.dumps(measure(folder, int(sys.argv[2]) if len(sys.argv) > 2 else 5), indent=1))


if __name__ == "__main__":
    main()
