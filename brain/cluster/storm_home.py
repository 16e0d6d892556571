"""STORM_HOME: laid out once from Maven artefacts into the cache, then linked by each cluster.

Storm's binary distribution is not in Maven Central, its jars are. ``storm-home.pom.xml`` lists
them, one profile for each directory.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import zipfile
from collections.abc import Callable
from importlib import resources
from pathlib import Path

from brain.cluster.locks import exclusive
from brain.cluster.paths import cache_root
from brain.cluster.prerequisites import find_maven
from brain.cluster.storm_yaml import SCHEDULER_CLASS
from brain.errors import BadInput, StormbrainError

STORM_VERSION = "2.8.3"
JAR_DIRECTORIES = ("lib", "lib-worker", "lib-zookeeper")
PLUGIN_JAR_NAME = "storm-plugin-0.1.0.jar"
PLUGIN_JAR_VARIABLE = "STORMBRAIN_PLUGIN_JAR"

_LAYOUT = 1
"""Raised when the pom changes, so that an older cache is not taken for the new one."""

Progress = Callable[[str], None]


class LayoutFailed(StormbrainError):
    """Maven could not bring Storm's jars."""


def cached_storm_home() -> Path:
    return cache_root() / f"storm-{STORM_VERSION}-{_LAYOUT}"


def ensure_storm_home(progress: Progress) -> Path:
    """The directory with Storm's and ZooKeeper's jars; fetches them if they are not there yet.

    The layout is built aside and renamed in one step, so that it is either whole or absent.
    """
    home = cached_storm_home()
    if home.is_dir():
        return home
    maven = find_maven()
    lock = home.with_suffix(".lock")
    with exclusive(lock, lambda: progress("waiting for another command that fetches Storm")):
        if home.is_dir():
            return home
        building = Path(tempfile.mkdtemp(prefix=f"{home.name}.", dir=home.parent))
        try:
            pom = building / "pom.xml"
            template = resources.files("brain.cluster") / "storm-home.pom.xml"
            pom.write_text(template.read_text(encoding="utf-8"), encoding="utf-8")
            for number, directory in enumerate(JAR_DIRECTORIES, start=1):
                progress(
                    f"fetching Storm {STORM_VERSION} with Maven, only this first time "
                    f"({number}/{len(JAR_DIRECTORIES)}: {directory})"
                )
                _copy_dependencies(maven, pom, directory)
            building.chmod(0o755)
            building.rename(home)
        finally:
            if building.exists():
                shutil.rmtree(building)
    return home


def _copy_dependencies(maven: Path, pom: Path, directory: str) -> None:
    target = pom.parent / directory
    command = [
        str(maven), "--batch-mode", "--quiet", "-Dstyle.color=never", "-f", str(pom),
        "-P", directory, "dependency:copy-dependencies",
        f"-DoutputDirectory={target}", "-DincludeScope=runtime",
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0 or not any(target.glob("*.jar")):
        said = [line for line in (done.stdout + done.stderr).splitlines() if line.strip()]
        raise LayoutFailed(
            f"Maven could not fetch the jars of {directory}: {said[0] if said else 'no output'}",
            "check that Maven Central can be reached (proxy, mirror in ~/.m2/settings.xml)",
        )


def find_plugin_jar(given: Path | None = None) -> Path | None:
    """The scheduler plugin: as given, from ``$STORMBRAIN_PLUGIN_JAR``, else from the repository.

    A jar that was asked for must exist; the one of the repository may not have been built yet.
    """
    if given is None and os.environ.get(PLUGIN_JAR_VARIABLE):
        given = Path(os.environ[PLUGIN_JAR_VARIABLE])
    if given is not None:
        if not given.is_file():
            raise BadInput(str(given), "there is no plugin jar here", "build it: make setup")
        return _checked(given.resolve())
    built = Path(__file__).parents[2] / "storm-plugin" / "target" / PLUGIN_JAR_NAME
    return _checked(built) if built.is_file() else None


def _checked(jar: Path) -> Path:
    """A jar without the scheduler would end Nimbus at its start, so it is refused here."""
    wanted = f"{SCHEDULER_CLASS.replace('.', '/')}.class"
    try:
        with zipfile.ZipFile(jar) as packed:
            if wanted in packed.namelist():
                return jar
            wrong = f"has no {SCHEDULER_CLASS}"
    except zipfile.BadZipFile:
        wrong = "is not a jar"
    raise BadInput(str(jar), wrong, "build it anew (make setup), or use --no-plugin")


def link_cluster_home(home: Path, cached: Path, plugin_jar: Path | None) -> None:
    """Makes a cluster's own STORM_HOME: links to the cached jars, and a copy of the plugin.

    The plugin is copied, since a rebuild of the jar under running JVMs would crash them.
    """
    for directory in ("extlib", "extlib-daemon", "conf", "log4j2"):
        (home / directory).mkdir(parents=True, exist_ok=True)
    for directory in JAR_DIRECTORIES:
        link = home / directory
        link.unlink(missing_ok=True)
        link.symlink_to(cached / directory, target_is_directory=True)
    for directory in ("extlib", "extlib-daemon"):
        for stale in (home / directory).glob("*.jar"):
            stale.unlink()
        if plugin_jar is not None:
            shutil.copyfile(plugin_jar, home / directory / plugin_jar.name)
