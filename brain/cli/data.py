"""``stormbrain data``: generated input for the benchmark topologies."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from brain.errors import BadInput
from brain.extras import require


def register(app: typer.Typer) -> None:
    app.command()(data)


def data(
    kind: Annotated[str, typer.Argument(help="What to generate; 'list' shows what there is.")],
    out: Annotated[Path | None, typer.Argument(help="Directory to write to.")] = None,
    size: Annotated[
        int, typer.Option("--size", "-n", help="How much, in the kind's own unit (see 'list').")
    ] = 100_000,
    seed: Annotated[int, typer.Option(help="The same seed gives the same data.")] = 0,
    partitions: Annotated[
        int, typer.Option("--partitions", "-p", help="Files to write: one a spout task.")
    ] = 1,
    gzip: Annotated[bool, typer.Option("--gzip", help="Compress the files.")] = False,
    spark: Annotated[
        bool, typer.Option("--spark", help="Write the partitions in parallel, with Spark.")
    ] = False,
) -> None:
    """Generate input data, in the format of the original, one file for each spout task."""
    from topologies.data.catalogue import DATASETS
    from topologies.data.dataset import write_dataset, write_dataset_with_spark

    if spark:
        require("pipeline")
    if kind == "list":
        for dataset in DATASETS.values():
            typer.echo(f"{dataset.name:<11} {dataset.title}; size counts {dataset.unit}")
        return
    if kind not in DATASETS:
        raise BadInput("KIND", f"there is no data {kind!r}", f"there is: {', '.join(DATASETS)}")
    if out is None:
        raise BadInput("OUT", "is missing", "name the directory to write to")
    if size < 1 or partitions < 1:
        raise BadInput("--size, --partitions", "must be 1 or more")
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise BadInput(str(out), "is not an empty directory", "remove it or choose another")
    out.mkdir(parents=True, exist_ok=True)
    write = write_dataset_with_spark if spark else write_dataset
    written = write(DATASETS[kind], out.resolve(), seed, partitions, size, gzip)
    typer.echo(f"{written} events of {kind} in {partitions} files under {out}")
