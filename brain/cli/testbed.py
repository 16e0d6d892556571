"""``stormbrain testbed``: nodes with their own address, bandwidth, CPU share and distance."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from brain.cli.output import console, print_json, progress_console

if TYPE_CHECKING:
    from brain.testbed import Testbed, TestbedSpec

testbed_app = typer.Typer(
    help="Storm on network namespaces: limits and delays of real clusters, on this machine.",
    no_args_is_help=True,
)

Name = Annotated[str, typer.Option("--name", "-n", help="Name of the testbed and its cluster.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON, alone on stdout.")]


def register(app: typer.Typer) -> None:
    app.add_typer(testbed_app, name="testbed")


@testbed_app.command()
def up(
    nodes: Annotated[int, typer.Option(help="Supervisors, 2 to 12.")] = 4,
    slots: Annotated[str, typer.Option(help="Slots of each; several (4,4,2) go in turn.")] = "2",
    bandwidth: Annotated[
        str,
        typer.Option(help="Mbit/s of each node's link, both ways; several go in turn; 0: none."),
    ] = "0",
    cpu: Annotated[
        str, typer.Option(help="CPU of each node, 100 a core; several go in turn; 0: no limit.")
    ] = "0",
    delay: Annotated[
        str, typer.Option(help="Means of pairs, one way, in ms: LOW-HIGH; empty: none.")
    ] = "",
    delay_sd: Annotated[str, typer.Option(help="Standard deviations in ms: LOW-HIGH.")] = "1-3",
    seed: Annotated[int, typer.Option(help="Of where nodes lie.")] = 0,
    loopback: Annotated[
        bool, typer.Option(help="Without root: supervisors on 127.0.0.x, no limits.")
    ] = False,
    storm: Annotated[bool, typer.Option("--storm/--no-storm", help="Start Storm on it.")] = True,
    settings: Annotated[
        list[str] | None, typer.Option("--set", help="storm.yaml entry key=value; repeatable.")
    ] = None,
    name: Name = "testbed",
    as_json: Json = False,
) -> None:
    """Make the nodes and start Storm on them; does nothing if that is up already."""
    from brain.submit.settings import parse_settings
    from brain.testbed import NodeSpec, Testbed, TestbedSpec, gaussian_delays
    from brain.testbed.spec import node_ids

    ids = node_ids(nodes)
    turns = [_numbers("--slots", slots), _numbers("--bandwidth", bandwidth), _numbers("--cpu", cpu)]
    spec = TestbedSpec(
        name,
        tuple(
            NodeSpec(node, int(own_slots), mbit or None, points or None)
            for i, node in enumerate(ids)
            for own_slots, mbit, points in [[turn[i % len(turn)] for turn in turns]]
        ),
        delays=gaussian_delays(ids, _span("--delay", delay), _span("--delay-sd", delay_sd), seed)
        if delay
        else {},
        mode="loopback" if loopback else "netns",
        storm_conf=parse_settings(settings or []),
    )
    bed = Testbed.up(spec, storm=storm, progress=lambda step: progress_console.print(step))
    _show(bed, as_json)


@testbed_app.command()
def status(name: Name = "testbed", as_json: Json = False) -> None:
    """Show nodes, limits, bytes so far, delays as set and as held."""
    from brain.testbed import Testbed

    _show(Testbed.attach(name), as_json)


@testbed_app.command()
def down(name: Name = "testbed") -> None:
    """End Storm, the router and every namespace of it, also after a crash."""
    from brain.testbed import Testbed

    found = Testbed.remove(name)
    typer.echo(f"testbed {name} is down" if found else f"no testbed named {name} was up")


def _show(bed: Testbed, as_json: bool) -> None:
    from rich.table import Table

    traffic, spec, address = bed.traffic(), bed.spec, bed.addresses
    problems = bed.problems()
    if as_json:
        print_json(_report(bed, problems))
        return
    table = Table("node", "address", "slots", "Mbit/s", "CPU", "sent MB", "received MB",
                  title=f"testbed {spec.name}")  # fmt: skip
    for node in spec.nodes:
        counted = ["–", "–"]
        if traffic is not None:
            counted = [f"{t[node.id] / 1e6:,.1f}" for t in (traffic.sent, traffic.received)]
        limits = ["–" if v is None else f"{v:g}" for v in (node.bandwidth_mbit, node.cpu_points)]
        table.add_row(node.id, address[node.id], str(node.slots), *limits, *counted)
    console.print(table)
    console.print(f"ZooKeeper, Nimbus and the brain are at {bed.control_address}", markup=False)
    if spec.delays:
        held = Table("from", "to", "set ms", "held ms", "packets", title="delays, one way")
        for pair in bed.delays():
            real = "–" if pair.mean_ms is None else f"{pair.mean_ms:.1f} ± {pair.sd_ms:.1f}"
            shown = f"{pair.set_mean_ms:.1f} ± {pair.set_sd_ms:.1f}"
            held.add_row(pair.source, pair.target, shown, real, str(pair.packets))
        console.print(held)
    for reason in bed.cannot:
        console.print(f"cannot: {reason}", markup=False)
    for problem in problems:
        console.print(f"problem: {problem}", markup=False)


def _report(bed: Testbed, problems: list[str]) -> dict[str, Any]:
    spec: TestbedSpec = bed.spec
    traffic = bed.traffic()
    return {
        "spec": spec.to_json(),
        "addresses": bed.addresses,
        "control_address": bed.control_address,
        "traffic": None if traffic is None else asdict(traffic),
        "cpu_secs": bed.cpu_secs(),
        "delays": [asdict(pair) for pair in bed.delays()],
        "cannot": bed.cannot,
        "problems": problems,
    }


def _numbers(option: str, text: str) -> list[float]:
    from brain.errors import BadInput

    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        raise BadInput(option, f"{text!r} is not a number, nor several with commas") from None


def _span(option: str, text: str) -> tuple[float, float]:
    from brain.errors import BadInput

    low, _, high = text.partition("-")
    try:
        return float(low), float(high or low)
    except ValueError:
        raise BadInput(option, f"{text!r} is not LOW-HIGH", "for example 12-32") from None
