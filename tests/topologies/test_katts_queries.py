"""Queries in XML: what is wrong is told with its line, and what is right gives right results."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.topologies.local_storm import LocalStorm
from tests.topologies.runs import SEED, check_opengov, check_srbench
from tests.topologies.test_runs_without_storm import run_to_end
from topologies.common.results import read_results
from topologies.data.dataset import write_dataset
from topologies.data.opengov import Contracts, Ticker
from topologies.data.srbench import SRBench
from topologies.katts.compiler import compile_query, options_class
from topologies.katts.query import BadQuery, parse_query, read_query

QUERIES = Path(__file__).parents[2] / "topologies" / "queries"

GOOD = """<topology name="q">
  <prefix name="x" iri="http://x/"/>
  <reader id="r">
    <pattern subject="?s1" predicate="x:value" object="?v"/>
  </reader>
  <aggregate id="a" group-by="?s1" window="2h" step="1h" parallelism="2">
    <input from="r" grouping="fields" fields="?s1"/>
    <avg of="?v" as="?mean"/>
  </aggregate>
  <filter id="f" expression="?mean &gt; 1">
    <input from="a"/>
  </filter>
  <output id="o">
    <input from="f"/>
  </output>
</topology>
"""


def problems_of(text: str) -> list[tuple[int, str]]:
    with pytest.raises(BadQuery) as caught:
        parse_query(text, "q.xml")
    return caught.value.problems


@pytest.mark.parametrize(
    ("old", "new", "line", "reason"),
    [
        ("<filter id", "<sieve id", 12, "not well-formed"),
        ('<filter id="f" expression="?mean &gt; 1">', '<filter id="f">', 10, "lacks the attribute"),
        ("?mean &gt; 1", "?median &gt; 1", 10, "no variable ?median"),
        ("?mean &gt; 1", "?mean &gt; ", 10, "ends too early"),
        ('of="?v"', 'of="?w"', 8, "no variable ?w"),
        ('grouping="fields" fields="?s1"', 'grouping="random"', 7, "unknown grouping 'random'"),
        ('grouping="fields" fields="?s1"', 'grouping="fields"', 7, "needs the attribute fields"),
        ('grouping="fields" fields="?s1"', 'grouping="shuffle"', 7, "tear groups apart"),
        ('fields="?s1"', 'fields="?v"', 7, "different tasks"),
        ('window="2h"', 'window="two hours"', 6, "not a duration"),
        ('step="1h"', 'step="3h"', 6, "a step fits in it"),
        ('parallelism="2"', 'parallelism="0"', 6, "whole number"),
        ('<input from="a"/>', '<input from="b"/>', 11, "no operator 'b'"),
        ('<input from="a"/>', '<input from="f"/>', 10, "circle: f → f"),
        ('<output id="o">', '<output id="f">', 13, "is taken (line 10)"),
        ('predicate="x:value"', 'predicate="y:value"', 4, "known prefix:name"),
        ('as="?mean"', 'as="?time"', 8, "the engine uses itself"),
        ('as="?mean"', 'as="?s1"', 8, "is there already"),
        ('<reader id="r">', '<reader id="r" dataset="nope">', 3, "no dataset 'nope'"),
        ("<topology", "<!DOCTYPE a [<!ENTITY b 'c'>]><topology", 1, "document type"),
    ],
)
def test_a_fault_is_told_with_its_line(old: str, new: str, line: int, reason: str) -> None:
    assert old in GOOD
    found = problems_of(GOOD.replace(old, new, 1))
    assert any(at == line and reason in told for at, told in found), found


def test_an_unknown_operator_is_told_with_those_there_are() -> None:
    found = problems_of(GOOD.replace("<output id=", "<outptu id=").replace("</output", "</outptu"))
    assert found[0][0] == 13
    assert "unknown operator <outptu>" in found[0][1]
    assert "aggregate" in found[0][1]


def test_all_faults_of_a_kind_are_told_at_once() -> None:
    text = GOOD.replace('window="2h"', 'window="x"').replace('of="?v"', 'of="?w"')
    assert {line for line, _ in problems_of(text)} == {6, 8}


def test_a_circle_through_several_operators_is_named() -> None:
    text = GOOD.replace('<input from="r" grouping="fields" fields="?s1"/>', '<input from="f"/>')
    ((line, told),) = problems_of(text)
    assert line in (6, 10)
    assert "a → f → a" in told or "f → a → f" in told


def test_the_message_names_file_line_and_reason() -> None:
    with pytest.raises(BadQuery, match=r"^q\.xml:10: there is no variable \?median"):
        parse_query(GOOD.replace("?mean &gt;", "?median &gt;"), "q.xml")


def test_levels_follow_the_stateful_operators() -> None:
    query = read_query(QUERIES / "opengov.xml")
    levels = {name: operator.level for name, operator in query.operators.items()}
    assert levels["aggregate"] == levels["filter"] == 1
    assert levels["join"] == 2
    assert levels["contracts"] == 0
    assert query.levels == 2
    assert query.operators["join"].readers == {"ticker", "contracts"}


def run_query(path: Path, tmp_path: Path, **options: Any) -> Path:
    query = read_query(path)
    results = tmp_path / "results"
    settings = {"results_dir": str(results), "state_dir": str(tmp_path / "state"), **options}
    storm = LocalStorm(
        compile_query(query, options_class(query)(watermark_every=50, **settings)), seed=5
    )
    run_to_end(storm, results, {4: storm.components()})
    return results


def test_srbench_q3_in_xml_equals_the_batch_computation(tmp_path: Path) -> None:
    write_dataset(SRBench(stations=10), tmp_path / "data", SEED, 3, 2000)
    results = run_query(
        QUERIES / "srbench-q3.xml", tmp_path, data_dir=str(tmp_path / "data"), tasks=2,
        reader_tasks=2,
    )  # fmt: skip
    check_srbench(results)


def test_opengov_in_xml_equals_the_batch_computation(tmp_path: Path) -> None:
    data = tmp_path / "data"
    write_dataset(Ticker(companies=24), data / "ticker", SEED, 2, 2400)
    write_dataset(Contracts(companies=24), data / "contracts", SEED, 2, 96, zipped=True)
    results = run_query(
        QUERIES / "opengov.xml", tmp_path, data_dir=str(data), tasks=2, ticker_tasks=2,
        contracts_tasks=1,
    )  # fmt: skip
    check_opengov(results)


def test_averages_and_a_triple_pattern_of_its_own(tmp_path: Path) -> None:
    data = tmp_path / "data.nt"
    lines = [
        f'<http://x/s{i % 2}> <http://x/value> "{i}"^^<http://www.w3.org/2001/XMLSchema#integer> '
        f"[{i * 600_000}] .\n"
        for i in range(12)
    ]
    data.write_text("".join(lines) + "this is no triple\n")
    text = GOOD.replace(
        '<reader id="r">',
        f'<reader id="raw" files="{data}"/>\n  <triple-pattern id="r"><input from="raw"/>',
    ).replace("</reader>", "</triple-pattern>")
    path = tmp_path / "q.xml"
    path.write_text(text)
    results = run_query(path, tmp_path)
    found = {(r["s1"], r["time"]): r["mean"] for r in read_results(results).values()}
    hour = 3_600_000
    # s0 has the values 0 2 4 | 6 8 10 in its two hours, s1 1 3 5 | 7 9 11.
    assert found == {
        ("http://x/s0", hour): 2.0,
        ("http://x/s0", 2 * hour): 5.0,
        ("http://x/s0", 3 * hour): 8.0,
        ("http://x/s1", hour): 3.0,
        ("http://x/s1", 2 * hour): 6.0,
        ("http://x/s1", 3 * hour): 9.0,
    }
