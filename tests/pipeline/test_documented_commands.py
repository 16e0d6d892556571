"""The commands of docs/pipeline.md (and the one of docs/simulation.md that takes a graph), run as
they stand there, with and without what is in brackets."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from brain.pipeline.generate import Shape, word_count, write_logs
from tests.docs.shell_blocks import ROOT, blocks
from tests.harness.command import run
from tests.pipeline.test_follow import Receiver

ON_A_CLUSTER = ("yarn", "spark://")
"""Those run in test_masters.py."""


def lines(page: str, program: str) -> list[str]:
    found = [b for b in blocks() if b.page == ROOT / "docs" / page]
    text = "\n".join(b.body.replace("\\\n", " ") for b in found)
    return [
        line
        for line in text.splitlines()
        if line.startswith(program) and not any(w in line for w in ON_A_CLUSTER)
    ]


@pytest.fixture
def places(tmp_path: Path) -> dict[str, str]:
    """What stands for the names in capitals."""
    for i, name in enumerate(("logs", "even", "brain")):
        write_logs(tmp_path / name, word_count("parallel-1-1790000000"), shape=Shape(60, seed=i))
    return {
        "LOGS...": str(tmp_path / "logs"),
        "LOGS": str(tmp_path / "logs"),
        "STORE": str(tmp_path / "store"),
        "GRAPH": str(tmp_path / "graph"),
        "NAME": "parallel",
        "P.json": str(tmp_path / "p.json"),
        "BURSTS.json": str(tmp_path / "bursts.json"),
        "DIR": str(tmp_path / "out"),
        "even=PATH": f"even={tmp_path / 'even'}",
        "brain=PATH": f"brain={tmp_path / 'brain'}",
    }


def as_typed(line: str, places: dict[str, str], whole: bool) -> list[str]:
    text = re.sub(r"[\[\]]", "", line) if whole else re.sub(r"\[[^]]*\]", "", line)
    return [places.get(w, w) for w in shlex.split(text)[1:]]


@pytest.mark.slow
@pytest.mark.usefixtures("spark")
def test_the_commands_of_the_page_run_one_after_the_other(
    places: dict[str, str], tmp_path: Path
) -> None:
    receiver = Receiver()
    places["HOST:PORT"] = receiver.address
    shown = lines("pipeline.md", "stormbrain pipeline ")
    assert {line.split()[2] for line in shown} == {
        "ingest", "graph", "experiment", "learn", "bursts", "follow"
    }  # fmt: skip
    try:
        for line in shown:
            job = line.split()[2]
            for whole in (False, True) if "[" in line else (True,):
                if job == "learn" and not whole:
                    continue  # the paper's two queries take a while: tests/pipeline/test_learn.py
                words = as_typed(line, places, whole)
                if job == "learn":
                    words += ["--topology", "parallel-1-1790000000", "--machines", "2"]
                if job == "follow":
                    words += ["--for", "10s", "--from", "earliest", "--every", "200ms"]
                done = run(*words)
                assert done.code == 0, (line, done.error)
    finally:
        receiver.server.close()
    for made in ("p.json", "bursts.json", "graph/graph.json", "out/report.md", "out/live.json"):
        assert (tmp_path / made).stat().st_size, made

    (simulate,) = lines("simulation.md", "stormbrain simulate GRAPH")
    done = run(*as_typed(simulate, places, True))
    assert done.code == 0, done.error
