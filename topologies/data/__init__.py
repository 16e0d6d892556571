"""The benchmarks' data: seeded generators that mirror the originals, and readers of the originals.

Every kind of data is a ``Dataset``: it generates events under a seed, writes them in the format
of the original, and reads that format back. ``DATASETS`` lists them by name.
"""
