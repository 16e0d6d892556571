"""OpenGov (Fischer et al. 2013, section 4.1; Fischer and Bernstein 2015, figure 2).

::

    ticker (T) ─► aggregate (A) ─► ratio (B) ─► filter (F) ─┐
       P/2             P              P             P       ▼
    contracts (C) ──────────────────────────────────────► join (J) ─global─► output (O)
       P/2                                                   P                   1

All edges but the last are fields groupings on the company.
Which companies double their share price within 20 days and are awarded a government contract in
the same time? A takes minimum and maximum price over 20 days, every day; B their ratio; F keeps
ratios above 2; J joins with the contracts by company and time, and evicts what is too old. P is
the number of machines, and so is the number of spout tasks. The same query in XML:
``topologies/queries/opengov.xml``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from streamparse import Grouping, Topology

from topologies.common.bolt import Logic, SinkBolt, StatefulBolt, StatelessBolt, output_fields
from topologies.common.dataset_spout import DatasetSpout
from topologies.common.events import Event
from topologies.common.options import (
    RunOptions,
    at_least_one,
    component,
    data_directory,
    make_topology,
    watermarks,
)
from topologies.common.spout import source_outputs
from topologies.common.window_bolt import WindowBolt
from topologies.common.windows import Summary
from topologies.data.dataset import Counter, Dataset, ignore
from topologies.data.opengov import DAY_MS, US, WC, Contracts, Ticker
from topologies.data.triples import by_time, iri, number_of, plain_value
from topologies.katts.join import LEFT, RIGHT, TemporalJoin


@dataclass(frozen=True)
class Options(RunOptions):
    """The paper's values for a cluster of 10 machines."""

    machines: int = 10
    """P: tasks of each bolt but the output, and of both spouts together."""
    awards: int = 0
    """How many contracts to generate (``events`` is the number of prices); 0: a fifth of it."""
    window_days: int = 20
    """Length of the window of prices, and how far a contract may lie back."""
    step_days: int = 1
    """How often a window is looked at."""
    factor: float = 2.0
    """Windows whose highest price is more than this many times the lowest are kept."""
    companies: int = 200
    """Companies to generate data for."""


class TickerReader(DatasetSpout):
    outputs = source_outputs("company", "price", "time")

    def dataset(self) -> Dataset:
        return Ticker(companies=int(self.options.get("companies", 200)))

    def payload(self, events: Iterable[Event]) -> Iterator[Event]:
        return prices(events, self.report.count)


class ContractReader(DatasetSpout):
    outputs = source_outputs("company", "agency", "contract", "time")

    def dataset(self) -> Dataset:
        return Contracts(companies=int(self.options.get("companies", 200)))

    def payload(self, events: Iterable[Event]) -> Iterator[Event]:
        return awards(events)


def prices(triples: Iterable[Event], count: Counter = ignore) -> Iterator[Event]:
    """Company, price and time of each quotation; a price that is no number is ``malformed``."""
    for time, subjects in by_time(triples):
        for about in subjects.values():
            price, company = about.get(iri(WC + "PRC")), about.get(iri(WC + "COMNAM"))
            if price is None or company is None or iri(WC + "TICKER") not in about:
                continue
            number = number_of(price)
            if number is None:
                count("malformed")
            else:
                yield time, [plain_value(company), number, time]


def awards(triples: Iterable[Event]) -> Iterator[Event]:
    """Company, agency, contract and time of each award."""
    for time, subjects in by_time(triples):
        for subject, about in subjects.items():
            agency, company = about.get(iri(US + "agencyid")), about.get(iri(US + "vendorname"))
            if agency is not None and company is not None and iri(US + "obligatedamount") in about:
                contract = plain_value(subject)
                yield time, [plain_value(company), plain_value(agency), contract, time]


class PriceRangeBolt(WindowBolt):
    """Lowest and highest price by company."""

    outputs = output_fields("company", "lowest", "highest", "time")

    @staticmethod
    def row(group: str, summary: Summary, end: int) -> list[Any]:
        return [group, summary.minimum, summary.maximum, end]


class RatioBolt(StatelessBolt):
    outputs = output_fields("company", "lowest", "highest", "factor", "time")

    def transform(self, values: Sequence[Any]) -> Iterable[list[Any]]:
        company, lowest, highest, time = values
        return [[company, lowest, highest, highest / lowest, time]] if lowest > 0 else []


class RatioFilter(StatelessBolt):
    outputs = output_fields("company", "lowest", "highest", "factor", "time")

    def transform(self, values: Sequence[Any]) -> Iterable[list[Any]]:
        return [list(values)] if values[3] > self.options["factor"] else []


class ContractJoin(StatefulBolt):
    outputs = output_fields("company", "lowest", "highest", "factor", "agency", "contract", "time")
    dedupe = False

    def logic(self) -> Logic:
        return TemporalJoin(key_width=1, min_lag=0, max_lag=self.options["window_ms"])

    def payload(self, tup: Any) -> list[Any]:
        return [RIGHT if tup.component == "contracts" else LEFT, *tup.values[:-2]]


class OpenGovOutput(SinkBolt):
    def fields(self, values: Sequence[Any]) -> dict[str, Any]:
        names = ("company", "lowest", "highest", "factor", "agency", "contract", "time")
        return dict(zip(names, values, strict=True))


def build(options: Options) -> type[Topology]:
    machines = options.machines
    spouts = at_least_one(machines / 2)
    ticker = TickerReader.spec(
        name="ticker",
        par=spouts,
        config=component(
            levels=2,
            companies=options.companies,
            data_dir=data_directory(options.data_dir, "ticker"),
        ),
    )
    contracts = ContractReader.spec(
        name="contracts",
        par=spouts,
        config=component(
            levels=2,
            companies=options.companies,
            events=options.awards or options.events // 5,
            data_dir=data_directory(options.data_dir, "contracts"),
        ),
    )
    window = component(
        level=1, window_ms=options.window_days * DAY_MS, step_ms=options.step_days * DAY_MS
    )
    company = Grouping.fields("company")
    aggregate = PriceRangeBolt.spec(
        name="aggregate",
        inputs={ticker: company, **watermarks(ticker)},
        par=machines,
        config=window,
    )
    ratio = RatioBolt.spec(name="ratio", inputs={aggregate: company}, par=machines)
    doubled = RatioFilter.spec(
        name="filter",
        inputs={ratio: company},
        par=machines,
        config=component(factor=options.factor),
    )
    join = ContractJoin.spec(
        name="join",
        inputs={doubled: company, contracts: company, **watermarks(ticker, contracts)},
        par=machines,
        config=component(level=2, window_ms=options.window_days * DAY_MS),
    )
    output = OpenGovOutput.spec(name="output", inputs={join: Grouping.GLOBAL}, par=1)
    stages = (ticker, contracts, aggregate, ratio, doubled, join, output)
    return make_topology("opengov", {stage.name: stage for stage in stages}, options.config())
