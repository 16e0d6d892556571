"""``stormbrain whatif``: the best placement on a cluster, or under a load, that is not there."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from rich.markup import escape
from rich.table import Table

from brain.cli.asking import Algorithm, AsJson, BrainAt, Seed, Theta, Topology, asks_brain
from brain.cli.output import add_row, console, print_json
from brain.cli.plan import scores_table
from brain.errors import BadInput


def register(app: typer.Typer) -> None:
    app.command()(asks_brain(whatif))


def whatif(
    brain: BrainAt,
    topology: Topology,
    add_node: Annotated[
        int, typer.Option("--add-node", min=0, help="So many nodes more, like the largest.")
    ] = 0,
    remove_node: Annotated[
        list[str] | None, typer.Option(help="Host or supervisor id; may be repeated.")
    ] = None,
    rate: Annotated[
        str, typer.Option(help="Factor on the topology's traffic and load, as x2 or 0.5.")
    ] = "x1",
    algorithm: Algorithm = None,
    theta: Theta = None,
    seed: Seed = None,
    as_json: AsJson = False,
) -> None:
    """What would be best with more nodes, fewer nodes or other rates? Never applied."""
    answer = brain.ask(
        "whatif",
        topology=topology,
        add_nodes=add_node,
        remove=remove_node or [],
        rate=_factor(rate),
        algorithm=algorithm,
        theta=theta,
        seed=seed,
    )
    if as_json:
        print_json(answer)
        return
    _show(answer)


def _factor(text: str) -> float:
    try:
        factor = float(text.strip().lower().lstrip("x×"))
    except ValueError:
        factor = 0.0
    if not 0 < factor < float("inf"):
        raise BadInput("--rate", f"{text!r} is not a factor above 0", "for example --rate x2")
    return factor


def _show(answer: dict[str, Any]) -> None:
    console.print(
        f"[bold]{escape(answer['topology_name'])}[/bold], {escape(answer['change'])}: "
        f"{answer['status']} ({answer['algorithm']}, {answer['seconds']:.2f} s)"
    )
    if answer["without_a_home"]:
        console.print(f"{answer['without_a_home']} executors would lose their node")
    console.print(scores_table(answer["today"], answer["after"], "today", "then", answer["unit"]))
    table = Table("node", "CPU points", "limit (headroom, balance)", "")
    for n in answer["nodes"]:
        limit = n["cpu_limit"]
        full = "" if not limit else f"{n['cpu'] / limit:.0%}"
        shown = "–" if limit is None else f"{limit:,.0f}"
        add_row(table, n["host"] or n["id"], f"{n['cpu']:,.1f}", shown, full)
    console.print(table)
    for reason in answer["reasons"]:
        console.print("[yellow]·[/yellow]", end=" ")
        console.print(reason, markup=False)
