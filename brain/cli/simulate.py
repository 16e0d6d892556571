"""``stormbrain simulate``: what placements would do on a cluster that is not there."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from brain.simulate.compare import Row

Json = Annotated[bool, typer.Option("--json", help="Print JSON, alone on stdout.")]


def register(app: typer.Typer) -> None:
    app.command()(simulate)


def simulate(
    problem: Annotated[
        str,
        typer.Argument(
            metavar="PROBLEM|GRAPH", help="A problem file, -, or a graph directory of the pipeline."
        ),
    ],
    algorithm: Annotated[
        str, typer.Option("--algorithm", "-a", help="Names, separated by commas.")
    ] = "even,metis,auto",
    topology: Annotated[
        str | None, typer.Option(help="Which one, where a graph directory holds several.")
    ] = None,
    cluster: Annotated[
        str | None,
        typer.Option(help='Other nodes than its own: COUNTxCORES words, such as "80x4".'),
    ] = None,
    bandwidth: Annotated[
        str, typer.Option(help="Of each node's interface, each way: 100mbit, 1gbit, unlimited.")
    ] = "1gbit",
    delay_ms: Annotated[float, typer.Option(help="Between nodes, one way.")] = 0.2,
    pending: Annotated[
        int | None, typer.Option(help="topology.max.spout.pending, of each spout task.", min=1)
    ] = None,
    ackers: Annotated[
        int | None, typer.Option(help="Add so many ackers and their traffic.", min=1)
    ] = None,
    cpu_from: Annotated[
        str, typer.Option(help="What work costs: problem (its CPU points), costs, or auto.")
    ] = "auto",
    costs: Annotated[
        Path | None, typer.Option(help="Costs of a tuple, from make bench-calibration.")
    ] = None,
    events: Annotated[
        float | None, typer.Option(help="Simulate so many seconds tuple by tuple as well.", min=0.0)
    ] = None,
    theta: Annotated[float, typer.Option(help="Seconds allowed to each algorithm.", min=0)] = 1.0,
    seed: Annotated[int, typer.Option(min=0)] = 0,
    as_json: Json = False,
) -> None:
    """Forecast traffic, throughput and latency of placements, without running anything.

    From a communication graph, measured or generated, a cluster and each algorithm's placement:
    bytes between nodes, what is full first, and latency by queueing. See docs/simulation.md.
    """
    from brain.algorithms import registry
    from brain.cli.output import print_json
    from brain.cli.solve import _quiet_stdout
    from brain.errors import BadInput
    from brain.model import Options
    from brain.problems.clusters import cluster as nodes_of
    from brain.simulate.acking import with_ackers
    from brain.simulate.compare import Setting, compare, on_cluster, read_problem, row_to_dict
    from brain.simulate.costs import default_costs, read_costs
    from brain.simulate.network import Network, parse_bandwidth

    names = [name.strip() for name in algorithm.split(",") if name.strip()]
    for name in names:
        registry.get(name)
    if cpu_from not in ("auto", "problem", "costs"):
        raise BadInput("--cpu-from", f"is problem, costs or auto, not {cpu_from!r}")
    if not 0 <= delay_ms < 1e6:
        raise BadInput("--delay-ms", f"must be between 0 and a million, not {delay_ms}")
    capacity = parse_bandwidth(bandwidth)
    prices = default_costs() if costs is None else read_costs(costs)
    read, current = read_problem(problem, topology)
    if cluster is not None:
        read, current = on_cluster(read, nodes_of(cluster)), None
    if ackers is not None:
        read, current = with_ackers(read, ackers), None
    measured = cpu_from == "problem" or (cpu_from == "auto" and bool(read.cpu.any()))
    setting = Setting(
        Network.uniform(len(read.nodes), capacity, delay_ms),
        prices,
        "problem" if measured else "costs",
        pending,
        events,
    )
    with _quiet_stdout():
        rows = compare(read, current, names, Options(theta=theta, seed=seed), setting)
    if as_json:
        print_json(
            {
                "executors": len(read),
                "nodes": len(read.nodes),
                "bandwidth": None if capacity == float("inf") else capacity,
                "delay_ms": delay_ms,
                "pending": pending,
                "cpu_from": setting.cpu_from,
                "costs": vars(prices),
                "placements": [row_to_dict(row) for row in rows],
            }
        )
    else:
        _show(rows)


def _show(rows: list[Row]) -> None:
    """Measures downwards, placements side by side: it fits a terminal."""
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    console = Console(highlight=False)
    table = Table("at the graph's rates", title="Forecast", title_justify="left")
    for row in rows:
        table.add_column(escape(row.label), justify="right")
    seen = [row.forecast for row in rows]

    def line(name: str, *cells: str | None) -> None:
        if any(cell is not None for cell in cells):
            table.add_row(escape(name), *("-" if c is None else escape(c) for c in cells))

    line("status", *(row.status for row in rows))
    line("plan, s", *(f"{row.seconds:.2f}" for row in rows))
    for name, measure in (
        ("tuples/s between nodes", "inter_node_tuples"),
        ("bytes/s between nodes", "inter_node_bytes"),
        ("tuples/s between workers of a node", "inter_worker_tuples"),
    ):
        line(name, *(None if f is None else f"{getattr(f.flows, measure):,.0f}" for f in seen))
    for measure, unit in (("node_cpu", "cores"), ("out_bytes", "bytes/s"), ("in_bytes", "bytes/s")):
        name = f"busiest node, {measure.replace('_', ' ').replace(' bytes', '')}, {unit}"
        most = [None if f is None else float(getattr(f.flows, measure).max()) for f in seen]
        digits = 2 if unit == "cores" else 0
        line(name, *(None if m is None else f"{m:,.{digits}f}" for m in most))
    count = max((len(f.topologies) for f in seen if f is not None), default=0)
    for number in range(count):
        of = [None if f is None else f.topologies[number] for f in seen]
        prefix = "" if count == 1 else f"{next(t.topology for t in of if t)}: "
        line(f"{prefix}latency, ms", *(None if t is None else _latency(t.latency_ms) for t in of))
        line(
            f"{prefix}most tuples/s",
            *(None if t is None else _rate(t.saturation) for t in of),
        )
        line(
            f"{prefix}full then",
            *(None if t is None or t.bottleneck is None else str(t.bottleneck) for t in of),
        )
        closed = [t if t is not None and t.closed_throughput is not None else None for t in of]
        line(
            f"{prefix}tuples/s with pending",
            *(None if t is None else _rate(t.closed_throughput) for t in closed),
        )
        line(
            f"{prefix}latency with pending, ms",
            *(None if t is None else _latency(t.closed_latency_ms) for t in closed),
        )
    events = [row.events for row in rows]
    line("tuples/s by events", *(None if e is None else f"{e.completed:,.0f}" for e in events))
    line("latency by events, ms", *(None if e is None else _latency(e.latency_ms) for e in events))
    console.print(table)
    for row in rows:
        for reason in row.reasons:
            console.print(f"[yellow]{escape(row.label)}[/]: {escape(reason)}", soft_wrap=True)


def _rate(value: float | None) -> str:
    return "unlimited" if value is None else f"{value:,.0f}"


def _latency(value: float | None) -> str:
    if value is None or value != value:
        return "-"
    return "overloaded" if value == float("inf") else f"{value:,.2f}"
