"""The parts of ``python -m benchmarks.simulation``."""
