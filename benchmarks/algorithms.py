"""The targets of the algorithms, measured: ``make bench-algorithms``.

Writes benchmarks/results/algorithms.json and docs/algorithms-benchmark.md. Sections can be chosen
(``--only micro --only fischer``); those left out keep what was measured before. Nothing here
asserts a time; wall and CPU seconds are recorded side by side, with the machine's load, because a
deadline in wall-clock time buys less on a busy machine.

Usage: python -m benchmarks.algorithms [--only SECTION]… [--quick] [--patience N]
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.algorithm_parts import capacity, papers, peers, scale
from benchmarks.algorithm_parts.table import markdown
from brain.algorithms import auto

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "benchmarks" / "results" / "algorithms.json"
TABLE = ROOT / "docs" / "algorithms-benchmark.md"


def sections(quick: bool, patience: float) -> dict[str, Callable[[], Any]]:
    one = patience  # θ of one second, or what stands for it on a busy machine
    sizes = (10, 20) if quick else (10, 20, 40, 80)
    return {
        "micro": lambda: papers.micro_benchmarks(one),
        "fischer": lambda: papers.fischer(one, sizes),
        "thousand": lambda: scale.thousand(one, (5 if quick else 60) * one, 1 if quick else 3),
        "peers": lambda: peers.partitioners_compared(one),
        "storm_sized": lambda: scale.storm_sized(10.0 * one),
        "graph": scale.graph_building,
        "million": lambda: scale.million(
            *((100_000, 1_000_000, 100) if quick else (1_000_000, 10_000_000, 1000))
        ),
        "capacity": lambda: capacity.sweep(2000 if quick else 10_000),
    }


CODE = ("brain", "benchmarks/algorithms.py", "benchmarks/algorithm_parts", "tests/algorithms")


def _commit() -> str:
    """The code that is measured, so that the page can tell which sections are of older code."""

    def git(*words: str) -> str:
        done = subprocess.run(["git", *words], capture_output=True, text=True, cwd=ROOT)
        return done.stdout.strip()

    changed = git("status", "--porcelain", "--untracked-files=no", "--", *CODE)
    return (git("rev-parse", "--short", "HEAD") or "unknown") + ("-dirty" if changed else "")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--only", action="append", help="a section to run; all by default")
    parser.add_argument("--quick", action="store_true", help="smaller problems, for a first look")
    parser.add_argument(
        "--patience",
        type=float,
        default=1.0,
        help="multiplies every θ, for a machine that is busy with other things; the CPU seconds "
        "recorded then say whether θ would have been kept",
    )
    arguments = parser.parse_args()
    known = sections(arguments.quick, arguments.patience)
    chosen = arguments.only or list(known)
    for name in chosen:
        if name not in known:
            parser.error(f"no section {name!r}; there are {', '.join(known)}")
    auto.warm()
    for name in chosen:
        load = os.getloadavg()[0]
        begin = time.perf_counter()
        print(f"{name} …", flush=True)
        measured = {
            "result": known[name](),
            "seconds": round(time.perf_counter() - begin, 1),
            "load_average": [round(load, 1), round(os.getloadavg()[0], 1)],
            "quick": arguments.quick,
            "patience": arguments.patience,
            "commit": _commit(),
        }
        # Read only now: another section may have been measured and written meanwhile.
        results: dict[str, Any] = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
        results[name] = measured
        results["machine"] = {
            "cores": os.cpu_count(),
            "machine": platform.machine(),
            "python": platform.python_version(),
        }
        RESULTS.parent.mkdir(parents=True, exist_ok=True)
        RESULTS.write_text(json.dumps(results, indent=1) + "\n")
        TABLE.write_text(markdown(results))
    auto.close()
    print(TABLE.read_text())


if __name__ == "__main__":
    main()
