"""What ZooKeeper keeps of decisions is bounded, and news are not pushed out by repetitions."""

from __future__ import annotations

from pathlib import Path

from brain.policy.decision import Decision, Move, Outcome, Trigger
from brain.service.decision_log import KEPT_IN_ZOOKEEPER, DecisionLog, read_decisions
from tests.harness.zookeeper import ZooKeeperServer


def decision(number: int, outcome: Outcome, reason: str, moves: int = 0) -> Decision:
    moved = tuple(Move(f"{i}-{i}", "bolt", "a:6700", "b:6700") for i in range(moves))
    return Decision(
        id=str(number), time_ms=number, topology_id="t-1-1", topology_name="t",
        trigger=Trigger("gain", ""), mode="auto", algorithm="metis", outcome=outcome,
        reason=reason, moves=moved,
    )  # fmt: skip


def test_a_move_is_still_known_after_hours_without_news(
    zookeeper: ZooKeeperServer, tmp_path: Path
) -> None:
    client = zookeeper.client()
    log = DecisionLog(tmp_path, client, "/log-a")
    log.append(decision(0, Outcome.MOVE, "better"))
    for i in range(1, 100):
        log.append(decision(i, Outcome.STAY, "what runs is already the best"))
    kept = read_decisions(client, "/log-a/decisions", "t-1-1")
    assert [d["outcome"] for d in kept] == ["move", "stay"]
    assert kept[-1]["repeated"] == 98
    assert kept[-1]["time_ms"] == 99
    assert len((tmp_path / "decisions.jsonl").read_text().splitlines()) == 100


def test_the_number_and_size_of_what_is_kept_are_bounded(
    zookeeper: ZooKeeperServer, tmp_path: Path
) -> None:
    client = zookeeper.client()
    log = DecisionLog(tmp_path, client, "/log-b")
    for i in range(60):
        log.append(decision(i, Outcome.MOVE, f"reason {i}", moves=5000))
    kept = read_decisions(client, "/log-b/decisions", "t-1-1")
    assert len(kept) <= KEPT_IN_ZOOKEEPER
    assert kept[-1]["reason"] == "reason 59"
    assert kept[-1]["moves_left_out"] == 4800
    assert len(client.get("/log-b/decisions/t-1-1")[0]) < 1_000_000


def test_a_full_disk_stops_nothing(zookeeper: ZooKeeperServer, tmp_path: Path) -> None:
    client = zookeeper.client()
    (tmp_path / "decisions.jsonl").symlink_to("/dev/full")
    log = DecisionLog(tmp_path, client, "/log-c")
    log.append(decision(1, Outcome.MOVE, "better"))
    assert log.recent("t-1-1")[0]["reason"] == "better"
    assert len(read_decisions(client, "/log-c/decisions", "t-1-1")) == 1
