"""Files as the originals have them: what is in no player's shoe, damaged archives, odd numbers."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from pathlib import Path

import pytest

from topologies import opengov, soccer, srbench_q3
from topologies.data.dataset import read_file
from topologies.data.opengov import Ticker
from topologies.data.sentences import Sentences
from topologies.data.smartplugs import SmartPlugs
from topologies.data.soccer import Soccer
from topologies.data.srbench import OM_OWL, SRBench
from topologies.data.taxi import Taxi
from topologies.katts.expression import EvaluationError, parse_expression
from topologies.katts.patterns import typed


def reading(sensor: int, ts: int, speed: int) -> str:
    """A line of the DEBS 2013 file."""
    return f"{sensor},{ts},26183,-1053,20,{speed},4320,2000,-90,10,33,-2000,9999"


def test_balls_gloves_and_the_referee_are_no_players(tmp_path: Path) -> None:
    second = 10**12
    lines = [reading(s, 10_753_295_594_424_116 + i * second // 200, 2_000_000)
             for i in range(3) for s in (4, 13, 14, 97, 105, 44)]  # fmt: skip
    path = tmp_path / "full-game"
    path.write_text("\n".join(lines) + "\n")
    rows = list(soccer.readings(Soccer().read(path, print)))
    assert {(row[0], row[1]) for _, row in rows} == {(0, 13), (0, 14), (15, 44)}
    assert [row[3] for _, row in rows if row[1] == 13] == [0, second // 200, second // 200]


@pytest.mark.parametrize(
    ("name", "keep"), [("cut.csv.gz", 0.6), ("noise.csv.gz", None), ("empty.csv.gz", 0.0)]
)
def test_a_damaged_archive_gives_what_can_be_read_and_is_counted(
    name: str, keep: float | None, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    dataset = Sentences()
    events = list(dataset.generate(1, 0, 1, 4000))
    packed = gzip.compress("".join(dataset.format(e) + "\n" for e in events).encode())
    path = tmp_path / name
    path.write_bytes(b"this is no gzip file" if keep is None else packed[: int(len(packed) * keep)])
    counted: Counter[str] = Counter()
    read = list(read_file(dataset, path, lambda what: counted.update([what])))
    assert read == events[: len(read)]
    if keep:
        assert 0 < len(read) < len(events)
    if keep != 0.0:
        assert counted["malformed"] == 1
        assert f"{path}: damaged after line" in caplog.text


@pytest.mark.parametrize("value", ["nan", "inf", "-Infinity", "1e999"])
def test_numbers_that_are_none_are_malformed(value: str, tmp_path: Path) -> None:
    trip = Taxi().format(next(iter(Taxi().generate(1, 0, 1, 1)))).split(",")
    trip[6] = value
    files = {
        SmartPlugs(): f"1,1377986401,{value},1,0,0,0",
        Taxi(): ",".join(trip),
    }
    for dataset, line in files.items():
        path = tmp_path / dataset.name
        path.write_text(line + "\n")
        counted: Counter[str] = Counter()
        assert list(read_file(dataset, path, lambda what, c=counted: c.update([what]))) == []
        assert counted["malformed"] == 1
    assert isinstance(typed(f'"{value}"^^<http://www.w3.org/2001/XMLSchema#double>'), str)


@pytest.mark.parametrize("price", ["n/a", "nan", ""])
def test_a_price_that_is_no_number_is_passed_over_and_counted(price: str) -> None:
    triples = list(Ticker(companies=1).generate(1, 0, 1, 2))
    for _, triple in triples[: len(triples) // 2]:
        if triple[1].endswith("PRC>"):
            triple[2] = f'"{price}"'
    counted: Counter[str] = Counter()
    rows = list(opengov.prices(triples, lambda what: counted.update([what])))
    assert len(rows) == 1
    assert counted["malformed"] == 1


def test_a_wind_speed_that_is_no_number_is_passed_over_and_counted() -> None:
    triples = list(SRBench(stations=1).generate(1, 0, 1, 4))
    first = next(t for _, t in triples if t[1].endswith("floatValue>") and "WindSpeed" in t[0])
    first[2] = '"calm"'
    counted: Counter[str] = Counter()
    assert len(list(srbench_q3.wind_speeds(triples, lambda what: counted.update([what])))) == 1
    assert counted["malformed"] == 1


def test_a_station_with_an_odd_time_loses_that_observation_only(tmp_path: Path) -> None:
    time = "<http://www.w3.org/2006/time#inXSDDateTime>"
    lines = []
    for n, when in enumerate(("2004-08-08T01:00:00Z", "yesterday", "9" * 400)):
        lines += [
            f"<obs{n}> <{OM_OWL}procedure> <station> .",
            f"<obs{n}> <{OM_OWL}samplingTime> <instant{n}> .",
            f'<instant{n}> {time} "{when}" .',
        ]
    path = tmp_path / "station.nt"
    path.write_text("\n".join(lines))
    counted: Counter[str] = Counter()
    events = list(SRBench().read(path, lambda what: counted.update([what])))
    assert [triple[0] for _, triple in events] == ["<obs0>"]
    assert counted["malformed"] == 2


def test_an_expression_never_gives_what_json_cannot_hold() -> None:
    huge = parse_expression("?a * 10")
    with pytest.raises(EvaluationError, match="no number"):
        huge.value({"a": 1e308})
    json.dumps(huge.value({"a": 1e300}), allow_nan=False)
