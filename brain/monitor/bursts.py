"""Which moments of a series are bursts: high, and gone again at once.

A burst of one window must not move anything, a change that lasts must. So a moment counts as a
burst if it is more than ``factor`` times the median and its successor is not; the newest moment
has no successor yet and counts as a burst until it has proved to last.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

MIN_MOMENTS = 4
"""With fewer there is no telling what is usual."""


def burst_moments(series: NDArray[np.float64], factor: float) -> NDArray[np.bool_]:
    """A mask over the series, oldest first; zeros (nothing was seen) are no moments at all."""
    seen = series > 0
    if factor <= 0 or int(seen.sum()) < MIN_MOMENTS:
        return np.zeros(len(series), dtype=bool)
    high = series > factor * np.median(series[seen])
    lasts = np.zeros(len(series), dtype=bool)
    lasts[:-1] |= high[:-1] & high[1:]
    lasts[1:] |= high[1:] & high[:-1]
    return high & ~lasts
