"""A stateful operator that summarises one number by group over sliding windows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from topologies.common.bolt import Logic, Output, StatefulBolt
from topologies.common.identity import window_id
from topologies.common.windows import SlidingWindows, Summary

Row = Callable[[str, Summary, int], list[Any]]


class WindowLogic:
    """Takes (group, number, time); says ``row(group, summary, end)`` of every closed window."""

    def __init__(self, component: str, window_ms: int, step_ms: int, row: Row) -> None:
        self._component = component
        self._windows = SlidingWindows(window_ms, step_ms)
        self._row = row

    def insert(self, values: Sequence[Any], name: str) -> Iterable[Output]:
        group, number, time = values
        self._windows.add(group, time, [number])
        return ()

    def again(self, values: Sequence[Any], name: str) -> Iterable[Output]:
        return ()

    def advance(self, watermark: int) -> Iterator[Output]:
        for group, end, (summary,) in self._windows.close(watermark):
            yield Output(self._row(group, summary, end), window_id(self._component, group, end))

    def state(self) -> Any:
        return self._windows.state()

    def load(self, state: Any) -> None:
        self._windows.load(state)


class WindowBolt(StatefulBolt):
    """Component options: ``window_ms``, ``step_ms``. A subclass says what a window gives."""

    @staticmethod
    def row(group: str, summary: Summary, end: int) -> list[Any]:
        raise NotImplementedError

    def logic(self) -> Logic:
        window, step = self.options["window_ms"], self.options["step_ms"]
        return WindowLogic(self.place.component, window, step, self.row)
