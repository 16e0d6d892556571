"""What each edge will carry: exponential smoothing after Holt and Winters, all edges at once.

Level and trend are kept per edge; the trend is damped, so that a forecast far ahead does not run
away. The season is multiplicative and belongs to a stream (a pair of components), not to an edge:
it begins with what the pipeline's ``bursts`` job found in the past and is kept up from there.

A step far from what was expected changes nothing by itself; the second such step in a row, to the
same side, is believed at once. So a burst of one window leaves the forecast as it was, and a
change that lasts is followed within two windows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

Keys = NDArray[np.int64]
Values = NDArray[np.float64]

ALPHA, BETA, PHI, GAMMA = 0.3, 0.1, 0.8, 0.05
"""Smoothing of level and trend, damping of the trend, smoothing of the season."""
SCALE = 0.2
"""Smoothing of the usual error."""
WILD = 4.0
"""An error of so many usual errors is not believed at first."""
LEAST_FACTOR = 1e-3
"""Of a season: a factor of 0 would explain anything."""
LEAST_ERROR = 0.05
"""The usual error is never taken to be less than this share of the level."""


class Seasons:
    """Factors of the streams of one topology over time; 1 where no season is known."""

    def __init__(
        self,
        factors: Mapping[tuple[str, str, bool], Sequence[float]],
        slice_ms: int,
        components: Mapping[int, str],
    ) -> None:
        """``components`` is by task; a factor holds at ``(time // slice_ms) % len(factors)``."""
        self._slice_ms = slice_ms
        self._streams = list(factors)
        self._means: dict[int, float] = {}
        self._factors = [np.array(f, dtype=np.float64) for f in factors.values()]
        number = {c: i for i, c in enumerate(dict.fromkeys(components.values()))}
        self._component = np.full(max(components, default=-1) + 1, -1, dtype=np.int64)
        for task, component in components.items():
            self._component[task] = number[component]
        self._numbers = [
            (number.get(s, -2), number.get(t, -2), system) for s, t, system in self._streams
        ]

    def stream_of(self, keys: Keys) -> NDArray[np.int64]:
        """Index of each edge's stream, -1 for one without a season."""
        source, target, system = keys >> 32, (keys >> 1) & 0x7FFFFFFF, (keys & 1).astype(bool)
        a, b = self._components(source), self._components(target)
        streams = np.full(len(keys), -1, dtype=np.int64)
        for i, (s, t, own) in enumerate(self._numbers):
            streams[(a == s) & (b == t) & (system == own)] = i
        return streams

    def at(self, streams: NDArray[np.int64], time_ms: int) -> Values:
        return self._gather(streams, [self._now(f, time_ms) for f in self._factors])

    def mean(self, streams: NDArray[np.int64], since_ms: int, until_ms: int) -> Values:
        """Means over a span to come; at most one whole period is looked at."""
        first, last = since_ms // self._slice_ms, max(until_ms - 1, since_ms) // self._slice_ms
        means = []
        for f in self._factors:
            count = min(last - first + 1, len(f))
            means.append(float(f[(first + np.arange(count)) % len(f)].mean()))
        return self._gather(streams, means)

    def learn(self, streams: NDArray[np.int64], time_ms: int, rates: Values) -> None:
        """Moves the factors of now towards what the streams carry over their slow mean.

        Not over the edges' levels: those follow a busy hour within minutes, and nothing of it
        would be left for the season.
        """
        carried = np.bincount(streams + 1, rates, len(self._factors) + 1)[1:]
        for i, factors in enumerate(self._factors):
            at = (time_ms // self._slice_ms) % len(factors)
            usual = float(carried[i]) / max(float(factors[at]), LEAST_FACTOR)
            if usual > 0:
                mean = self._means.get(i, usual)
                mean += (usual - mean) / len(factors)
                self._means[i] = mean
                factors[at] += GAMMA * (float(carried[i]) / mean - factors[at])

    def _now(self, factors: Values, time_ms: int) -> float:
        return float(factors[(time_ms // self._slice_ms) % len(factors)])

    def _gather(self, streams: NDArray[np.int64], by_stream: list[float]) -> Values:
        table = np.maximum(np.array([*by_stream, 1.0]), LEAST_FACTOR)
        gathered: Values = table[streams]  # -1 is the last: 1
        return gathered

    def _components(self, tasks: NDArray[np.int64]) -> NDArray[np.int64]:
        inside = tasks < len(self._component)
        return np.where(inside, self._component[np.where(inside, tasks, 0)], -1)


class Forecast:
    """Smoothed state of every edge. Steps come in order of time, one per ``step_ms``."""

    def __init__(self, step_ms: int) -> None:
        self._step_ms = step_ms
        self.seasons: Seasons | None = None
        self.keys: Keys = np.zeros(0, dtype=np.int64)
        self._level = self._trend = self._error = self._wild = np.zeros(0)

    @property
    def nbytes(self) -> int:
        return 5 * self.keys.nbytes

    def observe(self, keys: Keys, rates: Values, seen: NDArray[np.bool_], time_ms: int) -> None:
        """One step: rates of all edges (sorted keys); where not ``seen`` nothing is known."""
        self._align(keys)
        streams, factor = self._factors(keys, time_ms)
        x = rates / factor
        new = seen & np.isnan(self._level)
        known = seen & ~new
        predicted = self._level + PHI * self._trend
        error = x - predicted
        usual = np.maximum(self._error, LEAST_ERROR * np.abs(self._level))
        wild = known & (np.abs(error) > WILD * usual + 1e-9)
        believed = wild & (self._wild == np.sign(error))
        calm = known & ~wild
        self._wild = np.where(wild & ~believed, np.sign(error), np.where(known, 0.0, self._wild))
        self._level[calm] = (predicted + ALPHA * error)[calm]
        self._trend[calm] = (PHI * self._trend + ALPHA * BETA * error)[calm]
        self._error[calm] += SCALE * (np.abs(error) - self._error)[calm]
        start = new | believed
        self._level[start] = x[start]
        self._trend[start] = 0.0
        self._error[start] = np.maximum(SCALE * np.abs(x), 1e-9)[start]
        if self.seasons is not None:
            self.seasons.learn(np.where(calm | believed, streams, -1), time_ms, rates)

    def expected(self, keys: Keys, now_ms: int, horizon_ms: int) -> Values:
        """Mean rate over the time to come, per edge; NaN for edges that were never seen."""
        at = np.searchsorted(self.keys, keys)
        known = at < len(self.keys)
        known[known] = self.keys[at[known]] == keys[known]
        steps = np.arange(1, max(1, horizon_ms // self._step_ms) + 1)
        growth = float((PHI * (1 - PHI**steps) / (1 - PHI)).mean())
        mean = np.full(len(keys), np.nan)
        mean[known] = (self._level + growth * self._trend)[at[known]]
        if self.seasons is not None:
            streams = self.seasons.stream_of(keys)
            mean *= self.seasons.mean(streams, now_ms, now_ms + horizon_ms)
        return mean.clip(min=0.0)

    def seasonal(self, keys: Keys) -> NDArray[np.bool_]:
        """Edges whose stream has a known season."""
        if self.seasons is None:
            return np.zeros(len(keys), dtype=bool)
        return self.seasons.stream_of(keys) >= 0

    def _factors(self, keys: Keys, time_ms: int) -> tuple[NDArray[np.int64], Values]:
        if self.seasons is None:
            return np.full(len(keys), -1, dtype=np.int64), np.ones(len(keys))
        streams = self.seasons.stream_of(keys)
        return streams, self.seasons.at(streams, time_ms)

    def _align(self, keys: Keys) -> None:
        """Edges come and go; what is known of those that stay is kept."""
        if len(keys) == len(self.keys) and np.array_equal(keys, self.keys):
            return
        at = np.searchsorted(self.keys, keys)
        old = at < len(self.keys)
        old[old] = self.keys[at[old]] == keys[old]
        for name, start in (("_level", np.nan), ("_trend", 0.0), ("_error", 0.0), ("_wild", 0.0)):
            values = np.full(len(keys), start)
            values[old] = getattr(self, name)[at[old]]
            setattr(self, name, values)
        self.keys = keys.copy()
