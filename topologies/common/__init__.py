"""What the benchmark topologies share: sources, stateful operators, sinks, pacing, counting."""
