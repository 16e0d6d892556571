"""Generated data: the same under a seed, however it is cut; and readers that skip what is bad."""

from __future__ import annotations

import gzip
import itertools
from collections import Counter
from pathlib import Path

import pytest

from topologies.common.events import in_order
from topologies.data.catalogue import DATASETS
from topologies.data.dataset import (
    data_files,
    read_file,
    read_partition,
    write_dataset,
    write_dataset_with_spark,
)
from topologies.data.opengov import Ticker, doubling_day
from topologies.data.sentences import Sentences
from topologies.data.smartplugs import SmartPlugs
from topologies.data.soccer import PERIOD_PS, SENSORS, Soccer
from topologies.data.srbench import OM_OWL, SRBench
from topologies.data.taxi import CELL_LATITUDE, CELL_LONGITUDE, Taxi, cell_of
from topologies.data.triples import format_triple, parse_time, parse_triple, plain_value

KINDS = sorted(DATASETS)


@pytest.mark.parametrize("kind", KINDS)
def test_partitions_add_up_to_the_same_data_whatever_their_number(kind: str) -> None:
    dataset = DATASETS[kind]
    whole = sorted(dataset.generate(3, 0, 1, 700))
    parts = [list(dataset.generate(3, p, 4, 700)) for p in range(4)]
    assert sorted(itertools.chain(*parts)) == whole
    assert whole != sorted(dataset.generate(4, 0, 1, 700))
    for part in parts:
        assert all(a[0] <= b[0] for a, b in itertools.pairwise(part))


@pytest.mark.parametrize("kind", KINDS)
def test_lines_of_the_original_format_are_read_back(kind: str) -> None:
    dataset = DATASETS[kind]
    for event in dataset.generate(5, 0, 1, 300):
        assert dataset.parse(dataset.format(event)) == event


@pytest.mark.parametrize("kind", KINDS)
def test_endless_data_begins_in_time_order_and_does_not_end(kind: str) -> None:
    events = list(itertools.islice(DATASETS[kind].generate(1, 1, 3, None), 500))
    assert len(events) == 500
    assert all(a[0] <= b[0] for a, b in itertools.pairwise(events))


@pytest.mark.parametrize(
    ("kind", "bad"),
    [
        ("srbench", ['<a> "no predicate" <b> [5] .', "<a> <b> <c> .", "<a> <b> <c> [noon] ."]),
        ("soccer", ["1,2,3", "a,b,c,d,e,f,g,h,i,j,k,l,m"]),
        ("smartplugs", ["1,2,3", "1,1377986401,x,1,0,0,0", "1,1377986401,2,7,0,0,0"]),
        ("taxi", ["nonsense", ",".join("x" * 17)]),
        ("logs", ["GET / 200", '10.0.0.1 - - [yesterday] "GET / HTTP/1.1" 200 5']),
    ],
)
def test_malformed_lines_are_counted_and_skipped(
    kind: str, bad: list[str], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    dataset = DATASETS[kind]
    good = list(dataset.generate(1, 0, 1, 20))
    lines = [dataset.format(event) for event in good]
    path = tmp_path / "mixed"
    path.write_text("\n".join([bad[0], *lines, "", *bad[1:]]) + "\n")
    counted: Counter[str] = Counter()
    assert list(read_file(dataset, path, lambda what: counted.update([what]))) == good
    assert counted["malformed"] == len(bad)
    assert f"{path}:1: skipped a malformed line" in caplog.text


def test_files_are_shared_out_and_merged_by_time_gzipped_or_not(tmp_path: Path) -> None:
    dataset = Sentences()
    assert write_dataset(dataset, tmp_path / "plain", 1, 3, 90) == 90
    assert write_dataset(dataset, tmp_path / "zipped", 1, 3, 90, zipped=True) == 90
    whole = list(dataset.generate(1, 0, 1, 90))
    for directory in (tmp_path / "plain", tmp_path / "zipped"):
        assert len(data_files(directory)) == 3
        halves = [list(read_partition(dataset, directory, p, 2, print)) for p in range(2)]
        assert sorted(halves[0] + halves[1]) == whole
        for half in halves:
            assert half == sorted(half)


def test_gzipped_data_is_equal_byte_for_byte(tmp_path: Path) -> None:
    for name in ("one", "two"):
        write_dataset(Sentences(), tmp_path / name, 1, 1, 50, zipped=True)
    one, two = ((tmp_path / n / "part-00000.txt.gz").read_bytes() for n in ("one", "two"))
    assert gzip.decompress(one) == gzip.decompress(two)
    assert one == two


@pytest.mark.slow
def test_spark_writes_the_same_files(tmp_path: Path) -> None:
    dataset = Taxi()
    assert write_dataset_with_spark(dataset, tmp_path / "spark", 2, 2, 200) == 200
    write_dataset(dataset, tmp_path / "plain", 2, 2, 200)
    for path in data_files(tmp_path / "plain"):
        assert (tmp_path / "spark" / path.name).read_text() == path.read_text()


def test_late_events_are_left_out_by_the_stream_alone() -> None:
    counted: Counter[str] = Counter()
    events = [(t, [t]) for t in (10, 20, 15, 19, 30, 9)]
    kept = in_order(events, 5, lambda what: counted.update([what]))
    assert [t for t, _ in kept] == [10, 20, 15, 19, 30]
    assert counted["late"] == 1


def test_soccer_sensors_report_at_200_hz() -> None:
    by_sensor: dict[int, list[int]] = {}
    for _, (sensor, ts, *_rest) in Soccer().generate(1, 0, 1, 640):
        by_sensor.setdefault(sensor, []).append(ts)
    assert set(by_sensor) == set(SENSORS)
    for stamps in by_sensor.values():
        assert {b - a for a, b in itertools.pairwise(stamps)} == {PERIOD_PS}


def test_forty_houses_have_plugs() -> None:
    houses = {event[1][5] for event in SmartPlugs().generate(1, 0, 1, 3000)}
    assert houses == set(range(40))


def test_planted_doublings_more_than_double_the_price() -> None:
    prices: dict[str, list[float]] = {}
    company = ""
    for _, (subject, predicate, obj) in Ticker(companies=16).generate(2, 0, 1, 1600):
        if predicate.endswith("PRC>"):
            company = subject.rsplit("/", 2)[1]
            prices.setdefault(company, []).append(float(plain_value(obj)))
    for number in (0, 8):
        day = doubling_day(2, number)
        assert day is not None
        assert prices[f"{number:05d}"][day + 9] > 1.9 * prices[f"{number:05d}"][day - 1]
    assert doubling_day(2, 3) is None


def test_routes_are_heavy_tailed_and_lie_on_the_grid() -> None:
    routes: Counter[tuple[str | None, str | None]] = Counter()
    for _, (_medallion, _pickup, *points) in Taxi().generate(1, 0, 1, 3000):
        routes[cell_of(*points[:2]), cell_of(*points[2:])] += 1
    assert routes.most_common(1)[0][1] > 100
    assert sum(1 for n in routes.values() if n == 1) > 1000
    outside = sum(n for (_, end), n in routes.items() if end is None)
    assert 0 < outside < 90


def test_cells_are_500_m_squares_from_the_north_west() -> None:
    assert cell_of(-74.913585, 41.474937) == "1.1"
    assert cell_of(-74.913585 + CELL_LONGITUDE, 41.474937 - 2 * CELL_LATITUDE) == "2.3"
    assert cell_of(-74.913585 + 299 * CELL_LONGITUDE, 41.474937 - 299 * CELL_LATITUDE) == "300.300"
    assert cell_of(-74.913585 - CELL_LONGITUDE, 41.474937) is None
    assert cell_of(-74.913585 + 300 * CELL_LONGITUDE, 41.474937) is None
    assert cell_of(0.0, 0.0) is None


@pytest.mark.parametrize(
    ("line", "event"),
    [
        ("<a> <b> <c> [5] .", (5, ["<a>", "<b>", "<c>"])),
        ('_:n <b> "x \\" y"@en [1970-01-01T00:00:01Z] .', (1000, ["_:n", "<b>", '"x \\" y"@en'])),
        ('<a> <b> "1"^^<t> [1970-01-01T01:00:00+01:00] . # c', (0, ["<a>", "<b>", '"1"^^<t>'])),
        ("# a comment", None),
        ("", None),
    ],
)
def test_timed_triples(line: str, event: tuple[int, list[str]] | None) -> None:
    assert parse_triple(line) == event
    if event is not None:
        assert parse_triple(format_triple(event)) == event


def test_times_without_a_zone_are_utc() -> None:
    assert parse_time("2004-08-08T00:00:00") == 1_091_923_200_000


def test_linked_sensor_data_gets_its_times_from_its_triples(tmp_path: Path) -> None:
    om = OM_OWL
    lines = [
        f"<obs1> <{om}procedure> <station> .",
        f"<obs1> <{om}samplingTime> <instant1> .",
        "<instant1> <http://www.w3.org/2006/time#inXSDDateTime> "
        '"2004-08-08T01:00:00Z"^^<http://www.w3.org/2001/XMLSchema#dateTime> .',
        f"<obs1> <{om}result> <data1> .",
        f'<data1> <{om}floatValue> "81.3"^^<http://www.w3.org/2001/XMLSchema#float> .',
        "broken line",
    ]
    path = tmp_path / "4UT01_2004_8_8.nt"
    path.write_text("\n".join(lines))
    counted: Counter[str] = Counter()
    events = list(SRBench().read(path, lambda what: counted.update([what])))
    assert {time for time, _ in events} == {1_091_926_800_000}
    assert {triple[1] for _, triple in events} == {
        f"<{om}{p}>" for p in ("procedure", "result", "floatValue")
    }
    assert counted["malformed"] == 1


def test_hurricanes_are_planted_at_every_fifth_station() -> None:
    stormy = {
        subject.split("_")[2]
        for _, (subject, predicate, obj) in SRBench(stations=10).generate(1, 0, 1, 3000)
        if predicate.endswith("floatValue>")
        and "WindSpeed" in subject
        and float(plain_value(obj)) >= 74
    }
    assert stormy == {"A0000", "A0005"}
