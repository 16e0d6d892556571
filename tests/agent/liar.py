"""An agent that lies: ``python -m tests.agent.liar NODE ZOOKEEPER HOST:PORT TOPOLOGY``.

It answers every probe with another lie about itself, and tells the other agents of rates and wishes
that cannot be. It looks like the agent of a real node, so that only what it says gives it away.
"""

from __future__ import annotations

import json
import math
import socket
import sys
from itertools import cycle

from kazoo.client import KazooClient

from brain.agent.datagram import PONG, Message, decode, encode
from brain.qos.space import NodeQos
from brain.qos.vivaldi import Coordinate

LIES = (
    (Coordinate(math.nan, 0.0, 1.0, 0.1), 0.0, 1.0, 100.0),
    (Coordinate(1e300, -1e300, 1.0, 0.0), 0.0, 1.0, 100.0),
    (Coordinate(90_000.0, 90_000.0, 0.0, 0.0), 0.0, 1.0, 1e6),
    (Coordinate(0.0, 0.0, -500.0, 0.0), 0.0, 1.0, 100.0),
    (Coordinate(0.0, 0.0, 0.01, 0.0), -1.0, 7.0, 100.0),
    (Coordinate(0.0, 0.0, 0.01, 0.0), math.nan, 1.0, math.inf),
    (Coordinate(0.0, 0.0, 0.01, 0.0), 0.0, 1.0, 1e6),
)


def main(node: str, zookeeper: str, address: str, topology_id: str) -> None:
    host, _, port = address.rpartition(":")
    listening = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    listening.bind((host, int(port)))
    client = KazooClient(hosts=zookeeper)
    client.start(timeout=20)
    everywhere = [[[[task, task]], node, 1e308, "pinned there"] for task in range(1, 20)]
    told = {
        f"live/{node}": {"address": address, "qos": [node, math.nan, -1e300, -5, -1, 9, -3, 0]},
        f"rates/{topology_id}/{node}": {
            "edges": [[1, 2, -5], [2, 3, math.inf], [3, 4, math.nan], [99, 1, 5]],
            "cpu": {"1": -1e9, "2": math.nan, "77": 5},
        },
        f"wishes/{topology_id}/{node}": {"base": None, "wishes": everywhere},
    }
    for path, value in told.items():
        whole = f"/stormbrain/agents/{path}"
        if client.exists(whole):
            client.delete(whole)
        client.create(whole, json.dumps(value).encode(), ephemeral=True, makepath=True)
    for coordinate, utilisation, availability, points in cycle(LIES):
        data, sender = listening.recvfrom(2000)
        asked = decode(data, None)
        # The base of a wish is what runs, so that the wishes are heard too.
        stage = client.get(f"/stormbrain/stage/{topology_id}")[0]
        _wish_from(client, topology_id, node, json.loads(stage), everywhere)
        if asked is not None:
            lie = NodeQos(node, coordinate, utilisation, availability, points)
            listening.sendto(encode(Message(PONG, asked.nonce, lie), None), sender)


def _wish_from(client: KazooClient, topology_id: str, node: str, stage: dict, wishes: list) -> None:  # type: ignore[type-arg]
    from brain.plans.plan import assignment_digest

    runs = {(a, b): (slot[0], slot[1]) for a, b, _, *slot in stage["executors"] if slot}
    told = {"base": assignment_digest(runs), "wishes": wishes}
    client.set(f"/stormbrain/agents/wishes/{topology_id}/{node}", json.dumps(told).encode())


if __name__ == "__main__":
    main(*sys.argv[1:])
