"""The network between nodes: what each node's interface carries, and how long the way is."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import cast

import numpy as np
from numpy.typing import NDArray

from brain.errors import BadInput

_UNITS = {"": 1.0, "k": 1e3, "m": 1e6, "g": 1e9, "t": 1e12}


@dataclass(frozen=True)
class Network:
    """``bandwidth`` is bytes a second, each way, of each node's interface (infinite: no limit).

    The switch between the interfaces is assumed not to block. ``delay_ms`` is one way, between
    any two nodes, or a matrix of them.
    """

    bandwidth: NDArray[np.float64]
    delay_ms: float | NDArray[np.float64] = 0.2

    @classmethod
    def uniform(cls, nodes: int, bandwidth: float = float("inf"), delay_ms: float = 0.2) -> Network:
        return cls(np.full(nodes, bandwidth), delay_ms)

    def delays(self, source: NDArray[np.int32], target: NDArray[np.int32]) -> NDArray[np.float64]:
        """Milliseconds one way for pairs of nodes; 0 within a node."""
        if isinstance(self.delay_ms, np.ndarray):
            ways: NDArray[np.float64] = self.delay_ms[source, target].astype(np.float64)
        else:
            ways = np.full(len(source), float(self.delay_ms))
        return cast("NDArray[np.float64]", np.where(source == target, 0.0, ways))


def parse_bandwidth(text: str) -> float:
    """``100mbit``, ``1gbit`` or ``12MB`` (bytes a second) as bytes a second; ``unlimited`` too."""
    word = text.strip().lower()
    if word in ("unlimited", "none", "inf"):
        return float("inf")
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([kmgt]?)(bit|b)(?:/s|ps)?", word)
    if match is None or float(match[1]) <= 0:
        raise BadInput("--bandwidth", f"{text!r} is no bandwidth", "such as 100mbit, 1gbit or 12MB")
    bits = 8.0 if match[3] == "bit" else 1.0
    return float(match[1]) * _UNITS[match[2]] / bits
