"""Real daemons: they come up under their ids, may be broken and mended, and leave nothing."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from brain.cluster.local import ClusterAlreadyRunning, ClusterNotRunning, LocalCluster
from brain.cluster.paths import cluster_dir
from brain.cluster.processes import find_marked
from brain.cluster.state import load_state
from brain.submit.nimbus import NimbusFailed, NimbusUnreachable
from tests.harness.zookeeper import eventually

pytestmark = pytest.mark.storm


def leader_of(cluster: LocalCluster) -> str | None:
    """The daemon that leads, as Nimbus itself says."""
    try:
        with cluster.nimbus(timeout_secs=5.0) as nimbus:
            leader = nimbus.leader()
    except (NimbusUnreachable, NimbusFailed):
        return None
    return next((n.daemon for n in cluster.nimbuses if leader and n.port == leader.port), None)


def test_supervisors_have_their_own_ids_and_addresses(storm_cluster: LocalCluster) -> None:
    with storm_cluster.nimbus() as nimbus:
        registered = nimbus.cluster().supervisors
    assert [(s.id, s.host, s.slots) for s in registered] == [
        (node.id, node.host, 2) for node in storm_cluster.supervisors
    ]


def test_daemons_together_stay_below_a_gigabyte(storm_cluster: LocalCluster) -> None:
    daemons = storm_cluster.daemons()
    assert all(daemon.running for daemon in daemons)
    assert sum(daemon.rss_mb for daemon in daemons) < 1024


def test_up_on_a_running_cluster_is_refused(storm_cluster: LocalCluster) -> None:
    with pytest.raises(ClusterAlreadyRunning, match="shared is already running"):
        LocalCluster.start("shared")
    assert LocalCluster.attach("shared").nimbus_address == storm_cluster.nimbus_address


def test_a_second_cluster_loses_nimbus_and_supervisor_and_still_goes_down(
    storm_cluster: LocalCluster,
) -> None:
    with LocalCluster.start("second", nodes=1, slots=1, nimbuses=2, plugin=False) as second:
        first = leader_of(second)
        assert first is not None
        second.kill_daemon(first)
        eventually(lambda: leader_of(second) not in (None, first), 90.0, "another leader")
        second.kill_daemon("node-1")
        second.start_daemon("node-1")
        assert [s.id for s in second.wait_ready().supervisors] == ["node-1"]
        directory = second.state_dir
        assert find_marked(directory)
    assert not find_marked(directory)
    assert not directory.exists()
    with pytest.raises(ClusterNotRunning):
        LocalCluster.attach("second")
    assert all(daemon.running for daemon in storm_cluster.daemons())


def test_a_crash_of_the_command_leaves_a_cluster_that_down_clears(
    cluster_state_root: Path,
) -> None:
    code = (
        "from brain.cluster.local import LocalCluster; LocalCluster.start('crashed', plugin=False)"
    )
    command = subprocess.Popen([sys.executable, "-c", code])
    directory = cluster_dir("crashed")
    eventually(lambda: len((load_state(directory) or NOTHING).processes) > 2, 60.0)
    command.send_signal(signal.SIGKILL)
    command.wait()
    assert find_marked(directory)
    assert LocalCluster.remove("crashed")
    assert not find_marked(directory)
    assert not directory.exists()
    assert not LocalCluster.remove("crashed")


class NOTHING:
    processes: tuple[()] = ()
