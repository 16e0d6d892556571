"""``stormbrain demo``: what `make demo` runs."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table

from brain.cli.output import console, print_json, progress_console

if TYPE_CHECKING:
    from brain.demo.run import DemoReport


def register(app: typer.Typer) -> None:
    app.command()(demo)


def demo(
    nodes: Annotated[int, typer.Option(min=2, help="Supervisors, and lines of Parallel.")] = 3,
    depth: Annotated[int, typer.Option(min=1, help="Bolts in a row.")] = 3,
    algorithm: Annotated[str, typer.Option(help="Which algorithm re-places.")] = "auto",
    observe_secs: Annotated[int, typer.Option(min=10, help="Traffic before deciding.")] = 30,
    measure_secs: Annotated[int, typer.Option(min=5, help="Traffic measured afterwards.")] = 30,
    out: Annotated[Path, typer.Option(help="Where plot, JSON and logs go.")] = Path("out/demo"),
    as_json: Annotated[bool, typer.Option("--json", help="JSON on stdout.")] = False,
) -> None:
    """Start a cluster and a brain, run Parallel, and show what the re-placement changed."""
    from brain.demo.run import DemoOptions, run_demo
    from brain.extras import require

    require("plots")
    options = DemoOptions(
        nodes=nodes,
        depth=depth,
        algorithm=algorithm,
        observe_secs=observe_secs,
        measure_secs=measure_secs,
        out=out,
    )
    with progress_console.status("") as line:

        def tell(message: str) -> None:
            progress_console.print(f"[dim]·[/dim] {message}", markup=True)
            line.update(message)

        report = run_demo(options, tell)
    summary = _summary(report)
    (out / "demo.json").write_text(json.dumps(summary, indent=2) + "\n", encoding="utf-8")
    if as_json:
        print_json(summary)
    else:
        _show(report)


def _summary(report: DemoReport) -> dict[str, Any]:
    return {
        "topology": report.topology_id,
        "before": report.before.to_json(),
        "after": report.after.to_json(),
        "inter_node_fall_percent": report.inter_node_fall_percent,
        "moved_executors": len(report.decision["moves"]),
        "restarted_workers": len(report.decision["restarts"]),
        "downtime_secs": report.downtime_secs,
        "decided_to_applied_secs": report.decided_to_applied_secs,
        "algorithm": report.plan.algorithm,
        "reason": report.plan.reason,
        "predicted": {"before": asdict(report.plan.before), "after": asdict(report.plan.after)},
        "plan_secs": report.decision["seconds"],
        "picture": str(report.picture),
    }


def _show(report: DemoReport) -> None:
    before, after = report.before, report.after
    table = Table("measured by the hook", "before (even)", f"after ({report.plan.algorithm})", "",
                  title="Parallel, before and after the re-placement")  # fmt: skip
    for column in table.columns[1:]:
        column.justify = "right"

    def row(name: str, b: float | None, a: float | None, form: str = ",.0f") -> None:
        change = f"{100 * (a - b) / b:+.1f} %" if a is not None and b else ""
        shown = ["–" if v is None else format(v, form) for v in (b, a)]
        table.add_row(name, *shown, change)

    row("inter-node tuples/s, own streams", before.inter_node_tuples, after.inter_node_tuples)
    row("inter-node bytes/s, own streams", before.inter_node_bytes, after.inter_node_bytes)
    row("inter-node acks/s (Storm's own)", before.system_inter_node_tuples,
        after.system_inter_node_tuples)  # fmt: skip
    table.add_row(
        "tuples that stay on their node", f"{before.local_share:.1%}", f"{after.local_share:.1%}"
    )
    row("spout tuples/s", before.spout_tuples, after.spout_tuples)
    row("complete latency, ms", before.complete_ms, after.complete_ms, ",.1f")
    row("workers", before.workers, after.workers)
    console.print(table)
    console.print(
        f"{len(report.decision['moves'])} executors moved, "
        f"{len(report.decision['restarts'])} workers restarted, "
        f"{report.downtime_secs:.1f} s without tuples at the last bolt, "
        f"{report.decided_to_applied_secs:.1f} s from decision to all tasks working in place."
    )
    console.print(f"why: {report.plan.reason}", markup=False)
    console.print(f"plot: {report.picture}", markup=False)
