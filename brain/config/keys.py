"""Every configuration key: name, default, unit, meaning. The documentation is made from this.

Cluster keys (``brain.scheduler.*``) are read from storm.yaml by the plugin and from
``stormbrain serve`` by the brain. Topology keys (``topology.brain.*``) may be set for the whole
cluster in storm.yaml and per topology at submission; the topology's own value wins.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from brain.errors import BadInput


class Scope(StrEnum):
    CLUSTER = "cluster"
    TOPOLOGY = "topology"


Check = Callable[[Any], str | None]
"""Returns what is wrong with a value, or None."""


def _number(low: float, high: float = math.inf) -> Check:
    def check(value: Any) -> str | None:
        if isinstance(value, bool) or not isinstance(value, int | float) or math.isnan(value):
            return "must be a number"
        if not low <= value <= high:
            return f"must be at least {low:g}" + (f" and at most {high:g}" if high < 1e300 else "")
        return None

    return check


def _integer(low: int, high: int = 2**31 - 1) -> Check:
    def check(value: Any) -> str | None:
        if isinstance(value, bool) or not isinstance(value, int):
            return "must be a whole number"
        return None if low <= value <= high else f"must be from {low} to {high}"

    return check


def _one_of(*choices: str) -> Check:
    return lambda v: None if v in choices else f"must be one of {', '.join(choices)}"


def _text(value: Any) -> str | None:
    return None if value is None or isinstance(value, str) else "must be a string"


def _flag(value: Any) -> str | None:
    return None if isinstance(value, bool) else "must be true or false"


def _algorithm(value: Any) -> str | None:
    from brain.algorithms import registry  # needs the model, which needs no settings

    return _one_of(*registry.names(), BY_AGENTS)(value)


def _component_nodes(value: Any) -> str | None:
    ok = isinstance(value, dict) and all(
        isinstance(k, str) and isinstance(v, list) and v and all(isinstance(n, str) for n in v)
        for k, v in value.items()
    )
    return None if ok else "must map each component to a list of hosts or supervisor ids"


def _names(value: Any) -> str | None:
    ok = isinstance(value, list) and all(isinstance(n, str) for n in value)
    return None if ok else "must be a list of component names"


def _name_groups(value: Any) -> str | None:
    ok = isinstance(value, list) and all(_names(g) is None for g in value)
    return None if ok else "must be a list of lists of component names"


def _params(value: Any) -> str | None:
    ok = isinstance(value, dict) and all(isinstance(k, str) for k in value)
    return None if ok else "must map parameter names to values"


@dataclass(frozen=True)
class Key:
    name: str
    default: Any
    unit: str
    meaning: str
    scope: Scope
    check: Check
    reader: str = "brain"
    """Who reads it: plugin (Nimbus), hook (workers), brain, or several of them."""
    secret: bool = False
    """Its value is never shown, not even where it is wrong."""

    def validate(self, value: Any, where: str) -> Any:
        """The value, or BadInput that names the key and where it was set."""
        if value is False and self.check("off") is None and self.check(False) is not None:
            value = "off"  # what YAML makes of a bare `off`
        wrong = None if value is None and self.default is None else self.check(value)
        if wrong:
            shown = "what was given" if self.secret else json.dumps(value, default=str)
            raise BadInput(
                f"{where}: {self.name}",
                f"{wrong}, not {shown}",
                f"default: {json.dumps(self.default)}; meaning: {self.meaning}",
            )
        return value


_C, _T = Scope.CLUSTER, Scope.TOPOLOGY
BY_AGENTS = "qos-distributed"
"""The algorithm of topologies that agents place: the brain only bootstraps them."""
MODES = ("off", "dry-run", "advise", "auto")

_ALL = (
    # --- the plugin's own
    Key(
        "brain.scheduler.address",
        None,
        "host:port, …",
        "Where the brains are; by default the leader's address is found in ZooKeeper.",
        _C,
        _text,
        "plugin, hook",
    ),
    Key(
        "brain.scheduler.zookeeper.root",
        "/stormbrain",
        "path",
        "Root of all our znodes; the ZooKeeper servers are Storm's own.",
        _C,
        _text,
        "plugin, hook, brain",
    ),
    Key(
        "brain.scheduler.deadline.ms",
        2000,
        "ms",
        "Longest that schedule() waits for brain and ZooKeeper together.",
        _C,
        _integer(50, 60_000),
        "plugin",
    ),
    Key(
        "brain.scheduler.connect.timeout.ms",
        300,
        "ms",
        "Longest wait for a connection to the brain.",
        _C,
        _integer(10, 60_000),
        "plugin, hook",
    ),
    Key(
        "brain.scheduler.fallback",
        "even",
        "",
        "Storm's scheduler for what has no valid plan: even or resource-aware.",
        _C,
        _one_of("even", "resource-aware"),
        "plugin",
    ),
    Key(
        "brain.scheduler.max.frame.bytes",
        16 * 1024 * 1024,
        "bytes",
        "Largest Thrift message that either side accepts.",
        _C,
        _integer(65_536, 1 << 30),
        "plugin, hook, brain",
    ),
    Key(
        "brain.scheduler.token",
        None,
        "",
        "Shared secret between plugin, workers and brain; never logged.",
        _C,
        _text,
        "plugin, hook, brain",
        secret=True,
    ),
    Key(
        "brain.scheduler.tls.ca",
        None,
        "path",
        "PEM file of the authorities whose certificates are believed; with it all connections to "
        "the brain are TLS, and both sides must show a certificate.",
        _C,
        _text,
        "plugin, hook, brain",
    ),
    Key(
        "brain.scheduler.tls.cert",
        None,
        "path",
        "PEM file of this side's certificate and its chain.",
        _C,
        _text,
        "plugin, hook, brain",
    ),
    Key(
        "brain.scheduler.tls.key",
        None,
        "path",
        "PEM file of this side's private key (PKCS#8, no password).",
        _C,
        _text,
        "plugin, hook, brain",
    ),
    Key(
        "brain.scheduler.tls.verify.host",
        True,
        "",
        "Whether the brain's certificate must be for the host that was dialled.",
        _C,
        _flag,
        "plugin, hook, brain",
    ),
    # --- the brain as a service
    Key(
        "brain.scheduler.max.connections",
        256,
        "connections",
        "More at once are refused.",
        _C,
        _integer(1, 65_536),
    ),
    Key(
        "brain.scheduler.max.edges",
        200_000,
        "edges",
        "Edges that the monitor keeps per topology; the thinnest beyond that are not counted.",
        _C,
        _integer(1000),
    ),
    Key(
        "brain.scheduler.cpu.headroom.percent",
        90.0,
        "%",
        "How full of measured CPU a node may be "
        "planned (Aniello's B_i as a share of its capacity).",
        _C,
        _number(1, 100),
    ),
    Key(
        "brain.scheduler.honour.memory",
        False,
        "",
        "Whether requested memory is a hard limit in "
        "plans (Storm's even scheduler ignores it, its resource aware one does not).",
        _C,
        _flag,
    ),
    Key(
        "brain.scheduler.zookeeper.auth",
        None,
        "user:password",
        "Digest credentials with which the brain owns its znodes; others may then only read. With "
        "agents (docs/qos.md) Nimbus's storm.yaml needs them too, and each agent.",
        _C,
        _text,
        secret=True,
    ),
    Key(
        "brain.scheduler.bursts.file",
        None,
        "path",
        "What `stormbrain pipeline bursts` wrote: seasons and bursts that the forecast starts "
        "from. Read again when it changes.",
        _C,
        _text,
    ),
    Key(
        "brain.scheduler.reports.per.worker.per.minute",
        120,
        "reports",
        "More from one worker are dropped.",
        _C,
        _integer(1),
    ),
    # --- per topology: how it is measured
    Key(
        "topology.brain.window.secs",
        5,
        "s",
        "Length of one measuring window of the hook.",
        _T,
        _integer(1, 3600),
        "hook",
    ),
    Key(
        "topology.brain.metrics.dir",
        None,
        "path",
        "Where workers write the metric log; default <storm.log.dir>/brain-metrics.",
        _T,
        _text,
        "hook",
    ),
    Key(
        "topology.brain.metrics.roll.mb",
        64,
        "MB",
        "Size at which a metric log file is rolled.",
        _T,
        _integer(1, 65_536),
        "hook",
    ),
    Key(
        "topology.brain.metrics.keep.files",
        10,
        "files",
        "Metric log files kept per worker.",
        _T,
        _integer(1, 100_000),
        "hook",
    ),
    # --- per topology: how it is placed
    Key(
        "topology.brain.mode",
        "auto",
        "",
        "off: left to Storm; dry-run: decisions are only "
        "recorded; advise: plans wait for `stormbrain apply`; auto: plans are applied.",
        _T,
        _one_of(*MODES),
    ),
    Key(
        "topology.brain.algorithm",
        "auto",
        "",
        "Which algorithm places it (see `stormbrain solve --help`); qos-distributed leaves it to "
        "the agents beside the supervisors, after a first placement by qos-bootstrap.",
        _T,
        _algorithm,
    ),
    Key("topology.brain.algorithm.params", {}, "", "Parameters of that algorithm.", _T, _params),
    Key(
        "topology.brain.theta.secs",
        1.0,
        "s",
        "θ: time that one computation may take.",
        _T,
        _number(0.01, 600),
    ),
    Key("topology.brain.seed", 0, "", "Seed of everything random.", _T, _integer(0)),
    Key(
        "topology.brain.observe.secs",
        60,
        "s",
        "Traffic of the last so many seconds is what a placement is computed from.",
        _T,
        _integer(1, 86_400),
    ),
    Key(
        "topology.brain.first.replacement.secs",
        60,
        "s",
        "First re-placement no earlier than this after the first measured traffic (Fischer: 60 s).",
        _T,
        _integer(0, 86_400),
    ),
    Key(
        "topology.brain.period.secs",
        60,
        "s",
        "Aniello's P: how often a gain in traffic is looked for.",
        _T,
        _integer(1, 86_400),
    ),
    Key(
        "topology.brain.min.gain.percent",
        10.0,
        "%",
        "Aniello's R: a re-placement must lower inter-node traffic by more than this.",
        _T,
        _number(0, 100),
    ),
    Key(
        "topology.brain.cooldown.secs",
        300,
        "s",
        "No second re-placement before this time has passed.",
        _T,
        _integer(0, 604_800),
    ),
    Key(
        "topology.brain.horizon.secs",
        1800,
        "s",
        "A move must save more tuples between nodes in this time than its restarts hold up.",
        _T,
        _integer(1, 604_800),
    ),
    Key(
        "topology.brain.downtime.secs",
        20.0,
        "s",
        "How long a restarted worker is assumed to be away, until moves have been measured.",
        _T,
        _number(0, 3600),
    ),
    Key(
        "topology.brain.overload.secs",
        30,
        "s",
        "Aniello's X: a node must be over its limit for this long before that moves anything.",
        _T,
        _integer(0, 86_400),
    ),
    Key(
        "topology.brain.burst.factor",
        3.0,
        "",
        "Traffic this many times the usual, and not lasting, counts as a burst and decides "
        "nothing; 0 turns the detector off.",
        _T,
        _number(0, 1000),
    ),
    Key(
        "topology.brain.learn",
        True,
        "",
        "Whether a topology's traffic is remembered under its name, for the first placement when "
        "it is submitted again.",
        _T,
        _flag,
    ),
    Key(
        "topology.brain.max.moves",
        None,
        "executors",
        "Most executors that one re-placement may move; none by default.",
        _T,
        _integer(0),
    ),
    Key(
        "topology.brain.balance.factor",
        1.2,
        "",
        "How far a node's planned CPU may exceed its fair share (or by one executor, if that is "
        "more); 0 lets a topology be packed onto as few nodes as its measured CPU allows.",
        _T,
        _number(0, 1000),
    ),
    Key(
        "topology.brain.pin",
        {},
        "",
        "Component → hosts or supervisor ids that may hold it.",
        _T,
        _component_nodes,
    ),
    Key(
        "topology.brain.spread",
        [],
        "",
        "Components of which no two executors share a node.",
        _T,
        _names,
    ),
    Key(
        "topology.brain.colocate",
        [],
        "",
        "Groups of components that share one node.",
        _T,
        _name_groups,
    ),
    Key(
        "topology.brain.max.executors.per.worker",
        None,
        "executors",
        "I-Scheduler's T.",
        _T,
        _integer(1),
    ),
)

KEYS: dict[str, Key] = {k.name: k for k in _ALL}


def default(name: str) -> Any:
    return KEYS[name].default
