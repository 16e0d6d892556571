"""Payload (Fischer and Bernstein 2015, section V-A 3, figures 3, 9, 10 and 11).

::

    spout[0] ──► bolt-1[0] ──► bolt-2[0] ──► … ──► bolt-D[0]
    spout[1] ──► bolt-1[1] ──► bolt-2[1] ──► … ──► bolt-D[1]
       …            …             …                   …
    spout[P-1] ► bolt-1[P-1] ► bolt-2[P-1] ► … ──► bolt-D[P-1]

Parallel (see ``topologies/parallel.py``) with larger tuples: besides the key of 16 bytes they
carry letters up to ``tuple_bytes``, 3 KB by default, the mean size of an e-mail.

What the paper varied: the tuple size (figure 9: ``depth=3 tuple_bytes=…`` up to 30,000), and
acking at a constant rate (figures 10, 11: ``rate=4000 tuple_bytes=112 acking=true|false``).
``tuple_bytes=16`` is Parallel itself.
"""

from __future__ import annotations

from dataclasses import dataclass

from streamparse import Topology

from topologies.parallel import LineOptions, build_lines

KEY_BYTES = 16


@dataclass(frozen=True)
class Options(LineOptions):
    """The paper's values for a cluster of 10 machines."""

    parallelism: int = 10
    """Tasks of the spout and of each bolt (P): the number of machines."""
    max_pending: int = 500
    """Unacked tuples a spout task may have (topology.max.spout.pending)."""
    tuple_bytes: int = 3072
    """Size of a tuple's key and payload; 16 for the key alone."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.tuple_bytes < KEY_BYTES:
            raise ValueError(f"tuple_bytes is {self.tuple_bytes}, but a key has {KEY_BYTES}")


def build(options: Options) -> type[Topology]:
    return build_lines("payload", options, options.tuple_bytes - KEY_BYTES)
