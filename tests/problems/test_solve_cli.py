"""``stormbrain solve``, ``evaluate`` and ``problem`` as a user calls them."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from brain.cli import solve
from brain.errors import StormbrainError


@dataclass(frozen=True)
class Run:
    returncode: int
    stdout: str
    stderr: str


def process(*arguments: str, stdin: str = "") -> Run:
    """The command in a process of its own, as a shell would run it."""
    run = subprocess.run(
        [sys.executable, "-c", "from brain.cli.main import main; main()", *arguments],
        input=stdin,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    return Run(run.returncode, run.stdout, run.stderr)


def stormbrain(*arguments: str, stdin: str = "") -> Run:
    """The same within this process, which is much quicker."""
    app = typer.Typer()
    solve.register(app)
    run = CliRunner().invoke(app, list(arguments), input=stdin)
    if isinstance(run.exception, StormbrainError):
        return Run(run.exception.exit_code, run.stdout, run.exception.message)
    assert run.exception is None or isinstance(run.exception, SystemExit)
    return Run(run.exit_code, run.stdout, run.stderr)


@pytest.fixture(scope="module")
def diamond() -> str:
    made = stormbrain("problem", "diamond", "--tasks", "30", "--nodes", "heterogeneous")
    assert made.returncode == 0
    return made.stdout


SMALL: dict[str, Any] = {
    "nodes": [{"id": "n1", "slots": [1], "cpu": 100}, {"id": "n2", "slots": [1], "cpu": 100}],
    "topologies": [
        {
            "id": "t",
            "executors": [{"id": i, "component": "a", "cpu": 50} for i in range(4)],
            "edges": [{"from": 0, "to": 1, "tuples": 5}, {"from": 1, "to": 2, "tuples": 1}],
        }
    ],
}


def test_json_is_alone_on_stdout_with_exactly_the_documented_fields(diamond: str) -> None:
    run = process("solve", "-", "--algorithm", "metis", "--json", stdin=diamond)
    assert run.returncode == 0
    answer = json.loads(run.stdout)
    assert list(answer) == [
        "status", "algorithm", "proven_optimal", "lower_bound", "seconds",
        "score", "placement", "reasons",
    ]  # fmt: skip
    assert list(answer["score"]) == [
        "inter_node", "inter_worker", "imbalance", "moved_executors", "restarted_workers",
    ]  # fmt: skip
    assert answer["status"] == "ok"
    assert len(answer["placement"]["diamond-30"]) == 30


def test_answers_evaluate_to_their_own_score(diamond: str, tmp_path: Path) -> None:
    problem, placement = tmp_path / "p.json", tmp_path / "a.json"
    problem.write_text(diamond)
    solved = stormbrain("solve", str(problem), "-a", "online", "--json")
    placement.write_text(solved.stdout)
    answer = json.loads(solved.stdout)
    run = stormbrain("evaluate", str(problem), str(placement), "--json")
    assert run.returncode == 0
    told = json.loads(run.stdout)
    assert told == {"valid": True, "score": answer["score"], "violations": []}
    placement.write_text(json.dumps(answer["placement"]))  # the bare map will do
    assert json.loads(stormbrain("evaluate", str(problem), str(placement), "--json").stdout) == told


def test_evaluate_lists_every_violated_constraint(tmp_path: Path) -> None:
    problem, placement = tmp_path / "p.json", tmp_path / "a.json"
    problem.write_text(json.dumps(SMALL))
    placement.write_text(
        json.dumps({"t": {"0": ["n1", 1], "1": ["n1", 1], "2": ["n1", 1], "3": ["n2", 9]}})
    )
    run = stormbrain("evaluate", str(problem), str(placement), "--json")
    assert run.returncode == 1
    told = json.loads(run.stdout)
    assert told["valid"] is False
    assert [v["kind"] for v in told["violations"]] == ["no-slot", "unplaced", "cpu"]
    people = stormbrain("evaluate", str(problem), str(placement))
    assert people.returncode == 1
    assert "node n1 is overfull: 150 of 100 points of CPU" in people.stdout


def test_people_get_tables() -> None:
    run = stormbrain("solve", "-", "-a", "metis", "-p", "objective=cut", stdin=json.dumps(SMALL))
    assert run.returncode == 0
    assert "ok by metis" in run.stdout
    assert "inter node" in run.stdout


def test_best_effort_exits_with_0_and_infeasible_with_3() -> None:
    tight = {**SMALL, "nodes": SMALL["nodes"][:1]}
    run = stormbrain("solve", "-", "-a", "metis", "--json", stdin=json.dumps(tight))
    assert run.returncode == 0
    assert json.loads(run.stdout)["status"] == "best-effort"
    none = {**SMALL, "nodes": []}
    run = stormbrain("solve", "-", "-a", "metis", "--json", stdin=json.dumps(none))
    assert run.returncode == 3
    assert json.loads(run.stdout)["status"] == "infeasible"


def test_malformed_files_exit_with_2_and_the_path_of_the_field() -> None:
    wrong = json.loads(json.dumps(SMALL))
    wrong["topologies"][0]["edges"][1]["to"] = 99
    run = process("solve", "-", "-a", "even", stdin=json.dumps(wrong))
    assert run.returncode == 2
    assert run.stdout == ""
    assert "topologies[0].edges[1].to: executor 99 does not exist" in run.stderr
    assert "Traceback" not in run.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["-a", "best"], "there is no 'best'"),
        (["--theta", "-1"], "--theta: must be between"),
        (["--max-moves", "-1"], "--max-moves: must not be negative"),
        (["-a", "offline", "-p", "alpha"], "--param: 'alpha' is not k=v"),
        (["-a", "offline", "-p", "alpha=7"], "params.alpha: must be between 0 and 1"),
        (["-a", "offline", "-p", "alhpa=0.1"], "params.alhpa: offline has no such parameter"),
        (["-a", "metis", "-p", "objective=best"], "params.objective: must be one of vol, cut"),
    ],
)
def test_wrong_options_exit_with_2(arguments: list[str], message: str) -> None:
    run = stormbrain("solve", "-", *arguments, stdin=json.dumps(SMALL))
    assert run.returncode == 2
    assert message in run.stderr.replace("\n", " ")


def test_moves_are_capped_from_the_command_line() -> None:
    running = {str(e): ["n1" if e % 2 else "n2", 1] for e in range(4)}
    problem = json.dumps({**SMALL, "current": {"t": running}})
    free = json.loads(stormbrain("solve", "-", "-a", "metis", "--json", stdin=problem).stdout)
    capped = json.loads(
        stormbrain("solve", "-", "-a", "metis", "--max-moves", "0", "--json", stdin=problem).stdout
    )
    assert free["score"]["moved_executors"] > 0
    assert capped["score"]["moved_executors"] == 0
    assert capped["placement"] == {"t": running}


@pytest.mark.parametrize(
    "arguments",
    [
        ["linear", "--tasks", "10"],
        ["star", "--tasks", "20", "--nodes", "2x6 4x2"],
        ["parallel", "--depth", "2", "--parallelism", "3"],
        ["payload", "--depth", "2", "--parallelism", "3"],
        ["reference", "--parallelism", "3"],
        ["opengov", "--parallelism", "4"],
        ["random", "--executors", "30", "--nodes", "4", "--seed", "2"],
    ],
    ids=lambda arguments: arguments[0],
)
def test_every_generated_problem_can_be_solved(arguments: list[str]) -> None:
    made = stormbrain("problem", *arguments)
    assert made.returncode == 0
    run = stormbrain("solve", "-", "-a", "metis", "--json", stdin=made.stdout)
    assert json.loads(run.stdout)["status"] == "ok"
