"""``python -m brain.agent``: what ``stormbrain agent`` becomes, without the weight of the CLI."""

from __future__ import annotations

import argparse
import logging
import os
import signal
import sys
from pathlib import Path

from kazoo.client import KazooClient
from kazoo.retry import KazooRetry

from brain.agent.board import AgentBoard
from brain.agent.loop import Agent
from brain.agent.node_load import NodeLoad
from brain.agent.qos_monitor import QosMonitor, Timing
from brain.agent.worker_monitor import WorkerMonitor
from brain.errors import StormbrainError
from brain.plans.ownership import zookeeper_credentials
from brain.qos.mape import MapeSettings

LISTEN = "127.0.0.1:6791"
TOKEN, AUTH = "STORMBRAIN_TOKEN", "STORMBRAIN_ZOOKEEPER_AUTH"
"""Secrets come from the environment: a command line is for everybody to see."""


def parser() -> argparse.ArgumentParser:
    p = argparse.ArgumentParser(
        prog="stormbrain agent",
        description="Run an agent beside a supervisor: it measures the network and moves executors "
        "of topologies with topology.brain.algorithm: qos-distributed.",
        epilog=f"From the environment: {TOKEN} (brain.scheduler.token) signs datagrams, {AUTH} "
        "(brain.scheduler.zookeeper.auth, user:password) owns znodes together with the brain.",
    )
    p.add_argument("--node", required=True, help="id of the supervisor that it runs beside")
    p.add_argument("--zookeeper", required=True, help="Storm's ZooKeeper: host:port, …")
    p.add_argument("--root", default="/stormbrain", help="brain.scheduler.zookeeper.root")
    p.add_argument("--listen", default=LISTEN, help="UDP address for other agents (loopback)")
    p.add_argument("--advertise", help="address that other agents reach it by, if different")
    p.add_argument("--metrics", required=True, type=Path, help="the workers' metric logs")
    p.add_argument("--cgroup", type=Path, help="control group whose CPU is the node's")
    p.add_argument("--cpu-points", type=float, help="the node's CPU, 100 a core")
    p.add_argument("--round-secs", type=float, default=30.0, help="between rounds of the loop")
    p.add_argument("--gossip-secs", type=float, default=30.0, help="between exchanges with a peer")
    p.add_argument("--probe-secs", type=float, default=5.0, help="between round-trip probes")
    p.add_argument("--observe-secs", type=float, default=60.0, help="traffic that is looked at")
    p.add_argument("--cooldown-rounds", type=int, default=5, help="K: rounds without a move")
    p.add_argument("--relative-gain", type=float, default=0.1, help="share that a move must gain")
    p.add_argument("--move-budget", type=int, default=16, help="executors that a decision may move")
    p.add_argument(
        "--uncoordinated", action="store_true", help="as in the paper: no lock, no joint decisions"
    )
    p.add_argument("--seed", type=int, help="same seed, same choices of peers")
    p.add_argument("--verbose", action="store_true", help="log at debug level")
    return p


def main(arguments: list[str] | None = None) -> int:
    options = parser().parse_args(arguments)
    logging.basicConfig(
        level=logging.DEBUG if options.verbose else logging.INFO,
        stream=sys.stderr,
        format="%(asctime)s %(levelname)s %(name)s: %(message)s",
    )
    logging.getLogger("kazoo").setLevel(logging.WARNING)
    try:
        return run(options)
    except StormbrainError as e:
        hint = f" ({e.hint})" if e.hint else ""
        print(f"error: {e.message}{hint}", file=sys.stderr)
        return e.exit_code


def run(options: argparse.Namespace) -> int:
    host, _, port = options.listen.rpartition(":")
    if not port.isdigit() or int(port) > 65535:
        raise StormbrainError(f"--listen {options.listen!r} is not host:port")
    least = min(options.round_secs, options.gossip_secs, options.probe_secs, options.observe_secs)
    if least <= 0 or options.cooldown_rounds < 0 or options.move_budget < 1:
        raise StormbrainError("intervals and the budget must be positive")
    load = NodeLoad(options.cgroup, options.cpu_points)
    monitor = QosMonitor(
        options.node,
        (host.strip("[]") or "127.0.0.1", int(port)),
        load,
        Timing(options.probe_secs, options.gossip_secs),
        os.environ.get(TOKEN),
        options.seed,
    )
    credentials = zookeeper_credentials(os.environ.get(AUTH))
    client = KazooClient(
        hosts=options.zookeeper,
        timeout=15,
        connection_retry=KazooRetry(max_tries=-1, max_delay=5.0),
        command_retry=KazooRetry(max_tries=3, max_delay=2.0, deadline=10.0),
        **credentials,
    )
    client.start_async()
    board = AgentBoard(client, options.root, options.node)
    agent = Agent(
        client,
        board,
        monitor,
        WorkerMonitor(options.metrics, options.node, options.observe_secs),
        options.advertise or "{}:{}".format(*monitor.address),
        MapeSettings(
            cooldown_rounds=options.cooldown_rounds,
            relative_gain=options.relative_gain,
            move_budget=options.move_budget,
            coordinated=not options.uncoordinated,
        ),
        options.round_secs,
        options.seed,
    )
    for signum in (signal.SIGTERM, signal.SIGINT):
        signal.signal(signum, lambda *_: agent.stop())
    logging.getLogger("brain.agent").info(
        "agent of %s listens on %s:%d", options.node, *monitor.address
    )
    agent.run()
    client.stop()
    client.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
