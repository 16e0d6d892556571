"""What a rate's past says about its bursts and its seasons; and the reader of the bursts file.

The file (``stormbrain pipeline bursts``, format in docs/pipeline.md) is what the brain's forecast
starts from before it has seen a topology for long. Reading it needs no Spark.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from brain.errors import BadInput

BURSTS_FORMAT = 1
MIN_SLICES = 8
"""Less history than this says nothing of bursts."""
MIN_PERIODS = 3
"""A season must have been seen so often."""
MIN_STRENGTH = 0.3
MAX_PROFILE = 1440
MAD_TO_SIGMA = 1.4826


@dataclass(frozen=True)
class Bursts:
    """A burst is a run of slices above ``threshold``: the median plus three robust standard
    deviations, and at least half as much again as the median."""

    threshold: float
    count: int
    share_of_time: float
    mean_length_s: float
    mean_interval_s: float | None
    """Between the beginnings of bursts."""
    mean_height: float | None
    """Rate within bursts over the median rate; None if the median is nothing."""


@dataclass(frozen=True)
class Season:
    """The rate at time t is about ``mean × factors[(t // slice_ms) % len(factors)]``."""

    period_ms: int
    strength: float
    """Autocorrelation at the period: 1 repeats exactly."""
    factors: tuple[float, ...]


@dataclass(frozen=True)
class RateHistory:
    """Tuples a second of the stream from one component to another."""

    source: str
    target: str
    system: bool
    slices: int
    mean: float
    std: float
    p50: float
    p95: float
    p99: float
    peak: float
    bytes_per_tuple: float
    autocorrelation: float | None
    """Between a slice and the next."""
    bursts: Bursts | None
    season: Season | None

    def expected(self, time_ms: int, slice_ms: int) -> float:
        """Tuples a second to expect at a time: the season's, or the mean."""
        if self.season is None:
            return self.mean
        factors = self.season.factors
        return self.mean * factors[(time_ms // slice_ms) % len(factors)]


@dataclass(frozen=True)
class BurstFile:
    slice_ms: int
    topologies: Mapping[str, tuple[RateHistory, ...]]
    """By topology name, without number and time of submission."""


def describe(
    source: str,
    target: str,
    system: bool,
    rates: NDArray[np.float64],
    slice_ms: int,
    first_slice: int,
    bytes_per_tuple: float,
) -> RateHistory:
    """Describes a series on a regular grid; NaN where the topology was not heard of."""
    known = rates[~np.isnan(rates)]
    p50, p95, p99 = (float(v) for v in np.percentile(known, [50, 95, 99]))
    return RateHistory(
        source=source,
        target=target,
        system=system,
        slices=len(known),
        mean=float(known.mean()),
        std=float(known.std()),
        p50=p50,
        p95=p95,
        p99=p99,
        peak=float(known.max()),
        bytes_per_tuple=bytes_per_tuple,
        autocorrelation=autocorrelation(rates, 1),
        bursts=find_bursts(rates, slice_ms) if len(known) >= MIN_SLICES else None,
        season=find_season(rates, slice_ms, first_slice) if len(known) >= MIN_SLICES else None,
    )


def autocorrelation(rates: NDArray[np.float64], lag: int) -> float | None:
    """Over the pairs that are both known; None where nothing varies or pairs are too few."""
    a, b = rates[:-lag], rates[lag:]
    both = ~(np.isnan(a) | np.isnan(b))
    if both.sum() < MIN_PERIODS:
        return None
    known = rates[~np.isnan(rates)]
    mean, variance = known.mean(), known.var()
    if variance <= 1e-12 * max(1.0, mean * mean):
        return None
    return float(((a[both] - mean) * (b[both] - mean)).mean() / variance)


def find_bursts(rates: NDArray[np.float64], slice_ms: int) -> Bursts:
    known = rates[~np.isnan(rates)]
    median = float(np.median(known))
    sigma = float(np.median(np.abs(known - median))) * MAD_TO_SIGMA
    threshold = max(median + 3 * sigma, 1.5 * median)
    high = np.nan_to_num(rates, nan=-1.0) > threshold
    edges = np.diff(np.concatenate(([False], high, [False])).astype(np.int8))
    begins, ends = np.flatnonzero(edges == 1), np.flatnonzero(edges == -1)
    seconds = slice_ms / 1000
    within = float(rates[high].mean()) if high.any() else None
    return Bursts(
        threshold=threshold,
        count=len(begins),
        share_of_time=float(high.sum() / len(known)),
        mean_length_s=float((ends - begins).mean() * seconds) if len(begins) else 0.0,
        mean_interval_s=float(np.diff(begins).mean() * seconds) if len(begins) > 1 else None,
        mean_height=within / median if within is not None and median > 0 else None,
    )


def find_season(rates: NDArray[np.float64], slice_ms: int, first_slice: int) -> Season | None:
    """The shortest period that repeats nearly as well as the best one."""
    most = min(len(rates) // MIN_PERIODS, MAX_PROFILE)
    values = [autocorrelation(rates, lag) for lag in range(1, most + 1)]
    acf = np.array([math.nan if v is None else v for v in values])
    peaks = [
        i
        for i in range(1, len(acf))
        if acf[i] > acf[i - 1] and (i + 1 == len(acf) or acf[i] >= acf[i + 1])
    ]
    noise = 2 / math.sqrt(max(1, int((~np.isnan(rates)).sum())))
    peaks = [i for i in peaks if acf[i] >= max(MIN_STRENGTH, noise)]
    if not peaks:
        return None
    best = max(acf[i] for i in peaks)
    chosen = next(i for i in peaks if acf[i] >= 0.9 * best)
    period = chosen + 1
    phase = (first_slice // slice_ms + np.arange(len(rates))) % period
    known = ~np.isnan(rates)
    mean = float(rates[known].mean())
    sums = np.bincount(phase[known], rates[known], period)
    counts = np.bincount(phase[known], minlength=period)
    factors = np.where(counts > 0, sums / np.maximum(counts, 1), mean) / mean
    return Season(period * slice_ms, float(acf[chosen]), tuple(round(float(f), 6) for f in factors))


def to_document(topologies: Mapping[str, Sequence[RateHistory]], slice_ms: int) -> dict[str, Any]:
    return {
        "version": BURSTS_FORMAT,
        "slice_ms": slice_ms,
        "topologies": {name: [asdict(h) for h in own] for name, own in sorted(topologies.items())},
    }


def load_bursts(path: str) -> BurstFile:
    """Reads a local bursts file; fields that it does not know are passed over."""
    try:
        document = json.loads(Path(path).read_text(encoding="utf-8"))
        if document["version"] != BURSTS_FORMAT:
            raise BadInput(path, f"has format {document['version']}, not {BURSTS_FORMAT}")
        if not isinstance(document["slice_ms"], int) or document["slice_ms"] <= 0:
            raise ValueError(f"slice_ms is {document['slice_ms']!r}")
        topologies = {
            str(name): tuple(history_from(h) for h in own)
            for name, own in document["topologies"].items()
        }
        return BurstFile(document["slice_ms"], topologies)
    except OSError as e:
        raise BadInput(path, e.strerror or str(e)) from e
    except KeyError as e:
        raise BadInput(path, f"is no bursts file: {e} is missing") from e
    except (ValueError, TypeError, AttributeError) as e:
        raise BadInput(path, f"is no bursts file: {e}") from e


_OPTIONAL = frozenset({"autocorrelation", "mean_interval_s", "mean_height"})
_WHOLE = frozenset({"slices", "count", "period_ms"})


def history_from(document: Mapping[str, Any]) -> RateHistory:
    """A stream's entry; ValueError, KeyError or TypeError if it is not one."""
    bursts, season = document["bursts"], document["season"]
    return RateHistory(
        source=_text(document, "source"),
        target=_text(document, "target"),
        system=bool(document["system"]),
        **_numbers(RateHistory, document),
        bursts=None if bursts is None else Bursts(**_numbers(Bursts, bursts)),
        season=None if season is None else _season(season),
    )


def _season(document: Mapping[str, Any]) -> Season:
    factors = tuple(_number("factors", f) for f in document["factors"])
    if not factors or min(factors) < 0:
        raise ValueError(f"factors are {factors}")
    return Season(**_numbers(Season, document), factors=factors)


def _numbers(kind: type, document: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a dataclass that are numbers."""
    skipped = ("source", "target", "system", "bursts", "season", "factors")
    names = [f.name for f in fields(kind) if f.name not in skipped]
    return {
        name: None
        if document[name] is None and name in _OPTIONAL
        else _number(name, document[name])
        for name in names
    }


def _number(name: str, value: Any) -> Any:
    wanted = int if name in _WHOLE else (int, float)
    if isinstance(value, bool) or not isinstance(value, wanted) or not math.isfinite(value):
        raise ValueError(f"{name} is {value!r}, which is no such number")
    return value


def _text(document: Mapping[str, Any], name: str) -> str:
    if not isinstance(document[name], str):
        raise ValueError(f"{name} is {document[name]!r}, not a text")
    return str(document[name])
