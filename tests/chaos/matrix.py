"""The matrix of faults and outcomes: benchmarks/results/chaos.json and docs/chaos.md."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "benchmarks" / "results" / "chaos.json"
PAGE = ROOT / "docs" / "chaos.md"

HEAD = """\
# What happens when things break

Made by `make chaos` (`tests/chaos/`), which breaks a real local cluster: two Nimbuses, three
supervisors, ZooKeeper, two brains as processes of their own, each with its own way to ZooKeeper
that can be cut, and [`topologies/counted.py`](../topologies/counted.py), a Python topology with
acking whose sources count 1…N. Nimbus schedules every 3 s here; a dead node is noticed after 20 s
(`nimbus.supervisor.timeout.secs`, `nimbus.task.timeout.secs`), a dead brain after its ZooKeeper
session of 6 s, a tuple is replayed after 15 s.

"Recovered" is the time from the fault to what the row names. "No tuple lost" means that every
number that a source had emitted by then stands in a sink's file: at least once, as Storm promises.
"""


def keep(rows: list[dict[str, Any]]) -> None:
    """Rows of this run replace those of the same fault; the others stay, with their own date."""
    known = json.loads(RESULTS.read_text())["faults"] if RESULTS.exists() else []
    fresh = {row["fault"]: {**row, "measured": time.strftime("%Y-%m-%d %H:%M")} for row in rows}
    merged = [fresh.pop(old["fault"], old) for old in known] + list(fresh.values())
    RESULTS.parent.mkdir(parents=True, exist_ok=True)
    result = {"cores": os.cpu_count(), "faults": merged}
    RESULTS.write_text(json.dumps(result, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    PAGE.write_text(page(merged), encoding="utf-8")


def page(rows: list[dict[str, Any]]) -> str:
    passed = sum(row["outcome"] == "passed" for row in rows)
    lines = [
        HEAD,
        f"{passed} of {len(rows)} faults survived as expected, on {os.cpu_count()} cores.\n",
        "| fault | expected | observed | recovered, s | | measured |",
        "|---|---|---|---:|---|---|",
    ]
    copied = [row for row in rows if row.get("copied")]
    if copied:
        lines[1:1] = [
            f"{len(copied)} rows, marked *, were not written by the run itself: its JSON was "
            "deleted by mistake and they were copied back from the page that it had "
            "printed. They were measured on an earlier state of the code. Faults of "
            "`tests/chaos` that have no row have not been measured. `make chaos` replaces this.\n"
        ]
    for row in rows:
        secs = "" if row["recovered_secs"] is None else f"{row['recovered_secs']:.1f}"
        observed = "; ".join(row["observed"])
        cells = [row["fault"], row["expected"], observed, secs, row["outcome"],
                 row["measured"] + (" *" if row.get("copied") else "")]  # fmt: skip
        lines.append("| " + " | ".join(c.replace("|", "\\|") for c in cells) + " |")
    return "\n".join(lines) + "\n"
