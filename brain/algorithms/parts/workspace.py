"""What an algorithm works on: the problem with its limits, units and planning graph, made once."""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from brain.algorithms.parts.limits import Limits, nodes_of
from brain.algorithms.parts.structure import planning_graph
from brain.algorithms.parts.units import Units
from brain.errors import BadInput
from brain.model import CommGraph, Options, Placement, Problem


class Workspace:
    def __init__(self, problem: Problem, current: Placement | None, options: Options) -> None:
        self.problem = problem
        self.current = current
        self.options = options

    @cached_property
    def limits(self) -> Limits:
        return Limits.of(self.problem, self.current)

    @cached_property
    def graph(self) -> CommGraph:
        """The directed traffic to plan by: measured, or the structure where nothing is measured."""
        return planning_graph(self.problem)

    @cached_property
    def units(self) -> Units:
        return Units.of(self.problem, self.limits, self.graph)

    @cached_property
    def current_node(self) -> NDArray[np.int32]:
        """The node of each executor now, UNPLACED where it has none."""
        return nodes_of(self.problem, self.current)

    def number(self, name: str, default: float, low: float, high: float) -> float:
        """A numeric parameter from the options, checked against its range."""
        value = self.options.params.get(name, default)
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise BadInput(f"params.{name}", f"must be a number, not {value!r}")
        if not low <= value <= high:
            raise BadInput(f"params.{name}", f"must be between {low:g} and {high:g}, not {value:g}")
        return float(value)

    def choice(self, name: str, default: str, choices: tuple[str, ...]) -> str:
        """A named choice from the options."""
        value = self.options.params.get(name, default)
        if value not in choices:
            raise BadInput(f"params.{name}", f"must be one of {', '.join(choices)}, not {value!r}")
        return str(value)
