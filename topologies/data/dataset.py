"""What a kind of data can do, and how files of it are read and written."""

from __future__ import annotations

import gzip
import heapq
import io
import itertools
import json
import logging
import math
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import IO, Any, ClassVar

from topologies.common.events import Event

log = logging.getLogger(__name__)

Counter = Callable[[str], None]
"""Counts one of what it is told, such as ``malformed``."""
_REPORTED_LINES = 5


class MalformedLine(ValueError):
    """A line that is not in the format of its kind; it is counted, reported and skipped."""


def ignore(what: str) -> None:
    """A ``Counter`` for those who do not want to know."""


def finite(text: str) -> float:
    """The number in ``text``. Neither ``nan`` nor ``inf`` can be compared or sent as JSON."""
    number = float(text)
    if not math.isfinite(number):
        raise MalformedLine(f"{text!r} is no number")
    return number


class Dataset:
    """A kind of data. ``generate`` gives the same events for the same arguments, always, and the
    union over all partitions does not depend on their number."""

    name: ClassVar[str]
    title: ClassVar[str]
    suffix: ClassVar[str] = "csv"
    unit: ClassVar[str] = "events"
    """What ``size`` counts."""

    def generate(
        self, seed: int, partition: int, partitions: int, size: int | None
    ) -> Iterator[Event]:
        """The events of one partition in time order; ``size`` in all partitions, None: endless."""
        raise NotImplementedError

    def format(self, event: Event) -> str:
        """The event as a line of the original's format."""
        raise NotImplementedError

    def parse(self, line: str) -> Event | None:
        """The event of a line, None for a line to be passed over; raises ``MalformedLine``."""
        raise NotImplementedError

    def read(self, path: Path, count: Counter) -> Iterator[Event]:
        """The events of a file, for kinds whose files are not read line by line."""
        return read_file(self, path, count)


def merge_by_time(streams: Iterable[Iterator[Event]]) -> Iterator[Event]:
    """One stream in time order; ties in the order of the streams."""
    return heapq.merge(*streams, key=lambda event: event[0])


def open_text(path: Path, mode: str = "r") -> IO[str]:
    """Opens plain or gzipped text. A gzipped file's bytes depend on its content alone."""
    if path.suffix != ".gz":
        return open(path, mode, encoding="utf-8", errors="replace")
    binary = gzip.GzipFile(path, f"{mode}b", mtime=0)
    return io.TextIOWrapper(binary, encoding="utf-8", errors="replace")


def read_lines(path: Path, count: Counter) -> Iterator[tuple[int, str]]:
    """The numbered lines of a plain or gzipped file. One that is damaged is read up to there."""
    number = 0
    try:
        with open_text(path) as file:
            for number, line in enumerate(file, 1):
                yield number, line.rstrip("\r\n")
    except (EOFError, gzip.BadGzipFile, zlib.error) as damage:
        count("malformed")
        log.warning("%s: damaged after line %d: %s", path, number, damage)


def read_file(dataset: Dataset, path: Path, count: Counter) -> Iterator[Event]:
    """The events of a file; malformed lines are counted, the first few told with their place."""
    bad = 0
    for number, line in read_lines(path, count):
        try:
            event = dataset.parse(line)
        except (MalformedLine, ValueError, OverflowError) as problem:
            bad += 1
            count("malformed")
            if bad <= _REPORTED_LINES:
                log.warning("%s:%d: skipped a malformed line: %s", path, number, problem)
            continue
        if event is not None:
            yield event
    if bad:
        log.warning("%s: %d malformed lines skipped", path, bad)


def data_files(directory: Path, partition: int = 0, partitions: int = 1) -> list[Path]:
    """The data files in ``directory`` (or the one file itself) that fall to a partition."""
    if directory.is_file():
        files = [directory]
    else:
        files = sorted(
            p for p in directory.iterdir() if p.is_file() and not p.name.startswith(("_", "."))
        )
    if not files:
        raise FileNotFoundError(f"{directory} holds no data files")
    return files[partition::partitions]


def read_partition(
    dataset: Dataset, directory: Path, partition: int, partitions: int, count: Counter
) -> Iterator[Event]:
    """The events that fall to a partition, its files merged by time."""
    files = data_files(directory, partition, partitions)
    return merge_by_time(dataset.read(path, count) for path in files)


def write_partition(
    dataset: Dataset,
    directory: Path,
    seed: int,
    partition: int,
    partitions: int,
    size: int,
    zipped: bool = False,
) -> int:
    """Writes one partition's file; the number of events in it."""
    directory.mkdir(parents=True, exist_ok=True)
    name = f"part-{partition:05d}.{dataset.suffix}" + (".gz" if zipped else "")
    written = 0
    with open_text(directory / name, "w") as file:
        for event in dataset.generate(seed, partition, partitions, size):
            file.write(dataset.format(event) + "\n")
            written += 1
    return written


def write_dataset(
    dataset: Dataset, directory: Path, seed: int, partitions: int, size: int, zipped: bool = False
) -> int:
    """Writes all partitions, one after the other; the number of events."""
    written = [
        write_partition(dataset, directory, seed, p, partitions, size, zipped)
        for p in range(partitions)
    ]
    describe(dataset, directory, seed, size, written)
    return sum(written)


def write_dataset_with_spark(
    dataset: Dataset, directory: Path, seed: int, partitions: int, size: int, zipped: bool = False
) -> int:
    """Writes the partitions as one Spark task each, for sizes where one core is not enough."""
    from pyspark.sql import SparkSession

    spark = SparkSession.builder.appName(f"stormbrain data {dataset.name}").getOrCreate()
    try:
        written = (
            spark.sparkContext.parallelize(range(partitions), partitions)
            .map(lambda p: write_partition(dataset, directory, seed, p, partitions, size, zipped))
            .collect()
        )
    finally:
        spark.stop()
    describe(dataset, directory, seed, size, written)
    return sum(written)


def describe(
    dataset: Dataset, directory: Path, seed: int, size: int, written: Sequence[int]
) -> None:
    """Leaves a note beside the files that says how they were made."""
    about: dict[str, Any] = {
        "kind": dataset.name,
        "seed": seed,
        "size": size,
        "events": list(written),
    }
    (directory / "_dataset.json").write_text(json.dumps(about, indent=1) + "\n")


def share(size: int | None, index: int, count: int) -> int | None:
    """How many of ``size`` things fall to ``index`` of ``count``; None (endless) stays None."""
    if size is None:
        return None
    return size // count + (1 if index < size % count else 0)


def up_to(n: int | None) -> Iterable[int]:
    """0, 1, 2 … below ``n``, or for ever."""
    return itertools.count() if n is None else range(n)
