"""``stormbrain agent``: run an agent beside a supervisor."""

from __future__ import annotations

import os
import sys

import typer


def register(app: typer.Typer) -> None:
    app.command(
        context_settings={"allow_extra_args": True, "ignore_unknown_options": True},
        add_help_option=False,
    )(agent)


def agent(ctx: typer.Context) -> None:
    """Run an agent beside a supervisor (wide-area clusters); see `stormbrain agent --help`."""
    # In place of this process: the agent is to be small, and the command line is not.
    os.execv(sys.executable, [sys.executable, "-m", "brain.agent", *ctx.args])
