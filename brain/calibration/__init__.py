"""FIND_THRESHOLD of I-Scheduler: how many tasks this machine solves exactly within θ.

Measured once and kept in the user's cache directory. This package does the I/O so that the
algorithms need not.
"""

from brain.calibration.cache import cache_path, load, save
from brain.calibration.measure import measure
from brain.calibration.table import BUILT_IN, Table
from brain.calibration.threshold import find_threshold, table

__all__ = [
    "BUILT_IN",
    "Table",
    "cache_path",
    "find_threshold",
    "load",
    "measure",
    "save",
    "table",
]
