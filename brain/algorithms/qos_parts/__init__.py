"""The parts of ``qos`` and ``qos-bootstrap``: the cost space as arrays, and placing in it."""
