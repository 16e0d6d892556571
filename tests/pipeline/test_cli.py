"""The commands, as a user types them: one line for what is wrong, JSON alone on stdout."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from brain.cli import pipeline as cli
from brain.errors import BadInput
from brain.pipeline.generate import Shape, write_logs
from brain.pipeline.session import SparkProblem, require_java


def stormbrain(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    code = "from brain.cli.main import main; main()"
    return subprocess.run(
        [sys.executable, "-c", code, *arguments],
        capture_output=True,
        text=True,
        timeout=240,
        env=environment or None,
    )


@pytest.mark.usefixtures("spark")
def test_one_command_ingests_computes_and_writes_a_problem(tmp_path: Path) -> None:
    written = write_logs(tmp_path / "logs")
    store, graph, problem = (str(tmp_path / n) for n in ("store", "graph", "problem.json"))
    done = CliRunner().invoke(
        cli.pipeline_app,
        f"graph {store} {graph} --logs {tmp_path}/logs --slice 30s --topology wordcount "
        f"--problem {problem}".split(),
        catch_exceptions=False,
    )
    assert f"{written:,} lines from 4 of 4 files; 0 corrupt lines" in done.stdout
    document = json.loads(Path(problem).read_text())
    assert len(document["topologies"][0]["executors"]) == 12


def test_spark_is_quiet_unless_it_is_asked(tmp_path: Path) -> None:
    written = write_logs(tmp_path / "logs", shape=Shape(windows=2))
    code = "from brain.cli.main import main; main()"
    command = [sys.executable, "-c", code, "pipeline", "ingest", str(tmp_path / "logs"), "-s"]
    both = [
        subprocess.Popen(
            [*command, str(tmp_path / f"store{i}"), "--master", "local[1]", *more],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for i, more in enumerate(([], ["--verbose"]))
    ]
    (out, quiet), (also, verbose) = (p.communicate(timeout=200) for p in both)
    assert out == also == f"{written:,} lines from 4 of 4 files; 0 corrupt lines kept aside\n"
    assert quiet == ""
    assert " INFO DAGScheduler: " in verbose


def test_without_java_one_line_says_so(tmp_path: Path) -> None:
    done = stormbrain("pipeline", "ingest", str(tmp_path), "-s", "store", PATH="/nowhere")
    assert done.returncode == 1
    assert done.stderr.splitlines()[0] == (
        "error: Spark needs Java, and there is no java on the PATH"
    )
    assert done.stdout == ""


def test_a_wrong_java_home_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(SparkProblem, match="where there is no bin/java"):
        require_java()


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["graph", "s", "g", "--slice", "soon"], "soon: is no duration"),
        (["graph", "s", "g", "--problem", "p.json"], "--problem: needs exactly one --topology"),
        (["graph", "s", "g", "--since", "yesterday"], "yesterday: is no time"),
        (["experiment", "--run", "even", "-o", "out"], "'even' is not SCHEDULER=PATH"),
        (["follow", "logs", "-o", "out", "--from", "now"], "--from: is latest or earliest"),
        (["follow", "logs", "-o", "out", "--brain", "here"], "'here' is not HOST:PORT"),
    ],
)
def test_wrong_options_are_refused_before_spark_starts(arguments: list[str], why: str) -> None:
    result = CliRunner().invoke(cli.pipeline_app, arguments)
    assert isinstance(result.exception, BadInput)
    assert why in str(result.exception)


@pytest.mark.usefixtures("spark")
def test_json_stands_alone_on_stdout(tmp_path: Path) -> None:
    written = write_logs(tmp_path / "logs", shape=Shape(windows=2))
    arguments = ["ingest", str(tmp_path / "logs"), "-s", str(tmp_path / "store"), "--json"]
    first, again = (
        json.loads(CliRunner().invoke(cli.pipeline_app, arguments, catch_exceptions=False).stdout)
        for _ in range(2)
    )
    assert (first["lines"], first["corrupt"], again["lines"]) == (written, 0, 0)


@pytest.mark.usefixtures("spark")
def test_runs_are_measured_from_their_logs(tmp_path: Path) -> None:
    for i, name in enumerate(("even", "brain")):
        write_logs(tmp_path / name, shape=Shape(windows=6, seed=i))
    arguments = ["experiment", "-o", str(tmp_path / "out"), "--cut-first", "5s", "--cut-last", "5s"]
    for name in ("even", "brain"):
        arguments += ["--run", f"{name}={tmp_path / name}"]
    done = CliRunner().invoke(cli.pipeline_app, arguments, catch_exceptions=False)
    assert "throughput (tuples/s)" in done.stdout
    assert (tmp_path / "out" / "summary.csv").exists()


def test_durations_and_times() -> None:
    assert [cli._duration_ms(t) for t in ("250ms", "1.5s", "2m", "1h", "1d")] == [
        250,
        1500,
        120_000,
        3_600_000,
        86_400_000,
    ]
    assert cli._time_ms("1970-01-01T00:01") == 60_000
