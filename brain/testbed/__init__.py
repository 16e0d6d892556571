"""Nodes with addresses, bandwidth, CPU shares and distances of their own, on this one machine.

::

    from brain.testbed import Testbed, TestbedSpec, gaussian_delays

    spec = TestbedSpec.uniform("fog", nodes=8, slots=2, bandwidth_mbit=100,
                               delays=gaussian_delays(8, mean_ms=(12, 32), sd_ms=(1, 3), seed=1))
    with Testbed.up(spec) as bed:   # namespaces, router, ZooKeeper, Nimbus, supervisors
        bed.cluster                 # a brain.cluster.local.LocalCluster
        bed.traffic()               # bytes through each node's interface, and control
        bed.delays()                # of each pair: as set, and as the router held them
        bed.run("node-3", ["…"])    # a process on a node, ended with the testbed
        bed.set_delay("node-1", "node-2", Delay(50, 2))
        bed.set_cpu("node-3", 20)

``with`` takes it down at the end; ``Testbed.up`` alone leaves it, ``Testbed.remove(name)`` ends it,
also what a killed command has left. Without root use ``TestbedSpec(..., mode="loopback")``: the
same cluster without any of the limits, and ``bed.cannot`` says what cannot be measured.
"""

from brain.testbed.bed import PairDelay, Testbed
from brain.testbed.machine import cannot_use_namespaces
from brain.testbed.network import Traffic
from brain.testbed.spec import Delay, NodeSpec, TestbedSpec, gaussian_delays

__all__ = [
    "Delay",
    "NodeSpec",
    "PairDelay",
    "Testbed",
    "TestbedSpec",
    "Traffic",
    "cannot_use_namespaces",
    "gaussian_delays",
]
