"""``stormbrain status`` and ``stormbrain history``: what the brain knows, and what it decided."""

from __future__ import annotations

import time
from typing import Any

import typer
from rich.markup import escape
from rich.table import Table

from brain.cli.asking import AsJson, BrainAt, Topology, asks_brain
from brain.cli.output import add_row, console, print_json
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
    table = Table("topology", "mode", "plan", "between nodes", "best known", "throughput", "state")
    for t in answer["topologies"]:
        add_row(table, t["name"], f"{t['mode']}, {t['algorithm']}", _plan(t), *_costs(t), _state(t))
    console.print(table)


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
    table = Table("time", "topology", "trigger", "algorithm", "outcome", "gain", "reason")
    for d in found:
        trigger: Any = d.get("trigger") or {}
        when = time.strftime("%H:%M:%S", time.localtime(int(str(d["time_ms"])) / 1000))
        gain: Any = d.get("gain_percent")
        add_row(
            table, when, d["topology_id"], trigger.get("kind"), d["algorithm"], d["outcome"],
            "–" if gain is None else f"{gain:.1f} %", d["reason"],
        )  # fmt: skip
    console.print(table)


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


def _state(t: dict[str, Any]) -> str:
    words = []
    if t["last_decision"]:
        words.append(f"{t['last_decision']['outcome']}: {t['last_decision']['reason']}")
    words.append(t["waiting"] or "a computation is due")
    return "; ".join([*words, *t["errors"]])
