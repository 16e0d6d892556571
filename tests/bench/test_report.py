"""The report says what the results say, and what is missing; never more."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from brain.bench.report.assemble import (
    END,
    START,
    Sources,
    put_into_readme,
    readme_snippet,
    write,
)
from brain.bench.report.goals import auto_checks, verdicts
from brain.bench.report.validation import agreements, predictions
from brain.bench.report.words import change, number
from brain.bench.results import RunStatus
from brain.errors import BadInput
from tests.bench.made_up import goal, graph, moved, result, run

APART = graph([("n1", 6700), ("n2", 6700), ("n1", 6701)])
TOGETHER = graph([("n1", 6700), ("n1", 6700), ("n1", 6700)])
HALF = graph([("n1", 6700), ("n1", 6700), ("n2", 6700)])


@pytest.fixture
def sources(tmp_path: Path) -> Sources:
    (tmp_path / "benchmarks/experiments").mkdir(parents=True)
    return Sources(tmp_path)


def pages(sources: Sources) -> tuple[str, str]:
    write(sources)
    return sources.markdown.read_text(), sources.html.read_text()


def runs_of(**throughputs: list[float]) -> list:
    return [run(s, i, x) for s, own in throughputs.items() for i, x in enumerate(own)]


def test_a_ratio_reads_as_people_say_it() -> None:
    assert [change(r) for r in (0.12, 1.56, 4.2, 1.0, None)] == [
        "−88 %", "+56 %", "×4.2", "±0 %", "–",
    ]  # fmt: skip
    assert [number(v) for v in (12345.6, 0.01234, None)] == ["12,346", "0.0123", "–"]


def test_without_results_it_names_what_is_missing(sources: Sources) -> None:
    (sources.experiments / "soccer.yaml").write_text("name: soccer\n")
    markdown, html = pages(sources)
    for page in (markdown, html):
        assert "No results yet: soccer." in page
        assert "No results yet of" in page


def test_a_goal_is_reached_by_medians_of_valid_runs_only(sources: Sources) -> None:
    runs = runs_of(default=[100, 100, 110], auto=[170, 180, 160])
    runs.append(run("auto", 3, 1.0, status=RunStatus.INVALID, reasons=("lost 7 tuples",)))
    made = result(runs, goals=[goal()])
    (verdict,) = verdicts([made])
    assert verdict.reached
    assert verdict.ours == pytest.approx(1.7)
    made.save(sources.bench)
    markdown, html = pages(sources)
    assert "1 of 1 reached" in markdown
    assert "| Payload throughput | payload, base | +56 % | ≥ +56 % | +70 % |" in markdown
    for page in (markdown, html):
        assert "lost 7 tuples" in page
    assert "**invalid**" in markdown
    assert "<strong>invalid</strong>" in html


def test_a_goal_that_is_missed_says_what_the_runs_show() -> None:
    stay = moved("stay", "the gain is below 10 %")
    runs = runs_of(default=[100, 100, 101])
    runs += [run("auto", i, 104.0 + i, replacement=stay) for i in range(3)]
    (verdict,) = verdicts([result(runs, goals=[goal()])])
    assert verdict.reached is False
    assert "3 of 3 re-placements were not made: the gain is below 10 %" in verdict.reason
    (unknown,) = verdicts([result(runs_of(default=[1.0]), goals=[goal()])])
    assert unknown.reached is None
    assert "no run of auto yet" in unknown.reason


def test_auto_is_as_good_within_the_spread_of_the_best_other() -> None:
    close = result(runs_of(default=[50, 51, 52], metis=[100, 120, 140], auto=[105, 110, 108]))
    worse = result(runs_of(default=[50, 51, 52], metis=[100, 101, 102], auto=[80, 81, 82]))
    throughput = [
        next(c for c in auto_checks([r]) if c.measure == "throughput") for r in (close, worse)
    ]
    assert [(c.best, c.as_good) for c in throughput] == [("metis", True), ("metis", False)]


def test_the_title_of_an_experiment_cannot_break_the_page(sources: Sources) -> None:
    result(runs_of(default=[100], auto=[200])).save(sources.bench)
    _, html = pages(sources)
    assert "Payload &lt;3 KB&gt;" in html
    assert "<3 KB>" not in html


def test_pictures_are_small_and_linked(sources: Sources) -> None:
    result(runs_of(default=[100], auto=[200])).save(sources.bench)
    markdown, _ = pages(sources)
    linked = [f for f in sources.figures.iterdir() if f"img/bench/{f.name}" in markdown]
    assert len(linked) >= 2
    assert all(f.stat().st_size < 100_000 for f in linked)


def test_the_readme_table_goes_between_the_markers(sources: Sources) -> None:
    made = result(runs_of(default=[100], auto=[200]), goals=[goal()])
    readme = sources.root / "README.md"
    readme.write_text(f"before\n{START}\nold\n{END}\nafter\n")
    snippet = readme_snippet([made], sources)
    assert put_into_readme(readme, snippet)
    text = readme.read_text()
    assert text.startswith("before\n")
    assert text.endswith("after\n")
    assert "old" not in text
    assert "| Payload throughput | +56 % | +100 % | 2 nodes × 2 slots, 8 Mbit/s, netns |" in text
    assert not put_into_readme(readme, snippet)
    readme.write_text("no markers")
    with pytest.raises(BadInput, match="no place"):
        put_into_readme(readme, snippet)


def test_the_simulation_predicts_the_order_on_slow_links() -> None:
    """8 Mbit/s is 1 MB/s: two hops of 1 KB through the same interfaces, one hop, none."""
    runs = [run("default", i, 500.0, talk=APART, wire_bytes=1e6) for i in range(3)]
    runs += [run("metis", i, 990.0, talk=HALF, wire_bytes=1e6) for i in range(3)]
    runs += [run("auto", i, 50_000.0, talk=TOGETHER, wire_bytes=1e3) for i in range(3)]
    found = {p.scheduler: p for p in predictions([result(runs)])}
    assert found["metis"].predicted == pytest.approx(1.0, rel=0.05)  # out of n1 once either way
    assert found["metis"].predicted_bytes == pytest.approx(0.5)
    assert found["auto"].predicted > 10
    assert found["auto"].predicted_bytes == pytest.approx(0.0)
    (agreement,) = agreements(list(found.values()))
    assert agreement.pairs == 3
    assert agreement.pairs_right >= 2


def test_a_run_with_other_executors_is_not_compared() -> None:
    runs = [run("default", 0, 500.0, talk=APART), run("auto", 0, 900.0, talk=graph([("n1", 6700)]))]
    assert predictions([result(runs)]) == []


def test_simulated_and_learnt_results_are_shown(sources: Sources) -> None:
    (sources.root / "benchmarks/results").mkdir(parents=True, exist_ok=True)
    mean = {"network_percent": 1.5, "load_rsd_percent": 2.25}
    sources.learnt.write_text(
        json.dumps(
            [
                {
                    "history": "opengov",
                    "objective": "cut",
                    "machines": 12,
                    "summary": {"oracle": mean},
                }
            ]
        )
    )
    row = {
        "machines": 10, "executors": 518, "algorithm": "even", "status": "ok", "share": 0.9,
        "saturation": 100.0, "plan_seconds": 0.1, "plan_cpu_seconds": 0.1, "peak_mb": 100,
    }  # fmt: skip
    other = {**row, "algorithm": "auto", "share": 0.45, "saturation": 150.0}
    failed = {"machines": 10_000, "executors": 1_000_000, "algorithm": "auto", "failed": "exit 1"}
    sources.simulation.write_text(
        json.dumps(
            {
                "machine": {"cores": 2},
                "large": {
                    "result": [row, other, failed],
                    "load_average": [1.0, 2.0],
                    "date": "2026-01-01",
                    "command": "x",
                },
            }
        )
    )
    markdown, _ = pages(sources)
    assert "| opengov | cut | oracle | 29 … 37.7 | 1.50 | 7.04 | 2.25 |" in markdown
    assert "| auto | 10 | 518 | ok | 45.0 % | −50 % | +50 % |" in markdown
    assert "exit 1" in markdown
    assert "--only fischer`" in markdown
