"""The vocabulary of placement: immutable values, no I/O."""

from brain.model.cluster import Node, SlotTable
from brain.model.graph import CommGraph
from brain.model.placement import UNPLACED, Placement
from brain.model.problem import Problem
from brain.model.result import Options, Result, Score, Status
from brain.model.topology import Topology, executor_set_hash

__all__ = [
    "UNPLACED",
    "CommGraph",
    "Node",
    "Options",
    "Placement",
    "Problem",
    "Result",
    "Score",
    "SlotTable",
    "Status",
    "Topology",
    "executor_set_hash",
]
