"""Java 17 and Maven: found, or named in one line together with the fix."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

from brain.errors import StormbrainError

MINIMUM_JAVA = 17


class MissingPrerequisite(StormbrainError):
    """A program that must be on this machine is missing or too old."""


def find_java() -> Path:
    """The ``java`` to run daemons with: ``$JAVA_HOME/bin/java`` or the one on the PATH."""
    fix = f"install a JDK {MINIMUM_JAVA} or newer (Debian: openjdk-17-jdk-headless)"
    home = os.environ.get("JAVA_HOME")
    if home:
        java = Path(home) / "bin" / "java"
        if not os.access(java, os.X_OK):
            raise MissingPrerequisite(
                f"JAVA_HOME is {home}, but there is no bin/java in it", f"unset JAVA_HOME or {fix}"
            )
    else:
        found = shutil.which("java")
        if found is None:
            raise MissingPrerequisite("java is not on the PATH", fix)
        java = Path(found)
    version = _java_major(java)
    if version < MINIMUM_JAVA:
        raise MissingPrerequisite(
            f"{java} is Java {version}, but Storm needs {MINIMUM_JAVA} or newer",
            f"{fix}, or point JAVA_HOME to one",
        )
    return java


def find_maven() -> Path:
    """The ``mvn`` on the PATH; needed only until STORM_HOME has been laid out once."""
    found = shutil.which("mvn")
    if found is None:
        raise MissingPrerequisite(
            "mvn is not on the PATH; it fetches Storm's jars the first time",
            "install Maven 3 (Debian: maven)",
        )
    return Path(found)


def _java_major(java: Path) -> int:
    """The feature release of a ``java``, from the line ``... version "17.0.15" ...``."""
    try:
        shown = subprocess.run(
            [str(java), "-version"], capture_output=True, text=True, timeout=60, check=True
        ).stderr
    except (OSError, subprocess.SubprocessError) as e:
        raise MissingPrerequisite(
            f"{java} -version failed: {e}", "reinstall the JDK or point JAVA_HOME to another"
        ) from e
    match = re.search(r'version "(\d+)(?:\.(\d+))?', shown)
    if match is None:
        raise MissingPrerequisite(f"{java} -version does not say its version: {shown[:80]!r}")
    major = int(match.group(1))
    # Java 8 and older call themselves 1.8, 1.7, ...
    return int(match.group(2) or 0) if major == 1 else major
