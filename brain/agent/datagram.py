"""What agents say to each other over UDP: a ping with what its sender is, answered by a pong.

JSON in one datagram, signed with the cluster's token where there is one. Nothing in it is trusted.
"""

from __future__ import annotations

import hashlib
import hmac
import json
from dataclasses import dataclass
from typing import Any

from brain.qos.space import NodeQos
from brain.qos.vivaldi import Coordinate

MAX_BYTES = 1200
"""Fits every network's MTU; longer ones are not ours."""
_SIGNATURE = 32
PING, PONG = "ping", "pong"


@dataclass(frozen=True)
class Message:
    """``nonce`` pairs a pong with its ping; ``info`` is what the sender says of itself."""

    kind: str
    nonce: int
    info: NodeQos


def encode(message: Message, token: str | None) -> bytes:
    q = message.info
    c = q.coordinate
    fields = [q.id, c.x, c.y, c.height, c.error, q.utilisation, q.availability, q.cpu_points]
    body = json.dumps([message.kind, message.nonce, *fields]).encode()
    return _signature(body, token) + body


def decode(data: bytes, token: str | None) -> Message | None:
    """The message, or None for anything that is not one."""
    if not _SIGNATURE < len(data) <= MAX_BYTES:
        return None
    signature, body = data[:_SIGNATURE], data[_SIGNATURE:]
    if not hmac.compare_digest(signature, _signature(body, token)):
        return None
    try:
        kind, nonce, node, x, y, height, error, utilisation, availability, points = json.loads(body)
        info = info_from([node, x, y, height, error, utilisation, availability, points])
    except (ValueError, TypeError, RecursionError):
        return None
    if kind not in (PING, PONG) or not isinstance(nonce, int) or info is None:
        return None
    return Message(kind, nonce, info)


def info_from(fields: list[Any]) -> NodeQos | None:
    """What a node says of itself; None if it cannot be meant. Lies are judged elsewhere."""
    node, *numbers = fields
    if not isinstance(node, str) or not 0 < len(node) <= 200 or len(numbers) != 7:
        return None
    if any(isinstance(n, bool) or not isinstance(n, int | float) for n in numbers):
        return None
    x, y, height, error, utilisation, availability, points = (float(n) for n in numbers)
    return NodeQos(node, Coordinate(x, y, height, error), utilisation, availability, points)


def _signature(body: bytes, token: str | None) -> bytes:
    return hmac.new((token or "").encode(), body, hashlib.sha256).digest()
