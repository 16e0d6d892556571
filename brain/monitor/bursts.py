"""Which moments of a series are bursts: high, and soon gone again.

A burst of one window must not move anything, a change that lasts must. So a run of moments above
``factor`` times the median counts as a burst if it is no longer than bursts are known to be (one
moment where nothing is known). A run that has not ended yet counts as a burst until it has proved
to last longer.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

MIN_MOMENTS = 4
"""With fewer there is no telling what is usual."""


def burst_moments(
    series: NDArray[np.float64], factor: float, longest: int = 1
) -> NDArray[np.bool_]:
    """A mask over the series, oldest first; zeros (nothing was seen) are no moments at all."""
    seen = series > 0
    if factor <= 0 or int(seen.sum()) < MIN_MOMENTS:
        return np.zeros(len(series), dtype=bool)
    high = series > factor * np.median(series[seen])
    edges = np.diff(np.concatenate(([False], high, [False])).astype(np.int8))
    begins, ends = np.flatnonzero(edges == 1), np.flatnonzero(edges == -1)
    bursts = np.zeros(len(series), dtype=bool)
    for begin, end in zip(begins, ends, strict=True):
        bursts[begin:end] = end - begin <= longest
    return bursts
