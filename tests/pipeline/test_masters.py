"""The same job on executors that are processes of their own, with our code sent to them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from brain.pipeline.generate import Shape, write_logs
from brain.pipeline.session import CODE_ARCHIVE, runs_in_process

JOB = """
import json, sys
from brain.pipeline.graph import write_graph
from brain.pipeline.ingest import ingest
from brain.pipeline.session import spark_session
from brain.pipeline.store import Store

def where(batches):
    import pyarrow as pa
    import brain.pipeline.parse as parse
    for batch in batches:
        yield pa.RecordBatch.from_pydict({"file": [parse.__file__] * batch.num_rows})

logs, store, graph, master = sys.argv[1:]
with spark_session(master or None, settings={"spark.executor.memory": "512m"}) as spark:
    first = ingest(spark, [logs], store)
    again = ingest(spark, [logs], store)
    rows = write_graph(spark, Store(spark, store), graph)
    code = spark.range(1).mapInArrow(where, "file string").collect()[0]["file"]
    master = spark.sparkContext.master
print(json.dumps({"lines": first.lines, "again": again.lines, "rows": rows, "code": code,
                   "master": master}))
"""


def run(command: list[str], tmp_path: Path, *arguments: str) -> dict[str, object]:
    job = tmp_path / "job.py"
    job.write_text(JOB)
    done = subprocess.run(
        [*command, str(job), *arguments],
        capture_output=True,
        text=True,
        timeout=280,
        env={**os.environ, "PYSPARK_PYTHON": sys.executable},
    )
    assert done.returncode == 0, done.stderr[-2000:]
    answer: dict[str, object] = json.loads(done.stdout.splitlines()[-1])
    return answer


@pytest.mark.parametrize(
    ("master", "inside"),
    [("local", True), ("local[*]", True), ("local-cluster[1,1,512]", False), ("yarn", False)],
)
def test_only_threads_of_the_driver_need_no_code(master: str, inside: bool) -> None:
    assert runs_in_process(master) is inside


@pytest.mark.slow
@pytest.mark.parametrize("submitted", [False, True], ids=["--master", "spark-submit"])
def test_executors_elsewhere_run_the_code_they_are_sent(submitted: bool, tmp_path: Path) -> None:
    written = write_logs(tmp_path / "logs", shape=Shape(windows=6))
    paths = [str(tmp_path / name) for name in ("logs", "store", "graph")]
    master = "local-cluster[2,1,512]"
    if submitted:
        import pyspark

        program = str(Path(pyspark.__file__).parent / "bin" / "spark-submit")
        given = [program, "--master", master, "--conf", "spark.executor.memory=512m"]
        answer = run(given, tmp_path, *paths, "")
    else:
        answer = run([sys.executable], tmp_path, *paths, master)
    assert answer["master"] == master
    assert (answer["lines"], answer["again"]) == (written, 0)
    assert CODE_ARCHIVE in str(answer["code"])
    assert isinstance(answer["rows"], dict)
    assert answer["rows"]["edges"] > 0
