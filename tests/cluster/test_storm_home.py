from __future__ import annotations

import os
import subprocess
import threading
import zipfile
from pathlib import Path

import pytest

from brain.cluster.storm_home import (
    JAR_DIRECTORIES,
    LayoutFailed,
    cached_storm_home,
    ensure_storm_home,
    find_plugin_jar,
    link_cluster_home,
)
from brain.cluster.storm_yaml import template
from brain.errors import BadInput

# Stands in for Maven: notes each call, and puts a jar where it is told to.
MAVEN = """#!/bin/sh
echo "$@" >> "{log}"
for argument; do
  case "$argument" in
    -DoutputDirectory=*) mkdir -p "${{argument#*=}}"; touch "${{argument#*=}}/storm.jar" ;;
  esac
done
"""


@pytest.fixture
def cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setenv("STORMBRAIN_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def put_maven(monkeypatch: pytest.MonkeyPatch, directory: Path, script: str) -> None:
    directory.mkdir()
    (directory / "mvn").write_text(script)
    (directory / "mvn").chmod(0o755)
    monkeypatch.setenv("PATH", f"{directory}{os.pathsep}{os.environ['PATH']}")


def test_two_at_once_lay_out_storm_home_only_once(
    cache: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    log = tmp_path / "calls"
    put_maven(monkeypatch, tmp_path / "bin", MAVEN.format(log=log))
    homes: list[Path] = []
    both = [
        threading.Thread(target=lambda: homes.append(ensure_storm_home(lambda step: None)))
        for _ in range(2)
    ]
    for thread in both:
        thread.start()
    for thread in both:
        thread.join()
    assert homes == [cached_storm_home()] * 2
    assert all((homes[0] / name / "storm.jar").is_file() for name in JAR_DIRECTORIES)
    assert len(log.read_text().splitlines()) == len(JAR_DIRECTORIES)
    assert [p.name for p in cache.iterdir() if p.is_dir()] == [homes[0].name]


def test_a_failing_maven_is_told_and_leaves_nothing(
    cache: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    script = "#!/bin/sh\necho '[ERROR] Could not resolve storm-server'\nexit 1\n"
    put_maven(monkeypatch, tmp_path / "bin", script)
    with pytest.raises(LayoutFailed, match="Could not resolve storm-server"):
        ensure_storm_home(lambda step: None)
    assert [p for p in cache.iterdir() if p.is_dir()] == []


def test_a_plugin_jar_that_was_asked_for_must_be_one(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    jar = tmp_path / "my.jar"
    with pytest.raises(BadInput, match="no plugin jar"):
        find_plugin_jar(jar)
    jar.write_text("no zip")
    with pytest.raises(BadInput, match="is not a jar"):
        find_plugin_jar(jar)
    with zipfile.ZipFile(jar, "w") as packed:
        packed.writestr("io/stormbrain/Other.class", b"")
    with pytest.raises(BadInput, match=r"has no io\.stormbrain\.scheduler\.BrainScheduler"):
        find_plugin_jar(jar)
    with zipfile.ZipFile(jar, "a") as packed:
        packed.writestr("io/stormbrain/scheduler/BrainScheduler.class", b"")
    assert find_plugin_jar(jar) == jar
    monkeypatch.setenv("STORMBRAIN_PLUGIN_JAR", str(jar))
    assert find_plugin_jar() == jar


def test_a_cluster_links_the_jars_and_copies_the_plugin(tmp_path: Path) -> None:
    cached, home, jar = tmp_path / "cached", tmp_path / "home", tmp_path / "plugin.jar"
    for name in JAR_DIRECTORIES:
        (cached / name).mkdir(parents=True)
    jar.write_bytes(b"first")
    link_cluster_home(home, cached, jar)
    link_cluster_home(home, cached, jar)
    assert (home / "lib").resolve() == cached / "lib"
    jar.write_bytes(b"rebuilt")
    for name in ("extlib", "extlib-daemon"):
        assert (home / name / "plugin.jar").read_bytes() == b"first"
    link_cluster_home(home, cached, None)
    assert not list(home.glob("extlib*/*.jar"))


def test_the_launcher_spares_the_log_writer(tmp_path: Path) -> None:
    java = tmp_path / "real-java"
    java.write_text('#!/bin/sh\necho "home=$JAVA_HOME"\nfor a; do echo "<$a>"; done\n')
    java.chmod(0o755)
    launcher = tmp_path / "java"
    script = template("java.sh").replace("@JAVA@", str(java)).replace("@JAVA_HOME@", "/jdk")
    launcher.write_text(script)
    launcher.chmod(0o755)
    (tmp_path / "artifacts").mkdir()

    worker = ["-cp", "x", "org.apache.storm.LogWriter", "java", "-Da=b c", "Worker", "1"]
    subprocess.run([launcher, *worker], cwd=tmp_path, check=True)
    written = (tmp_path / "artifacts" / "worker.out").read_text().splitlines()
    assert written == ["home=/jdk", "<-Da=b c>", "<Worker>", "<1>"]

    plain = subprocess.run([launcher, "-version"], cwd=tmp_path, check=True, capture_output=True)
    assert plain.stdout.decode().splitlines() == ["home=/jdk", "<-version>"]
