"""The commands that ask a brain, against a real one on a real ZooKeeper."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from brain.doctor.losses import check_losses
from tests.harness.command import Run, run
from tests.harness.feed import FedBrain
from tests.harness.zookeeper import ZooKeeperServer, eventually


def ask(fed: FedBrain, command: str, *arguments: str) -> Run:
    fed.round()
    return run(command, *arguments, "--zookeeper", fed.zookeeper.hosts, "--root", fed.root)


def test_plan_shows_the_diff_and_a_digest(fed: FedBrain) -> None:
    shown = ask(fed, "plan", "lines", "--algorithm", "metis", "--seed", "1", "--theta", "2")
    assert shown.code == 0
    told = ask(
        fed, "plan", "lines", "--algorithm", "metis", "--seed", "1", "--theta", "2", "--json"
    )
    answer = told.json
    assert f"stormbrain apply lines {answer['digest'][:12]}" in shown.out
    assert f"{len(answer['moves'])} executors move" in shown.out
    for move in answer["moves"]:
        node, port = move["to_slot"].split(":")
        assert f"{node}.example:{port}" in shown.out  # hosts, not supervisor ids
    assert "-100.0 %" in shown.out


def test_explain_names_partners_alternatives_and_the_reason_to_wait(fed: FedBrain) -> None:
    shown = ask(fed, "explain", "lines", "5")
    assert shown.code == 0
    assert "stage-1 5-5" in shown.out
    assert "spout 2-2" in shown.out
    assert "other node" in shown.out
    assert "n3.example" in shown.out
    assert "why nothing moves just now: observing" in shown.out
    whole = ask(fed, "explain", "lines")
    assert "cross nodes (100%)" in whole.out
    assert "single moves that help" in whole.out
    assert (
        ask(fed, "explain", "lines", "stage-2", "--json").json["executors"][2]["executor"] == "9-9"
    )


def test_whatif_tells_today_and_then(fed: FedBrain) -> None:
    shown = ask(fed, "whatif", "lines", "--remove-node", "n2", "--rate", "x2", "--theta", "2")
    assert shown.code == 0
    assert "without n2, rates × 2" in shown.out
    assert "3 executors would lose their node" in shown.out
    more = ask(fed, "whatif", "lines", "--add-node", "1", "--json").json
    assert [n["id"] for n in more["nodes"]] == ["n1", "n2", "n3", "new-1"]


def test_status_tells_leader_cost_and_state(fed: FedBrain) -> None:
    shown = ask(fed, "status")
    assert f"brain {fed.brain.id}" in shown.out
    assert "360 kB/s" in shown.out
    assert "observing" in shown.out
    answer = ask(fed, "status", "--json").json
    assert answer["brain"]["leading"] is True
    assert answer["topologies"][0]["flow"]["inter_node_bytes"] == pytest.approx(fed.inter_node())


def test_doctor_without_nimbus_says_what_to_do_and_exits_with_1(fed: FedBrain) -> None:
    shown = ask(fed, "doctor")
    assert shown.code == 1
    checks = {c["name"]: c for c in ask(fed, "doctor", "--json").json}
    assert checks["nimbus"]["level"] == "fail"
    assert checks["nimbus"]["fix"] in shown.out
    for name in ("zookeeper", "brain", "plugin", "plugin version", "clock of Nimbus",
                 "clock of ZooKeeper", "reports of lines"):  # fmt: skip
        assert checks[name]["level"] == "ok", checks[name]


def test_what_workers_lost_is_shown_with_what_to_do(
    zookeeper: ZooKeeperServer, tmp_path: Path
) -> None:
    fed = FedBrain(zookeeper, tmp_path).start()

    def losses() -> dict[str, str]:
        found = {c["name"]: c for c in ask(fed, "doctor", "--json").json}
        return dict(found["losses of lines"])

    try:
        fed.until_measured()
        assert losses()["level"] == "ok"
        assert "lost" not in ask(fed, "status").out
        fed.lost_windows, fed.lost_lines = 12, 3
        eventually(lambda: losses()["level"] == "warn", 20, "the loss to be told")
        assert losses()["found"].startswith("12 windows did not reach a brain, 3 lines were not")
        assert "topology.brain.metrics.dir" in losses()["fix"]
        assert "lost: 12 windows did not reach a brain, 3 lines were not" in ask(fed, "status").out
        assert ask(fed, "status", "--json").json["topologies"][0]["losses"]["reports"] == 12
    finally:
        fed.stop()


def test_a_loss_of_long_ago_is_no_warning() -> None:
    losses = {"reports": 5, "lines": 0, "edges": 0, "last_ms": 1_000}
    topology = {"name": "lines", "losses": losses}
    assert check_losses(topology, 2_000).level == "warn"
    assert check_losses(topology, 1_000_000).level == "ok"
    full = {"name": "lines", "losses": {**losses, "edges": 7}}
    assert "max.edges" in check_losses(full, 1_000_000).fix


def test_apply_then_history_tells_who_did_it(zookeeper: ZooKeeperServer, tmp_path: Path) -> None:
    fed = FedBrain(zookeeper, tmp_path).start()
    try:
        fed.until_measured()
        digest = ask(fed, "plan", "lines", "--json").json["digest"]
        done = ask(fed, "apply", "lines", digest[:12])
        assert done.code == 0
        assert "plan 1 of lines-1-100 is written" in done.out
        again = ask(fed, "apply", "lines", digest)
        assert again.error is not None
        assert "not applied" in again.error.message
        shown = ask(fed, "history", "lines")
        assert "operator" in shown.out
        assert ask(fed, "history", "lines", "--json").json[-1]["outcome"] == "move"
        (file,) = (tmp_path / "decisions").glob("*.json.gz")
        assert run("replay", str(file)).code == 0
    finally:
        fed.stop()


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("plan", "nope"), "it knows lines"),
        (("plan", "lines", "--algorithm", "magic"), "there is no algorithm"),
        (("explain", "lines", "nobody"), "components are"),
        (("apply", "lines", "ffffffffffff"), "no plan ffffffffffff"),
        (("whatif", "lines", "--rate", "fast"), "not a factor"),
        (("history", "nope"), "no decision about nope"),
        (("dashboard",), "serves no dashboard"),
    ],
)
def test_errors_are_one_line(fed: FedBrain, arguments: tuple[str, ...], complaint: str) -> None:
    failed = ask(fed, *arguments)
    assert failed.error is not None
    assert complaint in failed.error.message
    assert "\n" not in failed.error.message


def test_without_a_leader_the_hint_names_serve(zookeeper: ZooKeeperServer) -> None:
    failed = run("status", "--zookeeper", zookeeper.hosts, "--root", "/nobody")
    assert failed.error is not None
    assert "stormbrain serve" in (failed.error.hint or "")


def test_doctor_without_zookeeper_fails_with_one_line() -> None:
    shown = run("doctor", "--zookeeper", "127.0.0.1:1", "--json")
    assert shown.code == 1
    assert shown.json[-1]["name"] == "zookeeper"


def test_algorithms_complete_in_the_shell() -> None:
    from brain.cli.asking import complete_algorithm

    assert complete_algorithm("me") == ["metis"]


def test_replay_makes_a_recorded_decision_again(zookeeper: ZooKeeperServer, tmp_path: Path) -> None:
    conf = {"topology.brain.mode": "auto", "topology.brain.first.replacement.secs": 0}
    fed = FedBrain(zookeeper, tmp_path, conf=conf).start()
    try:

        def decision_files() -> list[Path]:
            fed.round()
            return sorted((tmp_path / "decisions").glob("*.json.gz"))

        file = eventually(decision_files, 60, "a decision on disk")[0]
    finally:
        fed.stop()
    again = run("replay", str(file), "--solve")
    assert again.code == 0
    assert "recorded: move: inter-node traffic 360 kB/s → 0 B/s" in again.out
    assert "the same placement" in again.out
    assert run("replay", str(file), "--json").json["same"] is True
    failed = run("replay", str(tmp_path / "nothing.json"))
    assert failed.error is not None
    assert "is not a decision file" in failed.error.message


def test_without_zookeeper_there_is_one_line_and_a_hint() -> None:
    """As a user sees it: what libraries log must not stand around it."""
    command = Path(sys.executable).parent / "stormbrain"
    done = subprocess.run(
        [str(command), "status", "--zookeeper", "127.0.0.1:1"],
        capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip
    assert done.returncode == 1
    assert done.stdout == ""
    told = done.stderr.splitlines()
    assert [line.partition(":")[0] for line in told] == ["error", "hint"], done.stderr
