"""What a tuple costs: the few numbers that turn a communication graph into CPU and bytes.

They are not guessed: ``costs.json`` beside this file is written by ``make bench-calibration``,
which runs a Java chain on a real Storm worker and fits them to the CPU that the workers used
(see docs/simulation.md). A cluster of another kind is calibrated by running the same command there
and passing its file as ``--costs``.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import nnls

from brain.errors import BadInput

FILE = Path(__file__).with_name("costs.json")


@dataclass(frozen=True)
class Costs:
    """``*_us`` are microseconds and ``byte_ns`` nanoseconds of CPU."""

    tuple_us: float
    """At each end of a tuple, wherever it goes: emitting, queueing, calling the bolt."""
    remote_us: float
    """More at each end of a tuple that leaves its worker: serialise and send, receive and parse."""
    byte_ns: float
    """More at each end for each byte of a tuple that leaves its worker."""
    overhead_bytes: float
    """On the wire for each tuple beside its payload: task id, message id, framing, TCP/IP."""
    tuple_bytes: float = 100.0
    """The size of a tuple where the graph knows only counts."""
    worker_hop_ms: float = 0.05
    """From a worker to another of the same node, beside queueing."""
    service_cv2: float = 1.0
    """Squared coefficient of variation of service times: 1 is exponential, 0 constant. The event
    simulation knows these two only: all but 0 is exponential to it."""


def default_costs() -> Costs:
    """The calibrated costs that come with the package."""
    return read_costs(FILE)


def read_costs(path: Path) -> Costs:
    """Costs from a file of ``make bench-calibration``, or a bare object of the same names."""
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as e:
        raise BadInput(
            str(path), f"cannot be read as costs: {e}", "write one with: make bench-calibration"
        ) from None
    values = document.get("costs", document) if isinstance(document, dict) else None
    known = {f.name for f in fields(Costs)}
    if not isinstance(values, dict) or not set(values) <= known:
        raise BadInput(str(path), f"must be an object with {', '.join(sorted(known))}")
    for name, value in values.items():
        if not isinstance(value, int | float) or not 0 <= value < 1e12:
            raise BadInput(f"{path}: {name}", "must be a number, not negative")
    try:
        return Costs(**values)
    except TypeError as e:
        raise BadInput(str(path), f"lacks a cost: {e}") from None


@dataclass(frozen=True)
class Observation:
    """One measured run: CPU that the workers used, and what they did, per second."""

    cpu_seconds: float
    tuple_ends: float
    remote_ends: float
    remote_bytes: float
    """Payload bytes handled at either end, so twice what crossed."""


def fit(observations: Sequence[Observation]) -> tuple[float, float, float, float]:
    """``tuple_us``, ``remote_us``, ``byte_ns`` by non-negative least squares, and the fit's R².

    Each run is weighted by 1 / CPU, so that the error minimised is relative.
    """
    if len(observations) < 3:
        raise BadInput("observations", "three costs need at least three runs")
    rows = np.array([[o.tuple_ends, o.remote_ends, o.remote_bytes] for o in observations])
    cpu = np.array([o.cpu_seconds for o in observations])
    scale = np.array([1e-6, 1e-6, 1e-9])
    found, _ = nnls(rows * scale / cpu[:, None], np.ones(len(cpu)))
    predicted = rows * scale @ found
    spread = float(((cpu - cpu.mean()) ** 2).sum())
    r2 = 1.0 - float(((cpu - predicted) ** 2).sum()) / spread if spread > 0 else 1.0
    return float(found[0]), float(found[1]), float(found[2]), r2


def costs_to_dict(costs: Costs) -> Mapping[str, Any]:
    return asdict(costs)
