"""``stormbrain pipeline``: metric logs in; graphs, profiles and results out."""

from __future__ import annotations

import contextlib
import json
import re
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from brain.errors import BadInput
from brain.extras import require

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from rich.console import Console

    from brain.pipeline.experiment import RunResult
    from brain.pipeline.ingest import IngestReport
    from brain.pipeline.store import Selection

pipeline_app = typer.Typer(
    help="The Spark jobs over metric logs. Paths may be local or any Hadoop URI.",
    no_args_is_help=True,
)

Master = Annotated[
    str | None, typer.Option(help="Spark master, e.g. spark://host:7077 or yarn. [local[*]]")
]
Memory = Annotated[str, typer.Option("--memory", help="Heap of an embedded Spark.")]
Verbose = Annotated[bool, typer.Option("--verbose", "-v", help="Show all that Spark says.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON, alone on stdout.")]
StorePath = Annotated[str, typer.Argument(metavar="STORE", help="What ingest wrote.")]
GraphPath = Annotated[str, typer.Argument(metavar="GRAPH", help="What graph wrote.")]


def register(app: typer.Typer) -> None:
    app.add_typer(pipeline_app, name="pipeline")


@pipeline_app.callback()
def _every_command() -> None:
    require("pipeline")


@pipeline_app.command()
def ingest(
    logs: Annotated[list[str], typer.Argument(metavar="LOGS...", help="Log directories or files.")],
    store: Annotated[str, typer.Option("--store", "-s", help="Where the Parquet goes.")],
    master: Master = None,
    memory: Memory = "1g",
    verbose: Verbose = False,
    as_json: AsJson = False,
) -> None:
    """Add what is new in the logs to a store: each line once, bad lines aside."""
    from brain.pipeline.ingest import ingest as run

    with _job(master, memory, verbose, "reading logs") as (spark, console):
        report = run(spark, logs, store)
    if as_json:
        print(json.dumps(vars(report)))
    else:
        _show_ingest(console, report)


@pipeline_app.command()
def graph(
    store: StorePath,
    out: Annotated[str, typer.Argument(metavar="GRAPH", help="Where the graph goes.")],
    logs: Annotated[
        list[str] | None, typer.Option(help="First ingest these logs; repeatable.")
    ] = None,
    slice_: Annotated[str, typer.Option("--slice", help="Length of a slice: 30s, 5m, 1h.")] = "60s",
    topology: Annotated[
        list[str] | None, typer.Option(help="Only this topology, by name or id; repeatable.")
    ] = None,
    since: Annotated[
        str | None, typer.Option(help="Only windows from then: 2026-11-18T10:00")
    ] = None,
    until: Annotated[str | None, typer.Option(help="Only windows before then.")] = None,
    problem: Annotated[
        Path | None, typer.Option(help="Also write a problem file (needs one --topology).")
    ] = None,
    workers: Annotated[int | None, typer.Option(help="Workers in the problem file.")] = None,
    slots: Annotated[int | None, typer.Option(help="Slots per node in the problem file.")] = None,
    master: Master = None,
    memory: Memory = "1g",
    verbose: Verbose = False,
    as_json: AsJson = False,
) -> None:
    """Communication graph per topology and time slice, with the traffic between nodes."""
    from brain.pipeline.graph import write_graph
    from brain.pipeline.ingest import ingest as run_ingest
    from brain.pipeline.store import Store

    if problem and len(topology or []) != 1:
        raise BadInput("--problem", "needs exactly one --topology")
    chosen, slice_ms = _selection(topology, since, until), _duration_ms(slice_)
    with _job(master, memory, verbose, "computing the graph") as (spark, console):
        taken = run_ingest(spark, logs, store) if logs else None
        if taken is not None and not as_json:
            _show_ingest(console, taken)
        rows = write_graph(spark, Store(spark, store), out, slice_ms, chosen)
    if problem and topology:
        from brain.pipeline.problem import problem_from_profile
        from brain.pipeline.profile import load_profile

        document = problem_from_profile(load_profile(out, topology[0]), workers, slots)
        problem.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    if as_json:
        document = {"graph": out, "rows": rows, "ingest": vars(taken) if taken else None}
        print(json.dumps(document))
    else:
        told = ", ".join(f"{n:,} {name}" for name, n in rows.items())
        console.print(f"{out}: {told}")


@pipeline_app.command()
def experiment(
    run: Annotated[
        list[str],
        typer.Option("--run", help="SCHEDULER=PATH of a run's logs or store; repeatable."),
    ],
    out: Annotated[Path, typer.Option("--out", "-o", help="Directory for tables and plots.")],
    topology: Annotated[str | None, typer.Option(help="Where runs hold several.")] = None,
    cut_first: Annotated[str, typer.Option(help="Cut off the beginning.")] = "60s",
    cut_last: Annotated[str, typer.Option(help="Cut off the end.")] = "60s",
    master: Master = None,
    memory: Memory = "1g",
    verbose: Verbose = False,
    as_json: AsJson = False,
) -> None:
    """Throughput, latency, traffic, load and downtime of runs, and tests between schedulers."""
    from brain.pipeline.experiment import measure_run
    from brain.pipeline.report import write_report
    from brain.pipeline.store import Store

    require("plots")
    named = [_named_run(r) for r in run]
    cuts = (_duration_ms(cut_first), _duration_ms(cut_last))
    results: list[RunResult] = []
    with _job(master, memory, verbose, "measuring runs") as (spark, console):
        for scheduler, path in named:
            with _as_store(spark, path) as store:
                results.append(measure_run(Store(spark, store), scheduler, topology, *cuts))
    written = write_report(results, out)
    if as_json:
        print(json.dumps([{**vars(r), "metrics": dict(r.metrics)} for r in results]))
        return
    from rich.markdown import Markdown

    console.print(Markdown((out / "report.md").read_text(encoding="utf-8")))
    console.print(f"{len(written)} files in {out}")


@pipeline_app.command()
def learn(
    graph: Annotated[
        str | None, typer.Argument(metavar="[GRAPH]", help="A graph; else the paper's queries.")
    ] = None,
    topology: Annotated[str | None, typer.Option(help="Topology id in the graph.")] = None,
    machines: Annotated[int, typer.Option(help="Machines to partition for.")] = 12,
    slices: Annotated[int, typer.Option(help="Slices to generate.")] = 8,
    objective: Annotated[
        str, typer.Option(help="METIS objective: vol as in the paper, cut, or both.")
    ] = "both",
    seed: Annotated[int, typer.Option(help="Same seed, same history.")] = 0,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Write all as JSON.")] = None,
    master: Master = None,
    memory: Memory = "1g",
    verbose: Verbose = False,
    as_json: AsJson = False,
) -> None:
    """KATTS: how well do past slices predict a good placement, against an oracle?"""
    from rich.table import Table

    from brain.pipeline.learn import judge_all

    with _job(master, memory, verbose, "partitioning slices") as (spark, console):
        documents = judge_all(spark, graph, topology, machines, slices, objective, seed)
    if out:
        out.write_text(json.dumps(documents, indent=1) + "\n", encoding="utf-8")
    if as_json:
        print(json.dumps(documents))
        return
    table = Table("history", "objective", "strategy", "network messages", "load RSD")
    for d in documents:
        for strategy, s in d["summary"].items():
            table.add_row(
                d["history"],
                d["objective"],
                strategy,
                f"{s['network_percent']:.2f} %",
                f"{s['load_rsd_percent']:.2f} %",
            )
    console.print(table)


@pipeline_app.command()
def follow(
    logs: Annotated[str, typer.Argument(metavar="LOGS", help="The log directory.")],
    out: Annotated[str, typer.Option("--out", "-o", help="For live.json and the checkpoint.")],
    brain: Annotated[
        str | None,
        typer.Option(help="Publish windows to the brain that leads: HOST:PORT of any, or of all."),
    ] = None,
    token: Annotated[
        str | None, typer.Option(envvar="STORMBRAIN_TOKEN", help="The brain's token.")
    ] = None,
    every: Annotated[str, typer.Option(help="How often to look: 1s.")] = "1s",
    horizon: Annotated[str, typer.Option(help="How far back the graph looks.")] = "60s",
    begin: Annotated[
        str, typer.Option("--from", help="latest or earliest, at the first start.")
    ] = "latest",
    for_: Annotated[str | None, typer.Option("--for", help="Stop after this long.")] = None,
    master: Master = None,
    memory: Memory = "512m",
    verbose: Verbose = False,
) -> None:
    """Keep the graph current from growing logs, and tell the brain; until Ctrl-C."""
    from brain.pipeline.follow import Follower
    from brain.pipeline.publish import Publisher, parse_addresses
    from brain.pipeline.watch import watch

    if begin not in ("latest", "earliest"):
        raise BadInput("--from", "is latest or earliest")
    publisher = Publisher(parse_addresses(brain), token) if brain else None
    until = time.monotonic() + _duration_ms(for_) / 1000 if for_ else None
    follower = Follower(out, publisher, _duration_ms(horizon))
    trigger = f"{_duration_ms(every)} milliseconds"
    with _job(master, memory, verbose, None) as (spark, console):
        query = follower.start(spark, logs, trigger, begin)
        try:
            watch(query, follower, console, until)
        finally:
            query.stop()
            if publisher:
                publisher.close()


@pipeline_app.command()
def bursts(
    graph: GraphPath,
    out: Annotated[str, typer.Argument(metavar="BURSTS.json", help="Where the statistics go.")],
    master: Master = None,
    memory: Memory = "1g",
    verbose: Verbose = False,
) -> None:
    """Season and burst statistics of every stream, for the brain's forecast."""
    from rich.table import Table

    from brain.pipeline.bursts import streams, write_bursts

    with _job(master, memory, verbose, "describing rates") as (spark, console):
        found = write_bursts(spark, graph, out)
    table = Table("topology", "stream", "mean/s", "peak/s", "bursts", "period")
    for name, h in streams(found):
        period = f"{h.season.period_ms / 1000:g} s" if h.season else "–"
        count = str(h.bursts.count) if h.bursts else "–"
        table.add_row(
            name, f"{h.source} → {h.target}", f"{h.mean:,.1f}", f"{h.peak:,.1f}", count, period
        )
    console.print(table)


@contextlib.contextmanager
def _job(
    master: str | None, memory: str, verbose: bool, what: str | None
) -> Iterator[tuple[SparkSession, Console]]:
    """One session for all jobs of the command, and a progress bar on stderr."""
    from rich.console import Console

    from brain.pipeline.progress import stage_progress
    from brain.pipeline.session import spark_session

    err = Console(stderr=True)
    with contextlib.ExitStack() as stack:
        if what:
            starting = err.status("starting Spark")
            starting.start()
            stack.callback(starting.stop)
        spark = stack.enter_context(spark_session(master, verbose=verbose, driver_memory=memory))
        if what:
            starting.stop()
            stack.enter_context(stage_progress(spark, what, err))
        yield spark, Console(soft_wrap=True)


def _show_ingest(console: Console, report: IngestReport) -> None:
    console.print(
        f"{report.lines:,} lines from {report.files_read:,} of {report.files_seen:,} files; "
        f"{report.corrupt:,} corrupt lines kept aside"
        + (f", {report.waiting_bytes:,} bytes half-written" if report.waiting_bytes else "")
    )
    for key in report.shrunk:
        console.print(f"shorter than before, not read: {key}", markup=False)
    for text in report.damaged:
        console.print(f"not read to its end: {text}", markup=False)
    for key, ms in report.ahead:
        console.print(f"clock ahead by {ms / 1000:.1f} s: {key}", markup=False)
    if report.back_steps:
        console.print(f"clocks were set back {report.back_steps} times")


@contextlib.contextmanager
def _as_store(spark: SparkSession, path: str) -> Iterator[str]:
    """A store as it is; logs through a store that is thrown away."""
    from brain.pipeline.hadoop import HadoopFiles
    from brain.pipeline.ingest import ingest as run
    from brain.pipeline.store import is_store

    if is_store(HadoopFiles(spark), path):
        yield path
        return
    if not spark.sparkContext.master.startswith("local"):
        raise BadInput(
            path,
            "is no store, and executors elsewhere cannot share a temporary one",
            "ingest the run's logs first, then give the store",
        )
    with tempfile.TemporaryDirectory(prefix="stormbrain-run-") as scratch:
        run(spark, [path], scratch)
        yield scratch


def _named_run(text: str) -> tuple[str, str]:
    name, equals, path = text.partition("=")
    if not equals or not name or not path:
        raise BadInput("--run", f"{text!r} is not SCHEDULER=PATH")
    return name, path


def _duration_ms(text: str) -> int:
    match = re.fullmatch(r"(\d+(?:\.\d+)?)(ms|s|m|h|d)", text.strip())
    if match is None:
        raise BadInput(text, "is no duration", "write 500ms, 30s, 5m, 2h or 1d")
    unit = {"ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}[match.group(2)]
    return round(float(match.group(1)) * unit)


def _time_ms(text: str | None) -> int | None:
    from datetime import UTC, datetime

    if text is None:
        return None
    try:
        moment = datetime.fromisoformat(text)
    except ValueError as e:
        raise BadInput(text, "is no time", "write 2026-11-18T10:00, in UTC") from e
    return int((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp() * 1000)


def _selection(topology: list[str] | None, since: str | None, until: str | None) -> Selection:
    from brain.pipeline.store import Selection

    return Selection(tuple(topology or ()), _time_ms(since), _time_ms(until))
