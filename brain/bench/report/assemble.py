"""The whole report, from whatever results there are."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from brain.bench.experiment import PAPERS
from brain.bench.report import katts, predicted, simulation
from brain.bench.report.document import (
    Block,
    Bullets,
    Heading,
    Text,
    markdown_table,
    table,
    to_html,
    to_markdown,
)
from brain.bench.report.experiments import cluster_words, paper_blocks
from brain.bench.report.goals import Verdict, auto_checks, verdicts
from brain.bench.report.validation import agreements, predictions
from brain.bench.report.words import change, probability
from brain.bench.results import ExperimentResult, RunStatus, load_results
from brain.errors import BadInput

TITLE = "The papers' experiments, side by side"
START, END = "<!-- bench report -->", "<!-- /bench report -->"


@dataclass(frozen=True)
class Sources:
    """Where results lie, below the root of the repository."""

    root: Path
    runs: Path | None = None
    """Where the experiments' results lie, if not where they belong."""

    @property
    def experiments(self) -> Path:
        return self.root / "benchmarks/experiments"

    @property
    def bench(self) -> Path:
        return self.runs or self.root / "benchmarks/results/bench"

    @property
    def simulation(self) -> Path:
        return self.root / "benchmarks/results/simulation.json"

    @property
    def learnt(self) -> Path:
        return self.root / "benchmarks/results/learn.json"

    @property
    def markdown(self) -> Path:
        return self.root / "docs/benchmark-report.md"

    @property
    def html(self) -> Path:
        return self.root / "docs/benchmark-report.html"

    @property
    def figures(self) -> Path:
        return self.root / "docs/img/bench"


def write(sources: Sources) -> list[Path]:
    """Writes the Markdown and the HTML page with their pictures; what was written."""
    results = load_results(sources.bench)
    blocks = report(results, sources)
    sources.markdown.parent.mkdir(parents=True, exist_ok=True)
    sources.markdown.write_text(to_markdown(blocks, sources.markdown), encoding="utf-8")
    sources.html.write_text(to_html(TITLE, blocks, sources.html), encoding="utf-8")
    return [sources.markdown, sources.html]


def report(results: Sequence[ExperimentResult], sources: Sources) -> list[Block]:
    goals = verdicts(results)
    blocks: list[Block] = [
        Heading(TITLE, 1),
        Text(
            "Made by `stormbrain bench report` from the results on record; every figure below is "
            "in a file under `benchmarks/results/`. Ratios are against Storm's default scheduler "
            "in the same experiment, medians over the valid runs unless said otherwise; p is a "
            "two-sided Mann-Whitney test. A run that lost tuples or restarted by itself is shown "
            "and not counted."
        ),
        *_state(results, sources),
        *_goals(goals),
        *_auto(results),
    ]
    for paper, title in PAPERS.items():
        if any(r.experiment["paper"] == paper for r in results):
            blocks += paper_blocks(paper, title, results, goals, sources.figures)
        elif paper == "fischer2013":
            blocks.append(Heading(title))
        if paper == "fischer2013":
            blocks += katts.blocks(_json(sources.learnt))
    found = predictions(results)
    blocks += predicted.blocks(found, agreements(found), sources.figures)
    blocks += simulation.blocks(_json(sources.simulation) or {}, sources.figures)
    return blocks


def _state(results: Sequence[ExperimentResult], sources: Sources) -> list[Block]:
    """What there is, on which machine, and which experiments have no results yet."""
    machines = list(
        dict.fromkeys(
            f"{r.machine.get('cores')} cores, {r.machine.get('memory_mb')} MB, "
            f"kernel {r.machine.get('kernel')}, Java {r.machine.get('java')}, "
            f"Storm {r.machine.get('storm')}"
            for r in results
        )
    )
    runs = [run for r in results for run in r.runs]
    bad = sum(run.status is not RunStatus.VALID for run in runs)
    lines = [f"Measured on: {m}; all nodes of the testbed share it." for m in machines]
    if runs:
        lines.append(
            f"{len(runs)} runs of {len(results)} experiments, from {min(r.started for r in runs)} "
            f"to {max(r.started for r in runs)}; {bad} of them do not count and are listed."
        )
    loads = [_load(r) for r in results if _load(r)]
    if loads:
        lines.append("Load average when they began: " + "; ".join(loads) + ".")
    quick = [r.name for r in results if r.quick]
    if quick:
        lines.append(f"Shortened by --quick, not to be quoted: {', '.join(quick)}.")
    known = {r.name for r in results}
    declared = sorted(p.stem for p in sources.experiments.glob("*.yaml"))
    missing = [name for name in declared if name not in known]
    if missing:
        lines.append(f"No results yet: {', '.join(missing)}.")
    if not results:
        lines.append("No experiment has results yet: run `stormbrain bench run`.")
    return [Bullets(tuple(lines))]


def _load(result: ExperimentResult) -> str:
    load = result.machine.get("load_at_start")
    return f"{result.name} {load:g}" if load is not None else ""


def _goals(goals: Sequence[Verdict]) -> list[Block]:
    if not goals:
        return []
    reached = sum(g.reached is True for g in goals)
    rows = [
        [
            g.says or f"{g.measure} of {g.scheduler} on {g.baseline}",
            f"{g.experiment}, {g.case}",
            change(g.paper),
            g.wanted,
            change(g.ours),
            probability(g.p),
            g.word + (" (quick)" if g.quick else ""),
        ]
        for g in goals
    ]
    found: list[Block] = [
        Heading("Goals"),
        Text(f"{reached} of {len(goals)} reached."),
        table(["goal", "experiment", "paper", "aim", "ours", "p", ""], rows, left=2),
    ]
    missed = [g for g in goals if not g.reached]
    if missed:
        found.append(Text("What the runs say about those that are not:"))
        found.append(
            Bullets(
                tuple(
                    f"{g.experiment}, {g.case}, {g.measure} of {g.scheduler} on {g.baseline}: "
                    f"{change(g.ours)} where {g.wanted} was aimed at; {g.reason}"
                    for g in missed
                )
            )
        )
    return found


def _auto(results: Sequence[ExperimentResult]) -> list[Block]:
    checks = auto_checks(results)
    if not checks:
        return []
    good = sum(c.as_good for c in checks)
    rows = [
        [c.experiment, c.case, c.measure, c.best, change(c.ratio), probability(c.p),
         "as good" if c.as_good else "worse"]
        for c in checks
    ]  # fmt: skip
    return [
        Heading("`auto` against the best other scheduler"),
        Text(
            f"At least as good in {good} of {len(checks)} comparisons: within 5 % of the best "
            "other's median or within the spread of its runs."
        ),
        table(["experiment", "case", "measure", "best other", "auto on it", "p", ""], rows, left=4),
    ]


def readme_snippet(results: Sequence[ExperimentResult], sources: Sources) -> str:
    """The README's table: the goals with the paper's ratio, ours, cluster and command."""
    by_name = {r.name: r for r in results}
    goals = [g for g in verdicts(results) if g.ours is not None]
    if not goals:
        return "No experiment has results yet: `make bench`."
    rows = [
        [
            g.says or f"{g.measure} of {g.scheduler} on {g.baseline}",
            change(g.paper),
            change(g.ours) + (" (quick run)" if g.quick else ""),
            cluster_words(by_name[g.experiment], g.case),
            f"`{by_name[g.experiment].command}`",
        ]
        for g in goals
    ]
    head = ["", "paper", "ours", "cluster", "command"]
    return markdown_table(table(head, rows))


def put_into_readme(readme: Path, snippet: str) -> bool:
    """Replaces what stands between the markers; whether anything changed."""
    text = readme.read_text(encoding="utf-8")
    before, start, rest = text.partition(START)
    _, end, after = rest.partition(END)
    if not start or not end:
        raise BadInput(
            str(readme),
            "has no place for the table",
            f"put {START} and {END} on lines of their own",
        )
    new = f"{before}{START}\n{snippet}\n{END}{after}"
    if new != text:
        readme.write_text(new, encoding="utf-8")
    return new != text


def _json(path: Path) -> Any:
    if not path.exists():
        return None
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except ValueError as e:
        raise BadInput(str(path), f"is not JSON: {e}", "make it anew") from None
