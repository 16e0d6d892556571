"""The MAPE loop of one agent (Cardellini et al. 2015, section III-B), as a state machine.

Events in (what runs, how the network and the nodes are, what executors say), decisions out; no
clock, no network: a *round* is whatever the caller counts, 30 s by default.

Monitor   ``observe``: an assignment that changed puts the topology in cooldown for K rounds.
Analyse   each movable local executor gets a virtual place by its springs; so does each *pool* of
          local executors that talk to each other, since two that sit together hold each other fast.
Plan      the best node with room; the *relative distance* must fall by a share of itself; the
          *look-ahead* refuses moves that would come back.
Execute   alone (the paper's form, ``coordinated=False``): the first wish becomes the decision. With
          coordination: wishes are told to all, and whoever holds the topology's lock composes one
          decision from everybody's, each judged against the others, within a budget of moves.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from brain.plans.plan import Executor, SlotId
from brain.qos.space import CostSpace
from brain.qos.stage import Rates, Stage
from brain.qos.trial import Trial

MEMORY_ROUNDS = 60
"""How long it is remembered that an executor left a node."""
MAX_DOUBLINGS = 6


@dataclass(frozen=True)
class MapeSettings:
    """``cooldown_rounds`` is the paper's K; ``relative_gain`` the relative-distance test."""

    cooldown_rounds: int = 5
    relative_gain: float = 0.1
    least_gain: float = 0.05
    """What each moved executor must gain, in units of the cost space: a move restarts workers."""
    move_budget: int = 16
    """Executors that one decision may move."""
    coordinated: bool = True
    look_ahead: bool = True


@dataclass(frozen=True)
class Wish:
    """Executors that an agent wants on another node, and what that would gain."""

    executors: tuple[Executor, ...]
    to: str
    gain: float
    why: str = ""


@dataclass(frozen=True)
class QosDecision:
    """A whole placement to put in force, made from the assignment ``base``."""

    topology_id: str
    base: str
    placement: Mapping[Executor, SlotId]
    moved: tuple[Executor, ...]
    before: float
    after: float
    reason: str


@dataclass
class _Watch:
    """What an agent remembers of a topology."""

    base: str
    assignment: dict[Executor, SlotId]
    changed_round: int
    left: dict[tuple[Executor, str], int] = field(default_factory=dict)
    """(executor, node) → the round in which it was seen to have left that node."""
    returns: dict[Executor, int] = field(default_factory=lambda: defaultdict(int))


class AdaptiveScheduler:
    """Decides about the executors on ``node``. Not thread-safe."""

    def __init__(self, node: str, settings: MapeSettings | None = None) -> None:
        self.node = node
        self.settings = settings or MapeSettings()
        self.round = 0
        self._watched: dict[str, _Watch] = {}

    # ------------------------------------------------------------ Monitor

    def next_round(self) -> None:
        self.round += 1

    def observe(self, stage: Stage) -> None:
        """Takes what runs now; a change begins the cooldown, whoever made it."""
        known = self._watched.get(stage.topology_id)
        if known is None:
            self._watched[stage.topology_id] = _Watch(
                stage.base, dict(stage.assignment), self.round
            )
            return
        if known.base == stage.base:
            return
        for executor, slot in stage.assignment.items():
            old = known.assignment.get(executor)
            if old is None or old[0] == slot[0]:
                continue
            known.left[executor, old[0]] = self.round
            if self.round - known.left.get((executor, slot[0]), -MEMORY_ROUNDS) < MEMORY_ROUNDS:
                known.returns[executor] += 1
        known.base, known.assignment = stage.base, dict(stage.assignment)
        known.changed_round = self.round

    def forget(self, live: Iterable[str]) -> None:
        """Drops topologies that are gone."""
        keep = set(live)
        self._watched = {t: w for t, w in self._watched.items() if t in keep}

    def waiting(self, stage: Stage) -> str | None:
        """Why nothing may be decided about a topology now; None if something may."""
        if not stage.whole:
            missing = len(stage.executors) - len(stage.assignment)
            return f"{missing} executors run nowhere: Nimbus places them first"
        watch = self._watched.get(stage.topology_id)
        if watch is None or watch.base != stage.base:
            return "not observed yet"
        passed = self.round - watch.changed_round
        needed = 1 if stage.misplaced() else self.settings.cooldown_rounds
        if passed < needed:
            return f"cooling down: {passed} of {needed} rounds since its assignment changed"
        return None

    # ------------------------------------------------------------ Analyse and Plan

    def wishes(
        self,
        stage: Stage,
        space: CostSpace,
        rates: Rates,
        cpu: Mapping[Executor, float],
        moving: Iterable[Executor] = (),
    ) -> list[Wish]:
        """What this agent would move of its own, best first.

        ``moving`` are executors that others have said to move: whoever talks to one of them waits.
        """
        if self.waiting(stage) is not None:
            return []
        trial = Trial(stage, space, rates, cpu)
        busy = set(moving)
        local = [
            e for e in stage.on([self.node]) if e not in busy and not busy & set(trial.talk[e])
        ]
        found = []
        for e in local:
            if not stage.may_hold(e, self.node):
                wish = self._repair(trial, e)
            elif stage.pinned_to(e) is not None and len(stage.pinned_to(e) or ()) < 2:
                continue
            else:
                wish = self._wish(trial, (e,))
            if wish is not None:
                found.append(wish)
        if self.settings.coordinated:
            loose = [e for e in local if stage.pinned_to(e) is None]
            pools = [*trial.groups(loose), tuple(sorted(loose))]
            for pool in dict.fromkeys(p for p in pools if len(p) > 1):
                wish = self._wish(trial, pool)
                if wish is not None:
                    found.append(wish)
        return sorted(found, key=lambda w: (-w.gain / len(w.executors), w.executors))

    def _repair(self, trial: Trial, executor: Executor) -> Wish | None:
        """To a node of its pin, whatever that costs; by the cost if there are several."""
        allowed = sorted(trial.stage.pinned_to(executor) or ())
        rooms = [n for n in allowed if trial.room([executor], n) is not None]
        if not rooms:
            return None
        to = max(rooms, key=lambda n: trial.gain([executor], n))
        return Wish((executor,), to, max(trial.gain([executor], to), 0.0), "pinned there")

    def _wish(self, trial: Trial, group: tuple[Executor, ...]) -> Wish | None:
        best = trial.best(group)
        if best is None:
            return None
        gain, to = best
        if gain < self._threshold(trial, group, to):
            return None
        if self.settings.look_ahead and self._comes_back(trial, group, to):
            return None
        return Wish(group, to, gain)

    def _threshold(self, trial: Trial, group: Iterable[Executor], to: str) -> float:
        """The relative-distance test; twice as hard for each time an executor came back."""
        members = list(group)
        need = max(
            self.settings.relative_gain * trial.cost_of(members),
            self.settings.least_gain * sum(trial.node(e) != to for e in members),
        )
        watch = self._watched.get(trial.stage.topology_id)
        if watch is None or not self.settings.look_ahead:
            return need
        doublings = 0
        for e in members:
            if self.round - watch.left.get((e, to), -MEMORY_ROUNDS) < MEMORY_ROUNDS:
                doublings = max(doublings, 1 + watch.returns.get(e, 0))
        return float(need * 2 ** min(doublings, MAX_DOUBLINGS))

    def _comes_back(self, trial: Trial, group: tuple[Executor, ...], to: str) -> bool:
        """Look-ahead: what if the neighbours do at the same time what is best for them?

        Two that talk to each other may each go to where the other was, round after round. If both
        moves together are no gain, only the one with the lower number goes.
        """
        members = set(group)
        stage = trial.stage
        for peer in sorted({p for e in members for p in trial.talk[e]} - members):
            if peer not in trial.slot or stage.pinned_to(peer) is not None:
                continue
            answer = trial.best((peer,))
            if answer is None or answer[0] < self._threshold(trial, (peer,), answer[1]):
                continue
            both = trial.copy()
            before = both.cost()
            if not (both.move(group, to) and both.move((peer,), answer[1])):
                continue
            if both.cost() >= before - self.settings.least_gain and peer < min(members):
                return True
        return False

    # ------------------------------------------------------------ Execute

    def decide_alone(
        self, stage: Stage, space: CostSpace, rates: Rates, cpu: Mapping[Executor, float],
        moving: Iterable[Executor] = (),
    ) -> QosDecision | None:  # fmt: skip
        """The paper's way: the best single wish of this agent, whatever others wish."""
        trial = Trial(stage, space, rates, cpu)
        before = trial.cost()
        for wish in self.wishes(stage, space, rates, cpu, moving):
            if trial.move(wish.executors, wish.to):
                return self._decision(trial, before, [wish])
        return None

    def compose(
        self,
        stage: Stage,
        space: CostSpace,
        rates: Rates,
        cpu: Mapping[Executor, float],
        wishes: Iterable[Wish],
    ) -> QosDecision | None:
        """One decision from the wishes of all agents; the caller holds the topology's lock.

        Each wish is judged against what the ones before it would change. What then follows (the
        neighbours' reactions) is carried out in the same decision, so that it need not follow
        later; what has become needless stays at home.
        """
        if self.waiting(stage) is not None:
            return None
        asked = sorted(
            (w for w in wishes if w.executors and all(e in stage.executors for e in w.executors)),
            key=lambda w: (not w.why, -w.gain, w.executors),
        )
        if not asked:
            return None
        best: Trial | None = None
        for start in ("wishes", *self._gathering_places(stage, space)):
            trial = Trial(stage, space, rates, cpu)
            repairs = self._repair_all(trial)
            if start == "wishes":
                for wish in asked:
                    self._try(trial, wish.executors, wish.to)
            else:
                self._gather(trial, start)
            self._react(trial)
            self._send_home(trial, repairs)
            if best is None or trial.cost() < best.cost() - self.settings.least_gain:
                best = trial
        assert best is not None
        before = Trial(stage, space, rates, cpu).cost()
        gained = before - best.cost()
        repaired = any(e in best.moved for e in stage.misplaced())
        enough = max(
            self.settings.relative_gain * before, self.settings.least_gain * len(best.moved)
        )
        if not best.moved or (gained < enough and not repaired):
            return None
        return self._decision(best, before, asked)

    def _gathering_places(self, stage: Stage, space: CostSpace) -> list[str]:
        """Nodes of pinned executors: all the rest might sit with one of them."""
        return sorted(
            {
                slot[0]
                for e, slot in stage.assignment.items()
                if stage.pinned_to(e) is not None and slot[0] in space
            }
        )

    def _gather(self, trial: Trial, to: str) -> None:
        loose = [e for e in trial.stage.executors if trial.stage.pinned_to(e) is None]
        away = [e for e in loose if trial.node(e) != to]
        if len(away) <= self.settings.move_budget:
            trial.move(away, to)

    def _repair_all(self, trial: Trial) -> set[Executor]:
        repaired = set()
        for e in trial.stage.misplaced()[: self.settings.move_budget]:
            wish = self._repair(trial, e)
            if wish is not None and trial.move(wish.executors, wish.to):
                repaired.add(e)
        return repaired

    def _try(self, trial: Trial, group: tuple[Executor, ...], to: str) -> bool:
        moved_then = set(trial.moved) | set(group)
        if len(moved_then) > self.settings.move_budget:
            return False
        if not all(trial.stage.may_hold(e, to) for e in group):
            return False
        if all(trial.node(e) == to for e in group):
            return False
        if trial.gain(group, to) < self._threshold(trial, group, to):
            return False
        return trial.move(group, to)

    def _react(self, trial: Trial) -> None:
        """What executors and pools would do next, until nothing gains any more."""
        stage = trial.stage
        loose = sorted(e for e in stage.executors if stage.pinned_to(e) is None)
        for _ in range(2 * len(loose) + 2):
            best: tuple[float, tuple[Executor, ...], str] | None = None
            for group in [*((e,) for e in loose), *trial.groups(loose)]:
                answer = trial.best(group)
                if answer is None or answer[0] < self._threshold(trial, group, answer[1]):
                    continue
                if len(set(trial.moved) | set(group)) > self.settings.move_budget:
                    continue
                if best is None or answer[0] > best[0] + 1e-9:
                    best = (answer[0], group, answer[1])
            if best is None or not trial.move(best[1], best[2]):
                return

    def _send_home(self, trial: Trial, repairs: set[Executor]) -> None:
        """Moves that gain next to nothing are not made: each restarts a worker."""
        for e in sorted(trial.moved):
            if e in repairs:
                continue
            home = trial.stage.assignment[e][0]
            if home == trial.node(e) or not trial.stage.may_hold(e, home):
                continue
            if trial.gain((e,), home) > -self.settings.least_gain:
                trial.move((e,), home)

    def _decision(self, trial: Trial, before: float, wishes: list[Wish]) -> QosDecision:
        moved = tuple(sorted(trial.moved))
        after = trial.cost()
        repaired = [e for e in trial.stage.misplaced() if e in moved]
        words = f"cost {before:.3g} → {after:.3g}, {len(moved)} executors move"
        if repaired:
            words = f"{len(repaired)} pinned executors were elsewhere: {words}"
        return QosDecision(
            trial.stage.topology_id, trial.stage.base, dict(trial.slot), moved, before, after, words
        )
