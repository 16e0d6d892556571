"""SRBench Q3 and OpenGov, computed at once with pandas.

pandas belongs to the test extra (``pip install stormbrain[test]``); topologies do not need it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pandas as pd

from topologies.common.events import Event

_OM = "<http://knoesis.wright.edu/ssw/ont/sensor-observation.owl#"
_WIND = "<http://knoesis.wright.edu/ssw/ont/weather.owl#WindSpeed>"
_WC = "<http://wrds-web.wharton.upenn.edu/wrds/"
_US = "<http://www.usaspending.gov/"
_HOUR_MS = 3_600_000
_DAY_MS = 86_400_000

Row = tuple[Any, ...]


def srbench_q3(triples: Iterable[Event], least_mph: float = 74.0) -> set[Row]:
    """(sensor, lowest speed, end of the window) of every window of hurricane-like conditions."""
    table = _pivot(triples)
    wind = table[table[_OM + "observedProperty>"] == _WIND]
    results = table[[_OM + "floatValue>"]].dropna().reset_index()
    wind = wind.reset_index().merge(
        results, left_on=[_OM + "result>", "time"], right_on=["subject", "time"]
    )
    speeds = pd.DataFrame(
        {
            "sensor": wind[_OM + "procedure>"].str.strip("<>"),
            "time": wind["time"],
            "speed": wind[_OM + "floatValue>_y"].str.extract(r'"([^"]*)"')[0].astype(float),
        }
    )
    windows = _windows(speeds, 3 * _HOUR_MS, _HOUR_MS)
    lowest = windows.groupby(["sensor", "end"])["speed"].min().reset_index()
    found = lowest[lowest["speed"] >= least_mph]
    return set(zip(found["sensor"], found["speed"], found["end"].astype(int), strict=True))


def opengov(ticker: Iterable[Event], contracts: Iterable[Event], factor: float = 2.0) -> set[Row]:
    """(company, lowest, highest, factor, agency, contract, time) of every company that more than
    doubled its price in 20 days and was awarded a contract in them."""
    prices = _pivot(ticker).dropna().reset_index()
    quotes = pd.DataFrame(
        {
            "company": prices[_WC + "COMNAM>"].str.strip('"'),
            "time": prices["time"],
            "price": prices[_WC + "PRC>"].str.extract(r'"([^"]*)"')[0].astype(float),
        }
    )
    windows = _windows(quotes, 20 * _DAY_MS, _DAY_MS)
    ranges = windows.groupby(["company", "end"])["price"].agg(["min", "max"]).reset_index()
    ranges["factor"] = ranges["max"] / ranges["min"]
    doubled = ranges[ranges["factor"] > factor]
    table = _pivot(contracts).dropna().reset_index()
    awards = pd.DataFrame(
        {
            "company": table[_US + "vendorname>"].str.strip('"'),
            "agency": table[_US + "agencyid>"].str.strip('"'),
            "contract": table["subject"].str.strip("<>"),
            "awarded": table["time"],
        }
    )
    joined = doubled.merge(awards, on="company")
    lag = joined["end"] - joined["awarded"]
    joined = joined[(lag >= 0) & (lag <= 20 * _DAY_MS)]
    columns = ["company", "min", "max", "factor", "agency", "contract", "end"]
    return {(*row[:6], int(row[6])) for row in joined[columns].itertuples(index=False, name=None)}


def _pivot(triples: Iterable[Event]) -> pd.DataFrame:
    """One row a subject and time, one column a predicate."""
    rows = [(time, *triple) for time, triple in triples]
    table = pd.DataFrame(rows, columns=["time", "subject", "predicate", "object"])
    return table.pivot(index=["subject", "time"], columns="predicate", values="object")


def _windows(rows: pd.DataFrame, length: int, step: int) -> pd.DataFrame:
    """Each row once for every window that holds it, with the window's ``end``."""
    first = (rows["time"] // step + 1) * step
    copies = []
    for k in range(length // step + 1):
        ends = first + k * step
        inside = ends <= rows["time"] + length
        copies.append(rows[inside].assign(end=ends[inside]))
    return pd.concat(copies)
