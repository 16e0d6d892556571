"""Placement algorithms: pure functions on the model, one file each, found through the registry."""
