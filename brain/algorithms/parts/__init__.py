"""What the algorithms share: limits, repair, the worker level, relabelling, score and verifier."""
