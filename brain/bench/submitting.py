"""Submits the topology of a case under a scheduler: streamparse files, and Java main classes."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from brain.bench.experiment import Subject, Timing
from brain.bench.schedulers import Scheduler
from brain.cluster.local import LocalCluster
from brain.cluster.prerequisites import find_java
from brain.errors import StormbrainError
from brain.submit.loading import load_topology_file
from brain.submit.submission import Submitter

TARGET = Path("storm-plugin/target")
TEST_JAR = TARGET / "storm-plugin-0.1.0-tests.jar"
WINDOW_SECS = 1
_NEVER_SECS = 86_400


def run_conf(scheduler: Scheduler, subject: Subject, timing: Timing) -> dict[str, Any]:
    """Every run: a fresh start without anything learnt, at most one re-placement."""
    return {
        "topology.brain.window.secs": WINDOW_SECS,
        "topology.brain.learn": False,
        "topology.brain.observe.secs": int(timing.observe),
        "topology.brain.first.replacement.secs": int(timing.observe),
        "topology.brain.cooldown.secs": _NEVER_SECS,
        "topology.brain.period.secs": _NEVER_SECS,
        "topology.brain.overload.secs": _NEVER_SECS,
        "topology.brain.min.gain.percent": 1.0,  # Fischer's setting of the greedy scheduler
        **subject.conf,
        **scheduler.conf,
    }


def submit(
    cluster: LocalCluster,
    subject: Subject,
    conf: Mapping[str, Any],
    name: str,
    results_dir: Path | None,
) -> str:
    """Submits it; its id."""
    options = dict(subject.options)
    if subject.java is not None:
        return _submit_java(cluster, subject, options, conf, name)
    path = Path(subject.file or "")
    file = load_topology_file(path)
    if getattr(file.module, "NEEDS_REDIS", False):
        from brain.cluster.redis import ensure_redis

        options["redis_url"] = ensure_redis(cluster.state_dir, cluster.control_host)
    if results_dir is not None:
        results_dir.mkdir(parents=True)
        options["results_dir"] = str(results_dir)
    settings = [f"{key}={_text(value)}" for key, value in {**options, **conf}.items()]
    with cluster.nimbus() as nimbus:
        return Submitter(nimbus).submit(path, name=name, settings=settings, workers=subject.workers)


def _submit_java(
    cluster: LocalCluster,
    subject: Subject,
    options: Mapping[str, Any],
    conf: Mapping[str, Any],
    name: str,
) -> str:
    if not TEST_JAR.exists():
        raise StormbrainError(f"{TEST_JAR} is not built", "run `make setup` in the repository")
    host, _, port = cluster.nimbus_address.partition(":")
    classpath = os.pathsep.join(
        [str(TEST_JAR), str(TARGET / "test-classes"), (TARGET / "test-classpath.txt").read_text()]
    )
    arguments = {**options, **conf}
    if subject.workers is not None:
        arguments["workers"] = subject.workers
    command = [str(find_java()), "-XX:TieredStopAtLevel=1", "-cp", classpath.strip(),
               str(subject.java), host, port, name, str(TEST_JAR),
               *(f"{key}={_text(value)}" for key, value in arguments.items())]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    if done.returncode != 0:
        said = [line for line in done.stderr.splitlines() if "Exception" in line]
        raise StormbrainError(f"{subject.java} could not be submitted: {(said or ['?'])[0]}")
    with cluster.nimbus() as nimbus:
        return nimbus.topology_id(name)


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)
