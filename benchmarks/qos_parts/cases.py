"""The paper's applications (Cardellini et al. 2015, section IV), and what it found for each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Case:
    """``goals`` are changes against the default scheduler in percent, by measure and phase."""

    name: str
    file: str
    options: Mapping[str, Any] = field(default_factory=dict)
    workers: int = 7
    latency_of: str = "consumer"
    stress_default: bool = False
    """Whether the default placement is measured under stress too."""
    stress: bool = True
    """Whether three nodes are stressed in mid-run at all."""
    coordinated: bool = True
    goals: Mapping[str, float] = field(default_factory=dict)


_ENDS = {"pin_source": "node-1", "pin_consumer": "node-5"}
_QUIET = {"acking": False}

CASES = (
    Case(
        "tag-and-count",
        "topologies/tag_and_count.py",
        {**_QUIET, "form": "base"},
        goals={"latency_ms calm": -49.0},
    ),
    Case(
        "heavy",
        "topologies/tag_and_count.py",
        {**_QUIET, "form": "heavy", "rate": 5.0},  # half the paper's, for eight nodes on two cores
        stress_default=True,
        goals={"latency_ms calm": -35.0, "latency_ms stressed": -43.0},
    ),
    Case(
        "replicated",
        "topologies/tag_and_count.py",
        {**_QUIET, "form": "replicated"},
        goals={"latency_ms calm": -25.0},
    ),
    Case(
        "replicated, uncoordinated",
        "topologies/tag_and_count.py",
        {**_QUIET, "form": "replicated"},
        coordinated=False,
        goals={},
    ),
    Case(
        "word-count",
        "topologies/word_count.py",
        {**_QUIET, "rate": 1.0},
        workers=2,
        stress=False,
        goals={"hook_bytes calm": -31.0},
    ),
    Case(
        "log-processing",
        "topologies/log_processing.py",
        {**_QUIET, "rate": 10.0},
        workers=7,
        stress=False,
        goals={"latency_ms calm": -18.0, "hook_bytes calm": -63.0},
    ),
)
PINS = _ENDS
