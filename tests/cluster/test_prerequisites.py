from __future__ import annotations

from pathlib import Path

import pytest

from brain.cluster.prerequisites import MissingPrerequisite, find_java, find_maven


@pytest.fixture
def only_path(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A PATH with nothing on it but what the test puts there."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    return tmp_path


def put_java(directory: Path, version: str) -> Path:
    java = directory / "java"
    directory.mkdir(parents=True, exist_ok=True)
    java.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\" 2025-04-15' >&2\n")
    java.chmod(0o755)
    return java


@pytest.mark.parametrize("version", ["17", "17.0.15", "21.0.1", "25-ea"])
def test_java_17_and_newer_will_do(only_path: Path, version: str) -> None:
    java = put_java(only_path, version)
    assert find_java() == java


@pytest.mark.parametrize(("version", "told"), [("1.8.0_402", "Java 8"), ("11.0.2", "Java 11")])
def test_an_older_java_is_named_with_its_version(only_path: Path, version: str, told: str) -> None:
    put_java(only_path, version)
    with pytest.raises(MissingPrerequisite, match=told) as refusal:
        find_java()
    assert "17" in (refusal.value.hint or "")


def test_java_home_wins_over_the_path(
    only_path: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    put_java(only_path, "11.0.2")
    own = put_java(tmp_path / "jdk" / "bin", "17.0.1")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "jdk"))
    assert find_java() == own


def test_a_java_home_without_java_is_named(
    only_path: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    put_java(only_path, "17")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "gone"))
    with pytest.raises(MissingPrerequisite, match="JAVA_HOME"):
        find_java()


def test_no_java_and_no_maven_are_named_with_the_fix(only_path: Path) -> None:
    for find, package in ((find_java, "openjdk-17"), (find_maven, "maven")):
        with pytest.raises(MissingPrerequisite, match="not on the PATH") as refusal:
            find()
        assert package in (refusal.value.hint or "")
