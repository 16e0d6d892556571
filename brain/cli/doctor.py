"""``stormbrain doctor``: is everything in place, and if not, what is to be done?"""

from __future__ import annotations

import json
import time
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from brain.cli.asking import AsJson, BrainAt, asks_brain
from brain.cli.output import console, print_json

if TYPE_CHECKING:
    from brain.doctor.check import Check

MARKS = {"ok": ("✓", "green"), "warn": ("!", "yellow"), "fail": ("✗", "red")}


def register(app: typer.Typer) -> None:
    app.command()(asks_brain(doctor))


def doctor(
    brain: BrainAt,
    nimbus: Annotated[
        str | None, typer.Option(help="Nimbus, host:port; found through ZooKeeper by default.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Check Java, ZooKeeper, Nimbus, storm.yaml, jar, brain, clocks and hook; say what to fix.

    Exits with 1 if something fails.
    """
    checks = examine(brain, nimbus)
    if as_json:
        print_json([asdict(c) for c in checks])
    else:
        for check in checks:
            _show(check)
    if any(c.level == "fail" for c in checks):
        raise typer.Exit(1)


def examine(brain: BrainAt, nimbus: str | None = None) -> list[Check]:
    """All checks in the order of the loop; a broken part does not keep the rest from being told."""
    from brain.cli.connection import call_brain, zookeeper_client
    from brain.doctor import brains, storm
    from brain.doctor.check import fail
    from brain.errors import StormbrainError

    checks = [brains.check_java()]
    try:
        hosts = brain.zookeeper_hosts
        with zookeeper_client(hosts) as client:
            checks += brains.check_zookeeper(client, hosts, brain.root)
            found = nimbus or _local_nimbus(brain) or storm.find_nimbus(client)
            leader_check, leader = brains.check_leader(client, brain.root)
    except StormbrainError as e:
        return [*checks, fail("zookeeper", e.message, e.hint or "")]
    of_nimbus, conf = storm.check_nimbus(found)
    checks += of_nimbus
    if conf is not None:
        checks += storm.check_conf(conf, brain.root)
    checks.append(leader_check)
    if leader is not None:
        try:
            asked_ms = time.time() * 1000
            picture = json.loads(call_brain(leader.address, "ask", brain.token, "picture", "{}"))
        except StormbrainError as e:
            checks.append(fail("brain answers", e.message, e.hint or "check --token"))
        else:
            checks += brains.check_picture(picture, (asked_ms + time.time() * 1000) / 2)
    return checks


def _local_nimbus(brain: BrainAt) -> str | None:
    if brain.zookeeper:
        return None
    from brain.cluster.local import LocalCluster

    return LocalCluster.attach(brain.cluster).nimbus_address


def _show(check: Check) -> None:
    mark, colour = MARKS[check.level]
    console.print(Text.assemble((f"{mark} ", colour), (f"{check.name}: ", "bold"), check.found))
    if check.fix:
        console.print(Text(f"  → {check.fix}"))
