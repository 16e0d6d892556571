"""Reading a store that ingest wrote: one table per kind of line."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from brain.errors import BadInput
from brain.pipeline.hadoop import HadoopFiles
from brain.pipeline.ledger import Ledger
from brain.pipeline.schema import columns_of, ddl

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

DAY_MS = 86_400_000


@dataclass(frozen=True)
class Selection:
    """Which lines a job takes: of topologies by name or id, and of windows that start in a span."""

    topologies: tuple[str, ...] = ()
    since_ms: int | None = None
    until_ms: int | None = None


class Store:
    """Opening it finishes a batch that a crash left half moved; ingest alone adds to it."""

    def __init__(self, spark: SparkSession, path: str) -> None:
        self._spark = spark
        self._files = HadoopFiles(spark)
        self.path = self._files.resolve(path)
        if not is_store(self._files, self.path):
            raise BadInput(
                path,
                "is not a store that `stormbrain pipeline ingest` wrote",
                "ingest the metric logs first: stormbrain pipeline ingest LOGS STORE",
            )
        self.ledger = Ledger(self._files, self.path)
        self.ledger.roll_forward()

    def lines(self, kind: str, selection: Selection | None = None) -> DataFrame:
        """The lines of a kind (edge, task, window, node or corrupt) with ``topology``."""
        columns = columns_of(kind)
        schema = ddl({**columns, "topology": "string", "day": "string"})
        path = f"{self.path}/lines/kind={kind}"
        if not self._files.exists(path):
            return self._spark.createDataFrame([], schema).drop("day")
        frame = self._spark.read.schema(schema).parquet(path)
        if selection:
            frame = _select(frame, selection, timed="start" in columns)
        # Node lines of an agent name no topology; Hive's layout writes that as null.
        return frame.drop("day").fillna({"topology": ""})


def is_store(files: HadoopFiles, path: str) -> bool:
    return files.exists(f"{path}/_ledger")


def _select(frame: DataFrame, selection: Selection, timed: bool) -> DataFrame:
    from pyspark.sql import functions as F

    if selection.topologies:
        # An id is the name, a number and the time of submission: name-3-1790000000.
        name = F.regexp_replace("topology", r"-\d+-\d+$", "")
        wanted = list(selection.topologies)
        frame = frame.where(F.col("topology").isin(wanted) | name.isin(wanted))
    if not timed:
        return frame
    for bound, later in ((selection.since_ms, True), (selection.until_ms, False)):
        if bound is None:
            continue
        day = F.date_format(F.date_from_unix_date(F.lit(bound // DAY_MS)), "yyyy-MM-dd")
        if later:
            frame = frame.where((F.col("day") >= day) & (F.col("start") >= bound))
        else:
            frame = frame.where((F.col("day") <= day) & (F.col("start") < bound))
    return frame
