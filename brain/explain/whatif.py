"""A cluster that is not: more nodes, fewer nodes, other rates. Only values are changed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from brain.errors import BadInput
from brain.monitor.snapshot import ClusterView, Supervisor, TopologyView
from brain.monitor.traffic import Rates

MAX_ADDED = 1000
MAX_FACTOR = 1e6


@dataclass(frozen=True)
class Change:
    """``remove`` names supervisors by id or host; added nodes are like the most capable one."""

    add_nodes: int = 0
    remove: tuple[str, ...] = ()
    rate: float = 1.0

    def __post_init__(self) -> None:
        if not 0 <= self.add_nodes <= MAX_ADDED:
            raise BadInput("add_nodes", f"must be 0 to {MAX_ADDED}")
        if not 0 < self.rate <= MAX_FACTOR:
            raise BadInput("rate", f"must be above 0 and at most {MAX_FACTOR:g}")

    def __str__(self) -> str:
        words = []
        if self.add_nodes:
            words.append(f"{self.add_nodes} more node{'s' if self.add_nodes > 1 else ''}")
        if self.remove:
            words.append(f"without {', '.join(self.remove)}")
        if self.rate != 1:
            words.append(f"rates × {self.rate:g}")
        return ", ".join(words) or "nothing changed"


def changed_view(view: ClusterView, change: Change) -> ClusterView:
    """The cluster after the change; executors of a removed node are unassigned."""
    gone = _supervisors(view, change.remove)
    kept = {s.id: s for s in view.supervisors.values() if s.id not in gone}
    if not kept and not change.add_nodes:
        raise BadInput("remove", "no node would be left")
    if change.add_nodes:
        model = _most_capable(kept.values() or view.supervisors.values())
        for n in range(1, change.add_nodes + 1):
            name = _fresh(f"new-{n}", kept)
            kept[name] = replace(model, id=name, host=name, blacklisted=False)
    topologies = {t.id: _without(t, gone) for t in view.topologies.values()}
    return replace(view, supervisors=kept, topologies=topologies)


def changed_rates(rates: Mapping[str, Rates], topology_id: str, factor: float) -> dict[str, Rates]:
    """The one topology's traffic and load times a factor; the others as they are."""
    changed = dict(rates)
    own = changed.get(topology_id)
    if own is not None and factor != 1.0:
        changed[topology_id] = replace(
            own,
            tuples=own.tuples * factor,
            bytes=own.bytes * factor,
            cpu_points=own.cpu_points * factor,
            executed=own.executed * factor,
            emitted=own.emitted * factor,
            acked=own.acked * factor,
            failed=own.failed * factor,
        )
    return changed


def _supervisors(view: ClusterView, names: Iterable[str]) -> set[str]:
    found = set()
    for name in names:
        ids = {s.id for s in view.supervisors.values() if name in (s.id, s.host)}
        if not ids:
            known = ", ".join(sorted(s.host for s in view.supervisors.values()))
            raise BadInput("remove", f"there is no node {name!r}; hosts are {known}")
        found |= ids
    return found


def _most_capable(supervisors: Iterable[Supervisor]) -> Supervisor:
    return max(supervisors, key=lambda s: (s.cpu or 0.0, len(s.ports), s.id))


def _fresh(name: str, taken: Mapping[str, object]) -> str:
    while name in taken:
        name += "'"
    return name


def _without(t: TopologyView, gone: set[str]) -> TopologyView:
    kept = {e: slot for e, slot in t.assignment.items() if slot[0] not in gone}
    return t if len(kept) == len(t.assignment) else replace(t, assignment=kept)
