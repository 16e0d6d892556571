"""``key=value`` settings as given on the command line."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import yaml

from brain.errors import BadInput


def split_setting(text: str, where: str = "--set") -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not equals or not key.strip():
        raise BadInput(
            where, f"{text!r} is not key=value", f"for example {where} topology.debug=true"
        )
    return key.strip(), value.strip()


def parse_settings(texts: Iterable[str], where: str = "--set") -> dict[str, Any]:
    """Settings with typed values, read as YAML as in storm.yaml: ``8``, ``true``, ``[a, b]``."""
    settings: dict[str, Any] = {}
    for text in texts:
        key, value = split_setting(text, where)
        settings[key] = parse_value(key, value, where)
    return settings


def parse_value(key: str, value: str, where: str = "--set") -> Any:
    try:
        return yaml.safe_load(value)
    except yaml.YAMLError as e:
        raise BadInput(where, f"the value of {key} is not YAML: {value!r}") from e
