"""Storm's side: Nimbus, its configuration, and the keys of ours in it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from kazoo.client import KazooClient
from kazoo.exceptions import KazooException

from brain.cluster.storm_yaml import HOOK_CLASS, SCHEDULER_CLASS
from brain.config import Settings
from brain.doctor.check import Check, fail, ok, warn
from brain.errors import StormbrainError
from brain.submit.nimbus import NimbusClient

SLOW_ROUND_SECS = 60


def find_nimbus(client: KazooClient, storm_root: str = "/storm") -> str | None:
    """Where some Nimbus is, as Storm itself has noted it in ZooKeeper: host:port."""
    try:
        found = sorted(client.get_children(f"{storm_root}/nimbuses"))
    except KazooException:
        return None
    return found[0] if found else None


def check_nimbus(address: str | None) -> tuple[list[Check], Mapping[str, Any] | None]:
    """Whether Nimbus answers, and its configuration if it does."""
    if address is None:
        return [
            fail("nimbus", "none is registered in ZooKeeper", "start Nimbus, or give --nimbus")
        ], None
    try:
        with NimbusClient.at(address, timeout_secs=10.0) as nimbus:
            cluster = nimbus.cluster()
            conf = nimbus.nimbus_conf()
    except StormbrainError as e:
        return [fail("nimbus", e.message, e.hint or "start Nimbus")], None
    leader = next((n for n in cluster.nimbuses if n.leader), None)
    checks = [
        ok("nimbus", f"{leader.host}:{leader.port} leads")
        if leader
        else fail("nimbus", f"{address} answers, but no Nimbus leads", "see Nimbus's log")
    ]
    slots = sum(s.slots for s in cluster.supervisors)
    used = sum(s.used_slots for s in cluster.supervisors)
    checks.append(
        ok("supervisors", f"{len(cluster.supervisors)} with {slots} slots, {used} in use")
        if cluster.supervisors
        else fail("supervisors", "none is registered", "start the supervisors")
    )
    return checks, conf


def check_conf(conf: Mapping[str, Any], root: str) -> Iterator[Check]:
    """The lines of storm.yaml that matter to us."""
    scheduler = conf.get("storm.scheduler")
    if scheduler == SCHEDULER_CLASS:
        yield ok("storm.scheduler", SCHEDULER_CLASS)
    else:
        yield fail(
            "storm.scheduler",
            f"is {scheduler or 'not set'}",
            f'set storm.scheduler: "{SCHEDULER_CLASS}" in Nimbus\'s storm.yaml, restart Nimbus',
        )
    hooks = conf.get("topology.auto.task.hooks") or []
    if HOOK_CLASS in hooks:
        yield ok("topology.auto.task.hooks", HOOK_CLASS)
    else:
        yield warn(
            "topology.auto.task.hooks",
            "does not name the traffic hook",
            f'set topology.auto.task.hooks: ["{HOOK_CLASS}"] in Nimbus\'s storm.yaml; topologies '
            "submitted afterwards are measured",
        )
    try:
        settings = Settings.read(conf, "storm.yaml")
    except StormbrainError as e:
        yield fail("brain.* keys", e.message, e.hint or "see `stormbrain config`")
    else:
        theirs = settings["zookeeper.root"].rstrip("/")
        if theirs == root.rstrip("/"):
            yield ok("brain.* keys", f"all known; znodes under {theirs}")
        else:
            yield fail(
                "brain.* keys",
                f"Nimbus looks for plans under {theirs}, this command under {root}",
                f"use --root {theirs}, or set brain.scheduler.zookeeper.root alike everywhere",
            )
    every = conf.get("nimbus.monitor.freq.secs")
    if isinstance(every, int | float) and every > SLOW_ROUND_SECS:
        yield warn(
            "nimbus.monitor.freq.secs",
            f"Nimbus schedules only every {every} s, so plans wait that long",
            "lower nimbus.monitor.freq.secs (10 is Storm's default)",
        )
