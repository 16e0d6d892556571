"""Star micro-benchmark (Eskandari et al. 2020, figure 3c).

::

    source-1 ──┐              ┌──► sink-1
        4      ├──► centre ───┤      8
    source-2 ──┘      8       └──► sink-2
        4                            8

Several sources feed one operator, which feeds several sinks; every sink gets every tuple. Section
5 uses two tasks for each source and sink and four for the centre; section 6.1 four for the
sources and eight for the computing operators.
"""

from __future__ import annotations

from dataclasses import dataclass

from streamparse import Topology

from topologies.common.micro import MicroOptions, sink_spec, source_spec, work_spec
from topologies.common.options import make_topology


@dataclass(frozen=True)
class Options(MicroOptions):
    source_tasks: int = 4
    """Tasks of each source."""
    tasks: int = 8
    """Tasks of the operator in the middle and of each sink."""
    sources: int = 2
    """Number of sources."""
    sinks: int = 2
    """Number of sinks."""


def build(options: Options) -> type[Topology]:
    count = options.sources
    sources = [
        source_spec(f"source-{n}", n - 1, count, options.source_tasks, options)
        for n in range(1, count + 1)
    ]
    centre = work_spec("centre", sources, options.tasks, options)
    sinks = [
        sink_spec(f"sink-{n}", [centre], sources, options.tasks, options)
        for n in range(1, options.sinks + 1)
    ]
    components = {stage.name: stage for stage in (*sources, centre, *sinks)}
    return make_topology("star", components, options.config())
