"""``stormbrain solve``, ``evaluate`` and ``problem``: placement without any cluster."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from brain.model import Problem

INFEASIBLE = 3
"""Exit code when nothing could be placed; the answer is printed all the same."""

Json = Annotated[bool, typer.Option("--json", help="Print JSON, alone on stdout.")]
ProblemFile = Annotated[str, typer.Argument(metavar="PROBLEM.json", help="Problem file, or - .")]
LARGEST_SEED = 2**31 - 1
Seed = Annotated[int, typer.Option(help="Same seed, same problem.", min=0, max=LARGEST_SEED)]

problem_app = typer.Typer(
    help="Write the papers' placement problems as problem files, to stdout.",
    no_args_is_help=True,
)


def register(app: typer.Typer) -> None:
    app.command()(solve)
    app.command()(evaluate)
    app.add_typer(problem_app, name="problem")


def solve(
    problem: ProblemFile,
    algorithm: Annotated[
        str, typer.Option("--algorithm", "-a", help="auto, or one by name.")
    ] = "auto",
    theta: Annotated[float, typer.Option(help="Seconds allowed.")] = 1.0,
    seed: Annotated[int, typer.Option(help="Same seed, same answer.", min=0, max=LARGEST_SEED)] = 0,
    max_moves: Annotated[
        int | None, typer.Option(help="Most executors that may leave their current slot.")
    ] = None,
    param: Annotated[
        list[str] | None,
        typer.Option("--param", "-p", help="The algorithm's own parameter k=v; repeatable."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Solve a placement problem without any cluster.

    Exits with 0 for the status ok or best-effort, 3 for infeasible, 2 for a malformed file.
    """
    from brain.algorithms import registry
    from brain.cli.solve_tables import show_answer
    from brain.model import Options, Status
    from brain.problems import answer_to_dict, load

    _check_numbers(theta, max_moves)
    options = Options(theta, seed, max_moves, _params(param or []))
    registry.get(algorithm)  # what is wrong here is told before a large file is read
    registry.check_parameters(algorithm, options.params)
    read, current = load(problem)
    with _quiet_stdout():
        result = registry.run(algorithm, read, current, options)
    if as_json:
        _print_json(answer_to_dict(read, result))
    else:
        show_answer(read, result)
    if result.status is Status.INFEASIBLE:
        raise typer.Exit(INFEASIBLE)


def evaluate(
    problem: ProblemFile,
    placement: Annotated[
        str,
        typer.Argument(
            metavar="PLACEMENT.json", help="An answer of solve --json, or a bare placement; or - ."
        ),
    ],
    as_json: Json = False,
) -> None:
    """Recompute the score of a placement and list every violated constraint.

    Exits with 1 if any constraint is violated, 2 for a malformed file.
    """
    from brain.algorithms.parts.score import score
    from brain.algorithms.parts.verify import violations
    from brain.cli.solve_tables import show_evaluation
    from brain.errors import BadInput
    from brain.problems import load, read_placement, score_to_dict

    if problem == "-" and placement == "-":
        raise BadInput("PLACEMENT.json", "only one of the two can be read from standard input")
    read, current = load(problem)
    placed, missing = read_placement(read, placement)
    broken = [("no-slot", message) for message in missing]
    broken += [(v.kind, v.message) for v in violations(read, placed, current)]
    costs = score(read, placed, current)
    if as_json:
        _print_json(
            {
                "valid": not broken,
                "score": score_to_dict(costs),
                "violations": [{"kind": kind, "message": message} for kind, message in broken],
            }
        )
    else:
        show_evaluation(costs, broken)
    if broken:
        raise typer.Exit(1)


@contextmanager
def _quiet_stdout() -> Iterator[None]:
    """Sends what C libraries print to stderr: METIS and solvers have been seen to chat."""
    sys.stdout.flush()
    saved = os.dup(1)
    os.dup2(2, 1)
    try:
        yield
    finally:
        sys.stdout.flush()
        os.dup2(saved, 1)
        os.close(saved)


def _check_numbers(theta: float, max_moves: int | None) -> None:
    from brain.errors import BadInput

    if not 0 <= theta <= 86_400:
        raise BadInput("--theta", f"must be between 0 and 86400 seconds, not {theta}")
    if max_moves is not None and max_moves < 0:
        raise BadInput("--max-moves", f"must not be negative, but is {max_moves}")


def _params(words: list[str]) -> dict[str, Any]:
    """``k=v`` with v read as JSON where it is such, else as it stands."""
    from brain.errors import BadInput

    params: dict[str, Any] = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not name or not equals:
            raise BadInput("--param", f"{word!r} is not k=v", "such as --param alpha=0.2")
        try:
            params[name] = json.loads(value)
        except ValueError:
            params[name] = value
    return params


def _print_json(document: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(document, allow_nan=False) + "\n")


def _write(problem: Problem) -> None:
    from brain.problems import problem_to_dict

    _print_json(problem_to_dict(problem))


Tasks = Annotated[int, typer.Option(help="Number of tasks; the paper has 10, 12, … 32.")]
Nodes = Annotated[
    str,
    typer.Option(help="homogeneous (10x4), heterogeneous (3x6 3x4 4x2) or COUNTxCAPACITY words."),
]
Parallelism = Annotated[int, typer.Option(help="Machines, and executors of each component.")]


def _micro(layout: str, tasks: int, nodes: str) -> None:
    from brain.problems.clusters import cluster
    from brain.problems.micro import micro

    _write(micro(layout, tasks, cluster(nodes)))


@problem_app.command()
def linear(tasks: Tasks = 30, nodes: Nodes = "homogeneous") -> None:
    """I-Scheduler's linear micro-benchmark."""
    _micro("linear", tasks, nodes)


@problem_app.command()
def diamond(tasks: Tasks = 30, nodes: Nodes = "homogeneous") -> None:
    """I-Scheduler's diamond micro-benchmark."""
    _micro("diamond", tasks, nodes)


@problem_app.command()
def star(tasks: Tasks = 30, nodes: Nodes = "homogeneous") -> None:
    """I-Scheduler's star micro-benchmark."""
    _micro("star", tasks, nodes)


@problem_app.command()
def parallel(
    depth: Annotated[int, typer.Option(help="Bolts in a line.")] = 7,
    parallelism: Parallelism = 10,
    seed: Seed = 0,
) -> None:
    """Fischer's Parallel topology."""
    from brain.problems import fischer

    _write(fischer.parallel(depth, parallelism, seed=seed))


@problem_app.command()
def payload(
    depth: Annotated[int, typer.Option(help="Bolts in a line.")] = 7,
    parallelism: Parallelism = 10,
    seed: Seed = 0,
) -> None:
    """Fischer's Payload topology: Parallel with tuples of 3 KB."""
    from brain.problems import fischer

    _write(fischer.payload(depth, parallelism, seed=seed))


@problem_app.command()
def reference(
    stages: Annotated[int, typer.Option(help="The spout and the bolts before the acker.")] = 7,
    parallelism: Parallelism = 10,
    seed: Seed = 0,
) -> None:
    """Aniello's reference topology, as Fischer ran it."""
    from brain.problems import fischer

    _write(fischer.reference(stages, parallelism, seed=seed))


@problem_app.command()
def opengov(parallelism: Parallelism = 10, seed: Seed = 0) -> None:
    """Fischer's OpenGov topology: stock tickers joined with public contracts."""
    from brain.problems import fischer

    _write(fischer.opengov(parallelism, seed=seed))


@problem_app.command(name="random")
def random_(
    executors: Annotated[int, typer.Option(help="Number of executors.")] = 100,
    nodes: Annotated[int, typer.Option(help="Number of nodes, of unequal size.")] = 10,
    seed: Seed = 0,
) -> None:
    """A random layered topology with skewed traffic, CPU and memory."""
    from brain.problems.randoms import random_problem

    _write(random_problem(executors, nodes, seed))
