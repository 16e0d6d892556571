"""The measured part of the report: one section a paper, one table an experiment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median, pstdev
from typing import Any

from brain.bench.report import plots
from brain.bench.report.document import Block, Bullets, Figure, Heading, Text, table
from brain.bench.report.goals import Verdict
from brain.bench.report.words import change, number, probability
from brain.bench.results import ExperimentResult, Run
from brain.bench.summary import BASELINE, against, left_out, spread

UNITS = {
    "throughput": "tuples/s",
    "latency_ms": "ms",
    "wire_bytes": "bytes/s between nodes",
    "wire_bytes_per_tuple": "bytes between nodes a tuple",
}


def paper_blocks(
    paper: str,
    title: str,
    results: Sequence[ExperimentResult],
    goals: Sequence[Verdict],
    figures: Path,
) -> list[Block]:
    """One paper: its ratios against ours, then each experiment."""
    found: list[Block] = [Heading(title)]
    own = [r for r in results if r.experiment["paper"] == paper]
    names = {r.name for r in own}
    compared = [g for g in goals if g.experiment in names]
    if compared:
        commands = {r.name: r.command for r in own}
        where = {r.name: r for r in own}
        found.append(
            table(
                ["experiment", "what", "paper", "ours", "aim", "", "cluster", "command"],
                [
                    [
                        f"{g.experiment}{' (quick)' if g.quick else ''}",
                        g.says or f"{g.measure} of {g.scheduler} on {g.baseline}, {g.case}",
                        change(g.paper),
                        change(g.ours),
                        g.wanted,
                        g.word,
                        cluster_words(where[g.experiment], g.case),
                        f"`{commands[g.experiment]}`",
                    ]
                    for g in compared
                ],
                left=2,
            )
        )
    for result in own:
        found += experiment_blocks(result, figures)
    return found


def experiment_blocks(result: ExperimentResult, figures: Path) -> list[Block]:
    found: list[Block] = [Heading(str(result.experiment["title"]), 3)]
    if result.quick:
        found.append(Text("**A quick run: shortened, not to be quoted.**"))
    found.append(Text(_setting(result)))
    for measure in ("throughput", "latency_ms", "wire_bytes", "wire_bytes_per_tuple"):
        found += _measure(result, measure)
    found += _balance(result)
    bad = left_out(result)
    if bad:
        found.append(Text("Runs that do not count:"))
        found.append(Bullets(tuple(_left_out(r) for r in bad)))
    found += _pictures(result, figures)
    return found


def cluster_words(result: ExperimentResult, case: str) -> str:
    cluster = _declared(result, case)["cluster"]
    parts = [f"{cluster['nodes']} nodes × {_list(cluster['slots'])} slots"]
    if cluster.get("bandwidth_mbit"):
        parts.append(f"{_list(cluster['bandwidth_mbit'])} Mbit/s")
    if cluster.get("cpu_points"):
        parts.append(f"{_list(cluster['cpu_points'])} CPU points")
    return ", ".join([*parts, str(result.testbed.get("mode", ""))]).rstrip(", ")


def _list(values: Sequence[float]) -> str:
    return "/".join(f"{v:g}" for v in values)


def _declared(result: ExperimentResult, case: str) -> Mapping[str, Any]:
    return next(c for c in result.experiment["cases"] if c["name"] == case)


def _setting(result: ExperimentResult) -> str:
    cases = result.cases()
    where = list(dict.fromkeys(cluster_words(result, c) for c in cases))
    lacks = result.testbed.get("cannot_measure") or []
    text = (
        f"Command: `{result.command}`. Cluster: {'; '.join(where) or 'none yet'}. "
        f"Machine: {_machine(result.machine)}."
    )
    return text + (f" Not measured here: {'; '.join(lacks)}." if lacks else "")


def _machine(machine: Mapping[str, Any]) -> str:
    parts = [f"{machine.get('cores')} cores", f"{machine.get('memory_mb')} MB"]
    parts += [f"{k} {machine[k]}" for k in ("java", "storm", "commit") if machine.get(k)]
    return ", ".join(parts)


def _measure(result: ExperimentResult, measure: str) -> list[Block]:
    rows = []
    for case in result.cases():
        for scheduler in result.schedulers():
            seen = spread(result, case, scheduler, measure)
            if seen is None:
                continue
            over = against(result, case, scheduler, measure)
            base = scheduler == BASELINE or over is None
            rows.append(
                [
                    case,
                    scheduler,
                    seen.runs,
                    number(seen.median),
                    f"{number(seen.lowest)} … {number(seen.highest)}",
                    number(seen.best),
                    "–" if base or over is None else change(over.ratio_of_medians),
                    "–" if base or over is None else change(over.ratio_of_best),
                    "–" if base or over is None else probability(over.p),
                ]
            )
    if not rows:
        return []
    head = [
        "case", "scheduler", "runs", f"{UNITS[measure]}, median", "spread", "best",
        "on default", "best on best", "p",
    ]  # fmt: skip
    return [table(head, rows, left=2)]


def _balance(result: ExperimentResult) -> list[Block]:
    """What stays at home, and how evenly CPU and bytes lie on the nodes; medians of the runs."""
    rows = []
    for case in result.cases():
        for scheduler in result.schedulers():
            runs = result.valid(case, scheduler)
            cpu = [d for r in runs if (d := _deviation([n.cpu_points for n in r.nodes.values()]))]
            sent = [
                d
                for r in runs
                if (d := _deviation([n.sent_bytes for n in r.nodes.values() if n.sent_bytes]))
            ]
            away = [r.hook_tuples / r.all_tuples for r in runs if r.all_tuples]
            if cpu or sent or away:
                rows.append([case, scheduler, _percent(away), _percent(cpu), _percent(sent)])
    if not rows:
        return []
    head = ["case", "scheduler", "tuples between nodes", "CPU, RSD", "bytes sent, RSD"]
    words = (
        "Own tuples that cross nodes, and balance as relative standard deviation over the nodes:"
    )
    return [Text(words), table(head, rows, 2)]


def _deviation(values: Sequence[float]) -> float | None:
    mean = sum(values) / len(values) if values else 0.0
    return pstdev(values) / mean if mean > 0 else None


def _percent(values: Sequence[float]) -> str:
    return f"{100 * median(values):.1f} %" if values else "–"


def _left_out(run: Run) -> str:
    return (
        f"{run.case}, {run.scheduler}, run {run.repeat + 1}: **{run.status}**, "
        f"{'; '.join(run.reasons) or 'no reason given'} ({number(run.throughput)} tuples/s)"
    )


def _pictures(result: ExperimentResult, figures: Path) -> list[Block]:
    cases, schedulers = result.cases(), result.schedulers()
    others = [s for s in schedulers if s != BASELINE]
    values = {s: [_over_default(result, case, s, "throughput") for case in cases] for s in others}
    found: list[Block] = []
    if any(v is not None for own in values.values() for v in own):
        path = figures / f"bench-{result.name}.png"
        plots.bars(path, cases, values, "throughput over default")
        found.append(Figure(path, f"{result.experiment['title']}: throughput over default"))
    timed = [
        (s, run)
        for s in schedulers
        if cases and (run := next(iter(result.valid(cases[0], s)), None)) is not None
    ]
    latency = any(p.latency_ms is not None for _, run in timed for p in run.series)
    curves = [
        (
            s,
            [(p.t, p.latency_ms) for p in run.series if p.latency_ms is not None]
            if latency
            else [(p.t, p.throughput) for p in run.series],
            run.replacement.applied_secs if run.replacement else None,
        )
        for s, run in timed
    ]
    if any(points for _, points, _ in curves):
        path = figures / f"bench-{result.name}-time.png"
        what = "latency, ms" if latency else "tuples/s"
        plots.over_time(path, curves, what)
        found.append(Figure(path, f"{result.experiment['title']}, {cases[0]}: {what} over time"))
    return found


def _over_default(
    result: ExperimentResult, case: str, scheduler: str, measure: str
) -> float | None:
    seen = against(result, case, scheduler, measure)
    return None if seen is None else seen.ratio_of_medians
