"""Quality of service in wide-area clusters: network coordinates, cost space, decisions.

Pure mathematics and state machines without I/O and without numpy: the agent beside each supervisor
runs on them in a few megabytes, the brain's ``qos`` algorithm and the simulation use the same.
"""
