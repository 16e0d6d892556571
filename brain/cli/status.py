"""``stormbrain status`` and ``stormbrain history``: what the brain knows, and what it decided."""

from __future__ import annotations

import time
from typing import Any

import typer
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from brain.cli.asking import AsJson, BrainAt, Topology, asks_brain
from brain.cli.output import add_row, console, print_json
from brain.doctor.losses import loss_words
from brain.units import rate


def register(app: typer.Typer) -> None:
    app.command()(asks_brain(status))
    app.command()(asks_brain(history))


def status(brain: BrainAt, as_json: AsJson = False) -> None:
    """Who leads, which topologies are watched, their cost now, and what was decided last."""
    answer = brain.ask("picture")
    if as_json:
        for topology in answer["topologies"]:
            for long in ("edges", "timeline", "moves", "decisions"):
                topology.pop(long, None)
        print_json(answer)
        return
    leader, storm = answer["brain"], answer["storm"]
    console.print(
        f"brain [bold]{escape(leader['id'])}[/bold] {leader['version']} leads, "
        f"term {leader['term']}; {answer['counters']['reports']:,} reports taken"
    )
    console.print(f"Storm: {_storm(storm)}; {len(answer['nodes'])} nodes", markup=False)
    if leader["dashboard"]:
        console.print(f"dashboard: {leader['dashboard']}", markup=False)
    if not answer["topologies"]:
        console.print("no topology runs")
        return
    table = Table("topology", "mode", "plan", "between nodes", "best known", "throughput")
    for t in answer["topologies"]:
        add_row(table, t["name"], f"{t['mode']}, {t['algorithm']}", _plan(t), *_costs(t))
    console.print(table)
    for t in answer["topologies"]:
        _show_state(t)


def history(
    brain: BrainAt,
    topology: Topology,
    as_json: AsJson = False,
) -> None:
    """The latest decisions about a topology, each with its reason. Works without a brain, too."""
    from brain.cli.connection import zookeeper_client
    from brain.errors import StormbrainError
    from brain.service.decision_log import read_decisions

    with zookeeper_client(brain.zookeeper_hosts) as client:
        path = f"{brain.root.rstrip('/')}/decisions"
        ids = client.get_children(path) if client.exists(path) else []
        wanted = [i for i in ids if i == topology or i.rsplit("-", 2)[0] == topology]
        if not wanted:
            raise StormbrainError(
                f"no decision about {topology} is on record",
                f"known: {', '.join(sorted(ids)) or 'none yet'}",
            )
        found = [d for i in sorted(wanted) for d in read_decisions(client, path, i)]
    if as_json:
        print_json(found)
        return
    for d in found:
        _show_decision(d, len(wanted) > 1)


def _show_decision(decision: dict[str, Any], named: bool) -> None:
    """Two lines: what, when and by whom; then the reason, which is as long as it is."""
    when = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(decision["time_ms"] / 1000))
    trigger = decision.get("trigger") or {}
    words = [f"{decision['algorithm']}, {trigger.get('kind', '?')}"]
    if decision["mode"] != "auto":
        words.append(f"mode {decision['mode']}")
    gain = decision.get("gain_percent")
    if gain is not None:
        words.append(f"gain {gain:.1f} %")
    if named:
        words.append(decision["topology_id"])
    words.append(f"id {decision['id']}")
    colour = {"move": "green", "failed": "red"}.get(decision["outcome"], "dim")
    console.print(
        Text.assemble(f"{when} ", (f"{decision['outcome']:<6}", colour), f" {'; '.join(words)}")
    )
    console.print(Text(f"    {decision['reason']}"))


def _storm(storm: dict[str, Any]) -> str:
    if storm["state"] == "never":
        return "Nimbus has not asked yet (see `stormbrain doctor`)"
    words = f"Nimbus {storm['nimbus']} asked {storm['age_ms'] / 1000:.0f} s ago"
    return f"away: {words}" if storm["state"] == "away" else f"{storm['storm_version']}, {words}"


def _plan(t: dict[str, Any]) -> str:
    return f"{t['plan']['epoch']} {t['plan']['state']}" if t["plan"] else "none"


def _costs(t: dict[str, Any]) -> tuple[str, str, str]:
    """Measured now; the best that the last computation knew of; tuples a second."""
    flow, last = t["flow"], t["last_decision"]
    best = (last or {}).get("after")
    known = "–"
    if best is not None:
        before = last["before"]["inter_node"]
        known = rate(min(best["inter_node"], before))
    if flow is None:
        return "–", known, "–"
    unit = "bytes/s" if flow["bytes"] else "tuples/s"
    now = flow["inter_node_bytes"] if flow["bytes"] else flow["inter_node_tuples"]
    return rate(now, unit), known, f"{flow['acked'] or flow['tuples']:,.0f}/s"


def _show_state(t: dict[str, Any]) -> None:
    """What was decided last, what is waited for, and what is wrong with the settings."""
    console.print(Text(t["name"], "bold"))
    last = t["last_decision"]
    if last:
        when = time.strftime("%H:%M:%S", time.localtime(last["time_ms"] / 1000))
        console.print(Text(f"  last: {last['outcome']} at {when}, {last['reason']}"))
    console.print(Text(f"  now:  {t['waiting'] or 'a computation is due'}"))
    lost = loss_words(t["losses"])
    if lost:
        when = t["losses"]["last_ms"]
        at = time.strftime(", last at %H:%M:%S", time.localtime(when / 1000)) if when else ""
        console.print(Text.assemble("  ", ("lost: ", "yellow"), f"{lost}{at}"))
    for error in t["errors"]:
        console.print(Text.assemble("  ", ("wrong setting: ", "red"), error))
