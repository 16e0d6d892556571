"""From topology files to running topologies: all or nothing."""

from __future__ import annotations

import re
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from streamparse import Topology

from brain.errors import BadInput, StormbrainError
from brain.submit.loading import TopologyFile, load_topology_file
from brain.submit.nimbus import NimbusClient, TopologyNameTaken, TopologyNotFound
from brain.submit.options import OptionField, option_fields, unknown_option
from brain.submit.packing import check_imports, pack
from brain.submit.settings import parse_value, split_setting
from brain.submit.views import TopologyView

_NAME = re.compile(r"[^/.:\\\s][^/.:\\]*")
"""What Storm allows in the name of a topology."""


class NotUpInTime(StormbrainError):
    """A topology was submitted, but did not come up or go away in the time allowed."""


@dataclass(frozen=True)
class Prepared:
    """A topology that is ready to be submitted: loaded, packed, its imports checked."""

    name: str
    topology: type[Topology]
    conf: Mapping[str, Any]
    jar: Path


@dataclass
class Submitter:
    """Submits topologies to one Nimbus."""

    nimbus: NimbusClient
    python: Path = field(default_factory=lambda: Path(sys.executable))
    """The Python that the workers run components with."""

    def submit(
        self,
        path: Path,
        *,
        name: str | None = None,
        settings: Sequence[str] = (),
        workers: int | None = None,
        class_name: str | None = None,
    ) -> str:
        """Submits one file; returns the topology's id."""
        return self.submit_all(
            [path], name=name, settings=settings, workers=workers, class_name=class_name
        )[0]

    def submit_all(
        self,
        paths: Sequence[Path],
        *,
        name: str | None = None,
        settings: Sequence[str] = (),
        workers: int | None = None,
        class_name: str | None = None,
    ) -> list[str]:
        """Submits all files or none: each is prepared first, and a failure takes the rest back.

        ``settings`` are ``key=value``: options of the topology, and Storm settings, which have a
        dot in their key.
        """
        if name is not None and len(paths) > 1:
            raise BadInput("--name", "names one topology, but several files are given")
        with tempfile.TemporaryDirectory(prefix="stormbrain-submit-") as scratch:
            prepared = [
                prepare(path, Path(scratch) / f"{i}.jar", name, settings, workers, class_name)
                for i, path in enumerate(paths)
            ]
            for one in prepared:
                check_imports(one.jar, component_targets(one.topology), self.python)
            self._check_names([one.name for one in prepared])
            return self._send(prepared)

    def _check_names(self, names: Sequence[str]) -> None:
        twice = next((name for name in names if list(names).count(name) > 1), None)
        if twice is not None:
            raise BadInput(twice, "two of the files would get this name")
        running = {topology.name for topology in self.nimbus.cluster().topologies}
        for name in names:
            if name in running:
                raise TopologyNameTaken(
                    f"a topology named {name} is already running",
                    f"kill it (stormbrain kill {name}) or choose another name (--name)",
                )

    def _send(self, prepared: Sequence[Prepared]) -> list[str]:
        sent: list[str] = []
        try:
            for one in prepared:
                with one.jar.open("rb") as jar:
                    location = self.nimbus.upload(jar)
                self.nimbus.submit(one.name, location, one.conf, one.topology.thrift_topology)
                sent.append(one.name)
            return [self.nimbus.topology_id(name) for name in sent]
        except BaseException:
            for name in sent:
                self.nimbus.kill(name, wait_secs=0)
            raise


def prepare(
    path: Path,
    jar: Path,
    name: str | None = None,
    settings: Sequence[str] = (),
    workers: int | None = None,
    class_name: str | None = None,
) -> Prepared:
    """Loads the file, applies the settings and packs the jar. Talks to nobody."""
    file = load_topology_file(path)
    options, conf = _sort_settings(file, settings)
    topology = file.build(options, class_name)
    name = name or path.stem.replace("_", "-")
    if not _NAME.fullmatch(name):
        raise BadInput("--name", f"{name!r} is not a name for a topology", "avoid . / : and \\")
    if workers is not None and workers < 1:
        raise BadInput("--workers", f"must be 1 or more, not {workers}")
    conf = {**(topology.config or {}), **conf}
    if workers is not None:
        conf["topology.workers"] = workers
    pack(file, jar)
    return Prepared(name, topology, conf, jar)


def component_targets(topology: type[Topology]) -> list[str]:
    """``module.Class`` of each Python component, as ``streamparse_run`` gets it."""
    components = [
        *(spout.spout_object for spout in topology.thrift_spouts.values()),
        *(bolt.bolt_object for bolt in topology.thrift_bolts.values()),
    ]
    return [
        component.shell.script.split()[0]
        for component in components
        if component.shell is not None and component.shell.execution_command == "streamparse_run"
    ]


def _sort_settings(
    file: TopologyFile, settings: Sequence[str]
) -> tuple[dict[str, str], dict[str, Any]]:
    """Options of the topology, and Storm's settings."""
    names = set(file.option_names())
    options: dict[str, str] = {}
    conf: dict[str, Any] = {}
    for setting in settings:
        key, value = split_setting(setting)
        if key in names:
            options[key] = value
        elif "." in key:
            conf[key] = parse_value(key, value)
        else:
            raise unknown_option(str(file.path), key, _known(file))
    return options, conf


def _known(file: TopologyFile) -> Mapping[str, OptionField]:
    return {} if file.options_class is None else option_fields(file.options_class)


def wait_until_up(
    nimbus: NimbusClient,
    topology_id: str,
    timeout_secs: float = 120.0,
    pause: Callable[[float], None] = time.sleep,
) -> TopologyView:
    """Waits until every executor has a slot and its worker has sent a heartbeat for it."""
    deadline = time.monotonic() + timeout_secs
    while True:
        view = nimbus.topology(topology_id)
        if view.executors and all(executor.up for executor in view.executors):
            return view
        if time.monotonic() > deadline:
            up = sum(executor.up for executor in view.executors)
            reason = view.scheduler_status or next(iter(view.errors.values()), "no reason told")
            raise NotUpInTime(
                f"{topology_id}: {up} of {len(view.executors)} assigned executors are up after "
                f"{timeout_secs:.0f} s; scheduler: {reason.partition(chr(10))[0]}",
                "see the workers' logs (stormbrain cluster logs worker)",
            )
        pause(0.25)


def wait_until_gone(
    nimbus: NimbusClient,
    name: str,
    timeout_secs: float = 120.0,
    pause: Callable[[float], None] = time.sleep,
) -> None:
    """Waits until no topology of that name is left."""
    deadline = time.monotonic() + timeout_secs
    while True:
        try:
            nimbus.topology_id(name)
        except TopologyNotFound:
            return
        if time.monotonic() > deadline:
            raise NotUpInTime(f"{name} is still there {timeout_secs:.0f} s after it was killed")
        pause(0.25)
