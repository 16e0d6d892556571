"""Job 4: how well past traffic predicts a good placement (Fischer et al. 2013, section 4).

A history is cut into slices. For each slice the task graph is partitioned for K machines

    oracle   by the slice's own traffic: the bound that learning could reach,
    prev-n   by the sum of the n slices before it, n = 1, 2, 3,

and the placement is judged on the slice itself: the share of messages that cross machines (cost(P)
of section 3.3) and the relative standard deviation of the machines' load, a task's load being the
messages it receives. METIS runs as in the paper: k-way, imbalance 1.03, objective ``vol``, or
``cut`` if asked for; vertices weigh their load.

Beside them stand two baselines. ``uniform`` deals the tasks out evenly at random (the mean of ten
deals). ``round-robin`` deals them by task id as Storm's even scheduler does; since every
parallelism here is a multiple of the number of machines, its result is an accident of numbering:
hops line up wholly or not at all, as the paper's 100 % for SRBench also shows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from brain.algorithms.parts.partition import partition
from brain.errors import BadInput, StormbrainError
from brain.model import CommGraph
from brain.pipeline.hadoop import HadoopFiles
from brain.pipeline.histories import DEFAULT_SLICES, generate
from brain.pipeline.profile import topology_name
from brain.pipeline.statistics import relative_deviation

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

LOOK_BACK = (1, 2, 3)
IMBALANCE = 1.03
UNIFORM_DEALS = 10
MACHINES = 12

Objective = Literal["vol", "cut"]
OBJECTIVES: tuple[Objective, ...] = ("vol", "cut")


@dataclass(frozen=True)
class Judgement:
    """One placement judged on one slice."""

    slice: int
    strategy: str
    messages: int
    network_messages: float
    network_percent: float
    load_rsd_percent: float


@dataclass(frozen=True)
class _Slice:
    at: int
    source: np.ndarray
    target: np.ndarray
    count: np.ndarray


def learn(
    history: DataFrame,
    machines: int = MACHINES,
    objective: Objective = "vol",
    seed: int = 0,
) -> list[Judgement]:
    """Judges all strategies on every slice that has three slices before it.

    ``history`` has the columns slice, source, target and tuples; a graph's ``edges`` will do.
    """
    slices, tasks = _slices(history)
    if len(slices) <= max(LOOK_BACK):
        raise StormbrainError(
            f"the history has {len(slices)} slices; learning needs more than {max(LOOK_BACK)}",
            "make the slices of `stormbrain pipeline graph` shorter, or log for longer",
        )
    if machines < 2:
        raise BadInput("--machines", "there must be at least two")
    result: list[Judgement] = []
    for i in range(max(LOOK_BACK), len(slices)):
        result += _judge_slice(slices, i, tasks, machines, objective, seed)
    return result


def _slices(history: DataFrame) -> tuple[list[_Slice], int]:
    """The slices in order; tasks are renumbered from 0 in the order of their ids."""
    from pyspark.sql import functions as F

    sums = history.groupBy("slice", "source", "target").agg(F.sum("tuples").alias("tuples"))
    table = sums.orderBy("slice", "source", "target").toArrow()
    columns = {name: table.column(name).to_numpy() for name in table.column_names}
    ids = np.unique(np.concatenate((columns["source"], columns["target"])))
    source, target = (np.searchsorted(ids, columns[c]) for c in ("source", "target"))
    found = []
    for at in np.unique(columns["slice"]).tolist():
        own = columns["slice"] == at
        found.append(_Slice(at, source[own], target[own], columns["tuples"][own].astype(float)))
    return found, len(ids)


def _judge_slice(
    slices: Sequence[_Slice], i: int, tasks: int, machines: int, objective: Objective, seed: int
) -> list[Judgement]:
    test = slices[i]
    rng = np.random.default_rng((seed, i))
    turn = np.arange(tasks) % machines
    deals = [_judge(test, "uniform", rng.permutation(turn), machines) for _ in range(UNIFORM_DEALS)]
    uniform = Judgement(
        test.at,
        "uniform",
        deals[0].messages,
        float(np.mean([d.network_messages for d in deals])),
        float(np.mean([d.network_percent for d in deals])),
        float(np.mean([d.load_rsd_percent for d in deals])),
    )
    judged = [uniform, _judge(test, "round-robin", turn, machines)]
    learnt = {"oracle": [test], **{f"prev-{n}": slices[i - n : i] for n in LOOK_BACK}}
    for strategy, known in learnt.items():
        part = _partition(known, tasks, machines, objective, seed)
        judged.append(_judge(test, strategy, part, machines))
    return judged


def _partition(
    known: Sequence[_Slice], tasks: int, machines: int, objective: Objective, seed: int
) -> np.ndarray:
    source = np.concatenate([s.source for s in known])
    target = np.concatenate([s.target for s in known])
    count = np.concatenate([s.count for s in known])
    load = np.bincount(target, count, tasks).astype(np.float64)
    graph = CommGraph.from_edges(tasks, source, target, count)
    return partition(
        graph.symmetric, machines, load, objective=objective, imbalance=IMBALANCE, seed=seed
    )


def _judge(test: _Slice, strategy: str, part: np.ndarray, machines: int) -> Judgement:
    total = float(test.count.sum())
    crossing = float(test.count[part[test.source] != part[test.target]].sum())
    load = np.bincount(part[test.target], test.count, machines)
    return Judgement(
        test.at,
        strategy,
        int(total),
        crossing,
        crossing / total * 100,
        relative_deviation(load) or 0.0,
    )


def summary(judged: Sequence[Judgement]) -> dict[str, dict[str, float]]:
    """Means over the slices, by strategy."""
    found: dict[str, list[Judgement]] = {}
    for j in judged:
        found.setdefault(j.strategy, []).append(j)
    return {
        strategy: {
            "network_percent": float(np.mean([j.network_percent for j in own])),
            "load_rsd_percent": float(np.mean([j.load_rsd_percent for j in own])),
        }
        for strategy, own in found.items()
    }


def judge_all(
    spark: SparkSession,
    graph: str | None,
    topology: str | None = None,
    machines: int = MACHINES,
    slices: int = DEFAULT_SLICES,
    objective: str = "both",
    seed: int = 0,
) -> list[dict[str, Any]]:
    """Judges the history in a graph directory, or else the paper's two queries on generated data.

    One document per history and objective, with the summary and every judgement.
    """
    objectives = [o for o in OBJECTIVES if objective in (o, "both")]
    if not objectives:
        raise BadInput("--objective", f"is vol, cut or both, not {objective!r}")
    histories: dict[str, DataFrame] = {}
    if graph is None:
        for query in ("srbench", "opengov"):
            histories[query] = spark.createDataFrame(generate(query, slices, seed).table)
    else:
        HadoopFiles(spark).require_dir(f"{graph}/edges", "graph")
        edges = spark.read.parquet(f"{graph}/edges")
        ids = sorted(r["topology"] for r in edges.select("topology").distinct().collect())
        chosen = [i for i in ids if topology in (None, i, topology_name(i))]
        if len(chosen) != 1:
            raise BadInput(graph, f"holds {', '.join(ids)}", "name one with --topology")
        histories[chosen[0]] = edges.where(edges.topology == chosen[0])
    documents = []
    for name, history in histories.items():
        for each in objectives:
            judged = learn(history, machines, each, seed)
            documents.append(
                {
                    "history": name,
                    "objective": each,
                    "machines": machines,
                    "summary": summary(judged),
                    "slices": [asdict(j) for j in judged],
                }
            )
    return documents
