"""The parts of ``python -m benchmarks.qos``."""
