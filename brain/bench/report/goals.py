"""Goals of the experiments: reached or not, and what the data says about why not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from brain.bench.report.words import change, probability
from brain.bench.results import ExperimentResult, RunStatus
from brain.bench.summary import MEASURES, Against, against, spread

NOISE = 0.05
"""Within this share of the best other, or within the spread of its runs, counts as as good."""


@dataclass(frozen=True)
class Verdict:
    experiment: str
    case: str
    scheduler: str
    baseline: str
    measure: str
    wanted: str
    paper: float | None
    ours: float | None
    p: float | None
    reached: bool | None
    """None: there are no valid runs to say so."""
    reason: str
    says: str
    quick: bool

    @property
    def word(self) -> str:
        return {True: "reached", False: "not reached", None: "not measured"}[self.reached]


def verdicts(results: Sequence[ExperimentResult]) -> list[Verdict]:
    return [_verdict(r, goal) for r in results for goal in r.experiment.get("goals", ())]


def _verdict(result: ExperimentResult, goal: Mapping[str, Any]) -> Verdict:
    case, scheduler, base = goal["case"], goal["scheduler"], goal["against"]
    seen = against(result, case, scheduler, goal["measure"], base)
    ours = None if seen is None else seen.ratio_of_medians
    least, most = goal.get("at_least"), goal.get("at_most")
    reached = None
    if ours is not None:
        reached = ours >= least if least is not None else ours <= float(most or 0.0)
    return Verdict(
        experiment=result.name,
        case=case,
        scheduler=scheduler,
        baseline=base,
        measure=goal["measure"],
        wanted=f"≥ {change(least)}" if least is not None else f"≤ {change(most)}",
        paper=goal.get("paper_ratio"),
        ours=ours,
        p=None if seen is None else seen.p,
        reached=reached,
        reason="" if reached else _why(result, case, scheduler, base, seen),
        says=goal.get("says", ""),
        quick=result.quick,
    )


def _why(
    result: ExperimentResult, case: str, scheduler: str, base: str, seen: Against | None
) -> str:
    """Only what the runs themselves show."""
    said = []
    for name in (scheduler, base):
        own = [r for r in result.runs if (r.case, r.scheduler) == (case, name)]
        bad = [r for r in own if r.status is not RunStatus.VALID]
        if not own:
            said.append(f"no run of {name} yet")
        elif bad:
            causes = "; ".join(dict.fromkeys(reason for r in bad for reason in r.reasons))
            said.append(f"{len(bad)} of {len(own)} runs of {name} do not count ({causes})")
    runs = result.valid(case, scheduler)
    stayed = [r.replacement for r in runs if r.replacement and r.replacement.outcome != "move"]
    if stayed:
        said.append(f"{len(stayed)} of {len(runs)} re-placements were not made: {stayed[0].reason}")
    if seen is not None and seen.p is None:
        said.append("fewer than three runs a side, so no test")
    elif seen is not None and seen.p is not None and seen.p >= 0.05:
        said.append(f"the difference is not significant (p = {probability(seen.p)})")
    cores = float(result.machine.get("cores") or 0)
    busy = [sum(n.cpu_points for n in r.nodes.values()) for r in runs]
    if busy and cores and median(busy) > 90.0 * cores:
        said.append(
            f"the executors of {scheduler} used {median(busy):.0f} of the {100 * cores:.0f} CPU "
            "points of the one machine that all nodes share"
        )
    return "; ".join(said) or "measured so; nothing in the runs explains it"


@dataclass(frozen=True)
class AutoCheck:
    """`auto` against the best other scheduler of a case, by the experiment's main measure."""

    experiment: str
    case: str
    measure: str
    best: str
    ratio: float
    p: float | None
    as_good: bool


def auto_checks(results: Sequence[ExperimentResult]) -> list[AutoCheck]:
    """Throughput everywhere; latency where it was measured."""
    found = []
    for result in results:
        for case in result.cases():
            for measure in ("throughput", "latency_ms"):
                check = _auto_check(result, case, measure)
                if check is not None:
                    found.append(check)
    return found


def _auto_check(result: ExperimentResult, case: str, measure: str) -> AutoCheck | None:
    more = MEASURES[measure]
    seen = {
        s: a
        for s in result.schedulers()
        if s != "auto" and (a := against(result, case, "auto", measure, s)) is not None
    }
    ratios = {s: a.ratio_of_medians for s, a in seen.items() if a.ratio_of_medians}
    if not ratios:
        return None
    # The best other is the one that auto looks worst against.
    pick = min if more else max
    best = pick(ratios, key=lambda s: ratios[s] or 0.0)
    ratio = float(ratios[best] or 0.0)
    within = ratio >= 1 - NOISE if more else ratio <= 1 + NOISE
    own, other = (spread(result, case, s, measure) for s in ("auto", best))
    if own is not None and other is not None and other.runs > 1:
        within = within or other.lowest <= own.median <= other.highest
    return AutoCheck(result.name, case, measure, best, ratio, seen[best].p, within)
