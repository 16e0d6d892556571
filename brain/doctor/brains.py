"""Our side: ZooKeeper, the leading brain, versions, clocks, and whether reports arrive."""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterator, Mapping
from typing import Any

from kazoo.client import KazooClient
from kazoo.exceptions import KazooException

from brain import __version__
from brain.cluster.prerequisites import find_java
from brain.doctor.check import Check, fail, ok, warn
from brain.doctor.losses import check_losses
from brain.errors import StormbrainError
from brain.plans.election import LeaderInfo, read_leader

SKEW_MS = 2000
"""Windows are dated by the brain's clock, so skew does no harm to rates; but logs mislead."""
SILENT_WINDOWS = 6


def check_java() -> Check:
    """Needed where a local cluster is to run; a brain alone does without."""
    try:
        return ok("java", str(find_java()))
    except StormbrainError as e:
        return warn("java", e.message, f"{e.hint} (only for a local cluster)")


def check_zookeeper(client: KazooClient, hosts: str, root: str) -> list[Check]:
    """Whether it answers, how its clock stands, and whether our znodes are there."""
    begin = time.monotonic()
    try:
        there = client.exists(root)
        took_ms = (time.monotonic() - begin) * 1000
        skew_ms = _zookeeper_skew_ms(client)
    except KazooException as e:
        return [fail("zookeeper", f"{hosts}: {type(e).__name__}", "check its log and ACLs")]
    checks = [ok("zookeeper", f"{hosts} answers in {took_ms:.0f} ms")]
    if not there:
        checks.append(fail("znodes", f"{root} does not exist", "start a brain: `stormbrain serve`"))
    if skew_ms is not None:
        checks.append(_skew("clock of ZooKeeper", skew_ms))
    return checks


def _zookeeper_skew_ms(client: KazooClient) -> float | None:
    """ZooKeeper dates a znode by its own clock; None where we may not create one."""
    path = f"/stormbrain-doctor-{uuid.uuid4().hex[:8]}"
    try:
        before = time.time()
        client.create(path, b"", ephemeral=True)
        stat = client.exists(path)
        middle = (before + time.time()) / 2
        client.delete(path)
    except KazooException:
        return None
    return stat.ctime - middle * 1000 if stat else None


def check_leader(client: KazooClient, root: str) -> tuple[Check, LeaderInfo | None]:
    leader = read_leader(client, f"{root.rstrip('/')}/leader")
    if leader is None:
        return fail("brain", "none leads", "start one with `stormbrain serve`"), None
    found = f"{leader.id} at {leader.address} leads, term {leader.term}"
    return ok("brain", found), leader


def check_picture(picture: Mapping[str, Any], asked_ms: float) -> Iterator[Check]:
    """What the leading brain itself knows."""
    brain, storm = picture["brain"], picture["storm"]
    if brain["version"] == __version__:
        yield ok("brain version", brain["version"])
    else:
        yield warn(
            "brain version",
            f"the brain is {brain['version']}, this command {__version__}",
            "install the same version on both",
        )
    yield _skew("clock of the brain", brain["now_ms"] - asked_ms)
    yield from _nimbus_asks(storm)
    for topology in picture["topologies"]:
        yield _reports(topology, picture["now_ms"])
        yield check_losses(topology, picture["now_ms"])
        for error in topology["errors"]:
            yield warn(f"settings of {topology['name']}", error, "correct it and resubmit")


def _nimbus_asks(storm: Mapping[str, Any]) -> Iterator[Check]:
    if storm["state"] == "never":
        yield fail(
            "plugin",
            "Nimbus has never asked this brain",
            "put the plugin's jar into Nimbus's extlib-daemon/, set storm.scheduler, restart "
            "Nimbus; if that is done, check that Nimbus reaches the brain's address",
        )
        return
    age = f"{storm['age_ms'] / 1000:.0f} s ago"
    if storm["state"] == "away":
        yield fail("plugin", f"Nimbus asked last {age}", "is Nimbus running? see its log")
    else:
        yield ok("plugin", f"Nimbus {storm['nimbus']} asked {age}, Storm {storm['storm_version']}")
    jar = storm["plugin_version"]
    if jar == __version__:
        yield ok("plugin version", jar)
    else:
        yield warn(
            "plugin version",
            f"the jar is {jar or 'of unknown version'}, the brain {__version__}",
            "put the brain's own jar into extlib-daemon/ and extlib/, restart Nimbus",
        )
    if storm.get("clock_offset_ms") is not None:
        yield _skew("clock of Nimbus", -storm["clock_offset_ms"])


def _reports(topology: Mapping[str, Any], now_ms: int) -> Check:
    name = f"reports of {topology['name']}"
    last = topology["last_report_ms"]
    if last is None:
        return warn(
            name,
            "none has arrived",
            "is the jar in the supervisors' extlib/, and topology.auto.task.hooks set when it was "
            "submitted? If not, resubmit it",
        )
    age = (now_ms - last) / 1000
    if age > 5.0 * SILENT_WINDOWS:
        return warn(name, f"none for {age:.0f} s", "see the workers' logs for stormbrain")
    return ok(name, f"last {age:.0f} s ago")


def _skew(name: str, skew_ms: float) -> Check:
    if abs(skew_ms) <= SKEW_MS:
        return ok(name, f"{skew_ms / 1000:+.1f} s against this machine")
    return warn(name, f"{skew_ms / 1000:+.1f} s off", "let NTP or chrony set the clocks")
