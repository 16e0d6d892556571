"""The jar of a streamparse topology: its Python sources under ``resources/``."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterable, Iterator
from pathlib import Path

from brain.errors import StormbrainError
from brain.submit.loading import TopologyFile

RESOURCES = "resources"
_UNWANTED = {"__pycache__", ".git", ".mypy_cache", ".ruff_cache", ".pytest_cache"}
# The oldest date that a zip can hold; a fixed one makes equal sources an equal jar.
_DATE = (1980, 1, 1, 0, 0, 0)

# Imports the components just as streamparse_run will, with the sources at the end of the path.
_PROBE = """
import importlib, json, sys
sys.path.append(sys.argv[1])
for target in sys.argv[2:]:
    module, name = target.rsplit(".", 1)
    try:
        getattr(importlib.import_module(module), name)
    except ModuleNotFoundError as e:
        print(json.dumps({"target": target, "missing": e.name}))
        sys.exit(3)
    except Exception as e:
        print(json.dumps({"target": target, "error": f"{type(e).__name__}: {e}"}))
        sys.exit(3)
"""


class MissingOnWorkers(StormbrainError):
    """A component cannot be imported from what the workers will have."""


def source_files(file: TopologyFile) -> Iterator[Path]:
    """What the workers need: the whole package, or a single file with what it imports beside it."""
    package = file.root / file.top_level
    if package.is_dir():
        yield from (path for path in sorted(package.rglob("*")) if _wanted(path, file.root))
        return
    beside = {file.path}
    for module in list(sys.modules.values()):
        origin = getattr(module, "__file__", None)
        if origin and Path(origin).resolve().is_relative_to(file.root):
            path = Path(origin).resolve()
            if "site-packages" not in path.parts and path.suffix == ".py":
                beside.add(path)
    yield from sorted(beside)


def _wanted(path: Path, root: Path) -> bool:
    parts = path.relative_to(root).parts
    hidden = any(part.startswith(".") or part in _UNWANTED for part in parts)
    return path.is_file() and not hidden and path.suffix != ".pyc"


def pack(file: TopologyFile, jar: Path) -> None:
    """Writes the jar; equal sources give equal bytes."""
    with zipfile.ZipFile(jar, "w", zipfile.ZIP_DEFLATED) as out:
        for path in source_files(file):
            inside = f"{RESOURCES}/{path.relative_to(file.root).as_posix()}"
            entry = zipfile.ZipInfo(inside, _DATE)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = 0o644 << 16
            out.writestr(entry, path.read_bytes())


def check_imports(jar: Path, targets: Iterable[str], python: Path) -> None:
    """Imports every component (``module.Class``) from the jar alone with the workers' Python."""
    with tempfile.TemporaryDirectory(prefix="stormbrain-pack-") as scratch:
        with zipfile.ZipFile(jar) as packed:
            packed.extractall(scratch)
        sources = str(Path(scratch) / RESOURCES)
        command = [str(python), "-I", "-c", _PROBE, sources, *sorted(set(targets))]
        try:
            done = subprocess.run(
                command, capture_output=True, text=True, cwd=scratch, timeout=120, check=False
            )
        except (OSError, subprocess.SubprocessError) as e:
            raise MissingOnWorkers(f"cannot run the workers' Python {python}: {e}") from e
    if done.returncode == 0:
        return
    try:
        told = json.loads(done.stdout.strip().rpartition("\n")[2])
    except ValueError:
        said = (done.stderr or done.stdout).strip().rpartition("\n")[2]
        raise MissingOnWorkers(f"the workers' Python {python} fails: {said}") from None
    if "missing" in told:
        raise MissingOnWorkers(
            f"module {told['missing']}, which {told['target']} imports, is missing on the workers",
            f"put it beside the topology, in its package, or install it in {python}",
        )
    raise MissingOnWorkers(f"{told['target']} cannot be imported on the workers: {told['error']}")
