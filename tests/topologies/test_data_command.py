"""``stormbrain data`` writes data that the readers take, and refuses what cannot be meant."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from topologies.data.catalogue import DATASETS
from topologies.data.dataset import read_partition


def stormbrain(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", "from brain.cli.main import main; main()", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)


def test_data_is_written_as_asked(tmp_path: Path) -> None:
    out = tmp_path / "taxi"
    done = stormbrain("data", "taxi", str(out), "-n", "500", "-p", "3", "--seed", "4", "--gzip")
    assert done.returncode == 0, done.stderr
    assert "500 events of taxi in 3 files" in done.stdout
    taxi = DATASETS["taxi"]
    read = [e for p in range(3) for e in read_partition(taxi, out, p, 3, print)]
    assert sorted(read) == sorted(taxi.generate(4, 0, 1, 500))


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["data", "weather", "out"], "there is no data 'weather'"),
        (["data", "taxi"], "OUT: is missing"),
        (["data", "taxi", ".", "-n", "5"], "not an empty directory"),
        (["data", "taxi", "out", "-p", "0"], "must be 1 or more"),
    ],
)
def test_what_cannot_be_meant_is_refused(arguments: list[str], told: str) -> None:
    done = stormbrain(*arguments)
    assert done.returncode == 2
    assert told in done.stderr
