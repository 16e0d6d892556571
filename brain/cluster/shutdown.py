"""Ends a cluster: all of its processes, in an order that leaves none behind."""

from __future__ import annotations

from pathlib import Path

from brain.cluster import processes
from brain.cluster.daemons import ZOOKEEPER
from brain.cluster.state import ClusterState

_ROUNDS = 5


def end_all_processes(directory: Path, state: ClusterState | None) -> bool:
    """Supervisors first, so that they do not restart workers; ZooKeeper last.

    Works from the record and from the marker in the processes' environment, so that it also
    finds workers, orphans, and daemons whose record was lost. Says whether there were any.
    """
    recorded = dict(state.processes) if state is not None else {}
    found = any(ref.alive() for ref in recorded.values())
    zookeeper = recorded.pop(ZOOKEEPER, None)
    nodes = {node.id for node in state.nodes} if state is not None else set()
    processes.stop([ref for name, ref in recorded.items() if name in nodes], grace_secs=3.0)
    # Again while there are any: one may have been forked while the list was made.
    for _ in range(_ROUNDS):
        marked = {*recorded.values(), *processes.find_marked(directory)} - {zookeeper}
        others = [ref for ref in marked if ref is not None and ref.alive()]
        if not others:
            break
        found = True
        processes.stop(others, grace_secs=5.0)
    if zookeeper is not None:
        processes.stop([zookeeper], grace_secs=3.0)
    return found
