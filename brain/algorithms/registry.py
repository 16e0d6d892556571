"""Algorithms by name. Each is imported when first asked for, since some are heavy."""

from __future__ import annotations

import importlib
import time
from collections.abc import Iterable
from dataclasses import replace
from typing import Protocol, cast

from brain.errors import BadInput
from brain.model import Options, Placement, Problem, Result


class Algorithm(Protocol):
    """A pure function: the same problem, options and seed give the same placement."""

    def __call__(self, problem: Problem, current: Placement | None, options: Options) -> Result: ...


MODULES = {
    "auto": "brain.algorithms.auto",
    "even": "brain.algorithms.even",
    "exact": "brain.algorithms.exact",
    "ischeduler": "brain.algorithms.ischeduler",
    "localsearch": "brain.algorithms.localsearch",
    "metis": "brain.algorithms.metis",
    "offline": "brain.algorithms.offline",
    "online": "brain.algorithms.online",
    "qos": "brain.algorithms.qos",
    "qos-bootstrap": "brain.algorithms.qos_bootstrap",
    "rstorm": "brain.algorithms.rstorm",
    "tstorm": "brain.algorithms.tstorm",
}


PRICES = ("move_cost", "restart_cost")
PARAMETERS: dict[str, tuple[str, ...]] = {
    "auto": (
        *PRICES,
        "isolation",
        "latency_weight",
        "members",
        "move_share",
        "preset",
        "restart_share",
        "steps",
    ),
    "even": ("variant",),
    "exact": (*PRICES, "formulation", "max_columns", "max_items", "nodes", "solver"),
    "ischeduler": (*PRICES, "nodes", "phi"),
    "localsearch": (
        *PRICES,
        "latency_weight",
        "move_share",
        "restart_share",
        "start",
        "steps",
    ),
    "metis": (*PRICES, "edge_weights", "imbalance", "objective", "recursive", "vertex_weights"),
    "offline": (*PRICES, "alpha", "beta"),
    "online": (*PRICES, "alpha", "system"),
    "qos": (*PRICES, "w_availability", "w_latency", "w_utilisation"),
    "qos-bootstrap": (*PRICES, "w_availability", "w_latency", "w_utilisation"),
    "rstorm": (*PRICES, "cpu", "w_cpu", "w_memory", "w_network"),
    "tstorm": (*PRICES, "gamma"),
}
"""The names that an algorithm looks up in ``Options.params``; others it ignores."""


def check_parameters(name: str, params: Iterable[str]) -> None:
    """Refuses parameters that the algorithm would ignore: most likely they are misspelt."""
    for param in params:
        if param not in PARAMETERS[name]:
            raise BadInput(
                f"params.{param}",
                f"{name} has no such parameter",
                f"it has {', '.join(sorted(PARAMETERS[name]))}",
            )


def names() -> tuple[str, ...]:
    return tuple(MODULES)


def get(name: str) -> Algorithm:
    """The algorithm of a name; BadInput lists the names if there is none."""
    if name not in MODULES:
        raise BadInput("algorithm", f"there is no {name!r}", f"choose one of {', '.join(MODULES)}")
    return cast(Algorithm, importlib.import_module(MODULES[name]).solve)


def run(name: str, problem: Problem, current: Placement | None, options: Options) -> Result:
    """Solves with the named algorithm and notes the seconds that it took."""
    solve = get(name)
    begin = time.perf_counter()
    result = solve(problem, current, options)
    return replace(result, seconds=time.perf_counter() - begin)
