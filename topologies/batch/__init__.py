"""The applications' results computed at once from all their input: what a run must equal.

Each function takes the raw events of all partitions (as a ``Dataset`` generates or reads them)
and gives the results by id, in the form of ``topologies.common.results.read_results``. They are
written for plainness and share no window, join or ranking code with the topologies.
"""
