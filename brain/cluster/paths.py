"""Where the cache (STORM_HOME) and the state of local clusters live on this user's disk."""

from __future__ import annotations

import os
import re
from pathlib import Path

from brain.errors import BadInput

CACHE_VARIABLE = "STORMBRAIN_CACHE"
STATE_VARIABLE = "STORMBRAIN_STATE"

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,39}")


def cache_root() -> Path:
    """``$STORMBRAIN_CACHE``, else ``stormbrain`` under the XDG cache dir."""
    return _root(CACHE_VARIABLE, "XDG_CACHE_HOME", ".cache")


def state_root() -> Path:
    """``$STORMBRAIN_STATE``, else ``stormbrain`` under the XDG state dir."""
    return _root(STATE_VARIABLE, "XDG_STATE_HOME", ".local/state")


def clusters_root() -> Path:
    return state_root() / "clusters"


def cluster_dir(name: str) -> Path:
    """The state dir of one cluster; refuses names that would not stay inside the root."""
    if not _NAME.fullmatch(name):
        raise BadInput(
            "--name",
            f"{name!r} is not a name for a cluster",
            "use up to 40 letters, digits, '-' and '_', beginning with a letter or digit",
        )
    return clusters_root() / name


def _root(own: str, xdg: str, under_home: str) -> Path:
    chosen = os.environ.get(own)
    if chosen:
        return Path(chosen).expanduser().resolve()
    base = os.environ.get(xdg)
    return (Path(base) if base else Path.home() / under_home).resolve() / "stormbrain"
