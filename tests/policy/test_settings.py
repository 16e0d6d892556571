"""Settings are validated where they come in; the topology's own win."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from brain.cli.config import as_markdown
from brain.config import KEYS, Settings
from brain.errors import BadInput


def test_defaults_pass_their_own_checks() -> None:
    for key in KEYS.values():
        key.validate(key.default, "default")


def test_a_topologys_own_value_wins_over_the_clusters() -> None:
    settings = Settings.read({"topology.brain.cooldown.secs": 7, "nimbus.seeds": ["x"]}, "yaml")
    assert settings.for_topology("t", {})["cooldown.secs"] == 7
    own = settings.for_topology("t", {"topology.brain.cooldown.secs": json.dumps(9)})
    assert own["cooldown.secs"] == 9


def test_a_misspelt_key_is_refused_with_a_guess() -> None:
    with pytest.raises(BadInput) as told:
        Settings.read({"topology.brain.cooldwon.secs": 7}, "storm.yaml")
    assert "topology.brain.cooldown.secs" in (told.value.hint or "")


@pytest.mark.parametrize("value", [-1, "soon", True, float("nan")])
def test_a_wrong_value_names_the_key_and_the_file(value: object) -> None:
    with pytest.raises(BadInput, match=r"storm.yaml: topology.brain.cooldown.secs"):
        Settings.read({"topology.brain.cooldown.secs": value}, "storm.yaml")


def test_the_documentation_is_what_the_code_says() -> None:
    page = Path(__file__).parents[2] / "docs" / "configuration.md"
    assert page.read_text(encoding="utf-8") == as_markdown(), (
        "run: stormbrain config --markdown > docs/configuration.md"
    )


def test_off_is_understood_though_yaml_makes_false_of_it() -> None:
    assert (
        Settings.read({"topology.brain.mode": False}, "storm.yaml").for_topology("t", {})["mode"]
        == "off"
    )
    assert Settings().for_topology("t", {"topology.brain.mode": "false"})["mode"] == "off"
    with pytest.raises(BadInput):
        Settings.read({"topology.brain.mode": True}, "storm.yaml")


@pytest.mark.parametrize("key", ["brain.scheduler.token", "brain.scheduler.zookeeper.auth"])
def test_a_secret_is_not_shown_though_it_is_wrong(key: str) -> None:
    with pytest.raises(BadInput, match="must be a string") as told:
        Settings.read({key: 31337}, "storm.yaml")
    assert "31337" not in str(told.value)
