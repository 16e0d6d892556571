"""``stormbrain bench report``: the results on record as Markdown and HTML."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def register(app: typer.Typer) -> None:
    """Adds the command to the group ``bench``."""
    from brain.cli.bench import bench_app

    bench_app.command()(report)


def report(
    root: Annotated[
        Path, typer.Option(help="The repository, with its benchmarks/ and docs/.")
    ] = Path(),
    results: Annotated[
        Path | None, typer.Option(help="Of experiments. [benchmarks/results/bench]")
    ] = None,
    readme: Annotated[
        bool, typer.Option("--readme", help="Put the table into README.md, between its markers.")
    ] = False,
    snippet: Annotated[
        bool, typer.Option("--snippet", help="Only print the README's table.")
    ] = False,
) -> None:
    """Write docs/benchmark-report.md and .html from what was measured and simulated so far."""
    from brain.bench.report.assemble import Sources, put_into_readme, readme_snippet, write
    from brain.bench.results import load_results
    from brain.cli.output import console
    from brain.errors import BadInput
    from brain.extras import require

    sources = Sources(root, results)
    if not (root / "benchmarks").is_dir():
        raise BadInput("--root", f"{root} has no benchmarks/", "run it in the repository")
    if snippet:
        print(readme_snippet(load_results(sources.bench), sources))
        return
    require("plots")
    for path in write(sources):
        console.print(str(path), markup=False)
    if readme:
        changed = put_into_readme(
            root / "README.md", readme_snippet(load_results(sources.bench), sources)
        )
        console.print("README.md" if changed else "README.md was up to date", markup=False)
