"""FIND_THRESHOLD (Eskandari 2020, Algorithm 1, line 4)."""

from __future__ import annotations

import logging
from pathlib import Path

from brain.calibration.cache import cache_path, load, save
from brain.calibration.measure import measure
from brain.calibration.table import BUILT_IN, Family, Table

log = logging.getLogger(__name__)
_known: dict[Path, Table] = {}


def table(*, measure_if_missing: bool = True, path: Path | None = None) -> Table:
    """This machine's table: from memory, from disk, or measured now (some seconds, once ever).

    Without ``measure_if_missing`` the built-in figures stand in for a missing table.
    """
    where = cache_path() if path is None else path
    if where not in _known:
        found = load(where)
        if found is None and not measure_if_missing:
            return BUILT_IN
        if found is None:
            found = measure()
            try:
                save(found, where)
            except OSError as error:
                log.warning("calibration is not kept, %s cannot be written: %s", where, error)
        _known[where] = found
    return _known[where]


def find_threshold(
    theta: float,
    family: Family = "measured",
    *,
    measure_if_missing: bool = True,
    path: Path | None = None,
) -> int:
    """φ, the number of tasks that the exact solver manages within θ; 0 for θ ≤ 0."""
    if theta <= 0:
        return 0
    known = table(measure_if_missing=measure_if_missing, path=path)
    return known.threshold(theta, family)
