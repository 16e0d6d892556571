"""One fault: what was before it, what must hold after it, and the row that it gives."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any

from tests.chaos.world import World
from tests.harness.zookeeper import eventually


@dataclass
class Trial:
    world: World
    fault: str
    expected: str
    seen: list[str] = field(default_factory=list)
    recovered_secs: float | None = None
    tuples: int = 0

    def __post_init__(self) -> None:
        world = self.world
        self.placed = world.placed()
        self.workers = {w.pid for w in world.workers()}
        self.nimbuses = world.nimbus_pids()
        self.plan = world.plan()
        world.tally.read()
        self._lines, self._repeated = world.tally.lines, world.tally.repeated
        self.begun = time.monotonic()

    def begins(self) -> None:
        """The fault is about to happen: seconds count from here."""
        self.begun = time.monotonic()

    def saw(self, words: str) -> None:
        self.seen.append(words)

    def recovered(self, what: str) -> None:
        """The fault is over for the user: this is the row's time."""
        self.recovered_secs = time.monotonic() - self.begun
        self.saw(f"{what} after {self.recovered_secs:.1f} s")

    # --- what must hold

    def newcomer_is_scheduled(self, when: str) -> None:
        self.saw(f"new topology scheduled {self.world.newcomer():.1f} s after submission, {when}")

    def nimbus_stayed_up(self, *but: str) -> None:
        """Or ended in Storm's own code, as a standby may that was fetching files."""
        dead = set(self.world.dead_daemons())
        for name, pid in self.nimbuses.items():
            if name not in but and (name in dead or self.world.cluster.pid(name) != pid):
                assert self.world.ended_itself(name), f"{name} died"
                self.saw(f"{name} had ended itself, in Storm's code, and was started again")

    def nothing_moved(self, workers_too: bool = True) -> None:
        """The placement stands, and so do the very processes."""
        assert self.world.placed() == self.placed
        if workers_too:
            assert {w.pid for w in self.world.workers()} == self.workers, "workers were restarted"
            self.saw("no executor moved, no worker restarted")
        else:
            self.saw("no executor moved")

    def plan_holds(self) -> None:
        """The plan in ZooKeeper is the one of before, and a brain goes on from it."""
        eventually(self.world.brain_resumed, 90, "a brain that has taken the plan over")
        stored = self.world.plan()
        assert stored is not None
        assert self.plan is not None
        assert (stored.plan.epoch, stored.digest) == (self.plan.plan.epoch, self.plan.digest)
        self.saw(f"plan {stored.plan.epoch} still in force")

    def nothing_lost(self, seconds: float = 120) -> None:
        """Every number that was emitted until now reaches a sink."""
        emitted = self.world.tally.emitted()
        try:
            eventually(lambda: self.world.all_seen(emitted), seconds, "all numbers at the sinks")
        except AssertionError:
            missing = {s: len(n) for s, n in self.world.tally.missing(emitted).items()}
            raise AssertionError(f"lost: {missing} of {emitted}") from None
        tally = self.world.tally
        self.tuples = tally.lines - self._lines
        self.saw(f"none of {self.tuples} tuples lost, {tally.repeated - self._repeated} repeated")

    def row(self, outcome: str, seconds: float) -> dict[str, Any]:
        secs = self.recovered_secs
        return {
            "fault": self.fault,
            "expected": self.expected,
            "outcome": outcome,
            "observed": self.seen,
            "recovered_secs": None if secs is None else round(secs, 1),
            "tuples": self.tuples,
            "seconds": round(seconds, 1),
        }  # fmt: skip
