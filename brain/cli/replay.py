"""``stormbrain replay``: make a recorded decision again, offline."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Annotated

import typer

from brain.cli.output import console, print_json
from brain.errors import BadInput


def register(app: typer.Typer) -> None:
    app.command()(replay)


def replay(
    file: Annotated[Path, typer.Argument(help="A file from the brain's decisions folder.")],
    solve: Annotated[
        bool, typer.Option("--solve", help="Also run the algorithm again on the same problem.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="JSON on stdout.")] = False,
) -> None:
    """Make a recorded decision again from its inputs; exits with 1 if it comes out otherwise."""
    from brain.policy.replay import replay as run

    found = run(_read(file), solve)
    if as_json:
        print_json(
            {
                "same": found.same,
                "recorded": found.recorded,
                "again": found.again,
                "inputs_intact": found.inputs_intact,
                "same_placement": found.same_placement,
                "inter_node": found.solved.score.inter_node if found.solved else None,
            }
        )
    else:
        console.print(f"recorded: {found.recorded[0]}: {found.recorded[1]}", markup=False)
        console.print(f"again:    {found.again[0]}: {found.again[1]}", markup=False)
        if found.inputs_intact is False:
            console.print("the inputs in this file are not those that the decision was made from")
        if found.solved is not None:
            verdict = "the same placement" if found.same_placement else "another placement"
            console.print(
                f"{found.solved.algorithm} found {verdict}, "
                f"inter-node {found.solved.score.inter_node:.6g}"
            )
    if not found.same:
        raise typer.Exit(1)


def _read(path: Path) -> dict[str, object]:
    try:
        data = path.read_bytes()
        text = gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data
        document = json.loads(text)
    except (OSError, EOFError, ValueError) as e:
        raise BadInput(str(path), f"is not a decision file: {e}") from None
    if not isinstance(document, dict):
        raise BadInput(str(path), "is not a decision file: not a JSON object")
    return document
