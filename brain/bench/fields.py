"""Reads a YAML mapping field by field, and names the path of whatever is wrong or left over."""

from __future__ import annotations

from typing import Any, TypeVar, overload

from brain.errors import BadInput

T = TypeVar("T")
_NEEDED: Any = object()


class Fields:
    """A value of a file with its path; ``done()`` refuses keys that nobody asked for."""

    def __init__(self, raw: Any, path: str) -> None:
        self.raw = raw
        self.path = path
        self._asked: set[str] = set()
        if raw is not None and not isinstance(raw, dict | str | int | float | bool):
            raise BadInput(path, f"is a {type(raw).__name__}, not a mapping")

    def wrong(self, key: str, said: str) -> BadInput:
        return BadInput(f"{self.path}.{key}", said)

    def done(self) -> None:
        for key in self._mapping():
            if key not in self._asked:
                known = ", ".join(sorted(self._asked))
                raise BadInput(f"{self.path}.{key}", "there is no such field", f"known: {known}")

    def child(self, key: str) -> Fields:
        value = self._get(key, {})
        if not isinstance(value, dict):
            raise self.wrong(key, f"is {value!r}, not a mapping")
        return Fields(value, f"{self.path}.{key}")

    def items(self, key: str) -> list[Fields]:
        value = self._get(key, [])
        if not isinstance(value, list):
            raise self.wrong(key, f"is {value!r}, not a list")
        return [Fields(item, f"{self.path}.{key}[{i}]") for i, item in enumerate(value)]

    def mapping(self, key: str) -> dict[str, Any]:
        return {str(name): value for name, value in self.child(key)._mapping().items()}

    @overload
    def text(self, key: str) -> str: ...
    @overload
    def text(self, key: str, default: str | None) -> str | None: ...
    def text(self, key: str, default: Any = _NEEDED) -> Any:
        value = self._get(key, default)
        if value is not default and not isinstance(value, str):
            raise self.wrong(key, f"is {value!r}, not a text")
        return value

    def number(self, key: str, default: T) -> float | T:
        value = self._get(key, default)
        if value is default:
            return default
        if isinstance(value, bool) or not isinstance(value, int | float) or value < 0:
            raise self.wrong(key, f"is {value!r}, not a number of 0 or more")
        return float(value)

    def count(self, key: str, default: T) -> int | T:
        value = self._get(key, default)
        if value is default:
            return default
        if isinstance(value, bool) or not isinstance(value, int) or value < 1:
            raise self.wrong(key, f"is {value!r}, not a whole number of 1 or more")
        return value

    def numbers(self, key: str, default: tuple[float, ...]) -> tuple[float, ...]:
        """A number, or several in a list."""
        value: Any = self._get(key, None)
        if value is None:
            return default
        values = value if isinstance(value, list) else [value]
        for one in values:
            if isinstance(one, bool) or not isinstance(one, int | float) or one < 0:
                raise self.wrong(key, f"{one!r} is not a number of 0 or more")
        return tuple(float(one) for one in values)

    def _mapping(self) -> dict[Any, Any]:
        if self.raw is None:
            return {}
        if not isinstance(self.raw, dict):
            raise BadInput(self.path, f"is {self.raw!r}, not a mapping")
        return self.raw

    def _get(self, key: str, default: Any) -> Any:
        self._asked.add(key)
        found = self._mapping().get(key)
        if found is None:
            if default is _NEEDED:
                raise self.wrong(key, "is missing")
            return default
        return found
