"""How commands find ZooKeeper and the leading brain: a local cluster by name, or addresses."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from kazoo.client import KazooClient
from kazoo.handlers.threading import KazooTimeoutError
from thriftpy2.thrift import TApplicationException, TMessageType

from brain.errors import StormbrainError
from brain.idl import wire
from brain.idl.checked import message_reader, writer
from brain.plans.election import read_leader
from brain.service.framing import Disconnected, read_frame, write_frame
from brain.service.tls import ENVIRONMENT, TlsFiles

CONNECT_SECS = 5.0
MAX_ANSWER_BYTES = 256 * 1024 * 1024


def zookeeper_hosts(zookeeper: str | None, cluster: str) -> str:
    """The given hosts, else those of the local cluster of that name."""
    if zookeeper:
        return zookeeper
    from brain.cluster.local import LocalCluster

    return LocalCluster.attach(cluster).zookeeper_address


@contextmanager
def zookeeper_client(hosts: str) -> Iterator[KazooClient]:
    client = KazooClient(hosts=hosts, timeout=10)
    try:
        client.start(timeout=CONNECT_SECS)
    except KazooTimeoutError:
        client.stop()
        raise StormbrainError(
            f"ZooKeeper at {hosts} does not answer",
            "check that it runs and that --zookeeper or --cluster names the right one",
        ) from None
    try:
        yield client
    finally:
        client.stop()
        client.close()


def leader_address(client: KazooClient, root: str) -> str:
    leader = read_leader(client, f"{root.rstrip('/')}/leader")
    if leader is None:
        raise StormbrainError(
            "no brain leads: none runs, or none has won the election yet",
            "start one with `stormbrain serve`",
        )
    return leader.address


def call_brain(
    address: str, method: str, *args: Any, timeout: float = 10.0, tls: TlsFiles | None = None
) -> Any:
    """One call to a brain's Thrift door; TLS by ``tls``, else by STORMBRAIN_TLS_*, else none."""
    host, _, port = address.rpartition(":")
    files = tls or TlsFiles.from_environment()
    try:
        with open_socket(host.strip("[]"), int(port), files) as sock:
            sock.settimeout(timeout)
            write_frame(sock, encode_call(method, *args))
            answer = read_frame(sock, MAX_ANSWER_BYTES)
    except ssl.SSLError as e:
        raise StormbrainError(
            f"the brain at {address} and this side do not agree on TLS: "
            f"{getattr(e, 'verify_message', '') or e.reason or e}",
            f"compare {', '.join(ENVIRONMENT.values())} with the brain's brain.scheduler.tls.*",
        ) from None
    except (Disconnected, ConnectionResetError):
        raise StormbrainError(
            f"the brain at {address} closed the connection",
            "its log says why; does it want TLS (STORMBRAIN_TLS_CA, _CERT, _KEY)?",
        ) from None
    except (OSError, ValueError) as e:
        raise StormbrainError(
            f"the brain at {address} does not answer: {e}", "is `stormbrain serve` running there?"
        ) from None
    return _reply(method, answer)


def open_socket(host: str, port: int, files: TlsFiles | None) -> socket.socket:
    """A connection to a brain's door, by TLS if there are files for it."""
    sock = socket.create_connection((host, port), timeout=CONNECT_SECS)
    if files is None:
        return sock
    try:
        return files.client_context().wrap_socket(sock, server_hostname=host)
    except BaseException:
        sock.close()
        raise


def encode_call(method: str, *args: Any, kind: int = TMessageType.CALL) -> bytes:
    """A message to a brain, to be sent as one frame."""
    call = getattr(wire.Brain, f"{method}_args")(*args)
    out, buffer = writer()
    out.write_message_begin(method, kind, 1)
    call.write(out)
    out.write_message_end()
    return bytes(buffer.getvalue())


def _reply(method: str, answer: bytes) -> Any:
    message = message_reader(answer, max_string=MAX_ANSWER_BYTES)
    _, kind, _ = message.read_message_begin()
    if kind == TMessageType.EXCEPTION:
        failure = TApplicationException()
        failure.read(message)
        raise StormbrainError(f"the brain refused {method}: {failure.message}")
    result = getattr(wire.Brain, f"{method}_result")()
    result.read(message)
    for spec in result.thrift_spec.values():
        if spec[1] != "success" and getattr(result, spec[1]) is not None:
            error = getattr(result, spec[1])
            raise StormbrainError(getattr(error, "message", str(error)))
    return result.success
