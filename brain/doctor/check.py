"""One line of the doctor's report."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Level(StrEnum):
    OK = "ok"
    WARN = "warn"
    FAIL = "fail"


@dataclass(frozen=True)
class Check:
    name: str
    level: Level
    found: str
    fix: str = ""


def ok(name: str, found: str) -> Check:
    return Check(name, Level.OK, found)


def warn(name: str, found: str, fix: str) -> Check:
    return Check(name, Level.WARN, found, fix)


def fail(name: str, found: str, fix: str) -> Check:
    return Check(name, Level.FAIL, found, fix)
