"""Numbers over runs: weighted percentiles, confidence intervals, tests between schedulers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

CONFIDENCE = 0.95


@dataclass(frozen=True)
class Summary:
    """``low`` and ``high`` bound the mean with 95 % confidence (by t); None for one run."""

    n: int
    best: float
    mean: float
    low: float | None
    high: float | None


def weighted_percentile(values: ArrayLike, weights: ArrayLike, percent: float) -> float | None:
    """The least value such that values up to it carry ``percent`` % of the weight."""
    v = np.asarray(values, dtype=np.float64)
    w = np.asarray(weights, dtype=np.float64)
    v, w = v[w > 0], w[w > 0]
    if not len(v):
        return None
    order = np.argsort(v, kind="stable")
    carried = np.cumsum(w[order])
    index = int(np.searchsorted(carried, carried[-1] * percent / 100.0 * (1 - 1e-12)))
    return float(v[order][min(index, len(v) - 1)])


def summarise(values: Sequence[float], more_is_better: bool) -> Summary:
    """Best of n, the mean and its confidence interval."""
    v = np.asarray(values, dtype=np.float64)
    best = float(v.max() if more_is_better else v.min())
    mean = float(v.mean())
    if len(v) < 2:
        return Summary(len(v), best, mean, None, None)
    half = float(stats.t.ppf(0.5 + CONFIDENCE / 2, len(v) - 1) * stats.sem(v))
    return Summary(len(v), best, mean, mean - half, mean + half)


def mann_whitney(a: Sequence[float], b: Sequence[float]) -> float | None:
    """The two-sided p-value that a and b come from the same distribution; None without samples."""
    if not len(a) or not len(b):
        return None
    if len(set(a) | set(b)) == 1:
        return 1.0
    return float(stats.mannwhitneyu(a, b, alternative="two-sided").pvalue)


def imbalance(loads: ArrayLike) -> float | None:
    """The greatest load over the mean load; 1.0 is even."""
    v = np.asarray(loads, dtype=np.float64)
    mean = float(v.mean()) if len(v) else 0.0
    return float(v.max()) / mean if mean > 0 else None


def relative_deviation(loads: ArrayLike) -> float | None:
    """Standard deviation over the mean, in per cent, as in Fischer et al. 2013 (population)."""
    v = np.asarray(loads, dtype=np.float64)
    mean = float(v.mean()) if len(v) else 0.0
    return float(v.std()) / mean * 100.0 if mean > 0 else None
