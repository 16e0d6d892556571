"""Stock tickers and government contracts as in OpenGov, with doublings planted.

A day's price of a share is three triples (wc:PRC, wc:COMNAM, wc:TICKER), an award of a contract
three others (us:agencyid, us:obligatedamount, us:vendorname); both name the company.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass

from topologies.common.events import Event
from topologies.data.dataset import Dataset, merge_by_time, share, up_to
from topologies.data.triples import XSD_FLOAT, format_triple, iri, literal, parse_triple

START_MS = 978_307_200_000
"""1 January 2001."""
DAY_MS = 86_400_000
WC = "http://wrds-web.wharton.upenn.edu/wrds/"
US = "http://www.usaspending.gov/"
_AGENCIES = ["Defense", "Energy", "Health", "Interior", "Justice", "Transportation"]


def company_name(company: int) -> str:
    return f"COMPANY {company:05d} INC"


def doubling_day(seed: int, company: int) -> int | None:
    """The day on which a company's price begins to double, for one company in eight."""
    rng = random.Random(f"doubling:{seed}:{company}")
    return rng.randint(10, 70) if company % 8 == 0 else None


@dataclass(frozen=True)
class Ticker(Dataset):
    """Daily closing prices; an event is one triple. ``size`` counts prices (three triples each).

    One company in eight doubles its price within ten days.
    """

    companies: int = 200

    name = "ticker"
    title = "share prices as triples, with doublings planted (OpenGov)"
    suffix = "nt"
    unit = "prices"

    def generate(
        self, seed: int, partition: int, partitions: int, size: int | None
    ) -> Iterator[Event]:
        companies = range(partition, self.companies, partitions)
        return merge_by_time(
            self._prices(seed, c, share(size, c, self.companies)) for c in companies
        )

    def format(self, event: Event) -> str:
        return format_triple(event)

    def parse(self, line: str) -> Event | None:
        return parse_triple(line)

    def _prices(self, seed: int, company: int, days: int | None) -> Iterator[Event]:
        rng = random.Random(f"ticker:{seed}:{company}")
        price, rises = rng.uniform(5, 150), doubling_day(seed, company)
        name = literal(company_name(company))
        for day in up_to(days):
            growth = rng.gauss(0, 0.01)
            if rises is not None and rises <= day < rises + 10:
                growth += 0.08
            price = max(0.5, price * (1 + growth))
            when = START_MS + day * DAY_MS + 16 * 3_600_000 + company % 1000
            subject = iri(f"{WC}{company:05d}/{day}")
            yield when, [subject, iri(WC + "PRC"), literal(round(price, 2), XSD_FLOAT)]
            yield when, [subject, iri(WC + "COMNAM"), name]
            yield when, [subject, iri(WC + "TICKER"), literal(f"C{company:05d}")]


@dataclass(frozen=True)
class Contracts(Dataset):
    """Awards of contracts; an event is one triple. ``size`` counts awards (three triples each).

    Half of the companies that double their price win a contract in that time; further awards go
    to anybody, at any time in the first 100 days of a hundred-day cycle.
    """

    companies: int = 200
    days: int = 100

    name = "contracts"
    title = "awards of government contracts as triples (OpenGov)"
    suffix = "nt"
    unit = "awards"

    def generate(
        self, seed: int, partition: int, partitions: int, size: int | None
    ) -> Iterator[Event]:
        companies = range(partition, self.companies, partitions)
        return merge_by_time(
            self._awards(seed, c, share(size, c, self.companies)) for c in companies
        )

    def format(self, event: Event) -> str:
        return format_triple(event)

    def parse(self, line: str) -> Event | None:
        return parse_triple(line)

    def _awards(self, seed: int, company: int, awards: int | None) -> Iterator[Event]:
        rng = random.Random(f"contract:{seed}:{company}")
        rises = doubling_day(seed, company)
        gap_days = max(1, self.days // (awards + 1)) if awards is not None else 25
        day = 0
        for n in up_to(awards):
            day += rng.randint(1, 2 * gap_days - 1)
            if n == 0 and rises is not None and company % 16 == 0:
                day = rises + rng.randint(0, 9)
            when = START_MS + day * DAY_MS + rng.randrange(9 * 3600, 17 * 3600) * 1000
            subject = iri(f"{US}contract/{company:05d}-{n}")
            agency = literal(rng.choice(_AGENCIES))
            amount = literal(round(rng.lognormvariate(12, 1), 2), XSD_FLOAT)
            yield when, [subject, iri(US + "agencyid"), agency]
            yield when, [subject, iri(US + "obligatedamount"), amount]
            yield when, [subject, iri(US + "vendorname"), literal(company_name(company))]
