"""requirements.py PYPROJECT brain|workers: the pinned requirements of one image.

The versions are those of pyproject.toml. What only the Spark pipeline and the plots need stays
out of the brain's image, of which it would be the larger part.
"""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path

OFFLINE_ONLY = frozenset({"pyspark", "pyarrow", "pandas", "matplotlib"})
ON_WORKERS = frozenset({"streamparse", "redis"})


def requirements(pyproject: Path, image: str) -> list[str]:
    read = tomllib.loads(pyproject.read_text(encoding="utf-8"))
    declared: list[str] = read["project"]["dependencies"]
    names = {line: re.split(r"[^A-Za-z0-9_.-]", line)[0] for line in declared}
    if image == "workers":
        return [line for line, name in names.items() if name in ON_WORKERS]
    to_build: list[str] = read["build-system"]["requires"]
    return to_build + [line for line, name in names.items() if name not in OFFLINE_ONLY]


if __name__ == "__main__":
    print("\n".join(requirements(Path(sys.argv[1]), sys.argv[2])))
