"""What runs as a member of the portfolio, and how it is called by name."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from brain.algorithms import registry
from brain.algorithms.registry import Algorithm
from brain.errors import BadInput
from brain.model import Options, Placement, Problem, Result


@dataclass(frozen=True)
class Explored:
    """What a second engine found: nodes of units, the best first."""

    population: tuple[NDArray[np.int32], ...]


Answer = Result | Explored | str
"""Of a job: its result, or why there is none."""


@dataclass(frozen=True)
class Job:
    """One run of one algorithm. ``algorithm`` is a name of the registry or ``module:function``."""

    label: str
    algorithm: str
    options: Options
    params: Mapping[str, Any] = field(default_factory=dict)

    def run(self, problem: Problem, current: Placement | None) -> Result | Explored:
        solve = find(self.algorithm)
        options = replace(self.options, params={**self.options.params, **self.params})
        return solve(problem, current, options)


def find(algorithm: str) -> Algorithm:
    """The function behind a name; BadInput if there is none."""
    if ":" not in algorithm:
        return registry.get(algorithm)
    module, _, function = algorithm.partition(":")
    try:
        return cast(Algorithm, getattr(importlib.import_module(module), function))
    except (ImportError, AttributeError) as error:
        raise BadInput("params.members", f"{algorithm!r} is no algorithm: {error}") from error
