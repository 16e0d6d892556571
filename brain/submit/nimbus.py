"""A client of Nimbus: Storm's own Thrift service, framed binary over TCP.

The structs are those of the ``storm.thrift`` that streamparse carries. It is older than Storm
2.8, but Thrift skips the fields that it does not know.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import TracebackType
from typing import Any, BinaryIO

from streamparse.thrift import storm_thrift
from thriftpy2.protocol import TBinaryProtocolFactory
from thriftpy2.rpc import make_client
from thriftpy2.thrift import TApplicationException, TException
from thriftpy2.transport import TFramedTransportFactory, TTransportException

from brain.errors import BadInput, StormbrainError
from brain.submit.views import ClusterView, NimbusView, TopologyView, cluster_view, topology_view

DEFAULT_PORT = 6627
# Nimbus refuses frames above nimbus.thrift.max_buffer_size, by default 1 MiB.
UPLOAD_CHUNK_BYTES = 300 * 1024


class NimbusUnreachable(StormbrainError):
    """Nobody answers at that address, or the connection broke."""


class TopologyNameTaken(StormbrainError):
    """A topology of that name is running."""


class TopologyNotFound(StormbrainError):
    """No topology of that name or id is running."""


class TopologyRejected(StormbrainError):
    """Nimbus finds the topology or its configuration invalid."""


class NotAuthorized(StormbrainError):
    """Nimbus does not let this user do that."""


class NimbusFailed(StormbrainError):
    """Nimbus itself failed on a call; its log says why."""


def parse_address(text: str) -> tuple[str, int]:
    """``host`` or ``host:port``; Storm's usual port if none is given."""
    host, colon, port = text.strip().rpartition(":")
    if not colon:
        host, port = text.strip(), str(DEFAULT_PORT)
    if not host or not port.isdigit() or not 0 < int(port) < 65536:
        raise BadInput("--nimbus", f"{text!r} is not host:port", "for example nimbus.lan:6627")
    return host, int(port)


class NimbusClient:
    """Calls to the leading Nimbus. One connection, made at the first call; not thread-safe.

    Every failure is one :class:`StormbrainError` that names the address or the topology.
    """

    def __init__(self, host: str, port: int, timeout_secs: float = 20.0) -> None:
        self._seed = (host, port)
        self._address = (host, port)
        self._timeout_ms = int(timeout_secs * 1000)
        self._client: Any = None

    @classmethod
    def at(cls, address: str, timeout_secs: float = 20.0) -> NimbusClient:
        """A client of the Nimbus at ``host:port``."""
        return cls(*parse_address(address), timeout_secs=timeout_secs)

    @property
    def address(self) -> str:
        return f"{self._address[0]}:{self._address[1]}"

    def __enter__(self) -> NimbusClient:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        if self._client is not None:
            self._client.close()
            self._client = None
        self._address = self._seed

    def cluster(self) -> ClusterView:
        """Nimbuses, supervisors and topologies as they are now."""
        with self._calling("getClusterInfo") as nimbus:
            return cluster_view(nimbus.getClusterInfo())

    def leader(self) -> NimbusView | None:
        """The leading Nimbus, if there is one."""
        return next((nimbus for nimbus in self.cluster().nimbuses if nimbus.leader), None)

    def topology_id(self, name: str) -> str:
        """The id of the running topology with this name."""
        for topology in self.cluster().topologies:
            if topology.name == name:
                return topology.id
        raise _not_found(name)

    def topology(self, topology_id: str) -> TopologyView:
        """One topology with its executors: where each runs, and its counters since its start."""
        with self._calling("getTopologyInfo", topology_id) as nimbus:
            return topology_view(nimbus.getTopologyInfo(topology_id))

    def topology_conf(self, topology_id: str) -> dict[str, Any]:
        with self._calling("getTopologyConf", topology_id) as nimbus:
            conf: dict[str, Any] = json.loads(nimbus.getTopologyConf(topology_id))
        return conf

    def nimbus_conf(self) -> dict[str, Any]:
        with self._calling("getNimbusConf") as nimbus:
            conf: dict[str, Any] = json.loads(nimbus.getNimbusConf())
        return conf

    def upload(self, source: BinaryIO) -> str:
        """Uploads a jar; returns the location that :meth:`submit` wants."""
        with self._calling("uploadChunk") as nimbus:
            location: str = nimbus.beginFileUpload()
            while chunk := source.read(UPLOAD_CHUNK_BYTES):
                nimbus.uploadChunk(location, chunk)
            nimbus.finishFileUpload(location)
        return location

    def submit(
        self,
        name: str,
        jar_location: str,
        conf: Mapping[str, Any],
        topology: Any,
        active: bool = True,
    ) -> None:
        """Submits a Thrift ``StormTopology`` whose jar has been uploaded."""
        initial = storm_thrift.TopologyInitialStatus
        options = storm_thrift.SubmitOptions(
            initial_status=initial.ACTIVE if active else initial.INACTIVE
        )
        with self._calling("submitTopologyWithOpts", name) as nimbus:
            nimbus.submitTopologyWithOpts(
                name, jar_location, json.dumps(dict(conf)), topology, options
            )

    def kill(self, name: str, wait_secs: int | None = None) -> None:
        """Kills a topology; ``None`` waits for its message timeout, as Storm does."""
        with self._calling("killTopologyWithOpts", name) as nimbus:
            nimbus.killTopologyWithOpts(name, storm_thrift.KillOptions(wait_secs=wait_secs))

    def rebalance(
        self,
        name: str,
        wait_secs: int | None = None,
        workers: int | None = None,
        executors: Mapping[str, int] | None = None,
    ) -> None:
        """Schedules a topology anew, with other numbers of workers or executors if given."""
        options = storm_thrift.RebalanceOptions(
            wait_secs=wait_secs,
            num_workers=workers,
            num_executors=dict(executors) if executors else None,
        )
        with self._calling("rebalance", name) as nimbus:
            nimbus.rebalance(name, options)

    def activate(self, name: str) -> None:
        with self._calling("activate", name) as nimbus:
            nimbus.activate(name)

    def deactivate(self, name: str) -> None:
        """Stops a topology's spouts; its executors stay."""
        with self._calling("deactivate", name) as nimbus:
            nimbus.deactivate(name)

    @contextmanager
    def _calling(self, call: str, topology: str = "") -> Iterator[Any]:
        """Lends the connection and turns whatever goes wrong into one of our errors."""
        try:
            yield self._connected()
        except storm_thrift.AlreadyAliveException as e:
            raise TopologyNameTaken(
                f"a topology named {topology} is already running",
                f"kill it (stormbrain kill {topology}) or choose another name (--name)",
            ) from e
        except storm_thrift.NotAliveException as e:
            raise _not_found(topology) from e
        except storm_thrift.InvalidTopologyException as e:
            raise TopologyRejected(f"Nimbus rejects {topology}: {_first_line(e.msg)}") from e
        except storm_thrift.AuthorizationException as e:
            raise NotAuthorized(
                f"Nimbus refuses {call} {topology}".rstrip() + f": {_first_line(e.msg)}"
            ) from e
        except TApplicationException as e:
            self.close()
            raise NimbusFailed(
                f"Nimbus at {self.address} failed on {call}: {_first_line(str(e))}",
                "see Nimbus's log",
            ) from e
        except (OSError, TTransportException, TException) as e:
            shown = self.address
            self.close()
            raise NimbusUnreachable(
                f"Nimbus at {shown} does not answer: {_reason(e)}",
                "check the address, and that it runs (stormbrain cluster status)",
            ) from e

    def _connected(self) -> Any:
        """The connection to the leader, which may be another Nimbus than the one asked."""
        if self._client is None:
            self._client = self._open(*self._seed)
            leader = self._leader_of(self._client)
            if leader is not None and (leader.host, leader.port) != self._seed:
                self._client.close()
                self._client = None
                self._address = (leader.host, leader.port)
                self._client = self._open(*self._address)
        return self._client

    @staticmethod
    def _leader_of(client: Any) -> Any:
        try:
            return client.getLeader()
        except TApplicationException as e:
            if e.type == TApplicationException.MISSING_RESULT:  # null: none is elected yet
                return None
            raise

    def _open(self, host: str, port: int) -> Any:
        return make_client(
            storm_thrift.Nimbus,
            host,
            port,
            proto_factory=TBinaryProtocolFactory(),
            trans_factory=TFramedTransportFactory(),
            timeout=self._timeout_ms,
        )


def _not_found(topology: str) -> TopologyNotFound:
    return TopologyNotFound(f"no topology {topology} is running", "see: stormbrain list")


def _reason(error: Exception) -> str:
    """Thrift's own exceptions hide the socket's error, if any, in their context."""
    cause = error.__context__ if isinstance(error.__context__, OSError) else error
    text = getattr(cause, "strerror", None) or getattr(error, "message", None) or str(error)
    return _first_line(text) or type(error).__name__


def _first_line(text: str | None) -> str:
    return (text or "").strip().partition("\n")[0]
