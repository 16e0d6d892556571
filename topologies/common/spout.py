"""The source of every benchmark: paced, replaying, counting, and telling its progress."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Iterator
from typing import Any

from streamparse import Spout, Stream

from topologies.common.events import Event, in_order
from topologies.common.identity import split_id, tuple_id
from topologies.common.journal import write_atomically
from topologies.common.pacing import Pacer
from topologies.common.progress import Progress, Watermark
from topologies.common.results import TaskReport
from topologies.common.task import (
    COMPONENT_KEY,
    WATERMARK,
    WATERMARK_FIELDS,
    RunSettings,
    TaskPlace,
)

_LONGEST_NAP_SECONDS = 0.005


def source_outputs(*fields: str) -> list[Stream]:
    """The streams of a source: its data, named and timed, and its watermarks."""
    return [
        Stream(fields=[*fields, "id", "intended"]),
        Stream(fields=WATERMARK_FIELDS, name=WATERMARK),
    ]


class SourceSpout(Spout):  # type: ignore[misc]
    """Emits what ``events()`` gives, in order, each tuple named ``<component>.<index>:<seq>``.

    A failed tuple is emitted again until it is acked; a restarted task goes on after the last
    confirmed position (with ``state_dir``) or begins again (without); either way the names tell
    the receivers what they have seen. A subclass gives ``outputs = source_outputs(...)`` and
    ``events()``.
    """

    def events(self) -> Iterable[Event]:
        """This task's events, the same at every call: (event time in ms, payload)."""
        raise NotImplementedError

    def rate(self) -> float:
        """Events a second of this task; 0 for as fast as acking allows."""
        return self.settings.rate

    def initialize(self, storm_conf: dict[str, Any], context: dict[str, Any]) -> None:
        self.settings = RunSettings.from_conf(storm_conf)
        self.place = TaskPlace.from_context(context)
        self.options: dict[str, Any] = storm_conf.get(COMPONENT_KEY, {})
        self.report = TaskReport(self.settings.results_path, self.place.name)
        self.pacer = Pacer(self.rate())
        confirmed = self._stored_position()
        self._levels = int(self.options.get("levels", 1))
        self.progress = Progress(self._levels, confirmed)
        self._seq = confirmed
        self._time = 0
        self._intended = time.time()
        self._unacked: dict[str, list[Any]] = {}
        self._watermark_tuple: tuple[str, list[Any]] | None = None
        self._last_candidate = (confirmed, time.monotonic())
        self._events = self._from(confirmed + 1)
        self.report.counters["events"] = confirmed + 1

    def next_tuple(self) -> None:
        for _ in range(self.pacer.due(self.settings.batch)):
            if not self._emit_next():
                break
        self._offer_watermark()
        self._send(self.progress.next_to_send())
        self.report.flush_if_due()
        nap = _LONGEST_NAP_SECONDS if self.progress.ended else self.pacer.seconds_until_due()
        if nap > 0:
            time.sleep(min(nap, _LONGEST_NAP_SECONDS))

    def ack(self, tup_id: str) -> None:
        if tup_id.startswith(WATERMARK):
            _, seq, level = split_id(tup_id)
            self._watermark_acked(seq, int(level))
        elif self._unacked.pop(tup_id, None) is not None:
            self.report.count("acked")
            self.progress.acked(split_id(tup_id)[1])

    def fail(self, tup_id: str) -> None:
        self.report.count("failed")
        if self._watermark_tuple is not None and tup_id == self._watermark_tuple[0]:
            self.emit(self._watermark_tuple[1], tup_id=tup_id, stream=WATERMARK)
        elif tup_id in self._unacked:
            self.report.count("replayed")
            self.emit(self._unacked[tup_id], tup_id=tup_id)

    def _emit_next(self) -> bool:
        """Emits one event; False at the end of the stream."""
        if self.progress.ended:
            return False
        event = next(self._events, None)
        if event is None:
            self.progress.end(self._seq, self._intended)
            return False
        self._seq += 1
        self._time = max(self._time, event[0])
        self._intended = self.pacer.take()
        name = tuple_id(self.place.name, self._seq)
        values = [*event[1], name, self._intended]
        self.report.count("events")
        if self.settings.reliable:
            self._unacked[name] = values
            self.emit(values, tup_id=name)
        else:
            self.emit(values)
            self.progress.acked(self._seq)
        return True

    def _offer_watermark(self) -> None:
        seq, moment = self._last_candidate
        now = time.monotonic()
        settings = self.settings
        enough = self._seq - seq >= settings.watermark_every
        if enough or (self._seq > seq and now - moment >= settings.watermark_seconds):
            reached = self._time - settings.disorder_ms
            self.progress.candidate(Watermark(self._seq, reached, self._intended))
            self._last_candidate = (self._seq, now)

    def _send(self, what: tuple[Watermark, int] | None) -> None:
        if what is None:
            return
        watermark, level = what
        if self._levels == 0:  # nobody listens: what is acked is confirmed
            self._watermark_acked(watermark.seq, level)
            return
        name = tuple_id(WATERMARK, watermark.seq, level)
        values = [
            self.place.name,
            watermark.seq,
            watermark.time,
            level,
            self.progress.confirmed,
            watermark.intended,
        ]
        self._watermark_tuple = (name, values)
        if self.settings.reliable:
            self.emit(values, tup_id=name, stream=WATERMARK)
        else:
            self.emit(values, stream=WATERMARK)
            self._watermark_acked(watermark.seq, level)

    def _watermark_acked(self, seq: int, level: int) -> None:
        before = self.progress.confirmed
        following = self.progress.watermark_acked(seq, level)
        if self.progress.confirmed > before:
            self._store_position()
        if self.progress.finished:
            self.report.done()
        self._send(following)

    def _from(self, seq: int) -> Iterator[Event]:
        """The events from position ``seq`` on."""
        events = in_order(self.events(), self.settings.disorder_ms, self.report.count)
        for position, event in enumerate(events):
            if position >= seq:
                yield event

    def _stored_position(self) -> int:
        directory = self.settings.state_path
        if directory is None:
            return -1
        directory.mkdir(parents=True, exist_ok=True)
        path = directory / f"{self.place.name}.position.json"
        return int(json.loads(path.read_text())["confirmed"]) if path.exists() else -1

    def _store_position(self) -> None:
        directory = self.settings.state_path
        if directory is not None:
            position = min(self.progress.confirmed, self._seq)
            write_atomically(
                directory / f"{self.place.name}.position.json", json.dumps({"confirmed": position})
            )
