"""The few formulas of queueing theory that the latency needs, over arrays.

Waiting times are means, in the unit of the service time; a station with a utilisation of 1 or more
has no steady state, so its waiting time is infinite.
"""

from __future__ import annotations

from typing import cast

import numpy as np

from brain.simulate.arrays import Floats

MOST_SERVERS = 512
"""Above this many cores nobody waits for one before all of them are as good as full."""


def mg1_wait(arrivals: Floats, mean: Floats, second_moment: Floats) -> Floats:
    """Pollaczek-Khinchine: λ E[S²] / 2(1 - ρ)."""
    load = arrivals * mean
    free = 1.0 - load
    with np.errstate(divide="ignore", invalid="ignore"):
        wait = arrivals * second_moment / (2.0 * free)
    return cast(Floats, np.where(free <= 0.0, np.inf, np.where(arrivals > 0, wait, 0.0)))


def gg1_wait(load: Floats, mean: Floats, cv2: float) -> Floats:
    """The same by utilisation and the squared coefficient of variation; cv2 = 1 is M/M/1."""
    free = 1.0 - load
    with np.errstate(divide="ignore", invalid="ignore"):
        wait = load * mean * (1.0 + cv2) / (2.0 * free)
    return cast(Floats, np.where(free <= 0.0, np.inf, np.where(load > 0, wait, 0.0)))


def erlang_c(servers: Floats, offered: Floats) -> Floats:
    """The chance to find all servers busy in M/M/c, by Erlang B's recursion; 1 when overloaded.

    ``offered`` is the load in servers. Fractions of a server are rounded up.
    """
    count = np.minimum(
        np.maximum(np.ceil(np.where(np.isfinite(servers), servers, 1)), 1), MOST_SERVERS
    )
    busy = np.minimum(offered, servers)
    blocking = np.ones_like(busy)
    for k in range(1, int(count.max(initial=1)) + 1):
        step = busy * blocking / (k + busy * blocking)
        blocking = np.where(k <= count, step, blocking)
    load = busy / count
    chance = blocking / np.maximum(1.0 - load * (1.0 - blocking), 1e-300)
    chance = np.where(np.isfinite(servers), chance, 0.0)
    return cast(Floats, np.where(offered >= servers, 1.0, chance))


def core_stretch(cores: Floats, busy: Floats) -> Floats:
    """By how much a service takes longer because its node's cores are shared.

    M/M/c: a service waits C(c, a) / (c - a) of its own length for a core.
    """
    room = cores - busy
    with np.errstate(divide="ignore", invalid="ignore"):
        wait = erlang_c(cores, busy) / room
    wait = np.where(np.isfinite(cores), wait, 0.0)
    return cast(Floats, np.where(room <= 0.0, np.inf, 1.0 + wait))
