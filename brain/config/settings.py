"""Validated settings: the cluster's, and each topology's over the cluster's."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from brain.config.keys import KEYS, Scope
from brain.errors import BadInput

_GUARDS = frozenset({"brain.scheduler.token", "brain.scheduler.zookeeper.auth"})


def _read(values: Mapping[str, Any], where: str, scope: Scope | None = None) -> dict[str, Any]:
    """The known keys of ``values``, validated; an unknown one of ours is an error with a guess."""
    known: dict[str, Any] = {}
    for name, value in values.items():
        if not name.startswith(("brain.", "topology.brain.")):
            continue
        key = KEYS.get(name)
        if key is None:
            import difflib

            near = difflib.get_close_matches(name, KEYS, n=1)
            hint = f"did you mean {near[0]}?" if near else "see `stormbrain config`"
            raise BadInput(f"{where}: {name}", "there is no such key", hint)
        if scope is None or key.scope is scope:
            known[name] = key.validate(value, where)
    return known


@dataclass(frozen=True)
class TopologySettings:
    """``topology.brain.*`` in force for one topology. ``values`` holds every key."""

    values: Mapping[str, Any]
    errors: tuple[str, ...] = ()
    """Keys of the topology that were refused; the cluster's value is in force instead."""

    def __getitem__(self, short: str) -> Any:
        """``settings["cooldown.secs"]`` is ``topology.brain.cooldown.secs``."""
        return self.values[f"topology.brain.{short}"]


@dataclass(frozen=True)
class Settings:
    """The cluster's settings; ``overrides`` are what the operator set, of either scope."""

    overrides: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def read(cls, values: Mapping[str, Any], where: str) -> Settings:
        """From a storm.yaml-like mapping; keys that are not ours are passed over."""
        return cls(_read(values, where))

    @classmethod
    def read_file(cls, values: Mapping[str, Any], where: str) -> tuple[Settings, tuple[str, ...]]:
        """As ``read``, but a wrong value leaves the default in force and is told in the second.

        A brain that does not start because of a typo helps nobody at night. Only what guards the
        doors must be right: there a default would open them.
        """
        known: dict[str, Any] = {}
        wrong = []
        for name, value in values.items():
            try:
                known.update(_read({name: value}, where))
            except BadInput as e:
                if name in _GUARDS:
                    raise
                wrong.append(f"{e.message}{f' ({e.hint})' if e.hint else ''}")
        return cls(known), tuple(wrong)

    def __getitem__(self, short: str) -> Any:
        """``settings["max.connections"]`` is ``brain.scheduler.max.connections``."""
        name = f"brain.scheduler.{short}"
        return self.overrides.get(name, KEYS[name].default)

    def for_topology(self, name: str, conf: Mapping[str, str]) -> TopologySettings:
        """The topology's own keys (JSON values, as the shim sends them) over the cluster's.

        A wrong value must not take the topology's scheduling down, so it is reported in
        ``errors`` and the cluster's value stays.
        """
        values = {
            k: self.overrides.get(k, key.default)
            for k, key in KEYS.items()
            if key.scope is Scope.TOPOLOGY
        }
        errors = []
        for key_name, text in conf.items():
            if not key_name.startswith("topology.brain."):
                continue
            try:
                values.update(_read({key_name: json.loads(text)}, name, Scope.TOPOLOGY))
            except (ValueError, RecursionError):
                errors.append(f"{name}: {key_name}: not JSON: {text[:80]}")
            except BadInput as e:
                errors.append(e.message)
        return TopologySettings(values, tuple(errors))
