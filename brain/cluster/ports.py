"""Free TCP ports for daemons and worker slots.

Storm binds all of its ports on every address, so ports must differ between nodes even though
the nodes have loopback addresses of their own.
"""

from __future__ import annotations

import random
import socket
from collections.abc import Iterable

from brain.errors import StormbrainError

# Below Linux's ephemeral range (32768 and up), from which an outgoing connection might take a
# port between the moment it is found free here and the moment a daemon binds it.
LOWEST, HIGHEST = 20_000, 32_000


class NoFreePorts(StormbrainError):
    """The machine has no such run of free ports."""


def free_ports(count: int, reserved: Iterable[int] = (), start: int | None = None) -> list[int]:
    """``count`` ports that nobody listens on now and that are not in ``reserved``."""
    taken = set(reserved)
    span = HIGHEST - LOWEST
    first = random.randrange(span) if start is None else start - LOWEST
    found: list[int] = []
    for offset in range(span):
        port = LOWEST + (first + offset) % span
        if port not in taken and _is_free(port):
            found.append(port)
            if len(found) == count:
                return found
    raise NoFreePorts(f"no {count} free TCP ports between {LOWEST} and {HIGHEST}")


def _is_free(port: int) -> bool:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        # As Java does, so that a port in TIME_WAIT counts as free.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("", port))
        except OSError:
            return False
    return True


def accepts(host: str, port: int, timeout: float = 1.0) -> bool:
    """Whether somebody accepts connections there."""
    try:
        with socket.create_connection((host, port), timeout=timeout):
            return True
    except OSError:
        return False
