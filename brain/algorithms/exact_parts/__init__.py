"""The parts of the exact solver: reduction to items, classes, pieces, patterns, and the models."""
