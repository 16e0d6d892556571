"""The sections of the algorithm benchmark, one file each."""
