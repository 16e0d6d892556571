"""``stormbrain dashboard`` and ``dashboard-shot``: where the dashboard is, and a picture of it."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Annotated

import typer

from brain.cli.asking import BrainAt, asks_brain
from brain.cli.output import console, progress_console
from brain.errors import BadInput, StormbrainError

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
QUIET = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--no-first-run", "--hide-scrollbars",
)  # fmt: skip


def register(app: typer.Typer) -> None:
    app.command()(asks_brain(dashboard))
    app.command("dashboard-shot")(dashboard_shot)


def dashboard(brain: BrainAt) -> None:
    """Print where the leading brain's dashboard is served."""
    url = brain.ask("picture")["brain"]["dashboard"]
    if url is None:
        raise StormbrainError(
            "the leading brain serves no dashboard", "start it with --dashboard 127.0.0.1:8790"
        )
    console.print(url, markup=False)


def dashboard_shot(
    out: Annotated[Path, typer.Argument(help="PNG to write.")] = Path("docs/img/dashboard.png"),
    url: Annotated[
        str | None,
        typer.Option(help="A running dashboard; without, a local cluster is set up as a scene."),
    ] = None,
    size: Annotated[str, typer.Option(help="Width x height in pixels.")] = "1440x860",
    wait_secs: Annotated[float, typer.Option(min=1, help="For the page to settle.")] = 6.0,
) -> None:
    """Take a picture of a dashboard with Chromium: of a running one, or of a scene of its own."""
    find_browser()
    if url is not None:
        shoot(out, url, size, wait_secs)
    else:
        from brain.demo.scene import run_scene

        run_scene(
            lambda found: shoot(out, found, size, wait_secs),
            lambda message: progress_console.print(f"· {message}", markup=False),
        )
    console.print(f"{out}", markup=False)


def shoot(out: Path, url: str, size: str, wait_secs: float) -> None:
    """Runs a browser for one screenshot, in a profile of its own that is removed afterwards."""
    width, _, height = size.partition("x")
    if not (width.isdecimal() and height.isdecimal()):
        raise BadInput("--size", f"{size!r} is not width x height", "for example 1440x860")
    browser = find_browser()
    out.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="stormbrain-browser-") as profile:
        done = subprocess.run(
            [
                browser, *QUIET, f"--user-data-dir={profile}", f"--window-size={width},{height}",
                # The page's own time: it stands still while an answer is awaited.
                f"--virtual-time-budget={int(wait_secs * 1000)}",
                f"--screenshot={out.absolute()}", url,
            ],
            capture_output=True, text=True, timeout=wait_secs + 120,
        )  # fmt: skip
    if done.returncode != 0 or not out.exists():
        last = (done.stderr.strip().splitlines() or ["no output"])[-1]
        raise StormbrainError(f"{browser} took no picture of {url}: {last}", "is it served there?")


def find_browser() -> str:
    for name in BROWSERS:
        found = shutil.which(name)
        if found:
            return found
    raise StormbrainError("no browser is on the PATH", "install Chromium (Debian: chromium)")
