"""What the TrafficHook costs: the hook on and off in turns, within one running worker.

``make bench-hook`` → benchmarks/results/hook.json and docs/hook-benchmark.md. Runs of different
workers differ by far more than the hook costs (the compiler's luck, the machine's other work), so
the list of hooks that Storm looks at for every tuple is exchanged while the topology runs, in
pairs of short spans in random order (``SwitchingHook`` in storm-plugin/src/test). Two ratios, on
over off: tuples a second, and CPU per tuple of the worker with all processes below it, which other
work on the machine disturbs less. What the hook's own threads burn is counted apart and added.
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console

from brain.cluster.local import LocalCluster
from brain.cluster.storm_yaml import SMALL_JVM
from brain.errors import StormbrainError
from brain.submit.submission import Submitter, wait_until_gone, wait_until_up

ROOT = Path(__file__).parents[1]
TARGET = ROOT / "storm-plugin" / "target"
TEST_JAR = TARGET / "storm-plugin-0.1.0-tests.jar"
RESULTS = ROOT / "benchmarks" / "results" / "hook.json"
PAGE = ROOT / "docs" / "hook-benchmark.md"
SWITCH = "io.stormbrain.bench.SwitchingHook"
FULL_JVM = "-Xmx256m -XX:+UseSerialGC -Xss512k -XX:TieredStopAtLevel=4"
"""As an operator's worker: both compilers. The flags come after the local cluster's and win."""
CHILDOPTS = {"full JIT": FULL_JVM, "C1 only": f"-Xmx128m {SMALL_JVM}"}
CASES = ("java-full", "java-unacked", "java-c1", "streamparse")
RESAMPLES = 10_000

console = Console(stderr=True)


def main(
    cases: Annotated[list[str] | None, typer.Argument(help=f"Of {', '.join(CASES)}.")] = None,
    pairs: Annotated[int, typer.Option(help="Pairs of spans, one on and one off.")] = 200,
    millis: Annotated[int, typer.Option(help="Length of a span.")] = 300,
    warmup: Annotated[int, typer.Option(help="Seconds before the first pair.")] = 20,
    restarts: Annotated[int, typer.Option(help="Workers one after the other, per case.")] = 1,
) -> None:
    """Measures the cases and records them; other cases' results are kept."""
    wanted = cases or list(CASES)
    if unknown := set(wanted) - set(CASES):
        raise typer.BadParameter(f"{', '.join(sorted(unknown))}: choose of {', '.join(CASES)}")
    known = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    results: dict[str, Any] = {k: v for k, v in known.items() if k in CASES}
    settings = {"bench.switch.pairs": pairs, "bench.switch.millis": millis,
                "bench.switch.warmup.secs": warmup}  # fmt: skip
    # The measuring needs the tests' classes in the worker, whatever the topology's own jar is.
    conf = {"topology.classpath": str(TEST_JAR)}
    with LocalCluster.start(
        f"bench-hook-{os.getpid()}", nodes=1, slots=1, storm_conf=conf
    ) as cluster:
        for case in wanted:
            workers = [_run(cluster, case, settings) for _ in range(restarts)]
            results[case] = {**_summary(workers), "millis": millis, "warmup_secs": warmup}
            _record(results)
            console.print(f"{case}: {_sentence(results[case])}")


def _run(cluster: LocalCluster, case: str, settings: dict[str, Any]) -> list[dict[str, Any]]:
    folder = Path(tempfile.mkdtemp(prefix="bench-hook-"))
    out = folder / "spans.jsonl"
    settings = {**settings, "bench.switch.file": str(out), "topology.auto.task.hooks": SWITCH}
    name = f"chain-{case}"
    secs = settings["bench.switch.warmup.secs"] + 2.4 * (
        settings["bench.switch.pairs"] * settings["bench.switch.millis"] / 1000
    )
    with cluster.nimbus() as nimbus:
        if case == "streamparse":
            options = ["depth=3", "parallelism=1", f"topology.worker.childopts={FULL_JVM}"]
            pairs = [f"{k}={json.dumps([v] if k.endswith('.hooks') else v)}"
                     for k, v in settings.items()]  # fmt: skip
            topology_id = Submitter(nimbus).submit(
                ROOT / "topologies" / "parallel.py", name=name, workers=1, settings=options + pairs
            )
        else:
            _submit_java(cluster, name, case, settings)
            topology_id = nimbus.topology_id(name)
        wait_until_up(nimbus, topology_id)
        deadline = time.monotonic() + 120 + 2 * secs
        while not out.exists():
            if time.monotonic() > deadline:
                raise StormbrainError(f"{case}: no measurement within {deadline:.0f} s")
            time.sleep(0.5)
        nimbus.kill(name, wait_secs=0)
        wait_until_gone(nimbus, name)
    return [json.loads(line) for line in out.read_text().splitlines()]


def _submit_java(cluster: LocalCluster, name: str, case: str, settings: dict[str, Any]) -> None:
    host, _, port = cluster.nimbus_address.partition(":")
    classpath = (TARGET / "test-classpath.txt").read_text().strip()
    jvm = CHILDOPTS["C1 only" if case == "java-c1" else "full JIT"]
    options = {"bolts": 3, "ackers": 0 if case == "java-unacked" else 1,
               "topology.worker.childopts": jvm, **settings}  # fmt: skip
    subprocess.run(
        ["java", "-cp", f"{TEST_JAR}{os.pathsep}{TARGET / 'classes'}{os.pathsep}{classpath}",
         "io.stormbrain.bench.ChainTopology", host, port, name, str(TEST_JAR),
         *(f"{k}={v}" for k, v in options.items())],
        check=True, capture_output=True,
    )  # fmt: skip


def _summary(workers: list[list[dict[str, Any]]]) -> dict[str, Any]:
    """Ratios on over off, with 95 % bootstrap intervals over the pairs."""
    throughput, cpu, rate_off, cpu_off = [], [], [], []
    threads = total = 0.0
    for lines in workers:
        if "error" in lines[-1]:
            raise StormbrainError(f"the worker could not measure: {lines[-1]['error']}")
        threads += lines[-1]["hook_threads_ms"]
        total += lines[-1]["worker_cpu_ms"]
        pairs: dict[int, dict[bool, dict[str, float]]] = {}
        for line in lines[:-1]:
            pairs.setdefault(line["pair"], {})[line["on"]] = line
        for pair in pairs.values():
            on, off = pair[True], pair[False]
            if min(on["tuples"], off["tuples"]) <= 0:
                continue
            throughput.append((on["tuples"] / on["wall_ns"]) / (off["tuples"] / off["wall_ns"]))
            cpu.append((on["cpu_ms"] / on["tuples"]) / (off["cpu_ms"] / off["tuples"]))
            rate_off.append(1e9 * off["tuples"] / off["wall_ns"])
            cpu_off.append(1e3 * off["cpu_ms"] / off["tuples"])
    share = threads / total
    return {
        "workers": len(workers),
        "pairs": len(throughput),
        "throughput_ratio": _interval(throughput),
        "cpu_per_tuple_ratio": _interval(cpu),
        "hook_threads_share_of_cpu": share,
        "overhead_percent": {k: 100 * (v - 1 + share) for k, v in _interval(cpu).items()},
        "executed_per_sec_off": float(np.median(rate_off)),
        "cpu_us_per_executed_off": float(np.median(cpu_off)),
        "load_average": os.getloadavg()[0],
        "machine": f"{os.cpu_count()} cores, {platform.machine()}",
        "vm": workers[0][-1]["vm"],
        "time": time.strftime("%Y-%m-%d %H:%M"),
    }


def _interval(ratios: list[float]) -> dict[str, float]:
    """The geometric mean of the middle 80 % of the pairs, and its 95 % bootstrap interval."""
    logs = np.log(np.array(ratios))
    random = np.random.default_rng(1)
    cut = max(1, len(logs) // 10)

    def trimmed(sample: Any) -> Any:
        return np.sort(sample, axis=-1)[..., cut:-cut].mean(axis=-1)

    means = trimmed(random.choice(logs, (RESAMPLES, len(logs))))
    low, high = np.percentile(means, [2.5, 97.5])
    return {k: float(np.exp(v)) for k, v in
            {"mean": trimmed(logs), "low": low, "high": high}.items()}  # fmt: skip


def _sentence(case: dict[str, Any]) -> str:
    t, o = case["throughput_ratio"], case["overhead_percent"]
    return (
        f"throughput × {t['mean']:.3f} [{t['low']:.3f}, {t['high']:.3f}], "
        f"CPU per tuple {o['mean']:+.2f} % [{o['low']:+.2f}, {o['high']:+.2f}]"
    )


def _record(results: dict[str, Any]) -> None:
    RESULTS.parent.mkdir(parents=True, exist_ok=True)
    RESULTS.write_text(json.dumps(results, indent=2) + "\n", encoding="utf-8")
    rows = [
        f"| {case} | {r['workers']} × {r['pairs'] // r['workers']} | "
        f"{r['executed_per_sec_off']:,.0f} | {r['cpu_us_per_executed_off']:.2f} | "
        f"{r['throughput_ratio']['mean']:.3f} [{r['throughput_ratio']['low']:.3f}, "
        f"{r['throughput_ratio']['high']:.3f}] | {r['overhead_percent']['mean']:+.2f} "
        f"[{r['overhead_percent']['low']:+.2f}, {r['overhead_percent']['high']:+.2f}] | "
        f"{100 * r['hook_threads_share_of_cpu']:.2f} | {r['load_average']:.1f} |"
        for case, r in results.items()
    ]
    PAGE.write_text("\n".join([*_HEAD, *rows, ""]), encoding="utf-8")


_HEAD = (
    "# What the TrafficHook costs",
    "",
    "Made by `make bench-hook` (benchmarks/hook.py says how it is measured). A chain of a spout",
    "and three bolts at full speed in one worker; the hook is taken out and put back while it",
    "runs, in pairs of spans; intervals are 95 % bootstrap intervals over the pairs. A busy task",
    "stays counted in slices while the hook is out (`Sampling.PAUSES`), so a span shows the",
    "settled state, not the second or two in which the hook finds out that a task is busy.",
    "`java-full` and `java-unacked` run with both compilers, `java-c1` with the local cluster's",
    "small JVM, `streamparse` is `topologies/parallel.py` with its Python processes counted in.",
    "The CPU per tuple includes what the hook's own threads burn (shown apart as well). Load is",
    "the machine's load average at the end of a case: above the number of cores other work",
    "disturbed the throughput, and the CPU per tuple is the figure to look at.",
    "",
    "| case | pairs | executed/s, off | CPU µs per executed, off | throughput on/off "
    "| CPU per tuple, % | hook's threads, % of CPU | load |",
    "|---|---:|---:|---:|---|---|---:|---:|",
)


if __name__ == "__main__":
    typer.run(main)
