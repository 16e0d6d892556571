"""The tail of log files, and their growth."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path


def last_lines(path: Path, count: int) -> list[str]:
    """The last lines of a file; empty if it is not there (yet)."""
    try:
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    except FileNotFoundError:
        return []
    return lines[-count:] if count > 0 else []


def follow(
    find: Callable[[], Sequence[Path]], pause: Callable[[float], None] = time.sleep
) -> Iterator[tuple[Path, str]]:
    """Lines that are added from now on, with their file; also of files that appear later.

    A file that shrinks has been rolled and is read from its beginning.
    """
    offsets = {path: path.stat().st_size for path in find() if path.exists()}
    while True:
        for path in find():
            start = offsets.get(path, 0)
            try:
                if path.stat().st_size < start:
                    start = 0
                with path.open("rb") as handle:
                    handle.seek(start)
                    grown = handle.read()
            except FileNotFoundError:
                continue
            whole, newline, _ = grown.rpartition(b"\n")
            offsets[path] = start + len(whole) + len(newline)
            if newline:
                for line in whole.decode("utf-8", errors="replace").split("\n"):
                    yield path, line
        pause(0.3)
