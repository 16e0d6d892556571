"""One Spark session per command: quiet, on loopback when local, with our code on every executor."""

from __future__ import annotations

import atexit
import contextlib
import os
import shutil
import sys
import tempfile
import warnings
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from brain.errors import StormbrainError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

DEFAULT_MASTER = "local[*]"
JAVA_OPTIONS = "spark.driver.extraJavaOptions"
VERBOSE_LOG = Path(__file__).with_name("log4j2-verbose.xml")
CODE_ARCHIVE = "stormbrain-code.zip"

SETTINGS: Mapping[str, str] = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.session.timeZone": "UTC",
    # Topology ids are names, also when one looks like a number or a date.
    "spark.sql.sources.partitionColumnTypeInference.enabled": "false",
    # A log file holds few topologies and days: keep their writers open rather than sort the rows.
    "spark.sql.maxConcurrentOutputFileWriters": "64",
    "spark.sql.parquet.columnarReaderBatchSize": "8192",
    "spark.sql.adaptive.coalescePartitions.parallelismFirst": "false",
    "spark.sql.streaming.metricsEnabled": "false",
}


class SparkProblem(StormbrainError):
    """Spark could not start or a job of it failed."""


@contextlib.contextmanager
def spark_session(
    master: str | None = None,
    *,
    app: str = "stormbrain-pipeline",
    verbose: bool = False,
    driver_memory: str = "1g",
    settings: Mapping[str, str] | None = None,
) -> Iterator[SparkSession]:
    """The session that all jobs of one command share; stopped at the end, also on Ctrl-C.

    Under ``spark-submit`` the session's master and memory are those that it was given. Without
    ``master`` the jobs run embedded, on ``local[*]``. A session that is running already (a
    notebook's, say) is used as it is, and left running.
    """
    running = _running()
    if running is not None:
        with _one_line_errors():
            yield running
        return
    submitted = "PYSPARK_GATEWAY_PORT" in os.environ
    if not submitted:
        require_java()
    spark = _start(master, app, verbose, driver_memory, settings or {}, submitted)
    try:
        with _one_line_errors():
            yield spark
    finally:
        with contextlib.suppress(Exception):
            spark.stop()


def _running() -> SparkSession | None:
    if "pyspark" not in sys.modules:
        return None
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    # The "active" session is one of a thread; what matters is whether the process has any.
    if SparkContext._active_spark_context is None:
        return None
    return SparkSession.builder.getOrCreate()


def require_java() -> None:
    home = os.environ.get("JAVA_HOME")
    if home:
        if not (Path(home) / "bin" / "java").exists():
            raise SparkProblem(
                f"JAVA_HOME is {home}, where there is no bin/java",
                "set JAVA_HOME to a Java 17 (or newer) installation, or unset it",
            )
    elif shutil.which("java") is None:
        raise SparkProblem(
            "Spark needs Java, and there is no java on the PATH",
            "install a Java 17 (or newer) runtime, or set JAVA_HOME",
        )


def _start(
    master: str | None,
    app: str,
    verbose: bool,
    driver_memory: str,
    settings: Mapping[str, str],
    submitted: bool,
) -> SparkSession:
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    # Said whenever pandas 3 is installed; the pipeline hands Arrow to Spark, never pandas.
    warnings.filterwarnings("ignore", message="PySpark does not yet fully support pandas")
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.appName(app)
    local = not submitted and runs_in_process(master or DEFAULT_MASTER)
    if not submitted or master:
        builder = builder.master(master or DEFAULT_MASTER)
    options = dict(SETTINGS)
    if not submitted:
        options["spark.driver.memory"] = driver_memory
    if local:
        options |= {
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.driver.host": "127.0.0.1",
            "spark.sql.shuffle.partitions": str(2 * (os.cpu_count() or 1)),
        }
    options |= settings
    if verbose and not submitted:
        given = options.get(JAVA_OPTIONS, "")
        options[JAVA_OPTIONS] = f"{given} -Dlog4j2.configurationFile={VERBOSE_LOG.as_uri()}".strip()
    for key, value in options.items():
        builder = builder.config(key, value)
    with _quiet_jvm(verbose) as noise:
        try:
            spark = builder.getOrCreate()
        except Exception as e:
            raise SparkProblem(
                f"Spark did not start on {master or DEFAULT_MASTER}: {_why(e, noise)}",
                "run again with --verbose to see all that Spark says",
            ) from e
    spark.sparkContext.setLogLevel("INFO" if verbose else "OFF")
    if not runs_in_process(spark.sparkContext.master):
        _ship_code(spark)
    return spark


def runs_in_process(master: str) -> bool:
    """Whether executors are threads of the driver; ``local-cluster`` has processes of their own."""
    return master == "local" or master.startswith("local[")


@contextlib.contextmanager
def _quiet_jvm(verbose: bool) -> Iterator[IO[bytes] | None]:
    """The JVM inherits our stderr when it starts; lend it an unnamed file in its place."""
    if verbose:
        yield None
        return
    sys.stderr.flush()
    kept = os.dup(2)
    with tempfile.TemporaryFile() as noise:
        os.dup2(noise.fileno(), 2)
        try:
            yield noise
        finally:
            os.dup2(kept, 2)
            os.close(kept)


def _why(error: Exception, noise: IO[bytes] | None) -> str:
    if noise is not None:
        noise.seek(0)
        said = noise.read().decode(errors="replace").splitlines()
        telling = [line for line in said if "rror" in line or "xception" in line]
        if telling:
            return telling[0].strip()
    return first_line(error)


def _ship_code(spark: SparkSession) -> None:
    """Executors elsewhere need the parsing code; they bring Python and pyarrow themselves.

    They fetch the archive from the driver when their first task starts, so it stays until the end.
    """
    root = Path(__file__).resolve().parent.parent
    directory = tempfile.mkdtemp(prefix="stormbrain-")
    atexit.register(shutil.rmtree, directory, ignore_errors=True)
    archive = Path(directory) / CODE_ARCHIVE
    with zipfile.ZipFile(archive, "w") as z:
        for path in [root / "__init__.py", root / "errors.py", *root.glob("pipeline/*.py")]:
            z.write(path, Path("brain") / path.relative_to(root))
    spark.sparkContext.addPyFile(str(archive))


@contextlib.contextmanager
def _one_line_errors() -> Iterator[None]:
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    try:
        yield
    except (Py4JError, PySparkException) as e:
        raise SparkProblem(
            f"a Spark job failed: {first_line(e)}", "run again with --debug for the whole story"
        ) from e


def first_line(error: BaseException) -> str:
    """The line of a Spark error that tells the cause: the innermost one."""
    said: Any = getattr(error, "java_exception", None)
    if said is not None:
        while said.getCause() is not None:
            said = said.getCause()
        return str(said.toString()).splitlines()[0]
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    causes = [line for line in lines if line.startswith("Caused by:")]
    return (causes or lines or [type(error).__name__])[-1 if causes else 0]
