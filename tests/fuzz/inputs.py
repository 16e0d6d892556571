"""Seeded inputs for the Thrift door: valid calls, bent in their values, in their bytes, at random.

The same seed gives the same inputs, so a finding is repeated by its number.
"""

from __future__ import annotations

import json
import math
import random
import struct
from collections.abc import Iterator
from typing import Any

from thriftpy2.thrift import TMessageType

from brain.idl import wire
from brain.idl.checked import writer
from tests.harness.wire import cluster_state, report, supervisor, topology

QUESTIONS = ("picture", "topology", "decisions", "explain", "plan", "apply", "whatif", "history",
             "metrics", "timeline", "unknown", "")  # fmt: skip
INTEGERS = (0, 1, -1, 255, 2**15 - 1, 2**31 - 1, -(2**31), 6700, 1_000_000)
LONGS = (*INTEGERS, 2**63 - 1, -(2**63), 2**40)
DOUBLES = (0.0, -0.0, 1.0, -1.0, 1e308, -1e308, math.nan, math.inf, -math.inf, 5e-324)
TEXTS = ("", "a", "t-1-1", "../../etc", "/", ".", "\x00", "ünïcödé", "x" * 300, "%s%n", "{}", "[]",
         "null", "-1", "__acker", "\U0001f9e0" * 20)  # fmt: skip


def message(call: str, *args: Any, kind: int = TMessageType.CALL) -> bytes:
    out, buffer = writer()
    out.write_message_begin(call, kind, 7)
    getattr(wire.Brain, f"{call}_args")(*args).write(out)
    out.write_message_end()
    return bytes(buffer.getvalue())


class Inputs:
    """Bytes as they go over the socket: frames with their length, or what pretends to be."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self._last = b"\x00"

    def __iter__(self) -> Iterator[bytes]:
        while True:
            yield self._one()

    def _one(self) -> bytes:
        way = self._random.random()
        if way < 0.45:
            payload = self._bent_values()
        elif way < 0.80:
            payload = self._bent_bytes(self._call())
        elif way < 0.90:
            payload = self._random.randbytes(self._random.randint(1, 400))
        elif way < 0.96:
            head = b"\x80\x01\x00\x01\x00\x00\x00\x08schedule\x00\x00\x00\x01"
            payload = head + self._typed_noise()
        else:
            return self._bent_frame(self._call())
        self._last = payload or b"\x00"
        return struct.pack("!i", len(self._last)) + self._last

    # --- valid calls

    def _call(self) -> bytes:
        return self._random.choice((self._schedule, self._report, self._ask, self._status))()

    def _schedule(self) -> bytes:
        return message("schedule", self._state())

    def _report(self) -> bytes:
        return message("report", self._window(), kind=TMessageType.ONEWAY)

    def _status(self) -> bytes:
        return message("status", self._random.choice(("", "token")))

    def _ask(self) -> bytes:
        arguments = {
            self._random.choice(("topology", "limit", "theta", "algorithm", "digest", "x")):
            self._random.choice(("t-1-1", -1, 1e300, None, [], {}, True, "x" * 50))
            for _ in range(self._random.randint(0, 3))
        }  # fmt: skip
        return message("ask", "", self._random.choice(QUESTIONS), json.dumps(arguments))

    def _state(self) -> Any:
        r = self._random
        nodes = [f"n{i}" for i in range(r.randint(0, 4))]
        slots = {t: (r.choice(nodes), 6700) for t in range(1, r.randint(1, 8))} if nodes else {}
        topologies = [
            topology(f"t-{n}-1", {"spout": 3, "bolt": 3}, slots, conf={
                "topology.brain.mode": r.choice(("auto", "dry-run", "off", 3, None)),
                "topology.brain.window.secs": r.choice((1, 5, -1, "x")),
            })
            for n in range(1, r.randint(1, 4))
        ]  # fmt: skip
        rejections = [
            wire.PlanRejection("t-1-1", r.choice(LONGS), r.choice(("digest", "x")), "words")
        ]
        return cluster_state([supervisor(n) for n in nodes], topologies, rejections=rejections)

    def _window(self) -> Any:
        r = self._random
        tasks = {r.choice((1, 2, 3, 4, 2**31 - 1, -1)): r.choice(DOUBLES) for _ in range(3)}
        edges = {(r.randint(-1, 9), r.randint(-1, 9)): (r.choice(LONGS), 7) for _ in range(4)}
        return report(
            r.choice(("t-1-1", "t-2-1", f"u-{r.randint(0, 5000)}-1", "")),
            r.choice(LONGS), r.choice(LONGS) // 2, edges, tasks,
            worker=f"w{r.randint(0, 3000)}", length_ms=r.choice((1000, 5000, 0, -5)),
        )  # fmt: skip

    # --- bent

    def _bent_values(self) -> bytes:
        """A valid call with a few values replaced by others of their type."""
        r = self._random
        if r.random() < 0.5:
            struct_, call, kind = self._state(), "schedule", TMessageType.CALL
        else:
            struct_, call, kind = self._window(), "report", TMessageType.ONEWAY
        for _ in range(r.randint(1, 3)):
            self._bend(struct_)
        try:
            return message(call, struct_, kind=kind)
        except Exception:  # the writer itself refuses a few of them
            return message("status", "")

    def _bend(self, struct_: Any) -> None:
        r = self._random
        spec = r.choice(list(struct_.thrift_spec.values()))
        name, value = spec[1], getattr(struct_, spec[1])
        if hasattr(value, "thrift_spec") and r.random() < 0.8:
            self._bend(value)
        elif isinstance(value, list) and value and r.random() < 0.8:
            if hasattr(value[0], "thrift_spec") and r.random() < 0.7:
                self._bend(r.choice(value))
            else:
                setattr(struct_, name, value * r.choice((0, 2, 50)))
        elif isinstance(value, bool) or r.random() < 0.15:
            setattr(struct_, name, None)
        elif isinstance(value, int):
            setattr(struct_, name, r.choice(INTEGERS))
        elif isinstance(value, float):
            setattr(struct_, name, r.choice(DOUBLES))
        elif isinstance(value, str):
            setattr(struct_, name, r.choice(TEXTS))
        elif isinstance(value, dict):
            setattr(struct_, name, {r.choice(TEXTS): r.choice(TEXTS) for _ in range(3)})

    def _bent_bytes(self, payload: bytes) -> bytes:
        r, data = self._random, bytearray(payload)
        for _ in range(r.randint(1, 6)):
            at = r.randrange(len(data)) if data else 0
            how = r.random()
            if how < 0.4 and data:
                data[at] = r.choice((0, 1, 11, 12, 13, 14, 15, 0x7F, 0x80, 0xFF, r.randrange(256)))
            elif how < 0.6 and len(data) > at + 4:
                data[at : at + 4] = struct.pack("!i", r.choice(INTEGERS))
            elif how < 0.7:
                del data[at:]
            elif how < 0.8:
                del data[at : at + r.randint(1, 20)]
            elif how < 0.9:
                data[at:at] = data[at : at + r.randint(1, 40)] * r.randint(1, 4)
            else:
                data[at:] = self._last[at:]
        return bytes(data)

    def _typed_noise(self) -> bytes:
        """Bytes of which many are Thrift's own type codes and small or huge lengths."""
        r = self._random
        likely = (0, 0, 0, 1, 2, 3, 4, 6, 8, 10, 11, 12, 13, 14, 15, 16, 127, 128, 255)
        return bytes(r.choice(likely) for _ in range(r.randint(0, 200)))

    def _bent_frame(self, payload: bytes) -> bytes:
        r = self._random
        frame = struct.pack("!i", len(payload)) + payload
        return r.choice((
            struct.pack("!i", r.choice(INTEGERS)) + payload,
            frame[: r.randrange(len(frame))],
            frame * r.randint(2, 5),
            b"",
            b"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
            b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + r.randbytes(60),
        ))  # fmt: skip
