"""A scene for the dashboard: real Storm, Parallel under even, then moved; and a picture of it.

What `stormbrain dashboard-shot` runs when it is not pointed to a dashboard.
"""

from __future__ import annotations

import json
import os
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

from brain.cluster.local import LocalCluster
from brain.cluster.ports import free_ports
from brain.demo.run import brain_process
from brain.errors import StormbrainError
from brain.submit.submission import Submitter

PARALLEL = Path("topologies/parallel.py")
CONF = {
    "topology.brain.window.secs": 1,
    "topology.brain.observe.secs": 30,
    "topology.brain.first.replacement.secs": 45,
    "topology.brain.algorithm": "metis",
}
POINTS_AFTER = 12
"""So many points of the timeline must show tuples acked under the plan."""


def run_scene(shoot: Callable[[str], None], tell: Callable[[str], None]) -> None:
    """Calls ``shoot(url)`` when a plan is in force and measured; ends everything afterwards."""
    if not PARALLEL.exists():
        raise StormbrainError(f"{PARALLEL} is not here", "run this from the repository")
    with LocalCluster.start(
        f"scene-{os.getpid()}", nodes=3, slots=2, storm_conf=CONF, progress=tell
    ) as cluster:
        if cluster.plugin_jar is None:
            raise StormbrainError("the plugin jar is not built", "run `make setup`")
        (port,) = free_ports(1)
        url = f"http://127.0.0.1:{port}/"
        log = cluster.logs_dir / "brain.log"
        with brain_process(cluster, log, "--dashboard", f"127.0.0.1:{port}"):
            with cluster.nimbus() as nimbus:
                Submitter(nimbus).submit(
                    PARALLEL,
                    name="parallel",
                    workers=3,
                    settings=["depth=3", "parallelism=3", "rate=30", "payload=2000"],
                )
            tell("waiting for a plan in force")
            moved_ms = _wait(lambda: _moved_ms(url), 300, "a plan in force")
            tell("waiting for traffic under the plan")
            _wait(lambda: _acked_since(url, moved_ms) >= POINTS_AFTER, 300, "traffic")
            shoot(url)


def _topology(url: str) -> dict[str, Any]:
    try:
        with urllib.request.urlopen(f"{url}api/picture", timeout=10) as answer:
            topologies = json.load(answer)["topologies"]
    except (OSError, ValueError):
        return {}
    return topologies[0] if topologies else {}


def _moved_ms(url: str) -> int:
    own = _topology(url)
    return int(own["moved_ms"]) if own.get("moved_ms") and own["plan"] else 0


def _acked_since(url: str, moved_ms: int) -> int:
    """Points of the timeline since the move at which tuples were acked."""
    line = _topology(url).get("timeline")
    if not line:
        return 0
    points = zip(line["time_ms"], line["acked"], strict=True)
    return sum(1 for time_ms, acked in points if time_ms > moved_ms and acked)


def _wait(condition: Callable[[], Any], seconds: float, what: str) -> Any:
    deadline = time.monotonic() + seconds
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > deadline:
            raise StormbrainError(f"waited {seconds:g} s in vain for {what}")
        time.sleep(1.0)
