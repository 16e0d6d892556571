"""The arguments of a question: checked one by one, with the wrong one named."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from brain.idl import wire

MAX_ARGUMENT_BYTES = 64 * 1024


def read_arguments(text: str) -> dict[str, Any]:
    if len(text.encode()) > MAX_ARGUMENT_BYTES:
        raise wire.BadRequest("arguments", f"more than {MAX_ARGUMENT_BYTES} bytes of arguments")
    try:
        values = json.loads(text or "{}")
    except (ValueError, RecursionError) as e:
        raise wire.BadRequest("arguments", f"not JSON: {e}") from None
    if not isinstance(values, dict):
        raise wire.BadRequest("arguments", "must be a JSON object")
    return values


class Arguments:
    """Each getter refuses a value of the wrong kind; ``done`` refuses what nobody asked for."""

    def __init__(self, values: Mapping[str, Any]) -> None:
        self._left = {k: v for k, v in values.items() if v is not None}

    def text(self, name: str) -> str | None:
        value = self._left.pop(name, None)
        if value is not None and not (isinstance(value, str) and 0 < len(value) <= 1000):
            raise wire.BadRequest(name, f"{name} must be a text of at most 1000 characters")
        return value

    def required_text(self, name: str) -> str:
        value = self.text(name)
        if value is None:
            raise wire.BadRequest(name, f"{name} is missing")
        return value

    def texts(self, name: str) -> tuple[str, ...]:
        value = self._left.pop(name, [])
        if not isinstance(value, list) or not all(isinstance(v, str) for v in value):
            raise wire.BadRequest(name, f"{name} must be a list of texts")
        return tuple(value)

    def number(self, name: str, low: float, high: float) -> float | None:
        value = self._left.pop(name, None)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise wire.BadRequest(name, f"{name} must be a number")
        if not low <= value <= high:
            raise wire.BadRequest(name, f"{name} must be {low:g} to {high:g}, not {value:g}")
        return float(value)

    def integer(self, name: str, low: int, high: int) -> int | None:
        value = self.number(name, low, high)
        if value is not None and not value.is_integer():
            raise wire.BadRequest(name, f"{name} must be a whole number")
        return None if value is None else int(value)

    def done(self) -> None:
        if self._left:
            name = sorted(self._left)[0]
            raise wire.BadRequest(name, f"this question has no argument {name}")
