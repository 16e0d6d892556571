"""What agents, shim and brain share in ZooKeeper, from an agent's side.

cluster                         supervisors, slots in use, topologies of agents    (the shim writes)
stage/<topology>                executors, where they run, settings                (the shim writes)
agents/live/<node>              ephemeral: address and quality of a live agent
agents/rates/<topology>/<node>  ephemeral: what came in to the executors of a node
agents/wishes/<topology>/<node> ephemeral: what an agent would move, and from which assignment
agents/locks/<topology>         kazoo's lock: who composes a decision
plans/, epochs/, decisions/     as the brain's
"""

from __future__ import annotations

import contextlib
import json
import logging
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from kazoo.client import KazooClient
from kazoo.exceptions import KazooException, NodeExistsError, NoNodeError, NotEmptyError

from brain.agent.datagram import info_from
from brain.plans.plan import Executor, SlotId
from brain.plans.store import PlanStore
from brain.qos.mape import Wish
from brain.qos.space import NodeQos
from brain.qos.stage import Stage

log = logging.getLogger(__name__)
MOST_BYTES = 512 * 1024
KEPT_DECISIONS = 20
MOST_WORKER_POINTS = 10_000.0


@dataclass(frozen=True)
class ClusterNews:
    """What Nimbus said last of supervisors and slots."""

    hosts: Mapping[str, str]
    """Supervisor id → host."""
    ports: Mapping[str, tuple[int, ...]]
    """Of supervisors that may be used."""
    used: Mapping[str, frozenset[int]]
    topologies: tuple[str, ...]


@dataclass(frozen=True)
class StageNews:
    stage: Stage
    name: str
    settings: Mapping[str, Any]
    """The topology's ``topology.brain.*``."""
    rejected_epoch: int | None = None


class AgentBoard:
    """Reads and writes; every method may raise KazooException, and the round is then over."""

    def __init__(self, client: KazooClient, root: str, node: str) -> None:
        self._zk = client
        self._root = root.rstrip("/")
        self.node = node
        self.plans = PlanStore(client, root)
        self._missed: set[str] = set()

    def ensure_layout(self) -> None:
        self.plans.ensure_layout()
        for area in ("live", "rates", "wishes", "locks"):
            self._zk.ensure_path(f"{self._root}/agents/{area}")

    # ------------------------------------------------------------ agents

    def announce(self, address: str, own: NodeQos) -> None:
        """That this agent lives, where it listens, and what it is."""
        c = own.coordinate
        info = [c.x, c.y, c.height, c.error, own.utilisation, own.availability, own.cpu_points]
        self._put(f"agents/live/{self.node}", {"address": address, "qos": [own.id, *info]})

    def agents(self) -> dict[str, tuple[str, int]]:
        """Addresses of the live agents by node."""
        found = {}
        for node in self._children("agents/live"):
            told = self._get(f"agents/live/{node}")
            address = told.get("address") if isinstance(told, dict) else None
            host, _, port = str(address).rpartition(":")
            if host and port.isdigit():
                found[node] = (host.strip("[]"), int(port))
        return found

    # ------------------------------------------------------------ what runs

    def cluster(self) -> ClusterNews | None:
        raw = self._get("cluster")
        try:
            return None if raw is None else _cluster(raw)
        except (KeyError, TypeError, ValueError) as e:
            log.warning("the shim's cluster znode cannot be read: %s", e)
            return None

    def stage(self, topology_id: str, cluster: ClusterNews) -> StageNews | None:
        raw = self._get(f"stage/{topology_id}")
        try:
            return None if raw is None else _stage(raw, cluster)
        except (KeyError, TypeError, ValueError) as e:
            log.warning("%s: the shim's stage znode cannot be read: %s", topology_id, e)
            return None

    # ------------------------------------------------------------ what agents tell each other

    def tell_rates(self, topology_id: str, rates: Mapping[str, Any]) -> None:
        self._put(f"agents/rates/{topology_id}/{self.node}", rates)

    def rates(
        self, topology_id: str, executors: Iterable[Executor]
    ) -> tuple[dict[tuple[Executor, Executor], float], dict[Executor, float], float]:
        """Of all live agents: rates between executors, CPU points of executors, and of a worker
        by itself (the upper quartile: one that has just started costs more, and one may lie)."""
        of_task = {t: e for e in executors for t in range(e[0], e[1] + 1)}
        rates: dict[tuple[Executor, Executor], float] = {}
        cpu: dict[Executor, float] = {}
        workers: list[float] = []
        for node in self._children(f"agents/rates/{topology_id}"):
            raw = self._get(f"agents/rates/{topology_id}/{node}")
            try:
                edges, points = _told_rates(raw, of_task)
                workers += [float(w) for w in raw.get("workers", ()) if _positive(w)]
            except (TypeError, ValueError, KeyError, AttributeError) as e:
                log.warning(
                    "%s: what the agent of %s says cannot be meant: %s", topology_id, node, e
                )
                continue
            for pair, rate in edges.items():
                rates[pair] = rates.get(pair, 0.0) + rate
            for executor, amount in points.items():
                cpu[executor] = cpu.get(executor, 0.0) + amount
        own = sorted(workers)[round(0.75 * (len(workers) - 1))] if workers else 0.0
        return rates, cpu, min(own, MOST_WORKER_POINTS)

    def tell_wishes(self, topology_id: str, base: str, wishes: Iterable[Wish]) -> None:
        told = [[[list(e) for e in w.executors], w.to, w.gain, w.why] for w in wishes]
        self._put(f"agents/wishes/{topology_id}/{self.node}", {"base": base, "wishes": told})

    def wishes(self, topology_id: str, base: str) -> list[Wish]:
        """Of all live agents, made from the assignment ``base``."""
        found = []
        for node in self._children(f"agents/wishes/{topology_id}"):
            raw = self._get(f"agents/wishes/{topology_id}/{node}")
            if not isinstance(raw, dict) or raw.get("base") != base:
                continue
            with contextlib.suppress(TypeError, ValueError, KeyError):
                for executors, to, gain, why in raw["wishes"]:
                    members = tuple((int(a), int(b)) for a, b in executors)
                    found.append(Wish(members, str(to), float(gain), str(why)))
        return found

    @contextlib.contextmanager
    def locked(self, topology_id: str) -> Iterator[bool]:
        """Holds the topology's lock, if nobody else does."""
        lock = self._zk.Lock(f"{self._root}/agents/locks/{topology_id}", self.node)
        if not lock.acquire(blocking=False):
            yield False
            return
        try:
            yield True
        finally:
            lock.release()

    def keep_decision(self, topology_id: str, record: Mapping[str, Any]) -> None:
        """The latest decisions of a topology, as the brain keeps them."""
        path = f"decisions/{topology_id}"
        kept = self._get(path)
        history = kept if isinstance(kept, list) else []
        data = json.dumps([*history, record][-KEPT_DECISIONS:]).encode()
        if len(data) <= MOST_BYTES:
            self._write(path, data, ephemeral=False)

    def forget(self, live: set[str]) -> None:
        """Removes what this agent told of topologies that are gone; and their plans.

        A lock's znode says that a topology was of agents. If Nimbus has not named it for two
        rounds it is gone, and there may be no brain to clear up after it.
        """
        gone = set(self._children("agents/locks")) - live
        for topology_id in gone & self._missed:
            self.plans.forget(topology_id)
            for path in (f"decisions/{topology_id}", f"agents/locks/{topology_id}"):
                with contextlib.suppress(NoNodeError, NotEmptyError):
                    self._zk.delete(f"{self._root}/{path}")
        self._missed = gone
        for area in ("rates", "wishes"):
            for topology_id in set(self._children(f"agents/{area}")) - live:
                with contextlib.suppress(KazooException):
                    self._zk.delete(f"{self._root}/agents/{area}/{topology_id}/{self.node}")
                with contextlib.suppress(KazooException):  # not empty: another agent's turn
                    self._zk.delete(f"{self._root}/agents/{area}/{topology_id}")

    # ------------------------------------------------------------ znodes

    def _children(self, path: str) -> list[str]:
        try:
            return sorted(self._zk.get_children(f"{self._root}/{path}"))
        except NoNodeError:
            return []

    def _get(self, path: str) -> Any:
        try:
            return json.loads(self._zk.get(f"{self._root}/{path}")[0])
        except NoNodeError:
            return None
        except ValueError as e:
            log.warning("%s/%s is not JSON: %s", self._root, path, e)
            return None

    def _put(self, path: str, value: Mapping[str, Any]) -> None:
        data = json.dumps(value).encode()
        if len(data) > MOST_BYTES:
            log.warning("%s: %d bytes are too many to tell", path, len(data))
            return
        self._write(path, data, ephemeral=True)

    def _write(self, path: str, data: bytes, ephemeral: bool) -> None:
        whole = f"{self._root}/{path}"
        held = self._zk.exists(whole)
        session = self._zk.client_id[0] if self._zk.client_id else None
        if held is not None and ephemeral and held.ephemeralOwner != session:
            # Of an earlier run of this agent: it would vanish with that session.
            with contextlib.suppress(NoNodeError):
                self._zk.delete(whole)
            held = None
        if held is not None:
            with contextlib.suppress(NoNodeError):
                self._zk.set(whole, data)
                return
        with contextlib.suppress(NodeExistsError):
            self._zk.create(whole, data, ephemeral=ephemeral, makepath=True)


def read_agents(client: KazooClient, root: str) -> dict[str, NodeQos]:
    """What live agents say of their nodes, for the brain: by supervisor id."""
    board = AgentBoard(client, root, "")
    found = {}
    for node in board._children("agents/live"):
        told = board._get(f"agents/live/{node}")
        raw = told.get("qos") if isinstance(told, dict) else None
        info = info_from(raw) if isinstance(raw, list) and len(raw) == 8 else None
        if info is not None and info.id == node and info.sane:
            found[node] = info
    return found


def _told_rates(
    raw: Mapping[str, Any], of_task: Mapping[int, Executor]
) -> tuple[dict[tuple[Executor, Executor], float], dict[Executor, float]]:
    edges: dict[tuple[Executor, Executor], float] = {}
    cpu: dict[Executor, float] = {}
    for source_task, target_task, rate in raw["edges"]:
        source, target = of_task.get(source_task), of_task.get(target_task)
        if source is not None and target is not None and _positive(rate):
            edges[source, target] = edges.get((source, target), 0.0) + float(rate)
    for task, points in raw["cpu"].items():
        executor = of_task.get(int(task))
        if executor is not None and _positive(points):
            cpu[executor] = cpu.get(executor, 0.0) + float(points)
    return edges, cpu


def _positive(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0.0 < value < 1e15


def _cluster(raw: Mapping[str, Any]) -> ClusterNews:
    supervisors = raw["supervisors"]
    return ClusterNews(
        hosts={s["id"]: s["host"] for s in supervisors},
        ports={
            s["id"]: tuple(int(p) for p in s["ports"])
            for s in supervisors
            if not s.get("blacklisted")
        },
        used={n: frozenset(int(p) for p in ports) for n, ports in raw["used"].items()},
        topologies=tuple(raw["topologies"]),
    )


def _stage(raw: Mapping[str, Any], cluster: ClusterNews) -> StageNews:
    executors: dict[Executor, str] = {}
    assignment: dict[Executor, SlotId] = {}
    for start, end, component, *slot in raw["executors"]:
        executors[start, end] = component
        if slot:
            assignment[start, end] = (slot[0], int(slot[1]))
    settings = raw["conf"]
    pins = settings.get("topology.brain.pin") or {}
    ids: dict[str, set[str]] = {}
    for node, host in cluster.hosts.items():
        ids.setdefault(host, set()).add(node)
        ids.setdefault(node, set()).add(node)
    rejected = raw.get("rejected") or {}
    stage = Stage(
        topology_id=raw["topology"],
        executors=executors,
        assignment=assignment,
        executor_hash=raw["executor_hash"],
        workers=int(raw["workers"]),
        pins={
            component: frozenset(n for host in hosts for n in ids.get(host, ()))
            for component, hosts in pins.items()
        },
        free_slots={
            node: tuple(p for p in sorted(ports) if p not in cluster.used.get(node, ()))
            for node, ports in cluster.ports.items()
        },
        live_nodes=frozenset(cluster.ports),
    )
    return StageNews(stage, raw["name"], settings, rejected.get("epoch"))
