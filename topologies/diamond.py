"""Diamond micro-benchmark (Eskandari et al. 2020, figure 3b).

::

                ┌──► operator-1 ──┐
    source ─────┼──► operator-2 ──┼────► sink
      8         └──► operator-3 ──┘        8
                          8

One source, several operators side by side that all get every tuple, one sink. Section 5 uses four
tasks for source and sink and two for each operator; section 6.1 eight for each.
"""

from __future__ import annotations

from dataclasses import dataclass

from streamparse import Topology

from topologies.common.micro import MicroOptions, sink_spec, source_spec, work_spec
from topologies.common.options import make_topology


@dataclass(frozen=True)
class Options(MicroOptions):
    tasks: int = 8
    """Tasks of each operator in the middle."""
    end_tasks: int = 8
    """Tasks of the source and of the sink."""
    operators: int = 3
    """Operators side by side."""


def build(options: Options) -> type[Topology]:
    source = source_spec("source", 0, 1, options.end_tasks, options)
    middle = [
        work_spec(f"operator-{n}", [source], options.tasks, options, branch=True)
        for n in range(1, options.operators + 1)
    ]
    sink = sink_spec("sink", middle, [source], options.end_tasks, options)
    components = {stage.name: stage for stage in (source, *middle, sink)}
    return make_topology("diamond", components, options.config())
