"""`make demo`: a real cluster, a real topology, and what the re-placement changed."""
