"""``stormbrain explain``: why executors are where they are, and why nothing moves."""

from __future__ import annotations

import time
from typing import Annotated, Any

import typer
from rich.markup import escape
from rich.table import Table

from brain.cli.asking import AsJson, BrainAt, Topology, asks_brain
from brain.cli.output import add_row, console, print_json, slot_name
from brain.units import rate

PARTNERS_SHOWN = 15
NODES_SHOWN = 20


def register(app: typer.Typer) -> None:
    app.command()(asks_brain(explain))


def explain(
    brain: BrainAt,
    topology: Topology,
    executor: Annotated[
        str | None,
        typer.Argument(help="Executor (3-3), task (3) or component; without: the topology."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Why is it here: partners, what every other node would cost, and which constraint binds."""
    answer = brain.ask("explain", topology=topology, executor=executor)
    if as_json:
        print_json(answer)
        return
    if executor is None:
        _show_topology(answer)
    else:
        for entry in answer["executors"]:
            _show_executor(entry, answer["unit"], answer["hosts"])
        if answer["left_out"]:
            console.print(f"and {answer['left_out']} more executors; name one")
    _show_why(answer)


def _show_topology(answer: dict[str, Any]) -> None:
    unit, hosts = answer["unit"], answer["hosts"]
    share = answer["inter_node"] / answer["total"] if answer["total"] else 0.0
    console.print(
        f"[bold]{escape(answer['topology_name'])}[/bold]: {rate(answer['inter_node'], unit)} of "
        f"{rate(answer['total'], unit)} cross nodes ({share:.0%}), measured over "
        f"{answer['observed_secs']:.0f} s"
    )
    table = Table("node", "executors", "CPU points", "limit")
    for n in answer["nodes"]:
        limit = "–" if n["cpu_limit"] is None else f"{n['cpu_limit']:,.0f}"
        name = n["host"] or n["id"]
        add_row(table, f"{name}{' (excluded)' if n['excluded'] else ''}", str(n["executors"]),
                      f"{n['cpu']:,.1f}", limit)  # fmt: skip
    console.print(table)
    if answer["heaviest_crossings"]:
        table = Table("from", "to", "cost", title="heaviest traffic between nodes")
        for c in answer["heaviest_crossings"]:
            add_row(
                table,
                f"{c['from_component']} {c['from']} on {slot_name(c['from_slot'], hosts)}",
                f"{c['to_component']} {c['to']} on {slot_name(c['to_slot'], hosts)}",
                rate(c["cost"], unit),
            )
        console.print(table)
    if answer["single_moves"]:
        table = Table("executor", "to", "saves", "forbidden by", title="single moves that help")
        for m in answer["single_moves"]:
            add_row(
                table,
                f"{m['component']} {m['executor']}",
                hosts.get(m["to"], m["to"]),
                rate(-m["change"], unit),
                "; ".join(m["blocked_by"]) or "nothing",
            )
        console.print(table)
    else:
        console.print("no executor would be cheaper on another node by itself")
    for violation in answer["violations"]:
        console.print("[red]broken:[/red]", end=" ")
        console.print(violation, markup=False)


def _show_executor(e: dict[str, Any], unit: str, hosts: dict[str, str]) -> None:
    where = f"on {slot_name(e['slot'], hosts)}" if e["slot"] else "not placed"
    console.print(
        f"[bold]{e['component']} {e['executor']}[/bold] {where}, {e['cpu']:.1f} CPU points"
    )
    console.print(e["verdict"], markup=False)
    table = Table("talks to", "where", "out/s", "in/s", "cost")
    for p in e["partners"][:PARTNERS_SHOWN]:
        add_row(
            table,
            f"{p['component']} {p['executor']}",
            f"{p['relation']}: {slot_name(p['slot'], hosts)}",
            f"{p['tuples_out']:,.0f}",
            f"{p['tuples_in']:,.0f}",
            rate(p["cost"], unit),
        )
    if len(e["partners"]) > PARTNERS_SHOWN:
        table.caption = f"and {len(e['partners']) - PARTNERS_SHOWN} thinner ones"
    console.print(table)
    table = Table("node", "would cross nodes", "change", "which constraint binds")
    for a in e["alternatives"][:NODES_SHOWN]:
        add_row(
            table,
            a["host"] or a["node"], rate(a["inter_node"], unit),
            "runs here" if a["here"] else rate(a["change"], unit),
            "" if a["here"] else "; ".join(a["blocked_by"]) or "none",
        )  # fmt: skip
    console.print(table)


def _show_why(answer: dict[str, Any]) -> None:
    console.print("[bold]why nothing moves just now:[/bold]", end=" ")
    console.print(answer["waiting"] or "a computation is due", markup=False)
    last = answer["last_decision"]
    if last is None:
        console.print("no decision about it yet")
        return
    when = time.strftime("%H:%M:%S", time.localtime(last["time_ms"] / 1000))
    console.print(
        f"last decision at {when} ({last['algorithm']}, {last['trigger']['kind']}): "
        f"{last['outcome']}: {last['reason']}",
        markup=False,
    )
