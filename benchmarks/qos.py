"""The paper's experiments with the distributed QoS-aware scheduler, on a testbed with delays.

    python -m benchmarks.qos [--only CASE …] [--measure 40] [--simulate-only]

Eight nodes of two slots, one-way delays of Gaussian mean 12 … 32 ms and deviation 1 … 3 ms. Each
case is one run: Storm's default places and is measured, then agents come up in the same run and
are measured, then three nodes are stressed. Times are scaled down: rounds of 6 s in place of 30 s.
Each case is written to benchmarks/results/qos.json as soon as it is through, and the tables in
docs/qos.md are made anew. The simulation of coordinated and uncoordinated agents is deterministic
and needs no cluster.
"""

from __future__ import annotations

import argparse
import json
import signal
import sys
import time
from pathlib import Path
from statistics import mean
from typing import Any

from benchmarks.qos_parts.cases import CASES
from benchmarks.qos_parts.table import SIMULATED, write_tables

RESULTS = Path("benchmarks/results/qos.json")
STORM_CONF = {
    "nimbus.monitor.freq.secs": 2,
    "supervisor.monitor.frequency.secs": 1,
    # Eight nodes that start workers at once on two cores are slow, not dead.
    "nimbus.supervisor.timeout.secs": 60,
    "nimbus.task.timeout.secs": 60,
    "supervisor.worker.timeout.secs": 60,
    "supervisor.worker.start.timeout.secs": 120,
    "nimbus.task.launch.secs": 120,
    # Idle executors sleep for a millisecond at once, in place of spinning before: there are two
    # cores for eight nodes.
    "topology.bolt.wait.progressive.level2.count": 10,
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--only", action="append", help="a case; may be repeated")
    parser.add_argument("--measure", type=float, default=40.0, help="seconds of each phase")
    parser.add_argument("--seed", type=int, default=1, help="of the network")
    parser.add_argument("--simulate-only", action="store_true", help="no cluster")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # the testbed is taken down then
    kept: dict[str, Any] = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    if options.simulate_only or "simulation" not in kept:
        kept["simulation"] = simulate()
        _write(kept)
    if not options.simulate_only:
        _on_the_testbed(options, kept)
    return 0


def _on_the_testbed(options: argparse.Namespace, kept: dict[str, Any]) -> None:
    from benchmarks.qos_parts.one_case import Plan, run_case
    from brain.errors import StormbrainError
    from brain.testbed import Testbed, TestbedSpec, gaussian_delays

    plan = Plan(measure=options.measure)
    spec = TestbedSpec.uniform(
        "bench-qos",
        nodes=8,
        slots=2,
        cpu_points=plan.cpu_points,
        delays=gaussian_delays(8, (12.0, 32.0), (1.0, 3.0), seed=options.seed),
        storm_conf=STORM_CONF,
    )
    cases = [c for c in CASES if not options.only or c.name in options.only]
    with Testbed.up(spec, progress=_tell) as bed:
        for case in cases:
            _tell(f"--- {case.name}")
            try:
                row = run_case(bed, case, plan, _tell)
            except StormbrainError as e:
                row = {"case": case.name, "failed": e.message}
                _tell(f"failed: {e.message}")
            row["when"] = time.strftime("%Y-%m-%dT%H:%M:%S")
            row["options"] = {"measure_secs": options.measure, "seed": options.seed}
            kept.setdefault("cases", {})[case.name] = row
            _write(kept)


def simulate() -> dict[str, Any]:
    """The replicated topology in the deterministic world, with and without coordination."""
    from tests.qos.worlds import world

    found: dict[str, Any] = {}
    for coordinated in (True, False):
        rows = []
        for seed in range(6):
            w = world(replicas=2, coordinated=coordinated, seed=seed)
            w.run(80)
            first = (w.moves, len(w.decisions), w.settled_round())
            for node in ("n2", "n3", "n4"):
                w.background[node] = 0.9
            w.run(80)
            rows.append((*first, w.moves - first[0], max(0, w.settled_round() - 80), w.true_cost()))
        columns = list(zip(*rows, strict=True))
        found["coordinated" if coordinated else "uncoordinated"] = {
            name: round(mean(column), 3) for name, column in zip(SIMULATED, columns, strict=True)
        }
    return found


def _write(kept: dict[str, Any]) -> None:
    RESULTS.parent.mkdir(parents=True, exist_ok=True)
    RESULTS.write_text(json.dumps(kept, indent=1, sort_keys=True) + "\n")
    write_tables(kept)


def _tell(words: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {words}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
