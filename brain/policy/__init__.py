"""When to compute, when to move, and why not."""
