"""The tables of docs/qos.md, from the results."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from benchmarks.qos_parts.cases import CASES

SIMULATED = (
    "moves",
    "decisions",
    "rounds_to_settle",
    "moves_after_stress",
    "rounds_to_settle_after_stress",
    "cost_at_the_end",
)
PAGE = Path("docs/qos.md")
DISTURBED = 10.0
"""A load average above this is not of the experiment alone: the machine had other work."""
BEGIN, END = "<!-- measured -->", "<!-- /measured -->"


def write_tables(kept: dict[str, Any]) -> None:
    """Puts the tables between the marks of the page, if it has them."""
    if not PAGE.exists():
        return
    page = PAGE.read_text(encoding="utf-8")
    if BEGIN not in page or END not in page:
        return
    head, _, rest = page.partition(BEGIN)
    tail = rest.partition(END)[2]
    PAGE.write_text(f"{head}{BEGIN}\n{tables(kept)}{END}{tail}", encoding="utf-8")


def tables(kept: dict[str, Any]) -> str:
    rows = kept.get("cases", {})
    simulated = _simulation(kept.get("simulation", {}))
    if not rows:
        return "\n".join(["No case has been run on a testbed yet.", "", *simulated]) + "\n"
    lines = [
        "| application | phase | default | agents | change | the paper |",
        "|---|---|---:|---:|---:|---:|",
    ]
    for case in CASES:
        row = rows.get(case.name)
        if row is None:
            continue
        if "failed" in row:
            lines.append(f"| {case.name} | failed: {row['failed']} | | | | |")
            continue
        for phase in ("calm", "stressed"):
            against = row.get(f"default {phase}") or (row["default calm"])
            for measure, unit in (("latency_ms", "ms"), ("hook_bytes", "B/s between nodes")):
                lines += _row(case, row, against, phase, measure, unit)
    lines += ["", *_moves(rows), "", *_cost(rows), "", *simulated]
    return "\n".join(lines) + "\n"


def _row(
    case: Any, row: dict[str, Any], against: dict[str, Any], phase: str, measure: str, unit: str
) -> list[str]:
    before, after = against.get(measure), row.get(f"agents {phase}", {}).get(measure)
    if before is None or after is None:
        return []
    change = f"{100.0 * (after - before) / before:+.0f} %" if before else ""
    goal = case.goals.get(f"{measure} {phase}")
    said = "" if goal is None else f"{goal:+.0f} %"
    alone = phase == "stressed" and "default stressed" not in row
    label = f"{phase}, against calm default" if alone else phase
    load = max(against.get("load_average", 0.0), row[f"agents {phase}"].get("load_average", 0.0))
    if load > DISTURBED:
        label += f"; disturbed, load {load:.0f}"
    return [f"| {case.name} | {label} | {before:,.1f} {unit} | {after:,.1f} | {change} | {said} |"]


def _moves(rows: dict[str, Any]) -> list[str]:
    lines = [
        "| application | decisions (came true) | executors moved | s to settle "
        "| after stress: decisions (came true) | moved | s to settle |",
        "|---|---:|---:|---:|---:|---:|---:|",
    ]
    for case in CASES:
        moves = rows.get(case.name, {}).get("moves")
        if moves:
            cells = [
                f"{m['decisions']} ({m['assignments']}) | {m['executors_moved']} | "
                f"{m['secs_to_settle']:.0f}" + ("" if m["settled"] else " (not settled)")
                if m
                else " | | "
                for m in (moves["start"], moves.get("stress"))
            ]
            lines.append(f"| {case.name} | {' | '.join(cells)} |")
    return lines


def _cost(rows: dict[str, Any]) -> list[str]:
    lines = [
        "| application | Vivaldi: median error | largest | agent: memory | CPU of a core |",
        "|---|---:|---:|---:|---:|",
    ]
    for case in CASES:
        row = rows.get(case.name, {})
        v, a = row.get("vivaldi"), row.get("agents")
        if v and a and v["median_relative_error"] is not None and a["memory_mb_max"]:
            lines.append(
                f"| {case.name} | {100 * v['median_relative_error']:.1f} % | "
                f"{100 * v['largest_relative_error']:.1f} % | {a['memory_mb_max']:.0f} MB | "
                f"{a['cpu_percent_of_a_core_mean']:.2f} % |"
            )
    return lines


def _simulation(found: dict[str, Any]) -> list[str]:
    if not found:
        return []
    lines = [
        "| simulation, replicated (mean of 6 networks) | coordinated | uncoordinated |",
        "|---|---:|---:|",
    ]
    for name in SIMULATED:
        one, two = found["coordinated"][name], found["uncoordinated"][name]
        lines.append(f"| {name.replace('_', ' ')} | {one:g} | {two:g} |")
    return lines
