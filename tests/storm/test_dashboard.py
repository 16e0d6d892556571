"""Dashboard, doctor and status on real Storm: what they tell is what Nimbus says."""

from __future__ import annotations

import json
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from brain.cluster.local import LocalCluster
from brain.cluster.ports import free_ports
from brain.demo.run import brain_process
from brain.submit.submission import Submitter
from tests.dashboard.browser import open_browser, open_page
from tests.harness.command import run
from tests.harness.zookeeper import eventually

PARALLEL = Path(__file__).parents[2] / "topologies" / "parallel.py"
LIGHT = ["depth=2", "parallelism=3", "rate=20"]
CONF = {
    "nimbus.monitor.freq.secs": 5,
    "topology.brain.window.secs": 1,
    "topology.brain.observe.secs": 15,
    "topology.brain.algorithm": "metis",
    "topology.brain.mode": "dry-run",
}

pytestmark = [pytest.mark.storm, pytest.mark.browser, pytest.mark.timeout(900)]


@pytest.fixture(scope="module")
def cluster() -> Iterator[LocalCluster]:
    with LocalCluster.start("dashboard-test", nodes=3, slots=2, storm_conf=CONF) as cluster:
        assert cluster.plugin_jar is not None, "run `make setup`"
        yield cluster


def assignment(cluster: LocalCluster, topology_id: str) -> dict[str, str]:
    """Executor → slot, as Nimbus tells it."""
    ids = {node.host: node.id for node in cluster.supervisors}
    with cluster.nimbus() as nimbus:
        placed = nimbus.topology(topology_id).assignment
    return {f"{s}-{e}": f"{ids[host]}:{port}" for (s, e), (host, port) in placed.items()}


def shown(page: Any) -> dict[str, str]:
    return dict(
        page.eval_on_selector_all(
            "#now .chip",
            "all => all.map(c => [c.dataset.executor, c.closest('.worker')?.dataset.slot])",
        )
    )


def measured(url: str) -> bool:
    with urllib.request.urlopen(f"{url}api/picture", timeout=30) as answer:
        topologies = json.load(answer)["topologies"]
    return bool(topologies and topologies[0]["flow"] and topologies[0]["flow"]["tuples"] > 0)


def test_the_page_shows_what_runs_and_an_applied_plan_moves_it(
    cluster: LocalCluster, tmp_path: Path
) -> None:
    (port,) = free_ports(1)
    url = f"http://127.0.0.1:{port}/"
    where = ("--zookeeper", cluster.zookeeper_address)
    with brain_process(cluster, tmp_path / "brain.log", "--dashboard", f"127.0.0.1:{port}"):
        with cluster.nimbus() as nimbus:
            topology_id = Submitter(nimbus).submit(
                PARALLEL, name="lines", workers=3, settings=LIGHT
            )
        with open_browser() as browser:
            eventually(lambda: _up(url), 120, "the dashboard")
            with open_page(browser, url) as page:
                page.wait_for_selector("#now .worker .chip", timeout=180_000)
                eventually(
                    lambda: shown(page) == assignment(cluster, topology_id), 120, "what runs"
                )
                eventually(lambda: measured(url), 180, "measured traffic")
                checks = {
                    c["name"]: c
                    for c in run(
                        "doctor", *where, "--nimbus", cluster.nimbus_address, "--json"
                    ).json
                }
                assert [c for c in checks.values() if c["level"] == "fail"] == []
                for name in ("nimbus", "storm.scheduler", "plugin", "plugin version"):
                    assert checks[name]["level"] == "ok", checks[name]

                plan = eventually(
                    lambda: _plan(where), 120, "a dry run that finds something to move"
                )
                assert run("apply", "lines", plan["digest"][:12], *where).code == 0
                planned = {e: f"{n}:{p}" for e, (n, p) in plan["placement"].items()}
                eventually(lambda: shown(page) == planned, 180, "the move on the page")
                assert assignment(cluster, topology_id) == planned
                page.wait_for_selector(".chart .move", state="attached")
        status = run("status", *where, "--json").json
        assert status["topologies"][0]["plan"]["state"] == "in force"
        with cluster.nimbus() as nimbus:
            nimbus.kill("lines", wait_secs=0)


def _up(url: str) -> bool:
    try:
        with urllib.request.urlopen(f"{url}healthz", timeout=10):
            return True
    except OSError:
        return False


def _plan(where: tuple[str, ...]) -> Any:
    """A plan that can be applied; none while too little is measured."""
    told = run("plan", "lines", *where, "--json")
    return told.json if told.error is None and told.json["digest"] else None
