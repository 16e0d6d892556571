"""An experiment from its file to its result: testbed, brain, runs in turn, each written at once."""

from __future__ import annotations

import json
import os
import platform
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import groupby
from pathlib import Path
from typing import Any

from brain.algorithms.localsearch_parts.warmup import warm_up
from brain.bench.experiment import Case, Experiment
from brain.bench.one_run import conduct
from brain.bench.results import RESULTS_DIR, ExperimentResult, Run, RunStatus, load_result
from brain.cluster.storm_home import STORM_VERSION
from brain.demo.run import brain_process
from brain.errors import BadInput, StormbrainError
from brain.testbed import Testbed, cannot_use_namespaces
from brain.testbed.cgroups import cannot_limit

OUT = Path("out/bench")
"""Logs of the brain, and of Storm where a run failed."""

Tell = Callable[[str], None]


def run_experiment(
    experiment: Experiment,
    file: Path,
    *,
    quick: bool = False,
    fresh: bool = False,
    loopback: bool = False,
    until: float | None = None,
    directory: Path = RESULTS_DIR,
    command: str = "",
    tell: Tell = lambda _: None,
) -> ExperimentResult:
    """Makes the runs that are not on record yet; begins none after ``until`` (time.monotonic).

    An interrupt ends everything that was started and keeps the finished runs.
    """
    mode = _mode(loopback, tell)
    result = _on_record(experiment, quick, mode, directory, fresh) or ExperimentResult(
        experiment=experiment.to_json(),
        file=str(file),
        digest=experiment.digest(),
        quick=quick,
        machine=machine_facts(),
        testbed={"mode": mode, "cannot_measure": _cannot(mode)},
        command=command,
    )
    result = replace(result, experiment=experiment.to_json())
    done = {run.key for run in result.runs if run.status is not RunStatus.FAILED}
    todo = [key for key in experiment.order() if (key[0].name, key[1], key[2]) not in done]
    total = len(experiment.order())
    if len(todo) < total:
        tell(f"{experiment.name}: {total - len(todo)} of {total} runs are on record already")
    if todo:
        tell("compiling the algorithms, so that no run waits for that")
        warm_up()
    for shape, group in groupby(todo, key=lambda key: key[0].cluster):
        turns = list(group)
        if _late(until):
            break
        with _testbed(experiment, turns[0][0], mode, tell) as bed:
            scheduler_class = None
            for case, label, repeat in turns:
                if _late(until):
                    break
                wanted = experiment.scheduler(label).storm_scheduler
                if scheduler_class != wanted:
                    _use_scheduler(bed, wanted, tell)
                    scheduler_class = wanted
                number = total - len(todo) + todo.index((case, label, repeat)) + 1
                words = f"{experiment.name} {number}/{total} {case.name} {label} #{repeat + 1}"
                tell(f"{words}: submitting on {shape.nodes} nodes")
                run = conduct(bed, experiment, case, label, repeat, _after(tell, words))
                tell(f"{words}: {_words(run)}")
                if run.status is RunStatus.FAILED:
                    _keep_logs(bed, experiment)
                kept = tuple(one for one in result.runs if one.key != run.key)
                result = replace(result, runs=(*kept, run))
                result.save(directory)
    return result


def _late(until: float | None) -> bool:
    return until is not None and time.monotonic() > until


def _after(tell: Tell, words: str) -> Tell:
    return lambda said: tell(f"{words}: {said}")


def _words(run: Run) -> str:
    wire = "–" if run.wire_bytes is None else f"{run.wire_bytes / 1e6:.2f} MB/s between nodes"
    latency = "–" if run.latency_ms is None else f"{run.latency_ms:.0f} ms"
    said = f"{run.throughput:,.0f} tuples/s, {latency}, {wire}"
    return said if run.status is RunStatus.VALID else f"{said}; {run.status}: {run.reasons}"


def _mode(loopback: bool, tell: Tell) -> str:
    if loopback:
        return "loopback"
    if reason := cannot_use_namespaces():
        tell(f"{reason}: on loopback, without limits and without bytes on the wire")
        return "loopback"
    return "netns"


def _cannot(mode: str) -> list[str]:
    if mode == "loopback":
        return [
            "bytes on the wire: supervisors share the loopback interface",
            "bandwidth limits, CPU limits and delays of nodes",
        ]
    reason = cannot_limit()
    return [] if reason is None else [reason]


def _on_record(
    experiment: Experiment, quick: bool, mode: str, directory: Path, fresh: bool
) -> ExperimentResult | None:
    """What was measured under the same declaration; runs of changed cases are dropped."""
    path = directory / f"{experiment.name}.json"
    if fresh or not path.exists():
        return None
    found = load_result(path)
    if (found.digest, found.quick, found.testbed["mode"]) != (experiment.digest(), quick, mode):
        raise BadInput(
            str(path),
            "was measured under another declaration, timing or testbed",
            "measure all of it anew: --fresh (the old result is replaced)",
        )
    now = {case["name"]: _comparable(case) for case in experiment.to_json()["cases"]}
    then = {case["name"]: _comparable(case) for case in found.experiment["cases"]}
    same = {name for name in now if name in then and now[name] == then[name]}
    return replace(found, runs=tuple(run for run in found.runs if run.case in same))


def _comparable(case: dict[str, Any]) -> str:
    return json.dumps({k: v for k, v in case.items() if k != "schedulers"}, sort_keys=True)


@contextmanager
def _testbed(experiment: Experiment, case: Case, mode: str, tell: Tell) -> Iterator[Testbed]:
    """The nodes of a case with Storm and a brain on them, ended whatever happens."""
    name = f"bench-{os.getpid()}"
    spec = case.cluster.spec(name, mode, {})
    if mode == "loopback":
        plain = tuple(replace(node, bandwidth_mbit=None, cpu_points=None) for node in spec.nodes)
        spec = replace(spec, nodes=plain)
    out = OUT / experiment.name
    out.mkdir(parents=True, exist_ok=True)
    with Testbed.up(spec, progress=tell) as bed:
        if bed.cluster.plugin_jar is None:
            raise StormbrainError("the plugin jar is not built", "run `make setup`")
        with brain_process(bed.cluster, out / "brain.log"):
            yield bed


def _use_scheduler(bed: Testbed, scheduler_class: str, tell: Tell) -> None:
    """Nimbus takes its scheduler when it starts; supervisors and workers do not care."""
    cluster = bed.cluster
    with cluster.nimbus() as nimbus:
        if nimbus.nimbus_conf()["storm.scheduler"] == scheduler_class:
            return
    tell(f"restarting Nimbus with {scheduler_class.rpartition('.')[2]}")
    cluster.set_conf({"storm.scheduler": scheduler_class})
    cluster.kill_daemon("nimbus")
    cluster.start_daemon("nimbus")
    cluster.wait_ready()


def _keep_logs(bed: Testbed, experiment: Experiment) -> None:
    target = OUT / experiment.name / "storm-logs"
    shutil.copytree(bed.cluster.logs_dir, target, dirs_exist_ok=True)


def machine_facts() -> dict[str, Any]:
    pages, size = os.sysconf("SC_PHYS_PAGES"), os.sysconf("SC_PAGE_SIZE")
    return {
        "cores": os.cpu_count(),
        "memory_mb": pages * size // 2**20,
        "kernel": platform.release(),
        "python": platform.python_version(),
        "storm": STORM_VERSION,
        "load_at_start": round(os.getloadavg()[0], 2),
        "commit": _commit(),
    }


def _commit() -> str | None:
    command = ["git", "rev-parse", "--short", "HEAD"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stdout.strip() or None
