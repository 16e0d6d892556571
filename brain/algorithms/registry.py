"""Algorithms by name. Each is imported when first asked for, since some are heavy."""

from __future__ import annotations

import importlib
import time
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
    "rstorm": "brain.algorithms.rstorm",
    "tstorm": "brain.algorithms.tstorm",
}


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
