"""Runs condensed: per case and scheduler the best, the median and the spread of each measure, and
against the baseline the ratios and a Mann-Whitney test. Only valid runs count."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from brain.bench.results import ExperimentResult, Run, RunStatus

MEASURES = {
    "throughput": True,
    "latency_ms": False,
    "latency_p50_ms": False,
    "latency_p99_ms": False,
    "wire_bytes": False,
    "wire_bytes_per_tuple": False,
    "hook_tuples": False,
    "hook_bytes": False,
    "cpu_rsd": False,
    "bandwidth_rsd": False,
}
"""Attributes of a run that are compared, and whether more is better."""

BASELINE = "default"


@dataclass(frozen=True)
class Spread:
    """One measure over the valid runs of one case under one scheduler."""

    runs: int
    best: float
    median: float
    lowest: float
    highest: float


@dataclass(frozen=True)
class Against:
    """One scheduler against another, in one case and measure; ratios are this over that."""

    ratio_of_medians: float | None
    ratio_of_best: float | None
    p: float | None
    """Mann-Whitney, two-sided; ``None`` with fewer than 3 runs on either side, which cannot
    be significant at 0.05 whatever they are."""


def values(runs: Sequence[Run], measure: str) -> list[float]:
    found = [getattr(run, measure) for run in runs]
    return [float(value) for value in found if value is not None]


def spread(result: ExperimentResult, case: str, scheduler: str, measure: str) -> Spread | None:
    """``None`` if no valid run has the measure."""
    found = values(result.valid(case, scheduler), measure)
    if not found:
        return None
    best = max(found) if MEASURES[measure] else min(found)
    return Spread(len(found), best, statistics.median(found), min(found), max(found))


def against(
    result: ExperimentResult, case: str, scheduler: str, measure: str, baseline: str = BASELINE
) -> Against | None:
    this, that = (spread(result, case, name, measure) for name in (scheduler, baseline))
    if this is None or that is None:
        return None
    a, b = (values(result.valid(case, name), measure) for name in (scheduler, baseline))
    p = None
    if min(len(a), len(b)) >= 3:
        from scipy.stats import mannwhitneyu

        p = float(mannwhitneyu(a, b).pvalue)
    return Against(_ratio(this.median, that.median), _ratio(this.best, that.best), p)


def _ratio(this: float, that: float) -> float | None:
    return this / that if that else None


def left_out(result: ExperimentResult) -> list[Run]:
    """Runs that are shown, but do not count."""
    return [run for run in result.runs if run.status is not RunStatus.VALID]
