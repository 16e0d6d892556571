"""Linear micro-benchmark (Eskandari et al. 2020, figure 3a).

::

    source ──shuffle──► operator-1 ──shuffle──► operator-2 ──► sink
      8                     8                       8            8

Operators in a row that pass tuples along. Section 5 uses two tasks each and up to 16 operators
(source and sink among them); section 6.1 eight tasks each.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from streamparse import Topology

from topologies.common.micro import MicroOptions, sink_spec, source_spec, work_spec
from topologies.common.options import make_topology


@dataclass(frozen=True)
class Options(MicroOptions):
    tasks: int = 8
    """Tasks of each operator, source and sink."""
    operators: int = 2
    """Operators between source and sink."""


def build(options: Options) -> type[Topology]:
    source = source_spec("source", 0, 1, options.tasks, options)
    stages: list[Any] = [source]
    for number in range(1, options.operators + 1):
        name = f"operator-{number}"
        stages.append(work_spec(name, [stages[-1]], options.tasks, options))
    stages.append(sink_spec("sink", [stages[-1]], [source], options.tasks, options))
    return make_topology("linear", {s.name: s for s in stages}, options.config())
