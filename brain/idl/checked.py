"""Decoding that trusts nothing: structure, text encoding and required fields are checked."""

from __future__ import annotations

from typing import Any

from thriftpy2.protocol import TCyBinaryProtocolFactory
from thriftpy2.transport import TCyBufferedTransport, TCyMemoryBuffer, TMemoryBuffer

from brain.idl.scan import MAX_DEPTH, MAX_STRING_BYTES, NotValid, check_message, check_struct

__all__ = ["NotValid", "decode", "encode", "message_reader", "reader", "require", "writer"]

_PROTOCOLS = TCyBinaryProtocolFactory(strict_decode=True, max_depth=MAX_DEPTH)


def reader(payload: bytes) -> Any:
    """A binary protocol that reads ``payload``, which was scanned, and raises at its end.

    Not on TCyMemoryBuffer: past its end that hands out whatever lies in memory.
    """
    return _PROTOCOLS.get_protocol(TCyBufferedTransport(TMemoryBuffer(payload)))


def message_reader(payload: bytes, max_string: int = MAX_STRING_BYTES) -> Any:
    """The same for a message (header and struct) from outside; NotValid if it is not one."""
    check_message(payload, max_string)
    return reader(payload)


def writer() -> tuple[Any, TCyMemoryBuffer]:
    """A binary protocol, and the buffer that it writes to."""
    buffer = TCyMemoryBuffer()
    return _PROTOCOLS.get_protocol(buffer), buffer


def encode(struct: Any) -> bytes:
    out, buffer = writer()
    struct.write(out)
    return bytes(buffer.getvalue())


def decode(struct: Any, payload: bytes) -> Any:
    """Fills ``struct`` from bytes; NotValid says what is wrong with them."""
    try:
        check_struct(payload)
        struct.read(reader(payload))
    except Exception as e:  # whatever the decoder makes of garbage
        raise NotValid(f"not a {type(struct).__name__}: {e or type(e).__name__}") from None
    require(struct)
    return struct


def require(struct: Any, all_fields: bool = False) -> None:
    """Refuses a struct that lacks a required field, also deep inside (thriftpy2 does not).

    ``all_fields`` is for the arguments of a call, which Thrift marks as not required.
    """
    for spec in struct.thrift_spec.values():
        name, required = spec[1], spec[-1]
        value = getattr(struct, name)
        if value is None:
            if required or all_fields:
                raise NotValid(f"{type(struct).__name__}.{name} is missing")
        elif hasattr(value, "thrift_spec"):
            require(value)
        elif isinstance(value, list) and value and hasattr(value[0], "thrift_spec"):
            for item in value:
                require(item)
