"""The answer to a problem as a document, and placements read back from it."""

from __future__ import annotations

from typing import Any

from brain.errors import BadInput
from brain.model import UNPLACED, Placement, Problem, Result, Score
from brain.problems.reader import parse_json, placement_from, read_text


def answer_to_dict(problem: Problem, result: Result) -> dict[str, Any]:
    """What ``stormbrain solve --json`` prints."""
    return {
        "status": str(result.status),
        "algorithm": result.algorithm,
        "proven_optimal": result.proven_optimal,
        "lower_bound": result.lower_bound,
        "seconds": round(result.seconds, 6),
        "score": score_to_dict(result.score),
        "placement": placement_to_dict(problem, result.placement),
        "reasons": list(result.reasons),
    }


def score_to_dict(score: Score) -> dict[str, Any]:
    known = {} if score.latency_ms is None else {"latency_ms": score.latency_ms}
    return {
        "inter_node": score.inter_node,
        "inter_worker": score.inter_worker,
        "imbalance": score.imbalance,
        "moved_executors": score.moved_executors,
        "restarted_workers": score.restarted_workers,
        **known,
    }


def placement_to_dict(problem: Problem, placement: Placement) -> dict[str, dict[str, list[Any]]]:
    """``{topology: {executor: [node, port]}}`` of the executors that are placed."""
    slots = problem.slots
    ids = [n.id for n in problem.nodes]
    document: dict[str, dict[str, list[Any]]] = {}
    for t, topology in enumerate(problem.topologies):
        own = placement.slot[problem.executors_of(t)].tolist()
        document[topology.id] = {
            str(topology.executor_ids[i]): [ids[int(slots.node[s])], int(slots.port[s])]
            for i, s in enumerate(own)
            if s != UNPLACED
        }
    return document


def read_placement(problem: Problem, path: str) -> tuple[Placement, list[str]]:
    """A placement file: an answer of ``stormbrain solve --json`` or the bare placement map.

    Also returns a complaint for each executor whose slot does not exist; it counts as unplaced.
    """
    missing: list[str] = []
    document = parse_json(read_text(path), path)
    if not isinstance(document, dict):
        raise BadInput(path, "must be an object: a placement or an answer of stormbrain solve")
    if "placement" in document and "status" in document:
        return placement_from(problem, document["placement"], "placement", missing), missing
    return placement_from(problem, document, "$", missing), missing
