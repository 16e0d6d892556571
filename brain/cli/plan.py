"""``stormbrain plan`` and ``stormbrain apply``: look first, then put exactly that in force."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from rich.markup import escape
from rich.table import Table

from brain.cli.asking import Algorithm, AsJson, BrainAt, Seed, Theta, Topology, asks_brain
from brain.cli.output import add_row, console, print_json, slot_name
from brain.units import rate

SHOWN_DIGEST = 12
MOVES_SHOWN = 60
CANDIDATES_SHOWN = 12


def register(app: typer.Typer) -> None:
    app.command()(asks_brain(plan))
    app.command()(asks_brain(apply))


def plan(
    brain: BrainAt,
    topology: Topology,
    algorithm: Algorithm = None,
    theta: Theta = None,
    seed: Seed = None,
    max_moves: Annotated[
        int | None, typer.Option(min=0, help="Most executors that may move.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Dry run: what the brain would do now, as a diff against what runs. Nothing is moved."""
    answer = brain.ask(
        "plan",
        topology=topology,
        algorithm=algorithm,
        theta=theta,
        seed=seed,
        max_moves=max_moves,
    )
    if as_json:
        print_json(answer)
        return
    _show(answer)


def apply(
    brain: BrainAt,
    topology: Topology,
    digest: Annotated[
        str, typer.Argument(help="Of a plan that `plan` showed, or of a proposal (mode advise).")
    ],
    as_json: AsJson = False,
) -> None:
    """Put exactly the plan in force that was shown, if what it was based on still holds."""
    answer = brain.ask("apply", topology=topology, digest=digest)
    if as_json:
        print_json(answer)
        return
    console.print(
        f"plan {answer['epoch']} of {answer['topology_id']} is written: {len(answer['moves'])} "
        f"executors move, {len(answer['restarts'])} workers restart in Nimbus's next round",
        markup=False,
    )


def _show(answer: dict[str, Any]) -> None:
    verdict = answer["verdict"]
    mark = "[green]would move[/green]" if verdict["outcome"] == "move" else "would not move"
    console.print(
        f"[bold]{escape(answer['topology_name'])}[/bold], {answer['algorithm']} in "
        f"{answer['seconds']:.2f} s from {answer['observed_secs']:.0f} s of traffic"
        f"{', proven optimal' if answer['proven_optimal'] else ''}"
    )
    console.print(f"the brain {mark}:", end=" ")
    console.print(verdict["reason"], markup=False)
    if answer["waiting"]:
        console.print(f"by itself it does nothing now: {answer['waiting']}", markup=False)
    console.print(scores_table(answer["before"], answer["after"], "now", "planned", answer["unit"]))
    if answer["moves"]:
        console.print(moves_table(answer["moves"], answer["restarts"], answer["hosts"]))
    show_candidates(answer.get("details") or {}, answer["unit"])
    if answer["digest"]:
        short = answer["digest"][:SHOWN_DIGEST]
        console.print(f"digest [bold]{short}[/bold]; to put exactly this in force:")
        console.print(f"  stormbrain apply {answer['topology_name']} {short}", markup=False)
    else:
        console.print(f"cannot be applied: {answer['why_not_applicable']}", markup=False)
    for reason in answer["reasons"]:
        console.print(f"[yellow]·[/yellow] {escape(reason)}")


def scores_table(
    before: dict[str, Any], after: dict[str, Any], one: str, two: str, unit: str
) -> Table:
    table = Table("", one, two, "")
    for column in table.columns[1:]:
        column.justify = "right"
    for name, key in (
        ("traffic between nodes", "inter_node"),
        ("traffic between workers", "inter_worker"),
    ):
        b, a = before[key], after[key]
        change = f"{100 * (a - b) / b:+.1f} %" if b else ""
        add_row(table, name, rate(b, unit), rate(a, unit), change)
    add_row(table, "imbalance", f"{before['imbalance']:.2f}", f"{after['imbalance']:.2f}", "")
    add_row(table, "executors that move", "", str(after["moved_executors"]), "")
    add_row(table, "workers that restart", "", str(after["restarted_workers"]), "")
    return table


def moves_table(moves: list[dict[str, Any]], restarts: list[str], hosts: dict[str, str]) -> Table:
    table = Table("component", "executor", "from", "to", title=f"{len(moves)} executors move")
    for move in moves[:MOVES_SHOWN]:
        add_row(
            table,
            move["component"], move["executor"], slot_name(move["from_slot"], hosts),
            slot_name(move["to_slot"], hosts)
            + (" (restarts)" if move["to_slot"] in restarts else ""),
        )  # fmt: skip
    if len(moves) > MOVES_SHOWN:
        table.caption = f"and {len(moves) - MOVES_SHOWN} more; all with --json"
    return table


def show_candidates(details: dict[str, Any], unit: str) -> None:
    """Algorithms that compare others (auto) list them in ``candidates`` and name the winner."""
    entries = [c for c in details.get("candidates") or () if isinstance(c, dict)]
    if not entries:
        return
    entries.sort(key=lambda c: c.get("cost", float("inf")))
    winner = details.get("winner")
    table = Table("candidate", "between nodes", "moves", "", title="candidates")
    for entry in entries[:CANDIDATES_SHOWN]:
        cost, status = entry.get("inter_node"), entry.get("status")
        note = entry.get("failed") or ("" if status == "ok" else status)
        add_row(
            table,
            entry.get("candidate", "?"),
            "–" if cost is None else rate(cost, unit),
            entry.get("moved_executors", "–"),
            "chosen" if entry.get("candidate") == winner else note or "",
        )
    if len(entries) > CANDIDATES_SHOWN:
        table.caption = f"and {len(entries) - CANDIDATES_SHOWN} more; all with --json"
    console.print(table)
