"""The commands as a user types them: one line of error and a hint, or JSON alone on stdout."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from brain.cli.main import main
from brain.cluster.local import LocalCluster
from brain.cluster.ports import free_ports

PARALLEL = str(Path(__file__).parents[2] / "topologies" / "parallel.py")


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):  # type: ignore[no-untyped-def]
    """Runs ``stormbrain`` with arguments; gives (exit code, stdout, stderr)."""

    def go(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["stormbrain", *arguments])
        with pytest.raises(SystemExit) as end:
            main()
        shown = capsys.readouterr()
        return int(end.value.code or 0), shown.out, shown.err

    return go


@pytest.fixture
def no_clusters(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("STORMBRAIN_STATE", str(tmp_path))


@pytest.mark.usefixtures("no_clusters")
def test_without_a_cluster_commands_say_how_to_start_one(run) -> None:  # type: ignore[no-untyped-def]
    for command in (["list"], ["kill", "x"], ["cluster", "status"], ["submit", PARALLEL]):
        code, out, err = run(*command)
        assert (code, out) == (1, "")
        assert err.splitlines() == [
            "error: no cluster named default is up",
            "hint: start it: stormbrain cluster up --name default",
        ]


@pytest.mark.usefixtures("no_clusters")
def test_down_may_be_repeated(run) -> None:  # type: ignore[no-untyped-def]
    assert run("cluster", "down")[:2] == (0, "no cluster named default was up\n")


def test_an_unreachable_nimbus_is_one_line(run) -> None:  # type: ignore[no-untyped-def]
    [port] = free_ports(1)
    code, _, err = run("submit", PARALLEL, "--nimbus", f"127.0.0.1:{port}")
    assert code == 1
    assert err.startswith(f"error: Nimbus at 127.0.0.1:{port} does not answer: Connection refused")


def test_a_syntax_error_is_one_line_and_exits_with_2(run, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    path = tmp_path / "broken.py"
    path.write_text("x = (\n")
    code, out, err = run("submit", str(path), "--nimbus", "127.0.0.1:1")
    assert (code, out) == (2, "")
    assert err.startswith(f"error: {path}:1: syntax error")
    assert len(err.splitlines()) == 1


def test_options_can_be_listed_without_a_cluster(run) -> None:  # type: ignore[no-untyped-def]
    code, out, _ = run("submit", PARALLEL, "--options", "--json")
    assert code == 0
    assert json.loads(out)[PARALLEL]["depth"]["default"] == 7


@pytest.mark.storm
def test_json_is_alone_on_stdout(run, storm_cluster: LocalCluster) -> None:  # type: ignore[no-untyped-def]
    code, out, _ = run("cluster", "status", "--name", storm_cluster.name, "--json")
    status = json.loads(out)
    assert (code, status["running"], len(status["supervisors"])) == (0, True, 3)
    assert json.loads(run("cluster", "up", "--name", storm_cluster.name, "--json")[1])["running"]
    assert json.loads(run("list", "--cluster", storm_cluster.name, "--json")[1]) == []
