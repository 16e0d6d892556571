"""Framed Thrift on plain sockets, with limits that hold before anything is allocated."""

from __future__ import annotations

import socket
import struct

from brain.errors import StormbrainError

_HEADER = struct.Struct("!i")
_TLS_RECORDS = frozenset({0x1603, 0x1503})
"""How a TLS handshake or alert begins: as a length, over 300 MB."""


class FrameTooLarge(StormbrainError):
    pass


class Disconnected(Exception):
    """The peer closed the connection, between frames or within one."""


def read_frame(sock: socket.socket, max_bytes: int) -> bytes:
    """One frame's payload. The length is checked before a byte of it is reserved."""
    (size,) = _HEADER.unpack(_read_exactly(sock, _HEADER.size))
    if size > max_bytes and size >> 16 in _TLS_RECORDS:
        raise FrameTooLarge(
            "the peer speaks TLS, but here brain.scheduler.tls.* is not set",
            "set brain.scheduler.tls.ca, .cert and .key on both sides or on neither",
        )
    if not 0 < size <= max_bytes:
        raise FrameTooLarge(
            f"frame of {size} bytes refused; at most {max_bytes} are accepted",
            "raise brain.scheduler.max.frame.bytes on both sides if the cluster is that large",
        )
    return _read_exactly(sock, size)


def write_frame(sock: socket.socket, payload: bytes) -> None:
    sock.sendall(_HEADER.pack(len(payload)) + payload)


def _read_exactly(sock: socket.socket, size: int) -> bytes:
    parts = []
    while size > 0:
        part = sock.recv(min(size, 1 << 16))
        if not part:
            raise Disconnected
        parts.append(part)
        size -= len(part)
    return b"".join(parts)
