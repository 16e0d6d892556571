"""Looks through a Thrift message before anything is decoded from it.

thriftpy2's decoder believes the lengths that it reads: a list of two thousand million elements of
a type that does not exist takes no bytes and minutes of CPU, and a negative length is handed to
malloc. So the bytes are walked first, by their own structure alone (TBinaryProtocol): every type
must exist, every length must fit into what is left, and nothing is nested too deeply. The walk
costs well below a microsecond a field and allocates nothing.
"""

from __future__ import annotations

import struct

MAX_DEPTH = 16
MAX_STRING_BYTES = 1 << 20
MAX_ELEMENTS = 2_000_000

_STOP, _STRING, _STRUCT, _MAP, _SET, _LIST = 0, 11, 12, 13, 14, 15
_FIXED = {2: 1, 3: 1, 4: 8, 6: 2, 8: 4, 10: 8}
"""bool, byte, double, i16, i32, i64: their sizes in bytes."""
_LEAST = {**_FIXED, _STRING: 4, _STRUCT: 1, _MAP: 6, _SET: 5, _LIST: 5}
"""The fewest bytes that a value of each type takes."""
_LONGEST_NAME = 100
_I32 = struct.Struct("!i").unpack_from


class NotValid(ValueError):
    """The bytes are not such a message."""


def check_message(payload: bytes, max_string: int = MAX_STRING_BYTES) -> None:
    """Refuses what is not a whole strict message: header, then one struct, and nothing after it."""
    if len(payload) < 12 or _I32(payload)[0] & 0xFFFF0000 != 0x80010000:
        raise NotValid("not a Thrift message: no strict header")
    try:
        start = _string(payload, 4, _LONGEST_NAME) + 4  # the name, then the sequence number
    except struct.error:
        raise NotValid("cut off") from None
    check_struct(payload, start, max_string)


def check_struct(payload: bytes, start: int = 0, max_string: int = MAX_STRING_BYTES) -> None:
    """Refuses what is not one whole struct from ``start`` to the end."""
    try:
        end = _struct(payload, start, MAX_DEPTH, max_string)
    except (IndexError, struct.error):
        raise NotValid("cut off") from None
    if end != len(payload):
        raise NotValid("cut off" if end > len(payload) else f"{len(payload) - end} bytes too many")


def _struct(data: bytes, at: int, depth: int, longest: int) -> int:
    if depth == 0:
        raise NotValid(f"nested more than {MAX_DEPTH} deep")
    fixed = _FIXED
    while (kind := data[at]) != _STOP:
        size = fixed.get(kind)
        at = at + 3 + size if size is not None else _value(data, at + 3, kind, depth, longest)
    return at + 1


def _value(data: bytes, at: int, kind: int, depth: int, longest: int) -> int:
    if kind == _STRING:
        return _string(data, at, longest)
    if kind == _STRUCT:
        return _struct(data, at, depth - 1, longest)
    if kind in (_LIST, _SET):
        return _elements(data, at + 5, (data[at],), _I32(data, at + 1)[0], depth, longest)
    if kind == _MAP:
        return _elements(
            data, at + 6, (data[at], data[at + 1]), _I32(data, at + 2)[0], depth, longest
        )
    raise NotValid(f"type {kind} does not exist")


def _string(data: bytes, at: int, longest: int) -> int:
    length = _I32(data, at)[0]
    if not 0 <= length <= min(longest, len(data) - at - 4):
        raise NotValid(f"a text of {length} bytes: cut off, or longer than {longest}")
    return int(at + 4 + length)


def _elements(
    data: bytes, at: int, kinds: tuple[int, ...], count: int, depth: int, longest: int
) -> int:
    if count == 0:
        return at  # Thrift writes an empty map without caring for its types
    if depth <= 1:
        raise NotValid(f"nested more than {MAX_DEPTH} deep")
    for kind in kinds:
        if kind not in _LEAST:
            raise NotValid(f"elements of type {kind}, which does not exist")
    least = sum(_LEAST[kind] for kind in kinds)
    if not 0 <= count <= min(MAX_ELEMENTS, (len(data) - at) // least):
        raise NotValid(f"{count} elements in {len(data) - at} bytes: cut off, or too many")
    if all(kind in _FIXED for kind in kinds):
        return at + count * least
    if kinds == (_STRUCT,):
        for _ in range(count):
            at = _struct(data, at, depth - 1, longest)
        return at
    for _ in range(count):
        for kind in kinds:
            size = _FIXED.get(kind)
            at = at + size if size is not None else _value(data, at, kind, depth - 1, longest)
    return at
