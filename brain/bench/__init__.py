"""The papers' experiments on real Storm: declared in files, run interleaved, written as JSON."""
