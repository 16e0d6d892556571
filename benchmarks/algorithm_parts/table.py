"""The results as a Markdown page."""

from __future__ import annotations

from typing import Any


def markdown(results: dict[str, Any]) -> str:
    """The page docs/algorithms-benchmark.md."""
    machine = results.get("machine", {})
    lines = [
        "# The algorithms, measured",
        "",
        "Made by `make bench-algorithms`; the figures behind it are in "
        "`benchmarks/results/algorithms.json`.",
        f"Machine: {machine.get('cores')} cores, {machine.get('machine')}, "
        f"Python {machine.get('python')}. Wall-clock seconds count against θ; CPU seconds say "
        "what a quiet machine would need. The load average stands with each section: above the "
        "number of cores, a deadline buys less.",
        "",
    ]
    makers = {
        "micro": _micro,
        "fischer": _fischer,
        "thousand": _thousand,
        "peers": _peers,
        "storm_sized": _storm_sized,
        "graph": _graph,
        "million": _million,
        "capacity": _capacity,
    }
    for name, make in makers.items():
        if name in results:
            entry = results[name]
            before, after = entry["load_average"]
            quick = ", quick run" if entry.get("quick") else ""
            lines += make(entry["result"])
            patience = entry.get("patience", 1.0)
            longer = f", θ times {patience:g} for that" if patience != 1.0 else ""
            code = entry.get("commit")
            of = (
                f" Code: {code}."
                if code
                else (
                    " **Measured on older code** (before members of `auto` had fixed budgets and "
                    "annealing became faster), not repeated since."
                )
            )
            note = f" **{entry['note']}.**" if entry.get("note") else ""
            lines += ["", f"Load average {before} to {after}{longer}{quick}.{of}{note}", ""]
    return "\n".join(lines).rstrip() + "\n"


def _rows(head: list[str], rows: list[list[object]]) -> list[str]:
    table = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return table + ["| " + " | ".join(str(c) for c in row) + " |" for row in rows]


def _micro(result: dict[str, Any]) -> list[str]:
    s = result["summary"]
    missed = [
        [f"{r['layout']}-{r['tasks']}-{r['nodes']}", r["ischeduler"]["cost"], r["best"]]
        for r in result["rows"]
        if r["ischeduler"]["cost"] > r["best"] + 1e-9
    ]
    lines = [
        "## I-Scheduler's 72 micro-benchmarks (θ = 1 s)",
        "",
        *_rows(
            ["algorithm", "proven optimal", "slowest, wall s", "slowest, CPU s"],
            [
                [
                    name,
                    f"{s[f'{name}_proven']} of {s['cases']}",
                    s[f"{name}_slowest_seconds"],
                    s[f"{name}_slowest_cpu_seconds"],
                ]
                for name in ("exact", "auto")
            ],
        ),
        "",
        f"`ischeduler` has the optimum in {s['ischeduler_optimal']} of {s['cases']} cases (the "
        f"paper: 70) and is no worse than the paper's own results in "
        f"{s['ischeduler_no_worse_than_paper']}.",
    ]
    if missed:
        lines += ["", *_rows(["missed by ischeduler", "cost", "optimum"], missed)]
    return lines


def _fischer(rows: list[dict[str, Any]]) -> list[str]:
    names = list(rows[0]["shares"])
    table = []
    for row in rows:
        shares = ["over limits" if s is None else f"{100 * s:.2f}" for s in row["shares"].values()]
        table.append([row["problem"], row["executors"], *shares])
    best = sum(r["auto_is_best"] for r in rows)
    return [
        "## Fischer's topologies: traffic between nodes, % of all (θ = 1 s)",
        "",
        *_rows(["problem", "executors", *names], table),
        "",
        f"`auto` is at most every other in {best} of {len(rows)}.",
    ]


def _thousand(result: dict[str, Any]) -> list[str]:
    head = [
        "problem",
        "best known",
        f"auto, θ = {result['long_theta']:g} s",
        f"auto, θ = {result['theta']:g} s, median",
        "above best %: least",
        "median",
        "most",
        "slowest, wall s",
        "most CPU s here",
    ]
    rows: list[list[object]] = []
    for r in result["rows"]:
        above = r["above_best_percent"]
        middle = len(above) // 2
        rows.append(
            [
                r["seed"],
                round(r["best_known"], 1),
                round(r["long_run"], 1),
                round(r["auto"][middle], 1),
                above[0],
                above[middle],
                above[-1],
                r["seconds"],
                r["cpu_seconds"],
            ]
        )
    return [
        "## 1,000 executors on 100 nodes",
        "",
        f"Each problem {result['repeats']} times, with other seeds. Best known: least of these, of "
        "the long run, and of earlier records. CPU seconds are those of the caller's "
        "process; the second engine and the members run in two others.",
        "",
        *_rows(head, rows),
    ]


def _peers(rows: list[dict[str, Any]]) -> list[str]:
    table: list[list[object]] = [
        [
            row["problem"],
            e["partitioner"],
            f"{100 * e['share']:.2f}",
            e["seconds"],
            e["cpu_seconds"],
        ]
        for row in rows
        for e in row["rows"]
    ]
    head = ["problem", "partitioner", "between nodes %", "wall s", "CPU s"]
    return ["## Stronger partitioners on the same graphs, repaired", "", *_rows(head, table)]


def _storm_sized(r: dict[str, Any]) -> list[str]:
    return [
        "## A large cluster",
        "",
        f"{r['executors']:,} executors in {r['topologies']} topologies, {r['edges']:,} edges, on "
        f"{r['nodes']:,} nodes in 25 racks, θ = {r['theta']:g} s: status {r['status']}, "
        f"{100 * r['share']:.2f} % of the traffic between nodes, {r['seconds']} s wall, "
        f"{r['cpu_seconds']} s CPU.",
    ]


def _graph(r: dict[str, Any]) -> list[str]:
    return [
        "## Building the graph",
        "",
        f"{r['edges']:,} edges: {r['seconds']} s wall, {r['cpu_seconds']} s CPU.",
    ]


def _million(r: dict[str, Any]) -> list[str]:
    return [
        "## A million tasks",
        "",
        f"{r['tasks']:,} tasks, {r['edges']:,} edges, {r['parts']:,} parts by METIS: graph "
        f"{r['build_seconds']} s, METIS {r['metis_seconds']} s wall ({r['metis_cpu_seconds']} s "
        f"CPU), cut {100 * r['share']:.2f} %, peak memory {r['peak_mb']:,.0f} MB.",
    ]


def _capacity(r: dict[str, Any]) -> list[str]:
    table: list[list[object]] = [
        [name, *(count.get(s, 0) for s in ("ok", "best-effort", "infeasible"))]
        for name, count in r["statuses"].items()
    ]
    return [
        "## Random problems with every constraint, judged by the verifier",
        "",
        f"{r['problems']:,} problems, {len(r['faults'])} broken promises.",
        "",
        *_rows(["algorithm", "ok", "best-effort", "infeasible"], table),
    ]
