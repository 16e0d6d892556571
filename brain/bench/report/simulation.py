"""The part of the report that is simulated: the papers' clusters, and the far larger ones."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

from brain.bench.report import plots
from brain.bench.report.document import Block, Figure, Heading, Text, table
from brain.bench.report.words import change, megabits, number

PAPER_THROUGHPUT = {
    ("parallel", "online"): 1.00, ("payload", "online"): 1.12,
    ("opengov", "online"): 1.00, ("reference", "online"): 1.01,
    ("parallel", "metis"): 1.06, ("payload", "metis"): 1.52,
    ("opengov", "metis"): 1.19, ("reference", "metis"): 1.03,
}  # fmt: skip
"""Table I of Fischer & Bernstein 2015: means over 10 … 80 machines, against the default."""
PAPER_BYTES = {
    ("payload", "metis"): 1 - 0.3375, ("parallel", "metis"): 1 - 0.14,
    ("reference", "online"): 1 - 0.0975,
}  # fmt: skip
"""Its section V.A.1, means as well; the others are only drawn there, not given."""


def blocks(results: Mapping[str, Any], figures: Path) -> list[Block]:
    """What simulation.json has; sections that were not run are named."""
    found: list[Block] = [
        Heading("Simulated: past this machine"),
        Text(
            "Forecasts of `brain/simulate` with the costs of a tuple calibrated on real Storm "
            "workers (`brain/simulate/costs.json`, see [simulation](simulation.md)). They are "
            "predictions; how well such predictions fit runs is in the section on validation. All "
            "rates of a topology scale together in them, so the fullest node sets the pace of all "
            "lines, also of those that never touch it: a placement that is good but for one node "
            "is rated too low."
        ),
    ]
    makers: dict[str, Callable[[Any, Path], list[Block]]]
    makers = {"fischer": _fischer, "sweep": _sweep, "large": _large}
    for name, make in makers.items():
        section = results.get(name)
        if section is None:
            found.append(
                Text(f"No results yet of `python -m benchmarks.simulation --only {name}`.")
            )
            continue
        found += make(section["result"], figures)
        before, after = section["load_average"]
        machine = results.get("machine", {})
        found.append(
            Text(
                f"Command: `{section['command']}`, {section['date']}, "
                f"{machine.get('cores')} cores, load average {before} to {after}."
            )
        )
    return found


def _fischer(result: Mapping[str, Any], figures: Path) -> list[Block]:
    rows = [r for r in result["rows"] if r["algorithm"] != result["baseline"]]
    sizes = sorted({r["machines"] for r in rows})
    found: list[Block] = [
        Heading(f"Fischer & Bernstein 2015 on {sizes[0]} … {sizes[-1]} machines", 3),
        Text(
            f"Machines of {result['cores']} cores, {megabits(result['bandwidth'])} and one worker; "
            f"one acker each, at most {result['pending']:,} tuples pending at a spout task, "
            f"θ = {result['theta']:g} s. Changes against Storm's even placement; the paper's "
            "figures are its means over its cluster sizes, where it gives any. A placement that "
            "breaks a CPU limit is marked *."
        ),
    ]
    for title, measure, paper in (
        ("Bytes between nodes", "inter_node_bytes_ratio", PAPER_BYTES),
        ("Throughput", "throughput_ratio", PAPER_THROUGHPUT),
    ):
        lines = []
        for topology, algorithm in dict.fromkeys((r["topology"], r["algorithm"]) for r in rows):
            own = {
                r["machines"]: r
                for r in rows
                if (r["topology"], r["algorithm"]) == (topology, algorithm)
            }
            known = [own[s][measure] for s in sizes if s in own and measure in own[s]]
            lines.append(
                [
                    topology,
                    algorithm,
                    change(paper.get((topology, algorithm))),
                    change(fmean(known)) if known else "–",
                    *(_marked(own.get(s), measure) for s in sizes),
                ]
            )
        head = [title, "algorithm", "paper, mean", "ours, mean", *(f"{s}" for s in sizes)]
        found.append(table(head, lines, left=2))
    over = sorted({r["topology"] for r in result["rows"] if _is_even_over(r, result["baseline"])})
    if over:
        found.append(
            Text(
                f"The even placement itself breaks CPU limits in {', '.join(over)}: it does not "
                "look at them, so there its traffic is not a fair yardstick and its throughput "
                "suffers."
            )
        )
    path = figures / "simulation-fischer.png"
    plots.lines_by_panel(
        path,
        [
            (topology, _series(rows, topology, "throughput_ratio"))
            for topology in dict.fromkeys(r["topology"] for r in rows)
        ],
        "machines",
        "throughput over even",
    )
    found.append(Figure(path, "Simulated throughput over the even placement, by cluster size"))
    return found


def _is_even_over(row: Mapping[str, Any], baseline: str) -> bool:
    return bool(row["algorithm"] == baseline and row["status"] != "ok")


def _marked(row: Mapping[str, Any] | None, measure: str) -> str:
    if row is None or measure not in row:
        return "–"
    return change(row[measure]) + ("" if row["status"] == "ok" else " *")


def _series(
    rows: Sequence[Mapping[str, Any]], topology: str, measure: str
) -> dict[str, list[tuple[float, float]]]:
    found: dict[str, list[tuple[float, float]]] = {}
    for r in rows:
        if r["topology"] == topology and measure in r:
            found.setdefault(r["algorithm"], []).append((r["machines"], r[measure]))
    return found


def _sweep(result: Mapping[str, Any], figures: Path) -> list[Block]:
    rows = result["rows"]
    names = [n for n in dict.fromkeys(r["algorithm"] for r in rows) if n != result["baseline"]]
    sizes = sorted({r["bytes"] for r in rows})
    of = {(r["bytes"], r["algorithm"]): r for r in rows}
    lines = [
        [
            f"{size:,} B",
            number(of[size, result["baseline"]].get("throughput")),
            of[size, result["baseline"]].get("bottleneck") or "–",
            *(change(of[size, n].get("throughput_ratio")) for n in names),
        ]
        for size in sizes
    ]
    path = figures / "simulation-sweep.png"
    series: dict[str, list[tuple[float, float]]] = {name: [] for name in names}
    for (size, name), row in of.items():
        if name in series and "throughput_ratio" in row:
            series[name].append((size, row["throughput_ratio"]))
    plots.lines_by_panel(path, [("", series)], "bytes of a tuple", "throughput over even", log=True)
    return [
        Heading("Tuple size against throughput", 3),
        Text(
            f"Payload of depth {result['depth']} on {result['machines']} machines, as in the "
            "paper's figure 9; the paper has a factor of more than four from 10 KB up."
        ),
        table(["tuple", "even, tuples/s", "full there", *names], lines),
        Figure(path, "Simulated throughput over even, by tuple size"),
    ]


def _large(rows: Sequence[Mapping[str, Any]], figures: Path) -> list[Block]:
    base = {r["machines"]: r for r in rows if r["algorithm"] == "even" and "failed" not in r}
    lines = []
    for r in rows:
        size = [f"{r['machines']:,}", f"{r['executors']:,}"]
        if "failed" in r:
            lines.append([r["algorithm"], *size, r["failed"], *["–"] * 7])
            continue
        even = base.get(r["machines"], {})
        lines.append(
            [
                r["algorithm"],
                *size,
                r["status"],
                f"{100 * r['share']:.1f} %",
                change(r["share"] / even["share"]) if even.get("share") else "–",
                change(_over(r, even, "saturation")),
                number(r["plan_seconds"]),
                number(r["plan_cpu_seconds"]),
                f"{r['peak_mb']:,} MB",
                number(r.get("forecast_seconds")),
            ]
        )
    head = [
        "algorithm", "machines", "executors", "status", "between nodes", "traffic on even",
        "throughput on even", "plan, s", "CPU, s", "peak", "forecast, s",
    ]  # fmt: skip
    done = [r for r in rows if "failed" not in r]
    names = list(dict.fromkeys(r["algorithm"] for r in done))
    path = figures / "simulation-growth.png"
    plots.lines_by_panel(
        path,
        [
            (
                title,
                {n: [(r["executors"], r[m]) for r in done if r["algorithm"] == n] for n in names},
            )
            for title, m in (("seconds to plan", "plan_seconds"), ("peak memory, MB", "peak_mb"))
        ],
        "executors",
        "",
        log=True,
        log_y=True,
    )
    return [
        Heading("Thousands of machines", 3),
        Text(
            "Topologies of random shape beside each other on equal machines in racks of forty, "
            "10 Gbit/s. Each row ran in a process of its own; the peak includes the problem itself "
            "and the processes of a portfolio. Throughput is the sum of what all topologies could "
            "do at most."
        ),
        table(head, lines),
        Text(_growth(done, names)),
        Figure(path, "Time to plan and peak memory by number of executors"),
    ]


def _over(row: Mapping[str, Any], even: Mapping[str, Any], measure: str) -> float | None:
    if not row.get(measure) or not even.get(measure):
        return None
    return float(row[measure]) / float(even[measure])


def _growth(rows: Sequence[Mapping[str, Any]], names: Sequence[str]) -> str:
    """How time and memory grow: the exponent of n between the smallest and the largest size."""
    import math

    said = []
    for name in names:
        own = sorted((r for r in rows if r["algorithm"] == name), key=lambda r: r["executors"])
        if len(own) < 2:
            continue
        a, b = own[0], own[-1]
        step = math.log(b["executors"] / a["executors"])
        powers = [
            math.log(max(b[m], 1e-3) / max(a[m], 1e-3)) / step
            for m in ("plan_cpu_seconds", "peak_mb")
        ]
        said.append(f"`{name}` CPU n^{powers[0]:.2f}, memory n^{powers[1]:.2f}")
    if not said:
        return "One size only: nothing can be said of growth."
    return (
        f"From {rows[0]['executors']:,} to {max(r['executors'] for r in rows):,} executors they "
        f"grow as: {'; '.join(said)} (a portfolio uses what θ allows it)."
    )
