"""A source that reads a data directory or, without one, generates the same data itself."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from topologies.common.events import Event
from topologies.common.spout import SourceSpout
from topologies.data.dataset import Dataset, read_partition


class DatasetSpout(SourceSpout):
    """Emits this task's partition of a dataset. A subclass names the dataset, and may turn an
    event into the payload it emits."""

    def dataset(self) -> Dataset:
        raise NotImplementedError

    def payload(self, events: Iterable[Event]) -> Iterator[Event]:
        """What is emitted for the partition's events."""
        return iter(events)

    def events(self) -> Iterable[Event]:
        settings, place = self.settings, self.place
        dataset = self.dataset()
        size = int(self.options.get("events", settings.events))
        directory = self.options.get("data_dir") or settings.data_dir
        if directory:
            events = read_partition(
                dataset, Path(directory), place.index, place.count, self.report.count
            )
        else:
            events = dataset.generate(settings.seed, place.index, place.count, size or None)
        return self.payload(events)
