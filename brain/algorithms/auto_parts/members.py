"""Which members a run of the portfolio has, in the order in which they start.

A member runs with the same seed, θ and parameters as it would alone (and with the prices that
``auto`` judges by), so what it finds alone is among the candidates of ``auto``. ``localsearch`` is
a member too, but runs in the portfolio's own thread: see ``portfolio``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from brain.algorithms.auto_parts.jobs import Job, find
from brain.algorithms.auto_parts.partitioners import installed
from brain.errors import BadInput
from brain.model import Options

QUICK = ("metis", "online", "tstorm", "offline", "rstorm", "even")
"""The heuristics that take no θ, the most promising first."""
COLUMNS_IN_STEPS = 800
"""The exact model's size where no clock limits it."""
PHI_IN_STEPS = 8
"""I-Scheduler's threshold then; it must not depend on what this machine was measured at."""


def members(
    options: Options,
    prices: Mapping[str, Any],
    *,
    small: bool,
    processes: bool,
    nodes: int | None = None,
    latency: bool = False,
) -> list[Job]:
    """``small`` problems are tried by ``exact``; ``nodes`` is its budget where no clock limits it.

    ``processes`` says that members run where they can be ended: partitioners that would hold the
    interpreter's lock are members only there. ``qos`` is one where ``latency`` is known.
    """
    plain = replace(options, params=dict(prices))
    exact = {} if nodes is None else {"nodes": nodes, "max_columns": COLUMNS_IN_STEPS}
    first = [Job("exact", "exact", plain, exact)] if small else []
    chosen = options.params.get("members")
    if chosen is not None:
        return first + _chosen(chosen, plain)
    jobs = [Job("metis-cut", "metis", plain, {"objective": "cut"})]
    jobs += [Job(name, name, plain) for name in (*QUICK, *(["qos"] if latency else []))]
    # Micro-problems are proven before a heuristic would be through; on others it can wait.
    jobs = first + jobs
    fixed = {} if nodes is None else {"nodes": nodes, "phi": PHI_IN_STEPS}
    jobs.append(Job("ischeduler", "ischeduler", plain, fixed))
    if processes and nodes is None:
        jobs += [Job(label, where, plain) for label, where in installed()]
    return jobs


def _chosen(names: object, options: Options) -> list[Job]:
    if not isinstance(names, list | tuple) or not all(isinstance(name, str) for name in names):
        raise BadInput("params.members", "must be a list of names")
    for name in names:
        find(name)
    return [Job(name, name, options) for name in names]
