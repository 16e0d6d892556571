"""A whole experiment on real Storm, shortened: both schedulers, and it goes on where it stopped."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from brain.bench.conduct import run_experiment
from brain.bench.experiment import load_experiment
from brain.bench.results import RunStatus, load_result
from brain.cluster.paths import STATE_VARIABLE

DECLARATION = {
    "name": "small",
    "title": "Two lines on two nodes",
    "paper": "fischer2015",
    "topology": {
        "file": "topologies/payload.py",
        "options": {"depth": 2, "parallelism": 2, "rate": 100, "tuple_bytes": 2000},
        "workers": 2,
    },
    "cluster": {"nodes": 2, "slots": 2},
    "schedulers": ["default", "metis"],
    "repeats": 1,
    "timing": {"observe": 6, "settle": 3, "measure": 8, "cut": 1},
}


@pytest.mark.storm_full
@pytest.mark.timeout(400)
def test_an_experiment_from_file_to_result(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(STATE_VARIABLE, str(tmp_path / "state"))
    file = tmp_path / "small.yaml"
    file.write_text(yaml.safe_dump(DECLARATION))
    experiment = load_experiment(file)
    told: list[str] = []
    result = run_experiment(experiment, file, directory=tmp_path, tell=told.append)
    assert [run.status for run in result.runs] == [RunStatus.VALID] * 2, told
    default, metis = result.runs
    assert default.throughput == pytest.approx(200, rel=0.2)
    assert metis.replacement is not None
    assert len(metis.nodes) == 2
    assert default.hook_tuples > 0  # the weave crosses nodes under even
    if metis.replacement.outcome == "move":
        assert metis.hook_bytes < 0.5 * default.hook_bytes
    assert load_result(tmp_path / "small.json").runs == result.runs
    told.clear()
    again = run_experiment(experiment, file, directory=tmp_path, tell=told.append)
    assert again.runs == result.runs
    assert any("on record already" in said for said in told)
