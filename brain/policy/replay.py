"""A decision with all that it was made from, as a document, and the decision again from it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from brain.algorithms import registry
from brain.algorithms.parts.score import score
from brain.config import TopologySettings
from brain.errors import BadInput
from brain.model import Options, Placement, Problem, Result, Score, Status
from brain.policy.computation import SolveTask, situation_of
from brain.policy.decision import Decision, Situation, judge
from brain.problems.answer import placement_to_dict
from brain.problems.reader import placement_from, problem_from_dict
from brain.problems.writer import problem_to_dict

FORMAT = 1


INPUTS = ("problem", "algorithm", "options", "settings", "situation", "result")


def to_document(
    task: SolveTask, result: Result, decision: Decision
) -> tuple[Decision, dict[str, Any]]:
    """Everything that is needed to make the decision again, in plain JSON values.

    The decision is handed back with the digest of its inputs.
    """
    inputs: dict[str, Any] = {
        "problem": problem_to_dict(task.built.problem, task.built.current),
        "algorithm": task.algorithm,
        "options": {**asdict(task.options), "params": dict(task.options.params)},
        "settings": dict(task.settings.values),
        "situation": asdict(situation_of(task, result)),
        "result": {
            "status": str(result.status),
            "algorithm": result.algorithm,
            "reasons": list(result.reasons),
            "placement": placement_to_dict(task.built.problem, result.placement),
        },
    }
    decision = replace(decision, inputs_digest=digest_of(inputs))
    return decision, {"format": FORMAT, "decision": decision.to_json(), **inputs}


def digest_of(document: Mapping[str, Any]) -> str:
    """SHA-256 over the inputs in a document, as JSON with sorted keys."""
    inputs = {k: document[k] for k in INPUTS}
    text = json.dumps(inputs, sort_keys=True, separators=(",", ":"), default=str)
    return hashlib.sha256(text.encode()).hexdigest()


@dataclass(frozen=True)
class Replay:
    """The recorded outcome, and the outcome from the recorded inputs."""

    recorded: tuple[str, str]
    again: tuple[str, str]
    solved: Result | None
    same_placement: bool | None
    inputs_intact: bool | None
    """Whether the inputs are those that the decision was made from; None if it has no digest."""

    @property
    def same(self) -> bool:
        return self.recorded == self.again and self.inputs_intact is not False


def replay(document: Mapping[str, Any], solve: bool = False) -> Replay:
    """Judges the recorded result anew; with ``solve`` also computes it anew."""
    try:
        if document["format"] != FORMAT:
            raise BadInput("format", f"{document['format']} is not {FORMAT}")
        problem, current = problem_from_dict(document["problem"])
        situation = _situation(document["situation"])
        settings = TopologySettings(document["settings"])
        result = _result(document["result"], problem, current)
        decision = document["decision"]
        recorded = (str(decision["outcome"]), str(decision["reason"]))
        options = Options(**document["options"])
        algorithm = str(document["algorithm"])
    except (KeyError, TypeError, AttributeError) as e:
        raise BadInput("decision file", f"is not one: {e!r}") from None
    outcome, reason = judge(situation, result, settings)
    solved = same_placement = None
    if solve:
        solved = registry.run(algorithm, problem, current, options)
        same_placement = bool((solved.placement.slot == result.placement.slot).all())
    known = decision.get("inputs_digest")
    intact = None if known is None else digest_of(document) == known
    return Replay(recorded, (str(outcome), reason), solved, same_placement, intact)


def _situation(value: Mapping[str, Any]) -> Situation:
    return Situation(
        **{**value, "before": Score(**value["before"]), "trouble": tuple(value["trouble"])}
    )


def _result(value: Mapping[str, Any], problem: Problem, current: Placement | None) -> Result:
    placement = placement_from(problem, value["placement"], "result.placement")
    return Result(
        Status(value["status"]),
        value["algorithm"],
        placement,
        score(problem, placement, current),
        tuple(value["reasons"]),
    )
