"""Windows read from logs, sent to the brain as if their worker had reported them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from thriftpy2.protocol import TCyBinaryProtocolFactory
from thriftpy2.rpc import make_client
from thriftpy2.transport import TCyFramedTransportFactory, TTransportException

from brain.errors import BadInput
from brain.idl import PROTOCOL_VERSION, wire
from brain.pipeline.live import LiveWindow

TIMEOUT_MS = 3000
"""To connect, and to hand a report to the network."""


def parse_address(text: str) -> tuple[str, int]:
    host, _, port = text.rpartition(":")
    if not host or not port.isdigit():
        raise BadInput("--brain", f"{text!r} is not HOST:PORT")
    return host, int(port)


def window_report(window: LiveWindow, token: str | None = None) -> Any:
    """The Thrift struct that the hook would have sent for this window."""
    assert window.last is not None
    return wire.WindowReport(
        protocol_version=PROTOCOL_VERSION,
        topology_id=window.topology,
        worker_id=window.worker,
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
        tasks=[
            wire.TaskLoad(
                task=t["task"],
                component=t["component"],
                cpu_ms=t["cpu_ms"] or 0.0,
                shell_cpu_ms=t["shell_cpu_ms"],
                executed=t["executed"],
                emitted=t["emitted"],
                acked=t["acked"],
                failed=t["failed"],
                execute_latency_ms=t["execute_ms"],
                process_latency_ms=t["process_ms"],
                complete_latency_ms=t["complete_ms"],
            )
            for t in window.tasks
        ],
        dropped=window.last["dropped_reports"],
        token=token,
    )


class Publisher:
    """Sends reports; what cannot be delivered is counted, since the brain wants what is new."""

    def __init__(self, address: tuple[str, int], token: str | None = None) -> None:
        self._address = address
        self._token = token
        self._client: Any = None
        self.sent = 0
        self.undelivered = 0

    def publish(self, windows: Sequence[LiveWindow]) -> None:
        for window in windows:
            if self._send(window) or self._send(window):  # the second try is on a new connection
                self.sent += 1
            else:
                self.undelivered += 1

    def _send(self, window: LiveWindow) -> bool:
        try:
            if self._client is None:
                self._client = make_client(
                    wire.Brain,
                    *self._address,
                    proto_factory=TCyBinaryProtocolFactory(strict_read=True, strict_write=True),
                    trans_factory=TCyFramedTransportFactory(),
                    timeout=TIMEOUT_MS,
                )
            self._client.report(window_report(window, self._token))
        except (TimeoutError, TTransportException, OSError):
            self.close()
            return False
        return True

    def close(self) -> None:
        if self._client is not None:
            self._client.close()
            self._client = None
