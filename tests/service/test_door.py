"""The Thrift door under friendly and hostile peers, over real sockets."""

from __future__ import annotations

import socket
import struct
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from thriftpy2.thrift import TMessageType

from brain.cli.connection import call_brain
from brain.errors import StormbrainError
from brain.idl import wire
from brain.idl.checked import writer
from brain.service.door import Door
from tests.harness.wire import cluster_state, report, supervisor
from tests.harness.zookeeper import eventually

MAX_FRAME = 100_000


class Handler:
    def __init__(self) -> None:
        self.reports: list[Any] = []

    def schedule(self, state: Any) -> Any:
        if state.nimbus == "refuse":
            raise wire.NotLeader("elsewhere:1", "does not lead")
        if state.nimbus == "break":
            raise RuntimeError("inner secret")
        return wire.ScheduleReply([wire.PlanRef("t-1-1", 3, "abc")], 1)

    def report(self, report: Any) -> None:
        self.reports.append(report)

    def status(self, token: str) -> Any:
        return wire.BrainStatus(1, "b", "0", True, None, 1, [])


@pytest.fixture
def handler() -> Handler:
    return Handler()


@pytest.fixture
def door(handler: Handler) -> Iterator[Door]:
    door = Door(handler, "127.0.0.1", 0, max_connections=4, max_frame_bytes=MAX_FRAME)
    door.start()
    yield door
    door.stop()


def address(door: Door) -> str:
    return "{}:{}".format(*door.address)


def connect(door: Door) -> socket.socket:
    sock = socket.create_connection(door.address, timeout=10)
    sock.settimeout(10)
    return sock


def works(door: Door) -> bool:
    """Whether the door serves a call now (it may be busy closing others' connections)."""
    try:
        return bool(call_brain(address(door), "status", "").brain == "b")
    except StormbrainError:
        return False


def test_a_call_is_answered(door: Door) -> None:
    state = cluster_state([supervisor("n1")], [], nimbus="ok")
    reply = call_brain(address(door), "schedule", state)
    assert [(p.topology_id, p.epoch, p.digest) for p in reply.plans] == [("t-1-1", 3, "abc")]


def test_declared_errors_reach_the_caller_and_others_are_not_told(door: Door) -> None:
    with pytest.raises(StormbrainError, match="does not lead"):
        call_brain(address(door), "schedule", cluster_state([], [], nimbus="refuse"))
    with pytest.raises(StormbrainError, match="see the brain's log") as told:
        call_brain(address(door), "schedule", cluster_state([], [], nimbus="break"))
    assert "inner secret" not in told.value.message
    assert works(door)


def test_reports_are_taken_without_an_answer(door: Door, handler: Handler) -> None:
    with connect(door) as sock:
        for n in range(3):
            out, buffer = writer()
            out.write_message_begin("report", TMessageType.ONEWAY, n)
            wire.Brain.report_args(report("t-1-1", n, 0, {(1, 2): (3, 4)}, {2: 1.0})).write(out)
            frame = bytes(buffer.getvalue())
            sock.sendall(struct.pack("!i", len(frame)) + frame)
        eventually(lambda: len(handler.reports) == 3, what="three reports")
    assert [r.sequence for r in handler.reports] == [0, 1, 2]


@pytest.mark.parametrize("size", [1 << 30, MAX_FRAME + 1, 0, -1])
def test_a_frame_of_a_bad_size_ends_the_connection_and_nothing_else(door: Door, size: int) -> None:
    with connect(door) as sock:
        sock.sendall(struct.pack("!i", size))
        assert sock.recv(1) == b""
    assert works(door)
    assert door.counters["broken_requests"] == 1


def test_a_peer_that_leaves_within_a_frame_does_no_harm(door: Door) -> None:
    with connect(door) as sock:
        sock.sendall(struct.pack("!i", 500) + b"half")
    eventually(lambda: works(door), what="the door")


def test_more_connections_than_allowed_are_refused_and_places_come_free(door: Door) -> None:
    held = [connect(door) for _ in range(4)]
    eventually(lambda: door.open_connections() == 4, what="four connections")
    with connect(door) as fifth:
        assert fifth.recv(1) == b""
    for sock in held:
        sock.close()
    eventually(lambda: works(door), what="the door")


def test_a_missing_required_field_is_refused(door: Door) -> None:
    with connect(door) as sock:
        out, buffer = writer()
        out.write_message_begin("schedule", TMessageType.CALL, 1)
        wire.Brain.schedule_args(wire.ClusterState(protocol_version=1)).write(out)
        frame = bytes(buffer.getvalue())
        sock.sendall(struct.pack("!i", len(frame)) + frame)
        assert sock.recv(1) == b""
    assert works(door)


def test_an_unknown_method_is_named(door: Door) -> None:
    with pytest.raises(AttributeError):
        call_brain(address(door), "format_disk")
    with connect(door) as sock:
        out, buffer = writer()
        out.write_message_begin("format_disk", TMessageType.CALL, 1)
        frame = bytes(buffer.getvalue()) + b"\x00"
        sock.sendall(struct.pack("!i", len(frame)) + frame)
        assert b"format_disk" in sock.recv(1000)


@settings(
    max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    st.binary(max_size=300),
    st.sampled_from([b"", b"\x80\x01\x00\x01\x00\x00\x00\x08schedule\x00\x00\x00\x01"]),
)
def test_no_bytes_can_break_the_door(door: Door, tail: bytes, head: bytes) -> None:
    frame = head + tail or b"\x00"
    with connect(door) as sock:
        sock.sendall(struct.pack("!i", len(frame)) + frame)
        sock.shutdown(socket.SHUT_WR)
        while sock.recv(4096):
            pass
    eventually(lambda: works(door), what="the door")
