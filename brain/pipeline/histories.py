"""Communication histories that mirror the two queries of KATTS (Fischer et al. 2013, section 4.1).

The paper's data (LinkedSensorData of August 2004; US contracts and stock prices of 2001) is not
ours to ship. What the result rests on is modelled instead: which operators there are, by which
field each stream is grouped, how the readers' files are cut, and how rates differ and drift.

SRBench Q3: reader → aggregate → filter → output
    Wind speeds of weather stations. The readers' files are cut by the same hash of the station as
    Storm's grouping (the paper's "identical hash function"), and both further hops are grouped by
    station too. The aggregate says one minimum per station and hour; hardly any passes the filter.

OpenGov: ticker → aggregate → bind → filter → join → output, contract → join
    Daily stock prices by ticker; the files are cut by date, so every reader has every ticker. Up
    to the filter all is grouped by ticker; the join is by company name, an incompatible field, and
    contracts come in files that are not cut by company either.

12 machines and 12 files per dataset, 48 tasks for each operator that is no reader and no output.
Task ids follow Storm: components in the order of their names.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

READERS = 12
PARALLELISM = 48
SLICE_MS = {"srbench": 86_400_000, "opengov": 30 * 86_400_000}
START_MS = {"srbench": 1_092_009_600_000, "opengov": 978_307_200_000}
DEFAULT_SLICES = 8


@dataclass(frozen=True)
class History:
    """Messages between tasks per slice, with the columns of a graph's ``edges`` that matter."""

    query: str
    components: dict[str, range]
    table: pa.Table

    @property
    def tasks(self) -> int:
        return sum(len(r) for r in self.components.values())


def generate(query: str, slices: int = DEFAULT_SLICES, seed: int = 0) -> History:
    """``query`` is ``srbench`` or ``opengov``."""
    rng = np.random.default_rng(seed)
    make = {"srbench": _srbench, "opengov": _opengov}[query]
    return make(slices, rng)


class _Messages:
    """Collects counts and numbers tasks as Storm does."""

    def __init__(self, query: str, parallelism: dict[str, int]) -> None:
        self.query = query
        self.tasks: dict[str, range] = {}
        first = 1
        for name in sorted(parallelism):
            self.tasks[name] = range(first, first + parallelism[name])
            first += parallelism[name]
        self._slice: list[np.ndarray] = []
        self._edges: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []

    def add(
        self,
        number: int,
        source: str,
        target: str,
        from_index: np.ndarray,
        to_index: np.ndarray,
        count: np.ndarray,
    ) -> None:
        n, m = len(self.tasks[source]), len(self.tasks[target])
        sums = np.bincount(from_index * m + to_index, weights=count, minlength=n * m)
        pairs = np.flatnonzero(sums)
        self._edges.append(
            (
                self.tasks[source].start + pairs // m,
                self.tasks[target].start + pairs % m,
                sums[pairs],
            )
        )
        at = START_MS[self.query] + number * SLICE_MS[self.query]
        self._slice.append(np.full(len(pairs), at))

    def history(self) -> History:
        source, target, count = (np.concatenate(c) for c in zip(*self._edges, strict=True))
        table = pa.table(
            {
                "slice": pa.array(np.concatenate(self._slice), pa.int64()),
                "source": pa.array(source, pa.int32()),
                "target": pa.array(target, pa.int32()),
                "tuples": pa.array(count.astype(np.int64), pa.int64()),
            }
        )
        return History(self.query, self.tasks, table)


def storm_hash(names: Iterable[str], buckets: int) -> np.ndarray:
    """Storm's fields grouping: Java's ``List.of(name).hashCode()``, made positive, modulo tasks."""
    result = []
    for name in names:
        h = 0
        for c in name:
            h = (31 * h + ord(c)) & 0xFFFFFFFF
        signed = ((31 + h) & 0xFFFFFFFF) - (1 << 32) * (((31 + h) & 0xFFFFFFFF) >> 31)
        result.append(abs(signed) % buckets)
    return np.array(result, dtype=np.int64)


def _srbench(slices: int, rng: np.random.Generator) -> History:
    stations = [f"System_{c}" for c in _call_signs(20_000, rng)]  # as many as LinkedSensorData
    task = storm_hash(stations, PARALLELISM)
    reader = storm_hash(stations, READERS)
    # From hourly reports to one each five minutes, as MesoWest's networks differ.
    per_day = rng.choice([24, 72, 96, 144, 288], len(stations), p=[0.35, 0.2, 0.2, 0.15, 0.1])
    messages = _Messages(
        "srbench",
        {"reader": READERS, "aggregate": PARALLELISM, "filter": PARALLELISM, "output": 1},
    )
    coast = rng.random(len(stations)) < 0.01
    for day in range(slices):
        up = rng.random(len(stations)) > 0.03
        observed = rng.binomial(per_day, 0.97) * up
        hours = np.minimum(24, observed)
        storm = rng.binomial(hours, 0.1) * (coast & (rng.random(len(stations)) < 0.05))
        messages.add(day, "reader", "aggregate", reader, task, observed)
        messages.add(day, "aggregate", "filter", task, task, hours)
        messages.add(day, "filter", "output", task, np.zeros_like(task), storm)
    return messages.history()


def _opengov(slices: int, rng: np.random.Generator) -> History:
    listed = list(_call_signs(7000, rng))
    companies = [f"COMPANY {i} INC" for i in rng.permutation(len(listed)).tolist()]
    vendors = [f"VENDOR {i} LLC" for i in range(20_000)]
    by_ticker = storm_hash(listed, PARALLELISM)
    by_company = storm_hash(companies, PARALLELISM)
    by_vendor = np.concatenate((by_company, storm_hash(vendors, PARALLELISM)))
    # A few vendors win most contracts, few of them listed at the exchange.
    weight = rng.zipf(1.6, len(by_vendor)).clip(max=2000).astype(float)
    weight /= weight.sum()
    liquid = rng.beta(8, 1, len(listed))
    alive = rng.random(len(listed)) < 0.93
    operators = dict.fromkeys(("aggregate", "bind", "filter", "join"), PARALLELISM)
    messages = _Messages(
        "opengov", {**operators, "ticker": READERS, "contract": READERS, "output": 1}
    )
    for month in range(slices):
        alive ^= rng.random(len(listed)) < 0.012
        prices = rng.binomial(21, liquid) * alive
        doubled = rng.binomial(prices, 0.6) * (rng.random(len(listed)) < 0.02)
        for reader in range(READERS):
            share = rng.multinomial(int(prices.sum() / READERS), prices / max(1, prices.sum()))
            messages.add(
                month, "ticker", "aggregate", np.full_like(by_ticker, reader), by_ticker, share
            )
        messages.add(month, "aggregate", "bind", by_ticker, by_ticker, prices)
        messages.add(month, "bind", "filter", by_ticker, by_ticker, prices)
        messages.add(month, "filter", "join", by_ticker, by_company, doubled)
        # The fiscal year ends in September, when the money has to be spent.
        contracts = int(53_000 * (1.8 if month % 12 == 8 else rng.uniform(0.8, 1.2)))
        awarded = rng.multinomial(contracts, weight)
        for reader in range(READERS):
            part = rng.binomial(awarded, 1 / READERS)
            messages.add(
                month, "contract", "join", np.full_like(by_vendor, reader), by_vendor, part
            )
        joined = rng.binomial(doubled, 0.1)
        messages.add(month, "join", "output", by_company, np.zeros_like(by_company), joined)
    return messages.history()


def _call_signs(n: int, rng: np.random.Generator) -> list[str]:
    letters = np.array(list("ABCDEFGHIJKLMNOPQRSTUVWXYZ"))
    found: dict[str, None] = {}
    while len(found) < n:
        found.setdefault("".join(rng.choice(letters, 4)))
    return list(found)
