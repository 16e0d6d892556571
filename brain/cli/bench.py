"""``stormbrain bench``: the papers' experiments on real Storm."""

from __future__ import annotations

import signal
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from brain.cli.output import console, print_json, progress_console

if TYPE_CHECKING:
    from brain.bench.results import ExperimentResult

bench_app = typer.Typer(
    help="The papers' experiments on a testbed of real Storm, and the report on them.",
    no_args_is_help=True,
)


def register(app: typer.Typer) -> None:
    app.add_typer(bench_app, name="bench")


@bench_app.command("list")
def list_experiments() -> None:
    """Show the experiments, and how many of their runs are on record."""
    from rich.table import Table

    from brain.bench.experiment import EXPERIMENTS_DIR, load_experiment
    from brain.bench.results import RESULTS_DIR, load_result

    table = Table("experiment", "title", "schedulers", "runs", "on record")
    for path in sorted(EXPERIMENTS_DIR.glob("*.yaml")):
        one = load_experiment(path)
        record = RESULTS_DIR / f"{one.name}.json"
        done = str(len(load_result(record).runs)) if record.exists() else "–"
        names = " ".join(scheduler.name for scheduler in one.schedulers)
        table.add_row(path.stem, one.title, names, str(len(one.order())), done)
    console.print(table)


@bench_app.command()
def run(
    which: Annotated[list[str], typer.Argument(help="Experiments by name or file, or 'all'.")],
    quick: Annotated[
        bool, typer.Option("--quick", help="One short run each: to see that it works.")
    ] = False,
    fresh: Annotated[bool, typer.Option(help="Forget the runs on record.")] = False,
    loopback: Annotated[bool, typer.Option(help="Without root: no limits, no bytes.")] = False,
    minutes: Annotated[
        float | None, typer.Option(help="Begin no run after so many minutes; go on later.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="Where results go; with --quick out/bench/quick.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Results on stdout.")] = False,
) -> None:
    """Make the runs that are not on record yet. Ctrl-C keeps the finished ones."""
    from brain.bench.conduct import OUT, run_experiment
    from brain.bench.experiment import load_experiment
    from brain.bench.results import RESULTS_DIR

    paths = _paths(which)
    experiments = [(path, load_experiment(path, quick)) for path in paths]
    directory = out or (OUT / "quick" if quick else RESULTS_DIR)
    # Told to end, as by timeout(1), it ends like by Ctrl-C: nothing is left running.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    until = None if minutes is None else time.monotonic() + 60 * minutes
    results = []
    for path, experiment in experiments:
        results.append(
            run_experiment(
                experiment,
                path,
                quick=quick,
                fresh=fresh,
                loopback=loopback,
                until=until,
                directory=directory,
                command=f"stormbrain {' '.join(sys.argv[1:])}",
                tell=lambda said: progress_console.print(said, markup=False),
            )
        )
        if not as_json:
            _show(results[-1])
    if as_json:
        print_json([result.to_json() for result in results])


def _paths(which: list[str]) -> list[Path]:
    from brain.bench.experiment import EXPERIMENTS_DIR

    if which == ["all"]:
        return sorted(EXPERIMENTS_DIR.glob("*.yaml"))
    return [
        Path(one) if one.endswith((".yaml", ".yml")) else EXPERIMENTS_DIR / f"{one}.yaml"
        for one in which
    ]


def _show(result: ExperimentResult) -> None:
    from rich.table import Table

    from brain.bench.summary import against, left_out, spread

    table = Table("case", "scheduler", "n", "tuples/s", "", "latency ms", "MB/s between nodes",
                  "", title=result.name)  # fmt: skip
    for case in result.cases():
        for scheduler in result.schedulers():
            through = spread(result, case, scheduler, "throughput")
            if through is None:
                continue
            ratio = against(result, case, scheduler, "throughput")
            latency = spread(result, case, scheduler, "latency_ms")
            if latency is None:
                latency = spread(result, case, scheduler, "latency_p50_ms")
            wire = spread(result, case, scheduler, "wire_bytes")
            wire_ratio = against(result, case, scheduler, "wire_bytes")
            table.add_row(
                case,
                scheduler,
                str(through.runs),
                f"{through.median:,.0f} ({through.lowest:,.0f}–{through.highest:,.0f})",
                _times(ratio.ratio_of_medians if ratio else None),
                "–" if latency is None else f"{latency.median:,.1f}",
                "–" if wire is None else f"{wire.median / 1e6:.2f}",
                _times(wire_ratio.ratio_of_medians if wire_ratio else None),
            )
    console.print(table)
    for one in left_out(result):
        reasons = "; ".join(one.reasons)
        console.print(f"{one.status}: {one.case} {one.scheduler} #{one.repeat + 1}: {reasons}",
                      markup=False)  # fmt: skip


def _times(ratio: float | None) -> str:
    return "" if ratio is None else f"×{ratio:.2f}"
