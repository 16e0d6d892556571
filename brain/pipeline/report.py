"""Tables (CSV, Markdown) and plots of measured runs."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

from brain.pipeline.experiment import METRICS, Metric, RunResult
from brain.pipeline.statistics import Summary, mann_whitney, summarise

SIGNIFICANT = 0.05


@dataclass(frozen=True)
class Comparison:
    """Mann-Whitney between two schedulers on one metric, run against run; for throughput also on
    the ten-second samples of each one's best run, since few runs can never be significant."""

    metric: str
    a: str
    b: str
    change_percent: float | None
    """Mean of b over mean of a."""
    p_runs: float | None
    p_samples: float | None


def by_scheduler(runs: Sequence[RunResult]) -> dict[str, list[RunResult]]:
    found: dict[str, list[RunResult]] = {}
    for r in runs:
        found.setdefault(r.scheduler, []).append(r)
    return found


def summaries(runs: Sequence[RunResult]) -> dict[str, dict[str, Summary]]:
    """By metric, then by scheduler."""
    table: dict[str, dict[str, Summary]] = {}
    for m in METRICS:
        for scheduler, own in by_scheduler(runs).items():
            values = [r.metrics[m.name] for r in own if m.name in r.metrics]
            if values:
                table.setdefault(m.name, {})[scheduler] = summarise(values, m.more_is_better)
    return table


def comparisons(runs: Sequence[RunResult]) -> list[Comparison]:
    """Every pair of schedulers, in the order in which they were given."""
    groups = by_scheduler(runs)
    result = []
    for a, b in combinations(groups, 2):
        for m in METRICS:
            one = [r.metrics[m.name] for r in groups[a] if m.name in r.metrics]
            two = [r.metrics[m.name] for r in groups[b] if m.name in r.metrics]
            if not one or not two:
                continue
            mean = sum(one) / len(one)
            change = (sum(two) / len(two) / mean - 1) * 100 if mean else None
            samples = None
            if m.name == "throughput":
                best = [_best(groups[s]).throughput_samples for s in (a, b)]
                samples = mann_whitney(*best)
            result.append(Comparison(m.name, a, b, change, mann_whitney(one, two), samples))
    return result


def _best(runs: Sequence[RunResult]) -> RunResult:
    return max(runs, key=lambda r: r.metrics["throughput"])


def write_report(runs: Sequence[RunResult], out: Path) -> list[Path]:
    """Writes runs.csv, nodes.csv, summary.csv, comparison.csv, report.md and the plots."""
    out.mkdir(parents=True, exist_ok=True)
    compared = comparisons(runs)
    summed = summaries(runs)
    names = [m.name for m in METRICS]
    files: dict[str, list[list[Any]]] = {
        "runs.csv": [
            ["scheduler", "topology", "source", "seconds", *names],
            *[
                [r.scheduler, r.topology, r.source, r.seconds, *[r.metrics.get(n) for n in names]]
                for r in runs
            ],
        ],
        "nodes.csv": [
            ["scheduler", "source", "node", "metric", "value"],
            *[
                [r.scheduler, r.source, node, metric, value]
                for r in runs
                for node, own in r.by_node.items()
                for metric, value in own.items()
            ],
        ],
        "summary.csv": [
            ["metric", "scheduler", "n", "best", "mean", "ci_low", "ci_high"],
            *[
                [metric, scheduler, s.n, s.best, s.mean, s.low, s.high]
                for metric, own in summed.items()
                for scheduler, s in own.items()
            ],
        ],
        "comparison.csv": [
            ["metric", "a", "b", "change_percent", "p_runs", "p_samples"],
            *[[c.metric, c.a, c.b, c.change_percent, c.p_runs, c.p_samples] for c in compared],
        ],
    }
    for name, rows in files.items():
        with (out / name).open("w", newline="", encoding="utf-8") as f:
            csv.writer(f).writerows(rows)
    (out / "report.md").write_text(markdown(runs, summed, compared), encoding="utf-8")
    return [*(out / name for name in files), out / "report.md", *_plots(runs, summed, out)]


def markdown(
    runs: Sequence[RunResult],
    summed: dict[str, dict[str, Summary]],
    compared: Sequence[Comparison],
) -> str:
    groups = by_scheduler(runs)
    lines = [
        "# Experiment",
        "",
        ", ".join(f"{s}: {len(own)} runs" for s, own in groups.items()) + ".",
        "",
        "Best of n, and mean with its 95 % confidence interval.",
        "",
        "| metric | " + " | ".join(groups) + " |",
        "|---|" + "---|" * len(groups),
    ]
    by_name = {m.name: m for m in METRICS}
    for name, own in summed.items():
        cells = [_cell(own.get(s)) for s in groups]
        lines.append(f"| {_title(by_name[name])} | " + " | ".join(cells) + " |")
    if compared:
        lines += [
            "",
            "Change of the mean, and Mann-Whitney p between runs (for throughput also between the "
            f"ten-second samples of the best runs). * marks p < {SIGNIFICANT}.",
            "",
            "| metric | from | to | change | p (runs) | p (samples) |",
            "|---|---|---|---|---|---|",
        ]
        for c in compared:
            change = "–" if c.change_percent is None else f"{c.change_percent:+.1f} %"
            lines.append(
                f"| {_title(by_name[c.metric])} | {c.a} | {c.b} | {change} | {_p(c.p_runs)} "
                f"| {_p(c.p_samples)} |"
            )
    return "\n".join(lines) + "\n"


def _title(m: Metric) -> str:
    return f"{m.name} ({m.unit})" if m.unit else m.name


def _p(value: float | None) -> str:
    if value is None:
        return "–"
    return f"{value:.4f}{'*' if value < SIGNIFICANT else ''}"


def _cell(s: Summary | None) -> str:
    if s is None:
        return "–"
    if s.low is None or s.high is None:
        return f"{s.best:,.2f}"
    return f"{s.best:,.2f}; {s.mean:,.2f} [{s.low:,.2f}, {s.high:,.2f}]"


def _plots(
    runs: Sequence[RunResult], summed: dict[str, dict[str, Summary]], out: Path
) -> list[Path]:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    by_name = {m.name: m for m in METRICS}
    written = []
    for name in ("throughput", "latency_mean", "inter_node_bytes", "load_rsd"):
        own = summed.get(name)
        if not own:
            continue
        figure, axes = plt.subplots(figsize=(5, 3.2), layout="constrained")
        values = list(own.values())
        errors = [0.0 if s.high is None else s.high - s.mean for s in values]
        axes.bar(list(own), [s.mean for s in values], yerr=errors, capsize=4, color="#4c78a8")
        axes.set_ylabel(_title(by_name[name]))
        axes.set_title(by_name[name].meaning)
        written.append(_save(figure, out / f"{name}.svg"))
    figure, axes = plt.subplots(figsize=(7, 3.2), layout="constrained")
    for scheduler, of_scheduler in by_scheduler(runs).items():
        samples = _best(of_scheduler).throughput_samples
        axes.plot([10 * i for i in range(len(samples))], samples, label=scheduler)
    axes.set_xlabel("seconds since the cut")
    axes.set_ylabel("throughput (tuples/s)")
    axes.legend()
    written.append(_save(figure, out / "throughput_over_time.svg"))
    return written


def _save(figure: Any, path: Path) -> Path:
    import matplotlib.pyplot as plt

    figure.savefig(path)
    plt.close(figure)
    return path
