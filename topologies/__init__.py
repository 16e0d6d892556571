"""The papers' benchmark topologies in streamparse; see docs/topologies.md."""
