"""Checked access to the fields of a JSON document; every error names the path of the field."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

from brain.errors import BadInput

LARGEST = 1e15
"""Rates, capacities and demands above this are a mistake, and would lose precision in sums."""


def kind(value: Any) -> str:
    """How a JSON value is called when it is not what was expected."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "a boolean"
    for type_, name in ((str, "a string"), (list, "a list"), (dict, "an object")):
        if isinstance(value, type_):
            return name
    return f"{value!r}"


def an_object(value: Any, where: str, known: Iterable[str] | None = None) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise BadInput(where, f"must be an object, not {kind(value)}")
    if known is not None:
        allowed = tuple(known)
        for name in value:
            if name not in allowed:
                raise BadInput(
                    f"{where}.{name}" if where != "$" else str(name),
                    "unknown field",
                    f"known here: {', '.join(allowed)}",
                )
    return value


def a_list(value: Any, where: str) -> list[Any]:
    if not isinstance(value, list):
        raise BadInput(where, f"must be a list, not {kind(value)}")
    return value


def a_string(value: Any, where: str) -> str:
    if not isinstance(value, str):
        raise BadInput(where, f"must be a string, not {kind(value)}")
    if not value:
        raise BadInput(where, "must not be empty")
    return value


def a_boolean(value: Any, where: str) -> bool:
    if not isinstance(value, bool):
        raise BadInput(where, f"must be true or false, not {kind(value)}")
    return value


def a_number(value: Any, where: str) -> float:
    """A finite number, zero or more, that is not absurdly large."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise BadInput(where, f"must be a number, not {kind(value)}")
    if isinstance(value, float) and not math.isfinite(value):
        raise BadInput(where, "must be a finite number")
    if value < 0:
        raise BadInput(where, f"must not be negative, but is {value}")
    if value > LARGEST:
        raise BadInput(where, f"must be at most {LARGEST:g}")
    return float(value)


def a_count(value: Any, where: str, least: int, most: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise BadInput(where, f"must be a whole number, not {kind(value)}")
    if not least <= value <= most:
        raise BadInput(where, f"must be between {least} and {most}, but is {value}")
    return value


def an_id(value: Any, where: str) -> str:
    """A name or a whole number; 7 and "7" are the same id."""
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    if not isinstance(value, str):
        raise BadInput(where, f"must be a string or a whole number, not {kind(value)}")
    if not value:
        raise BadInput(where, "must not be empty")
    return value


def needed(document: Mapping[str, Any], name: str, where: str) -> Any:
    if name not in document:
        path = name if where == "$" else f"{where}.{name}"
        raise BadInput(path, "is missing")
    return document[name]
