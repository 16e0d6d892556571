"""Windows read from logs, sent to the brain as if their worker had reported them."""

from __future__ import annotations

import contextlib
import socket
import ssl
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from thriftpy2.thrift import TMessageType

from brain.cli.connection import call_brain, encode_call, open_socket
from brain.errors import BadInput, StormbrainError
from brain.idl import PROTOCOL_VERSION, wire
from brain.pipeline.live import LiveWindow
from brain.service.framing import write_frame
from brain.service.tls import TlsFiles

TIMEOUT_S = 3.0
"""To hand a report to the network, and for the question who leads."""
FIRST_PAUSE_S, LONGEST_PAUSE_S = 1.0, 30.0
"""While no brain takes reports, tries grow rarer: the logs must not wait for it."""
CONNECTION_AGE_S = 30.0
"""A report is never answered, and a brain that no longer leads would swallow it. So a connection
is made anew now and then, and begins with the question who leads."""


def parse_addresses(text: str) -> tuple[str, ...]:
    """``HOST:PORT`` of one brain or of several, with commas between them."""
    addresses = tuple(part.strip() for part in text.split(","))
    for address in addresses:
        host, _, port = address.rpartition(":")
        if not host or not port.isdigit():
            raise BadInput("--brain", f"{address!r} is not HOST:PORT")
    return addresses


def window_report(window: LiveWindow, token: str | None = None) -> Any:
    """The Thrift struct that the hook would have sent for this window."""
    assert window.last is not None
    return wire.WindowReport(
        protocol_version=PROTOCOL_VERSION,
        topology_id=window.topology,
        # As the hook names it: a window that came both ways counts once.
        worker_id=f"{window.node}-{window.worker}",
        node=window.node,
        host=window.last["host"],
        port=window.last["port"],
        sequence=window.seq,
        start_ms=window.start,
        end_ms=window.end,
        edges=[
            wire.EdgeCount(
                source_task=e["source"],
                target_task=e["target"],
                tuples=e["tuples"],
                bytes=e["bytes"],
                system=bool(e["system"]),
            )
            for e in window.edges
        ],
        tasks=[_task_load(t) for t in window.tasks],
        dropped=window.last["dropped_reports"],
        dropped_lines=window.last["dropped_lines"],
        node_load=_node_load(window.machine) if window.machine else None,
        token=token,
    )


def _task_load(task: Mapping[str, Any]) -> Any:
    return wire.TaskLoad(
        task=task["task"],
        component=task["component"],
        cpu_ms=task["cpu_ms"] or 0.0,
        shell_cpu_ms=task["shell_cpu_ms"],
        executed=task["executed"],
        emitted=task["emitted"],
        acked=task["acked"],
        failed=task["failed"],
        execute_latency_ms=task["execute_ms"],
        process_latency_ms=task["process_ms"],
        complete_latency_ms=task["complete_ms"],
        queue_percent=task["queue_percent"],
        queue_overflow=task["queue_overflow"],
    )


def _node_load(line: Mapping[str, Any]) -> Any:
    return wire.NodeLoad(
        cores=line["cores"],
        mhz=line["mhz"] or 0.0,
        cpu_percent=line["cpu_percent"] or 0.0,
        memory_mb=line["memory_mb"] or 0.0,
        memory_used_mb=line["memory_used_mb"] or 0.0,
        rx_bytes=line["rx_bytes"] or 0,
        tx_bytes=line["tx_bytes"] or 0,
        machine=line["machine"],
    )


class Publisher:
    """Sends reports to the brain that leads, which any of the ``addresses`` may name; what cannot
    be delivered is counted and not kept, since the brain wants what is new."""

    def __init__(
        self,
        addresses: Sequence[str],
        token: str | None = None,
        tls: TlsFiles | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._addresses = tuple(addresses)
        self._token = token
        self._tls = tls or TlsFiles.from_environment()
        self._clock = clock
        self._socket: socket.socket | None = None
        self._connected_at = self._not_before = 0.0
        self._pause = 0.0
        self.sent = 0
        self.undelivered = 0
        self.trouble: str | None = None
        """Why the last report did not go out; None while they do."""

    def publish(self, windows: Sequence[LiveWindow]) -> None:
        """The newest first: by its delay the brain dates the others, which came late, rightly."""
        for window in sorted(windows, key=lambda w: w.end, reverse=True):
            if self._send(window):
                self.sent += 1
            else:
                self.undelivered += 1

    def _send(self, window: LiveWindow) -> bool:
        if self._clock() < self._not_before:
            return False
        try:
            sock = self._connection()
            report = window_report(window, self._token)
            write_frame(sock, encode_call("report", report, kind=TMessageType.ONEWAY))
        except (OSError, StormbrainError) as e:
            self.close()
            self.trouble = str(e)
            self._pause = min(LONGEST_PAUSE_S, 2 * self._pause or FIRST_PAUSE_S)
            self._not_before = self._clock() + self._pause
            return False
        self.trouble, self._pause = None, 0.0
        return True

    def _connection(self) -> socket.socket:
        if self._socket is not None and (
            self._clock() - self._connected_at > CONNECTION_AGE_S or _is_closed(self._socket)
        ):
            self.close()
        if self._socket is None:
            host, _, port = self._leader().rpartition(":")
            self._socket = open_socket(host.strip("[]"), int(port), self._tls)
            self._socket.settimeout(TIMEOUT_S)
            self._connected_at = self._clock()
        return self._socket

    def _leader(self) -> str:
        """The first brain that answers leads, or knows who does."""
        why: StormbrainError | None = None
        for address in self._addresses:
            try:
                status = call_brain(
                    address, "status", self._token or "", timeout=TIMEOUT_S, tls=self._tls
                )
            except StormbrainError as e:
                why = e
                continue
            if status.leading:
                return address
            if status.leader:
                return str(status.leader)
            why = StormbrainError(f"the brain at {address} does not lead and knows no leader")
        assert why is not None, "there is at least one address"
        raise why

    def close(self) -> None:
        if self._socket is not None:
            with contextlib.suppress(OSError):
                self._socket.close()
            self._socket = None


def _is_closed(sock: socket.socket) -> bool:
    """Nothing is ever answered to a report, so whatever can be read is the other side's end."""
    sock.settimeout(0)
    try:
        sock.recv(1)
    except (BlockingIOError, ssl.SSLWantReadError):
        return False
    except OSError:
        return True
    finally:
        sock.settimeout(TIMEOUT_S)
    return True
