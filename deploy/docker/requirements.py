"""requirements.py PYPROJECT brain|workers [EXTRA...]: the pinned requirements of one image.

The versions are those of pyproject.toml. A brain needs none of its extras; to have some of them in
the image all the same, name them (EXTRAS: "pipeline plots").
"""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Sequence
from pathlib import Path

ON_WORKERS = frozenset({"streamparse", "redis"})


def requirements(pyproject: Path, image: str, extras: Sequence[str] = ()) -> list[str]:
    read = tomllib.loads(pyproject.read_text(encoding="utf-8"))
    declared: list[str] = read["project"]["dependencies"]
    if image == "workers":
        return [line for line in declared if re.split(r"[^A-Za-z0-9_.-]", line)[0] in ON_WORKERS]
    wanted: list[str] = [*read["build-system"]["requires"], *declared]
    for extra in extras:
        wanted += read["project"]["optional-dependencies"][extra]
    return wanted


if __name__ == "__main__":
    print("\n".join(requirements(Path(sys.argv[1]), sys.argv[2], sys.argv[3:])))
