"""Stormbrain: places the executors of Apache Storm topologies by their measured traffic."""

__version__ = "0.1.0"
