"""A Nimbus that is away, silent or not a Nimbus is told in one line with its address."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator

import pytest

from brain.cluster.ports import free_ports
from brain.errors import BadInput
from brain.submit.nimbus import NimbusClient, NimbusUnreachable, parse_address


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server


def test_nobody_there(listener: socket.socket) -> None:
    [port] = free_ports(1)
    with (
        pytest.raises(NimbusUnreachable, match=f"127.0.0.1:{port} does not answer: Connection ref"),
        NimbusClient("127.0.0.1", port) as nimbus,
    ):
        nimbus.cluster()


def test_somebody_who_never_answers(listener: socket.socket) -> None:
    host, port = listener.getsockname()
    with (
        pytest.raises(NimbusUnreachable, match=f"{host}:{port} does not answer"),
        NimbusClient(host, port, timeout_secs=0.2) as nimbus,
    ):
        nimbus.cluster()


def test_somebody_who_speaks_something_else(listener: socket.socket) -> None:
    host, port = listener.getsockname()

    def answer() -> None:
        connection, _ = listener.accept()
        with connection:
            connection.recv(100)
            connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")

    thread = threading.Thread(target=answer)
    thread.start()
    with pytest.raises(NimbusUnreachable), NimbusClient(host, port, timeout_secs=5.0) as nimbus:
        nimbus.cluster()
    thread.join()


@pytest.mark.parametrize(
    ("text", "address"), [("storm.lan", ("storm.lan", 6627)), ("h:1", ("h", 1))]
)
def test_addresses(text: str, address: tuple[str, int]) -> None:
    assert parse_address(text) == address


@pytest.mark.parametrize("text", ["", ":1", "h:", "h:x", "h:0", "h:70000"])
def test_wrong_addresses_are_refused(text: str) -> None:
    with pytest.raises(BadInput, match="is not host:port"):
        parse_address(text)
