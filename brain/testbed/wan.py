"""The router of a testbed: reads packets from a TUN device, holds them, and gives them back.

    python -I wan.py DEVICE CONFIG STATS

Runs in the namespace of the switch. CONFIG is ``{"delays": [[source address, target address,
mean ms, sd ms], …]}``, read anew on SIGHUP; STATS is replaced each second with what packets of
each pair were really held, by this process's clock. Packets of a pair never overtake each other: a
draw that would let one overtake releases it together with the one before.
"""

from __future__ import annotations

import fcntl
import heapq
import json
import os
import random
import select
import signal
import socket
import struct
import sys
import time
from pathlib import Path
from typing import Any

_TUNSETIFF = 0x400454CA
_IFF_TUN, _IFF_NO_PI = 0x0001, 0x1000
_BATCH = 256
"""Packets read before those that are due are looked after."""
_STATS_SECS = 1.0

Key = bytes
"""Source and target address as they stand in an IPv4 header."""


class PairHold:
    """Packets from one node to another: their delay, and how long they were really held."""

    __slots__ = ("count", "last_due", "mean", "sd", "square", "total")

    def __init__(self, mean_secs: float, sd_secs: float) -> None:
        self.mean, self.sd = mean_secs, sd_secs
        self.last_due = 0.0
        self.count, self.total, self.square = 0, 0.0, 0.0

    def due(self, now: float, draw: random.Random) -> float:
        """When a packet that came now is to go on; not before the pair's last one."""
        wanted = now + max(0.0, draw.gauss(self.mean, self.sd))
        self.last_due = max(self.last_due, wanted)
        return self.last_due

    def held(self, secs: float) -> None:
        self.count += 1
        self.total += secs
        self.square += secs * secs


class Router:
    """Holds packets; reading, writing and the clock are outside, so that it can be tested."""

    def __init__(self, delays: list[list[Any]], seed: int = 0) -> None:
        self._draw = random.Random(seed)
        self._pairs: dict[Key, PairHold] = {}
        self._heap: list[tuple[float, int, float, PairHold | None, bytes]] = []
        self._number = 0
        self.configure(delays)

    def configure(self, delays: list[list[Any]]) -> None:
        """Other delays from now on; what is held stays in order."""
        for source, target, mean_ms, sd_ms in delays:
            key = socket.inet_aton(source) + socket.inet_aton(target)
            pair = self._pairs.setdefault(key, PairHold(0.0, 0.0))
            pair.mean, pair.sd = mean_ms / 1000.0, sd_ms / 1000.0

    def take(self, packet: bytes, now: float) -> None:
        if packet[0] >> 4 != 4:  # the testbed speaks IPv4; the rest is neighbour discovery
            return
        pair = self._pairs.get(packet[12:20])
        due = now if pair is None else pair.due(now, self._draw)
        self._number += 1
        heapq.heappush(self._heap, (due, self._number, now, pair, packet))

    def give(self, now: float) -> list[bytes]:
        """The packets that are due, in order."""
        out = []
        heap = self._heap
        while heap and heap[0][0] <= now:
            _, _, came, pair, packet = heapq.heappop(heap)
            if pair is not None:
                pair.held(now - came)
            out.append(packet)
        return out

    def wait_secs(self, now: float, longest: float) -> float:
        return min(longest, max(0.0, self._heap[0][0] - now)) if self._heap else longest

    def stats(self) -> list[list[Any]]:
        """[source, target, packets, mean ms, sd ms] of every pair that has had packets."""
        rows = []
        for key, pair in self._pairs.items():
            if pair.count:
                mean = pair.total / pair.count
                sd = max(0.0, pair.square / pair.count - mean * mean) ** 0.5
                ends = [socket.inet_ntoa(key[:4]), socket.inet_ntoa(key[4:])]
                rows.append([*ends, pair.count, mean * 1000, sd * 1000])
        return rows


def open_tun(device: str) -> int:
    tun = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    request = struct.pack("16sH22x", device.encode(), _IFF_TUN | _IFF_NO_PI)
    fcntl.ioctl(tun, _TUNSETIFF, request)
    return tun


def serve(device: str, config: Path, stats: Path) -> None:
    router = Router(json.loads(config.read_text())["delays"])
    changed = False

    def reload(*_: object) -> None:
        nonlocal changed
        changed = True

    signal.signal(signal.SIGHUP, reload)
    tun = open_tun(device)
    clock = time.monotonic
    told = clock() - _STATS_SECS
    while True:
        longest = max(0.0, told + _STATS_SECS - clock())
        try:
            select.select([tun], [], [], router.wait_secs(clock(), longest))
        except InterruptedError:
            continue
        for _ in range(_BATCH):
            try:
                router.take(os.read(tun, 65536), clock())
            except BlockingIOError:
                break
        for packet in router.give(clock()):
            try:
                os.write(tun, packet)
            except BlockingIOError:
                continue  # a full queue drops packets, as routers do
        if changed:
            changed = False
            router.configure(json.loads(config.read_text())["delays"])
        now = clock()
        if now - told >= _STATS_SECS:
            told = now
            aside = stats.with_suffix(".new")
            aside.write_text(json.dumps(router.stats()))
            aside.replace(stats)


if __name__ == "__main__":
    serve(sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3]))
