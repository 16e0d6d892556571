"""Past this machine, simulated: the papers' clusters and far larger ones (make bench-simulation).

Writes benchmarks/results/simulation.json, from which ``stormbrain bench report`` makes its pages.
Sections can be chosen; those left out keep what was measured before. Rows of the section ``large``
are kept by (machines, algorithm), so the huge ones need to run once only (``--only huge``).

Usage: python -m benchmarks.simulation [--only SECTION]… [--theta S] [--timeout S]
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.simulation_parts import fischer, large
from brain.algorithms import auto

RESULTS = Path(__file__).resolve().parent / "results" / "simulation.json"
SECTIONS = ("fischer", "sweep", "large", "huge")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--only", action="append", choices=SECTIONS)
    parser.add_argument("--theta", type=float, default=1.0, help="for the papers' clusters")
    parser.add_argument("--large-theta", type=float, default=10.0)
    parser.add_argument("--huge-theta", type=float, default=60.0)
    parser.add_argument("--timeout", type=float, default=900.0, help="of one large planning")
    parser.add_argument("--algorithms", default="even,metis,auto", help="of large and huge")
    parser.add_argument("--sizes", default="10,20,40,80", help="machines, of the section fischer")
    given = parser.parse_args()
    names = [n for n in given.algorithms.split(",") if n]
    sizes = [int(n) for n in given.sizes.split(",")]
    makers: dict[str, Callable[[], Any]] = {
        "fischer": lambda: fischer.machines(sizes, given.theta),
        "sweep": lambda: fischer.sweep(given.theta),
        "large": lambda: large.in_processes(
            large.SIZES[:3], names, given.large_theta, given.timeout
        ),
        "huge": lambda: large.in_processes(large.SIZES[3:], names, given.huge_theta, given.timeout),
    }
    results: dict[str, Any] = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    for name in given.only or SECTIONS:
        before, begin = os.getloadavg()[0], time.perf_counter()
        print(f"{name} …", flush=True)
        found = makers[name]()
        if name in ("large", "huge"):
            old = results.get("large", {}).get("result", [])
            found = _merged(old, found)
        results["large" if name == "huge" else name] = {
            "result": found,
            "seconds": round(time.perf_counter() - begin, 1),
            "load_average": [round(before, 1), round(os.getloadavg()[0], 1)],
            "date": time.strftime("%Y-%m-%d", time.gmtime()),
            "command": f"python -m benchmarks.simulation --only {name}",
        }
        results["machine"] = {
            "cores": os.cpu_count(),
            "machine": platform.machine(),
            "python": platform.python_version(),
        }
        RESULTS.parent.mkdir(parents=True, exist_ok=True)
        RESULTS.write_text(json.dumps(results, indent=1) + "\n")
    auto.close()


def _merged(old: list[dict[str, Any]], new: list[dict[str, Any]]) -> list[dict[str, Any]]:
    rows = {(r["machines"], r["algorithm"]): r for r in (*old, *new)}
    return [rows[key] for key in sorted(rows, key=lambda k: (k[0], large_order(k[1])))]


def large_order(algorithm: str) -> tuple[bool, str]:
    return algorithm != "even", algorithm


if __name__ == "__main__":
    main()
