"""Questions of operators, answered by the leading brain.

===========  =====================================================  ==========================
question     arguments                                              changes anything
===========  =====================================================  ==========================
picture      topology (id, optional)                                no
problem      topology                                               no
explain      topology, executor (optional)                          no
plan         topology, algorithm, theta, seed, max_moves            no; keeps the draft
whatif       topology, add_nodes, remove, rate, and those of plan   no
apply        topology, digest                                       yes: writes that plan
===========  =====================================================  ==========================
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from typing import Any

from kazoo.exceptions import KazooException

from brain.errors import BadInput, StormbrainError
from brain.explain.topology import explain_executor, explain_topology, find_executors
from brain.idl import wire
from brain.policy.decision import Trigger
from brain.problems.writer import problem_to_dict
from brain.service.applying import Applier
from brain.service.arguments import Arguments, read_arguments
from brain.service.drafts import Drafts, hosts_of, nothing_measured
from brain.service.inside import Inside
from brain.service.json_text import json_text
from brain.service.picture import brain_to_json, picture
from brain.service.timeline import STEP_SECS, Timeline
from brain.units import TUPLES, unit_of

log = logging.getLogger(__name__)

AWAY_AFTER_SECS = 10.0
"""Nimbus is told to be away after this silence at the least, else after three of its rounds."""
MAX_EXPLAINED = 50
PICTURE_SECS = 0.5
"""A picture may be so old: many viewers cost no more than one."""


class Inspector:
    def __init__(self, inside: Inside, away_after_secs: float = AWAY_AFTER_SECS) -> None:
        self.dashboard_url: str | None = None
        self._inside = inside
        self._drafts = Drafts(inside)
        self._applier = Applier(inside, self._drafts)
        self._timeline = Timeline()
        self._away_after_ms = int(away_after_secs * 1000)
        self._pictures: dict[str | None, tuple[float, str]] = {}
        self._picture_turn = threading.Lock()
        self._stopping = threading.Event()
        self._observer = threading.Thread(target=self._observe, name="observer", daemon=True)
        self._questions: dict[str, Callable[[Arguments], Any]] = {
            "problem": self._problem,
            "explain": self._explain,
            "plan": self._drafts.dry_run,
            "whatif": self._drafts.what_if,
            "apply": self._applier.apply,
        }

    def start(self) -> None:
        self._observer.start()

    def stop(self) -> None:
        self._stopping.set()
        self._drafts.stop()
        if self._observer.is_alive():
            self._observer.join(timeout=5)

    def answer(self, question: str, arguments: str) -> str:
        """JSON for JSON; raises only what the IDL declares for ``ask``."""
        values = Arguments(read_arguments(arguments))
        self._inside.leadership()
        if question == "picture":
            topology = values.text("topology")
            values.done()
            return self._picture(topology)
        handler = self._questions.get(question)
        if handler is None:
            known = ", ".join(["picture", *self._questions])
            raise wire.BadRequest("question", f"there is no {question!r}; ask one of {known}")
        try:
            return json_text(handler(values))
        except BadInput as e:
            raise wire.BadRequest(e.where, e.message) from None
        except StormbrainError as e:
            raise wire.BadRequest(question, e.message) from None
        except KazooException as e:
            raise wire.Overloaded(
                f"ZooKeeper does not answer ({type(e).__name__}): try again"
            ) from None

    def brain(self) -> dict[str, Any]:
        """Who answers, and who leads; known to followers, too."""
        leadership = self._inside.election.leadership
        return brain_to_json(
            self._inside.brain_id,
            leadership is not None,
            self._inside.address if leadership else self._inside.election.known_leader,
            leadership.term if leadership else 0,
            self._inside.clock.now_ms(),
            self.dashboard_url,
        )

    # ------------------------------------------------------------ questions

    def _picture(self, topology: str | None) -> str:
        with self._picture_turn:
            made_at, text = self._pictures.get(topology, (0.0, ""))
            if text and time.monotonic() - made_at < PICTURE_SECS:
                return text
            brain = self.brain()
            with self._inside.lock:
                topology_id = self._inside.record(topology).view.id if topology else None
                document = picture(
                    self._inside.core,
                    self._timeline,
                    {t: self._inside.decisions.recent(t) for t in self._inside.core.records},
                    self._inside.clock.now_ms(),
                    self._away_after_ms,
                    topology_id,
                )
            text = json_text({"brain": brain, **document})
            live = {topology, None, *(t["id"] for t in document["topologies"])}
            self._pictures = {k: v for k, v in self._pictures.items() if k in live}
            self._pictures[topology] = (time.monotonic(), text)
            return text

    def _problem(self, arguments: Arguments) -> dict[str, Any]:
        name = arguments.required_text("topology")
        arguments.done()
        built, _ = self._built(name)
        return problem_to_dict(built.problem, built.current)

    def _explain(self, arguments: Arguments) -> dict[str, Any]:
        name = arguments.required_text("topology")
        wanted = arguments.text("executor")
        arguments.done()
        built, about = self._built(name)
        problem, current = built.problem, built.current
        if wanted is None:
            return {**about, **explain_topology(problem, current, built.topology)}
        found = find_executors(problem, built.topology, wanted)
        return {
            **about,
            "executors": [explain_executor(problem, current, e) for e in found[:MAX_EXPLAINED]],
            "left_out": max(0, len(found) - MAX_EXPLAINED),
        }

    def _built(self, name: str) -> tuple[Any, dict[str, Any]]:
        """The problem as measured now, and why nothing is moved just now."""
        inside = self._inside
        with inside.lock:
            record, now_ms = inside.record(name), inside.clock.now_ms()
            task = inside.core.prepare(record.view.id, Trigger("explain", ""), now_ms)
            waiting = inside.core.waiting(record, now_ms)
            decision = record.last_decision
            about = {
                "topology_id": record.view.id,
                "topology_name": record.view.name,
                "mode": record.settings["mode"],
                "observed_secs": 0.0 if task is None else task.observed_secs,
                "unit": TUPLES,
                "waiting": waiting,
                "last_decision": None
                if decision is None
                else {
                    "time_ms": decision.time_ms,
                    "trigger": decision.trigger,
                    "algorithm": decision.algorithm,
                    "outcome": decision.outcome,
                    "reason": decision.reason,
                },
                "plan": None
                if record.plan is None
                else {"epoch": record.plan.plan.epoch, "state": str(record.plan_state)},
            }
        if task is None:
            raise nothing_measured(name, waiting)
        about["unit"] = unit_of(task.built.problem.graph)
        about["hosts"] = hosts_of(task.built)
        return task.built, about

    # ------------------------------------------------------------ the observer

    def _observe(self) -> None:
        while not self._stopping.wait(STEP_SECS):
            self._drafts.rest()
            if self._inside.election.leadership is None:
                continue
            try:
                with self._inside.lock:
                    self._timeline.sample(self._inside.core, self._inside.clock.now_ms())
                    known = list(self._inside.core.records)
                for topology_id in known:
                    self._inside.decisions.recall(topology_id)
            except Exception:
                log.exception("the observer failed in this round and goes on")
