"""The table on disk, valid for the machine and the solver that it was measured with."""

from __future__ import annotations

import json
import os
import platform
from importlib.metadata import version
from pathlib import Path

from brain.calibration.table import Row, Table

FORMAT = 1


def cache_path() -> Path:
    """``$XDG_CACHE_HOME/stormbrain/calibration.json``, under ``~/.cache`` by default."""
    base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(base) / "stormbrain" / "calibration.json"


def _made_with() -> dict[str, object]:
    return {
        "format": FORMAT,
        "machine": platform.machine(),
        "cores": os.cpu_count(),
        "highspy": version("highspy"),
    }


def load(path: Path) -> Table | None:
    """The cached table, or None if there is none for this machine and solver."""
    try:
        document = json.loads(path.read_text())
        if document["made_with"] != _made_with():
            return None
        return Table(alike=_rows(document["alike"]), measured=_rows(document["measured"]))
    except (OSError, ValueError, KeyError, TypeError):
        return None  # missing, damaged or of another format: measured anew


def save(table: Table, path: Path) -> None:
    """Writes the table whole or not at all, so that readers never see half of it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_suffix(f".{os.getpid()}.tmp")
    document = {"made_with": _made_with(), "alike": table.alike, "measured": table.measured}
    draft.write_text(json.dumps(document, indent=1))
    draft.replace(path)


def _rows(rows: list[list[float]]) -> tuple[Row, ...]:
    return tuple((int(tasks), float(seconds)) for tasks, seconds in rows)
