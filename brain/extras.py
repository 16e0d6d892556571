"""What may be left out of an installation, and what to say where it is missed.

The brain itself needs none of these: an image with Spark and its friends would be thrice as large.
"""

from __future__ import annotations

from importlib.util import find_spec

from brain.errors import StormbrainError

EXTRAS: dict[str, tuple[str, ...]] = {
    "pipeline": ("pyspark", "py4j", "pyarrow", "pandas"),
    "plots": ("matplotlib",),
}
"""The extras of pyproject.toml, and the modules that each of them brings."""


class MissingExtra(StormbrainError):
    def __init__(self, extra: str, module: str) -> None:
        super().__init__(
            f"this needs {module}, which is not installed here",
            f"pip install 'stormbrain[{extra}]'",
        )


def require(*extras: str) -> None:
    """Called before anything long begins, so that it does not end for want of a plot."""
    for extra in extras:
        for module in EXTRAS[extra]:
            if find_spec(module) is None:
                raise MissingExtra(extra, module)


def missing_extra(error: ModuleNotFoundError) -> MissingExtra | None:
    """What an import that failed wants to be told as; None if the module is in no extra."""
    module = (error.name or "").partition(".")[0]
    for extra, modules in EXTRAS.items():
        if module in modules:
            return MissingExtra(extra, module)
    return None
