"""When a topology's placement is computed anew: record and clock in, trigger or reason out."""

from __future__ import annotations

from brain.policy.decision import Trigger
from brain.policy.record import PlanState, TopologyRecord

PATIENCE = 4
"""A start is waited for until its traffic no longer rises, but not longer than this many times
the first waiting time."""
MIN_WINDOWS = 2
"""Windows that must have been seen since the last change, so that no start-up noise decides."""


def measured_since_ms(record: TopologyRecord, now_ms: int) -> int:
    """Where the span of traffic begins that may be used: observe.secs, but not before a move.

    One window is left out after a change of the assignment: it mixes old and new.
    """
    window_ms: int = record.settings["window.secs"] * 1000
    observe_ms: int = record.settings["observe.secs"] * 1000
    return max(now_ms - observe_ms, record.changed_ms + window_ms)


def due(
    record: TopologyRecord,
    now_ms: int,
    trouble: tuple[str, ...] = (),
    closed: tuple[str, ...] = (),
) -> Trigger | str:
    """The trigger, or why there is none: shown to the operator, so it counts no seconds down.

    ``trouble`` is what must not stay: lasting overloads and broken constraints. It is not held
    up by the period, but by the cooldown, since moving again at once seldom helps. ``closed`` are
    nodes of its that are blacklisted, which is said of a supervisor that comes and goes: its
    workers run on, so Storm leaves them, and so do we unless there is trouble.
    """
    s = record.settings
    if s["mode"] == "off":
        return "mode is off: left to Storm"
    if record.busy:
        return "a computation is under way"
    if record.plan_state is PlanState.PENDING:
        return "its plan waits to be applied"
    if record.of_agents:
        if record.to_bootstrap:
            lost = "executors lost their places" if record.view.assignment else "submitted"
            return Trigger("bootstrap", lost)
        return "its agents place it"
    if not record.view.assignment and record.profile is not None and record.computed_ms is None:
        return Trigger("submitted", "its traffic is known from an earlier run")
    if not record.view.fully_assigned:
        return "not fully assigned yet"
    if closed and not trouble:
        return _held(closed)
    if record.traffic.first_traffic_ms is None:
        return "no traffic measured yet"
    if record.complete_ms is None:
        silent = record.silent()
        return f"no report yet of {len(silent)} executors ({', '.join(silent[:3])} …)"
    observed_ms = now_ms - max(record.traffic.first_traffic_ms, record.complete_ms)
    needed_ms = (1 + MIN_WINDOWS) * s["window.secs"] * 1000
    if record.moved_ms is None and record.computed_ms is None:
        wait_ms = max(s["first.replacement.secs"] * 1000, needed_ms)
        if observed_ms < wait_ms:
            return f"observing until {wait_ms // 1000} s of traffic have been measured"
        if observed_ms < PATIENCE * wait_ms and record.traffic.rising(now_ms - wait_ms, now_ms):
            return "traffic is still rising; waiting until it has settled"
        return Trigger("first", f"{observed_ms // 1000} s of traffic measured")
    if observed_ms < needed_ms:
        return f"observing for {needed_ms // 1000} s after a change"
    if record.moved_ms is not None:
        cooldown = record.stability.cooldown_secs(s["cooldown.secs"], now_ms)
        left = cooldown - (now_ms - record.moved_ms) // 1000
        if left > 0:
            damped = record.stability.damping
            again = f", {damped} times longer since placements came and went" if damped > 1 else ""
            return f"cooling down for {cooldown} s after a move{again}"
    waited = now_ms - (record.computed_ms or 0)
    if trouble and waited >= s["overload.secs"] * 1000:
        return Trigger("trouble", "; ".join(trouble))
    if closed:
        return _held(closed)
    if record.event is not None:
        return record.event
    if record.computed_ms is not None:
        left = s["period.secs"] - waited // 1000
        if left > 0:
            return f"looks every {s['period.secs']} s for a better placement"
    return Trigger("gain", f"looked for every {s['period.secs']} s")


def _held(closed: tuple[str, ...]) -> str:
    return f"{', '.join(closed)} blacklisted by Storm: what runs there stays, nothing is moved"
