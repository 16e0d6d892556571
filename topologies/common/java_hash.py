"""Java's hash codes, and with them the task that Storm's fields grouping chooses.

Storm sends a tuple to task ``floorMod(Arrays.deepHashCode(values of the grouping fields), n)`` of
the target's ``n`` tasks, in the order of their ids (``TupleUtils.chooseTaskIndex``). Multilang
hands over a Python ``str`` as ``String`` and an ``int`` as ``Long``.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence

Value = str | bool | int | float | None


def to_int32(number: int) -> int:
    """Wraps around like Java's ``int``."""
    return (number + 2**31) % 2**32 - 2**31


def java_hash(value: Value) -> int:
    """``hashCode()`` of the Java object that a Python value becomes on its way through Storm."""
    if value is None:
        return 0
    if isinstance(value, bool):
        return 1231 if value else 1237
    if isinstance(value, int):
        return _long_hash(value)
    if isinstance(value, float):
        return _long_hash(struct.unpack(">q", struct.pack(">d", value))[0])
    return string_hash(value)


def string_hash(text: str) -> int:
    """``String.hashCode()``: over UTF-16 units, so a character beyond U+FFFF counts as two."""
    code = 0
    units = text.encode("utf-16-be", "surrogatepass")
    for position in range(0, len(units), 2):
        code = (31 * code + (units[position] << 8 | units[position + 1])) & 0xFFFFFFFF
    return to_int32(code)


def deep_hash(values: Sequence[Value]) -> int:
    """``Arrays.deepHashCode`` of a flat array."""
    code = 1
    for value in values:
        code = (31 * code + java_hash(value)) & 0xFFFFFFFF
    return to_int32(code)


def fields_grouping_index(values: Sequence[Value], tasks: int) -> int:
    """Which of the target's tasks (in the order of their ids) gets a tuple with these values."""
    return deep_hash(values) % tasks  # Python's modulo is Java's floorMod


def _long_hash(number: int) -> int:
    bits = number & 0xFFFFFFFFFFFFFFFF
    return to_int32((bits ^ bits >> 32) & 0xFFFFFFFF)
