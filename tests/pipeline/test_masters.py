"""The same jobs on executors that are processes of their own, with our code sent to them."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyspark
import pytest

from brain.pipeline.generate import Shape, write_logs
from brain.pipeline.session import CODE_ARCHIVE, runs_in_process
from tests.docs.shell_blocks import ROOT

MASTER = "local-cluster[{},1,512]"
"""Executors in JVMs of their own, which share nothing with the driver but the file system."""
LEAN = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
SETTINGS = {
    "spark.executor.memory": "512m",
    # Tiny data on many JVMs: without these, compiling takes nearly all of the time.
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.shuffle.partitions": "2",
    "spark.driver.extraJavaOptions": LEAN,
    "spark.executor.extraJavaOptions": LEAN,
}
JOB = """
import json, sys
from brain.pipeline.ingest import ingest
from brain.pipeline.session import spark_session

def where(batches):
    import os
    import pyarrow as pa
    import brain.pipeline.parse as parse
    for batch in batches:
        told = {"file": [parse.__file__], "parent": [os.getppid()]}
        yield pa.RecordBatch.from_pydict(told)

logs, store, master, settings = sys.argv[1:]
with spark_session(master, settings=json.loads(settings)) as spark:
    first = ingest(spark, [logs], store)
    again = ingest(spark, [logs], store)
    code = spark.range(1).mapInArrow(where, "file string, parent long").collect()[0]
    master = spark.sparkContext.master
print(json.dumps({"lines": first.lines, "again": again.lines, "master": master, **code.asDict()}))
"""


def answer(command: list[str]) -> tuple[dict[str, Any], str]:
    """What a program printed as JSON, last; and what it said besides."""
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        timeout=280,
        env={**os.environ, "PYSPARK_PYTHON": sys.executable},
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout.splitlines()[-1]), done.stderr


@pytest.mark.parametrize(
    ("master", "inside"),
    [("local", True), ("local[*]", True), ("local-cluster[1,1,512]", False), ("yarn", False)],
)
def test_only_threads_of_the_driver_need_no_code(master: str, inside: bool) -> None:
    assert runs_in_process(master) is inside


def test_an_executor_elsewhere_runs_the_code_it_is_sent(tmp_path: Path) -> None:
    written = write_logs(tmp_path / "logs", shape=Shape(windows=3))
    job = tmp_path / "job.py"
    job.write_text(JOB, encoding="utf-8")
    told, noise = answer(
        [sys.executable, str(job), str(tmp_path / "logs"), str(tmp_path / "store"),
         MASTER.format(1), json.dumps(SETTINGS)]
    )  # fmt: skip
    assert told["master"] == MASTER.format(1)
    assert (told["lines"], told["again"]) == (written, 0)
    assert CODE_ARCHIVE in told["file"]
    assert noise == ""


@pytest.mark.slow
def test_the_page_s_spark_submit_line_ingests_and_a_graph_is_shuffled_between_executors(
    tmp_path: Path,
) -> None:
    """The line of docs/pipeline.md, word by word but for master and paths; then the graph."""
    written = write_logs(tmp_path / "logs", shape=Shape(windows=6))
    page = (ROOT / "docs" / "pipeline.md").read_text(encoding="utf-8")
    (line,) = re.findall(r"^spark-submit (?:.*\\\n)*.*$", page, re.MULTILINE)
    submit = Path(pyspark.__file__).parent / "bin" / "spark-submit"
    conf = " ".join(f"--conf {shlex.quote(f'{k}={v}')}" for k, v in SETTINGS.items())
    for shown, here in (
        ("spark-submit ", f"{submit} {conf} "),
        ("spark://host:7077", shlex.quote(MASTER.format(2))),
        ("python3 -c", f"{sys.executable} -c"),
        ("s3a://bucket/brain-metrics", str(tmp_path / "logs")),
        ("s3a://bucket/store", str(tmp_path / "store")),
    ):
        assert shown in line
        line = line.replace(shown, here)
    told, _ = answer(["bash", "-euc", f"{line} --json"])
    assert told["lines"] == written
    again = line.replace(" ingest ", " graph ").replace(f" {tmp_path / 'logs'}", "")
    again = again.replace("--store ", "") + f" {tmp_path / 'graph'} --logs {tmp_path / 'logs'}"
    told, _ = answer(["bash", "-euc", f"{again} --json"])
    assert told["ingest"]["lines"] == 0
    assert told["rows"]["edges"] > 0
