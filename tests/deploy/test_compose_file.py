"""docker-compose.yml and the Dockerfiles, as far as they can be judged without an engine."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[2]
DOCKERFILES = sorted((ROOT / "deploy" / "docker").glob("*.Dockerfile"))
COMPOSE: dict[str, Any] = yaml.safe_load((ROOT / "docker-compose.yml").read_text(encoding="utf-8"))
SERVICES: dict[str, Any] = COMPOSE["services"]
TOOLS = [name for name, s in SERVICES.items() if "tools" in s.get("profiles", [])]
DAEMONS = [name for name in SERVICES if name not in TOOLS]


def instructions(dockerfile: Path) -> list[tuple[str, str]]:
    """(instruction, arguments) of a Dockerfile, continuation lines joined."""
    lines = [x for x in dockerfile.read_text().splitlines() if not x.lstrip().startswith("#")]
    joined = re.sub(r"\\\n\s*", " ", "\n".join(lines))
    return [(w.partition(" ")[0], w.partition(" ")[2]) for w in joined.splitlines() if w.strip()]


def test_the_cluster_is_whole() -> None:
    wanted = {
        "zookeeper", "nimbus1", "nimbus2", "supervisor1", "supervisor2", "supervisor3", "ui",
        "brain1", "brain2", "redis",
    }  # fmt: skip
    assert {name for name, s in SERVICES.items() if not s.get("profiles")} == wanted
    metrics = {name for name, s in SERVICES.items() if s.get("profiles") == ["metrics"]}
    assert metrics == {"prometheus", "grafana"}


@pytest.mark.parametrize("name", DAEMONS)
def test_every_daemon_is_watched_limited_and_restarted(name: str) -> None:
    service = SERVICES[name]
    from_image = name.startswith("brain") and "HEALTHCHECK" in dict(instructions(DOCKERFILES[0]))
    assert from_image or service["healthcheck"]["test"]
    assert service["restart"] == "unless-stopped"
    limits = service["deploy"]["resources"]["limits"]
    assert {"cpus", "memory", "pids"} <= set(limits)
    assert service["logging"]["options"]["max-size"]


@pytest.mark.parametrize("name", list(SERVICES))
def test_no_service_may_gain_privileges(name: str) -> None:
    service = SERVICES[name]
    assert service["cap_drop"] == ["ALL"]
    assert "no-new-privileges:true" in service["security_opt"]
    assert not service.get("privileged")
    assert service.get("network_mode") is None


@pytest.mark.parametrize("name", list(SERVICES))
def test_ports_are_published_on_loopback_only(name: str) -> None:
    for port in SERVICES[name].get("ports", []):
        assert port.startswith("127.0.0.1:"), port


@pytest.mark.parametrize("name", list(SERVICES))
def test_images_are_ours_or_can_be_exchanged(name: str) -> None:
    image = SERVICES[name]["image"]
    if image.startswith("stormbrain/"):
        assert (ROOT / SERVICES[name]["build"]["dockerfile"]).is_file()
    else:
        assert re.fullmatch(r"\$\{[A-Z]+_IMAGE:-[a-z./]+:v?[0-9.]+\}", image), image


def test_what_is_mounted_from_the_repository_is_there() -> None:
    for service in SERVICES.values():
        for volume in service.get("volumes", []):
            source = volume.partition(":")[0]
            if source.startswith("./"):
                assert (ROOT / source).is_file(), source
                assert volume.endswith(":ro")
            else:
                assert source in COMPOSE["volumes"], source


def test_secrets_of_the_build_have_a_harmless_default() -> None:
    for secret in COMPOSE["secrets"].values():
        default = re.fullmatch(r"\$\{[A-Z_]+:-(.*)\}", secret["file"])
        assert default is not None
        assert "BEGIN" not in (ROOT / default[1]).read_text()


def test_brains_and_nimbuses_differ_only_in_their_names() -> None:
    for first, second in (("brain1", "brain2"), ("nimbus1", "nimbus2")):
        one = yaml.safe_dump(SERVICES[first]).replace(first, second)
        two = yaml.safe_dump(SERVICES[second])
        ports = re.compile(r"BRAIN\d_DASHBOARD_PORT:-\d+")
        assert ports.sub("", one) == ports.sub("", two)


@pytest.mark.parametrize("dockerfile", DOCKERFILES, ids=lambda p: p.name)
def test_images_run_without_root(dockerfile: Path) -> None:
    final: list[tuple[str, str]] = []
    for instruction in instructions(dockerfile):
        final = [] if instruction[0] == "FROM" else [*final, instruction]
    users = [argument for name, argument in final if name == "USER"]
    assert users[-1] in ("stormbrain", "storm")


@pytest.mark.parametrize("dockerfile", DOCKERFILES, ids=lambda p: p.name)
def test_base_images_are_arguments_with_a_fixed_tag(dockerfile: Path) -> None:
    steps = instructions(dockerfile)
    defaults = dict(a.split("=", 1) for name, a in steps if name == "ARG" and "=" in a)
    bases = [argument.split()[0] for name, argument in steps if name == "FROM"]
    for base in bases:
        variable = re.fullmatch(r"\$\{(\w+)\}", base)
        assert variable is not None, base
        assert re.search(r":[\w.-]*\d", defaults[variable[1]]), defaults[variable[1]]


@pytest.mark.parametrize("dockerfile", DOCKERFILES, ids=lambda p: p.name)
def test_files_that_are_copied_exist_and_are_not_ignored(dockerfile: Path) -> None:
    ignore = (ROOT / ".dockerignore").read_text().split()
    allowed = [line[1:] for line in ignore if line.startswith("!")]
    for name, arguments in instructions(dockerfile):
        words = [w for w in arguments.split() if not w.startswith("--")]
        if name == "COPY" and "--from" not in arguments:
            for source in words[:-1]:
                assert (ROOT / source).exists(), source
                assert any(source == a or source.startswith(f"{a}/") for a in allowed) or any(
                    a.startswith(f"{source}/") for a in allowed
                ), source


def test_nothing_names_a_network_of_somebody() -> None:
    """Addresses, proxies, certificates and indexes come from the environment, never from a file."""
    inside = [p for p in (ROOT / "deploy").rglob("*") if p.is_file() and p.suffix != ".json"]
    for path in [*inside, ROOT / "docker-compose.yml"]:
        text = path.read_text(encoding="utf-8")
        addresses = set(re.findall(r"(?<![\d.])(?:\d{1,3}\.){3}\d{1,3}(?![\d.])", text))
        assert addresses <= {"127.0.0.1", "0.0.0.0", "10.213.0.0"}, f"{path}: {addresses}"
        hosts = set(re.findall(r"https?://([A-Za-z0-9.-]+)", text))
        own = {"127.0.0.1", "localhost", "prometheus"}
        assert hosts <= own, f"{path}: {hosts - own}"
        assert not re.search(r"BEGIN (CERTIFICATE|.*PRIVATE KEY)-----\n\w", text), path
