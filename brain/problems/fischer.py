"""The topologies of Fischer & Bernstein 2015 (section IV.C): Parallel, Payload, Reference (which
is Aniello's, 2013, section 4.1) and OpenGov, as communication graphs at their steady rates.

As in the paper the parallelism is the number of machines, and a machine holds the tasks of an
even schedule: 8 for Parallel, Payload and Reference. A machine has 4 cores (400 points).
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from brain.errors import BadInput
from brain.model import Node, Problem
from brain.problems.build import TopologyBuilder
from brain.problems.clusters import FIRST_PORT

MACHINE_CPU = 400.0
KEY_BYTES = 16.0
"""A 128 bit hash, all that a tuple of Parallel holds."""
PAYLOAD_BYTES = 3072.0
REFERENCE_BYTES = 12.0
OPENGOV_BYTES = 80.0
"""Between the 50 and the 110 bytes of the paper's table."""
_MOST = 2000


def _machines(count: int, slots: int = 4) -> list[Node]:
    if not 1 <= count <= _MOST:
        raise BadInput("parallelism", f"must be between 1 and {_MOST}, not {count}")
    ports = tuple(range(FIRST_PORT, FIRST_PORT + slots))
    return [Node(f"n{i + 1}", ports, cpu=MACHINE_CPU) for i in range(count)]


def parallel(
    depth: int = 7,
    parallelism: int = 10,
    *,
    rate: float = 1000.0,
    bytes_per_tuple: float = KEY_BYTES,
    name: str = "parallel",
    seed: int = 0,
) -> Problem:
    """A spout and ``depth`` bolts whose keys keep to straight lines: a cut of 0 is possible.

    Which executor of a bolt a key goes to is up to its hash (and to ``seed``).
    """
    if not 1 <= depth <= 100:
        raise BadInput("depth", f"must be between 1 and 100, not {depth}")
    nodes = _machines(parallelism)
    build = TopologyBuilder(f"{name}-{parallelism}")
    names = ["spout", *(f"bolt{d}" for d in range(1, depth + 1))]
    chain = [build.component(c, parallelism) for c in names]
    rng = np.random.default_rng(seed)
    for source, target in pairwise(chain):
        line = np.eye(parallelism)[rng.permutation(parallelism)]
        build.stream(source, target, "fields", line * rate, bytes_per_tuple)
    each = MACHINE_CPU / (depth + 1)
    return build.problem(nodes, np.full(parallelism * (depth + 1), each))


def payload(
    depth: int = 7, parallelism: int = 10, *, rate: float = 1000.0, seed: int = 0
) -> Problem:
    """Parallel with tuples of 3 KB, the average mail of the Enron data set."""
    return parallel(
        depth, parallelism, rate=rate, bytes_per_tuple=PAYLOAD_BYTES, name="payload", seed=seed
    )


def reference(
    stages: int = 7,
    parallelism: int = 10,
    *,
    rate: float = 100.0,
    variance: float = 0.2,
    seed: int = 0,
) -> Problem:
    """Aniello's reference topology: spout, then shuffle and fields bolts in turn, then the acker.

    The i-th of C₀ spout executors emits R·(1 - V·(1 - 2i/(C₀-1))) tuples a second. Half of what a
    bolt emits is the value received, which spreads evenly; the other half is a constant of the
    executor, which a fields grouping sends to one target always.
    """
    if not 2 <= stages <= 100:
        raise BadInput("stages", f"must be between 2 and 100, not {stages}")
    nodes = _machines(parallelism)
    rng = np.random.default_rng(seed)
    build = TopologyBuilder(f"reference-{parallelism}")
    kinds = ["simple" if i % 2 else "stateful" for i in range(1, stages)]
    names = ["spout", *(f"{kind}{i}" for i, kind in enumerate(kinds, start=1)), "ack"]
    chain = [build.component(c, parallelism) for c in names]
    position = np.arange(parallelism) / max(parallelism - 1, 1)
    emitted = rate * (1.0 - variance * (1.0 - 2.0 * position))
    for i, (source, target) in enumerate(pairwise(chain)):
        fields = target.startswith("stateful")
        share = np.full((parallelism, parallelism), 1.0 / parallelism)
        if fields and i > 0:
            share *= 0.5
            share[np.arange(parallelism), rng.integers(parallelism, size=parallelism)] += 0.5
        traffic = emitted[:, None] * share
        build.stream(source, target, "fields" if fields else "shuffle", traffic, REFERENCE_BYTES)
        emitted = traffic.sum(axis=0)
    each = MACHINE_CPU / (stages + 1)
    return build.problem(nodes, np.full(parallelism * (stages + 1), each))


def opengov(parallelism: int = 10, *, rate: float = 1000.0, seed: int = 0) -> Problem:
    """T → A → B → F → J ← C, J → O: stock tickers joined with public contracts.

    Tickers differ in how often they trade (Zipf), and A, B, F and J group by ticker, so what A
    says to B, B to F and F to J keeps to straight lines. F lets a tenth pass. The CPU of a task is
    its share of the tuples that it handles, 85 % of the cluster in all, no task above half a node.
    """
    if parallelism < 2:
        raise BadInput("parallelism", "opengov needs at least 2")
    nodes = _machines(parallelism)
    rng = np.random.default_rng(seed)
    build = TopologyBuilder(f"opengov-{parallelism}")
    tickers = build.component("tickers", parallelism - parallelism // 2)
    contracts = build.component("contracts", parallelism // 2)
    bolts = [build.component(b, parallelism) for b in ("aggregate", "ratio", "filter", "join")]
    output = build.component("output", 1)
    popularity = _ticker_shares(parallelism, rng)
    files = len(build.executors(tickers))
    flow = np.outer(np.full(files, rate * parallelism / files), popularity)
    build.stream(tickers, bolts[0], "fields", flow, OPENGOV_BYTES)
    line = np.diag(flow.sum(axis=0))
    build.stream(bolts[0], bolts[1], "fields", line, OPENGOV_BYTES)
    build.stream(bolts[1], bolts[2], "fields", line, OPENGOV_BYTES)
    build.stream(bolts[2], bolts[3], "fields", line * 0.1, OPENGOV_BYTES)
    awards = _ticker_shares(parallelism, rng)
    few = np.outer(np.full(parallelism // 2, 0.02 * rate), awards)
    build.stream(contracts, bolts[3], "fields", few, OPENGOV_BYTES)
    found = (line.sum(axis=0) * 0.1 * 0.05)[:, None]
    build.stream(bolts[3], output, "global", found, OPENGOV_BYTES)
    return build.problem(nodes, _cpu_by_tuples(build, 0.85 * MACHINE_CPU * parallelism))


def _ticker_shares(bolts: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """The share of the traffic that each of the bolts gets when 2,000 tickers hash to them."""
    weight = 1.0 / np.arange(1, 2001) ** 0.8
    target = rng.integers(bolts, size=len(weight))
    share = np.bincount(target, weights=weight, minlength=bolts)
    return np.asarray((share + share.mean() * 0.05) / (share + share.mean() * 0.05).sum())


def _cpu_by_tuples(build: TopologyBuilder, total: float) -> NDArray[np.float64]:
    graph = build.graph()
    handled = np.bincount(graph.sources, graph.tuples, len(graph)) + np.bincount(
        graph.indices, graph.tuples, len(graph)
    )
    cpu: NDArray[np.float64] = np.maximum(handled / handled.sum() * total, 0.1)
    return np.minimum(cpu, MACHINE_CPU / 2)
