"""A progress bar over the tasks of Spark's running stages."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

REFRESH_S = 0.4


@contextlib.contextmanager
def stage_progress(spark: SparkSession, what: str, console: Console) -> Iterator[None]:
    """Shows what runs while the block runs; silent where nobody is watching."""
    if not console.is_terminal:
        yield
        return
    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.completed:.0f}/{task.total:.0f} tasks"),
        TimeElapsedColumn(),
    )
    over = threading.Event()
    with Progress(*columns, console=console, transient=True) as bar:
        shown = bar.add_task(what, total=1)
        tracker = spark.sparkContext.statusTracker()

        def watch() -> None:
            while not over.wait(REFRESH_S):
                with contextlib.suppress(Exception):  # the session may be stopping
                    stages = [tracker.getStageInfo(i) for i in tracker.getActiveStageIds()]
                    running = [s for s in stages if s is not None]
                    if running:
                        bar.update(
                            shown,
                            total=sum(s.numTasks for s in running),
                            completed=sum(s.numCompletedTasks for s in running),
                        )

        watcher = threading.Thread(target=watch, daemon=True)
        watcher.start()
        try:
            yield
        finally:
            over.set()
            watcher.join()
