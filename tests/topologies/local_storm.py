"""A Storm in one process, for tests: real pystorm components, real groupings, acks and replays.

Every message passes through JSON, as between a worker and its shell process. Deliveries are
interleaved by a seeded random choice, so that a test sees many orders. It can do what a
re-placement does: kill tasks (their memory is gone, their queues too), after which the tuples
whose trees were cut fail, as after Storm's message timeout.
"""

from __future__ import annotations

import io
import json
import random
from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any

from pystorm.component import Tuple
from streamparse import Topology

from topologies.common.java_hash import fields_grouping_index


@dataclass
class Tree:
    """A spout tuple and what is still open of it."""

    spout: int
    message_id: str
    open_ids: set[int] = field(default_factory=set)


@dataclass
class Delivery:
    """A tuple on its way to a task."""

    id: int
    tree: Tree | None
    component: str
    stream: str
    task: int
    values: list[Any]


class LocalStorm:
    """Runs a topology class until its sources have nothing left to do."""

    def __init__(self, topology: type[Topology], seed: int = 0) -> None:
        self._rng = random.Random(seed)
        self._conf = {"topology.name": "local", **topology.config}
        self._specs = {spec.name: spec for spec in topology.specs}
        self._tasks: dict[int, Any] = {}
        self._component_of: dict[int, str] = {}
        self._tasks_of: dict[str, list[int]] = defaultdict(list)
        self._queues: dict[int, list[Delivery]] = defaultdict(list)
        self._trees: dict[tuple[int, str], Tree] = {}
        self._next_id = 0
        self._current: Delivery | None = None
        self.delivered = 0
        for name, spec in sorted(self._specs.items()):
            for _ in range(spec.par):
                task = len(self._component_of) + 1
                self._component_of[task] = name
                self._tasks_of[name].append(task)
        for task in self._component_of:
            self._start(task)

    def tasks(self, component: str) -> list[Any]:
        return [self._tasks[task] for task in self._tasks_of[component]]

    def spout_tasks(self) -> list[str]:
        return [
            f"{name}.{i}"
            for name in self._specs
            if not self._specs[name].inputs
            for i in range(len(self._tasks_of[name]))
        ]

    def components(self) -> tuple[str, ...]:
        return tuple(sorted(self._specs))

    def run(self, steps: int) -> int:
        """Makes up to ``steps`` deliveries or spout calls; the number made with any effect."""
        made = 0
        for _ in range(steps):
            ready = [task for task, queue in self._queues.items() if queue]
            spouts = [t for t, c in self._component_of.items() if not self._specs[c].inputs]
            if ready and self._rng.random() < 0.8:
                self._deliver(self._rng.choice(ready))
                made += 1
            else:
                task = self._rng.choice(spouts)
                pending = sum(1 for tree in self._trees.values() if tree.spout == task)
                if pending < 20:
                    self._tasks[task].next_tuple()
        return made

    def restart(self, *components: str) -> None:
        """Kills all tasks of ``components`` at once and starts them anew, as a re-placement."""
        killed = {task for name in components for task in self._tasks_of[name]}
        for task in killed:
            self._queues[task].clear()
            journal = getattr(self._tasks[task], "_journal", None)
            if hasattr(journal, "close"):
                journal.close()
        for tree in list(self._trees.values()):
            if tree.spout in killed:
                del self._trees[tree.spout, tree.message_id]
        for task in killed:
            self._start(task)
        self.time_out()

    def tick(self) -> None:
        """What Storm does once a second."""
        for task, name in self._component_of.items():
            if self._specs[name].inputs:
                self._tasks[task].process_tick(None)

    def time_out(self) -> None:
        """Fails every tree whose tuples are no longer on their way (they were lost)."""
        on_the_way = {delivery.id for queue in self._queues.values() for delivery in queue}
        for tree in list(self._trees.values()):
            if not tree.open_ids & on_the_way:
                del self._trees[tree.spout, tree.message_id]
                self._tasks[tree.spout].fail(tree.message_id)

    def fail_some(self, share: float) -> None:
        """Fails some trees although their tuples are still on their way: duplicates will come."""
        for tree in list(self._trees.values()):
            if self._rng.random() < share:
                del self._trees[tree.spout, tree.message_id]
                self._tasks[tree.spout].fail(tree.message_id)

    def _start(self, task: int) -> None:
        name = self._component_of[task]
        spec = self._specs[name]
        component = spec.component_cls(
            input_stream=io.BytesIO(), output_stream=io.BytesIO(), rdb_signal=None
        )
        component.send_message = lambda message: self._message(task, _through_json(message))
        context = {
            "taskid": task,
            "componentid": name,
            "task->component": {str(t): c for t, c in self._component_of.items()},
            "source->stream->grouping": self._heard_by(name),
        }
        conf = _through_json({**self._conf, **json.loads(spec.config)})
        component._setup_component(conf, context)
        self._tasks[task] = component
        component.initialize(conf, context)

    def _heard_by(self, name: str) -> dict[str, dict[str, Any]]:
        heard: dict[str, dict[str, Any]] = defaultdict(dict)
        for stream, grouping in self._specs[name].inputs.items():
            heard[stream.componentId][stream.streamId] = str(grouping)
        return heard

    def _deliver(self, task: int) -> None:
        queue = self._queues[task]
        delivery = queue.pop(self._rng.randrange(len(queue)))
        self.delivered += 1
        bolt = self._tasks[task]
        tup = Tuple(
            delivery.id, delivery.component, delivery.stream, delivery.task, tuple(delivery.values)
        )
        self._current = delivery
        bolt._current_tups = [tup]
        bolt.process(tup)
        bolt._current_tups = []
        self._current = None
        self._close(delivery)

    def _close(self, delivery: Delivery) -> None:
        tree = delivery.tree
        if tree is None:
            return
        tree.open_ids.discard(delivery.id)
        self._ack_if_whole(tree)

    def _ack_if_whole(self, tree: Tree) -> None:
        key = (tree.spout, tree.message_id)
        if not tree.open_ids and self._trees.get(key) is tree:
            del self._trees[key]
            self._tasks[tree.spout].ack(tree.message_id)

    def _message(self, task: int, message: dict[str, Any]) -> None:
        if message["command"] != "emit":
            return
        for value in message["tuple"]:
            # Storm's serialization between workers knows no class for JSON arrays and objects.
            assert not isinstance(value, list | dict), f"{self._component_of[task]}: {value!r}"
        stream = message.get("stream", "default")
        tree: Tree | None = None
        if "id" in message:
            tree = Tree(task, message["id"])
            self._trees[task, message["id"]] = tree
        elif message.get("anchors") and self._current is not None:
            tree = self._current.tree
        for target in self._targets(self._component_of[task], stream, message["tuple"]):
            self._next_id += 1
            delivery = Delivery(
                self._next_id, tree, self._component_of[task], stream, task, message["tuple"]
            )
            if tree is not None:
                tree.open_ids.add(delivery.id)
            self._queues[target].append(delivery)
        if "id" in message and tree is not None:
            self._ack_if_whole(tree)

    def _targets(self, component: str, stream: str, values: list[Any]) -> list[int]:
        fields = self._specs[component].outputs[stream].output_fields
        targets: list[int] = []
        for name, spec in self._specs.items():
            for source, grouping in spec.inputs.items():
                if (source.componentId, source.streamId) != (component, stream):
                    continue
                tasks = self._tasks_of[name]
                if grouping.all is not None:
                    targets += tasks
                elif grouping.fields == []:
                    targets.append(tasks[0])
                elif grouping.fields:
                    key = [values[fields.index(f)] for f in grouping.fields]
                    targets.append(tasks[fields_grouping_index(key, len(tasks))])
                else:
                    targets.append(self._rng.choice(tasks))
        return targets


def _through_json(value: Any) -> Any:
    return json.loads(json.dumps(value))
