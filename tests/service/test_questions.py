"""Operators' questions to a whole brain on a real ZooKeeper, over Thrift."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from brain.cli.connection import call_brain
from brain.errors import StormbrainError
from brain.problems.reader import problem_from_dict
from brain.service.decision_log import read_decisions
from tests.harness.feed import FedBrain
from tests.harness.wire import cluster_state, supervisor, topology
from tests.harness.zookeeper import ZooKeeperServer, eventually


@pytest.fixture(scope="module")
def measured(
    zookeeper: ZooKeeperServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[FedBrain]:
    """Shared by the tests that only ask."""
    fed = FedBrain(zookeeper, tmp_path_factory.mktemp("brain")).start()
    try:
        fed.until_measured()
        yield fed
    finally:
        fed.stop()


@pytest.fixture
def fed(zookeeper: ZooKeeperServer, tmp_path: Path) -> Iterator[FedBrain]:
    """For tests that change something."""
    fed = FedBrain(zookeeper, tmp_path).start()
    try:
        fed.until_measured()
        yield fed
    finally:
        fed.stop()


def test_the_picture_shows_nodes_executors_and_measured_edges(measured: FedBrain) -> None:
    measured.round()

    def edges() -> bool:
        measured.round()
        own = measured.ask("picture")["topologies"][0]
        return len(own["edges"]["source"]) == len(measured.edges)

    eventually(edges, what="all edges")
    shown = measured.ask("picture", topology=measured.topology_id)
    assert shown["brain"]["leading"] is True
    assert shown["storm"]["state"] == "live"
    assert shown["storm"]["plugin_version"] == "0.1.0"
    assert [n["id"] for n in shown["nodes"]] == measured.nodes
    assert all(n["cpu"] == pytest.approx(36.0, rel=0.01) for n in shown["nodes"])
    (own,) = shown["topologies"]
    slots = {int(e["id"].split("-")[0]): tuple(e["slot"]) for e in own["executors"]}
    assert slots == measured.slots
    ids = [int(e["id"].split("-")[0]) for e in own["executors"]]
    told = {
        (ids[s], ids[t]): b
        for s, t, b in zip(
            own["edges"]["source"], own["edges"]["target"], own["edges"]["bytes"], strict=True
        )
    }
    assert told == pytest.approx({e: float(size) for e, (_, size) in measured.edges.items()})
    assert own["flow"]["inter_node_bytes"] == pytest.approx(measured.inter_node())


def test_the_problem_as_measured_reads_back(measured: FedBrain) -> None:
    document = measured.ask("problem", topology="lines")
    problem, current = problem_from_dict(document)
    assert len(problem) == 9
    assert current is not None
    assert current.placed.all()
    assert problem.graph.crossing(current.nodes(problem.slots)) == pytest.approx(
        measured.inter_node()
    )


def test_a_dry_run_moves_nothing_and_is_repeatable(measured: FedBrain) -> None:
    one = measured.ask("plan", topology="lines", algorithm="metis", seed=3, theta=2)
    two = measured.ask("plan", topology="lines", algorithm="metis", seed=3, theta=2)
    assert one["digest"] == two["digest"]
    assert one["verdict"]["outcome"] == "move"
    assert one["before"]["inter_node"] == pytest.approx(measured.inter_node())
    assert one["after"]["inter_node"] == 0
    moved = {m["executor"]: m["to_slot"] for m in one["moves"]}
    for executor, (node, port) in one["placement"].items():
        start = int(executor.split("-")[0])
        if executor in moved:
            assert moved[executor] == f"{node}:{port}"
        else:
            assert measured.slots[start] == (node, port)
    assert measured.schedule().plans == []
    assert measured.brain.store.read(measured.topology_id) is None


def test_explain_tells_partners_alternatives_and_why_nothing_moves(measured: FedBrain) -> None:
    told = measured.ask("explain", topology="lines", executor="4-4")
    (executor,) = told["executors"]
    assert executor["component"] == "stage-1"
    node, port = measured.slots[4]
    assert executor["slot"] == f"{node}:{port}"
    assert {p["executor"] for p in executor["partners"]} == {"1-1", "7-7"}
    assert {p["relation"] for p in executor["partners"]} == {"other node"}
    assert {a["node"] for a in executor["alternatives"]} == set(measured.nodes)
    (here,) = [a for a in executor["alternatives"] if a["here"]]
    assert here["inter_node"] == pytest.approx(120_000)
    assert told["waiting"].startswith("observing")
    assert told["unit"] == "bytes/s"
    whole = measured.ask("explain", topology="lines")
    assert whole["inter_node"] == pytest.approx(measured.inter_node())
    assert len(whole["single_moves"]) > 0


def test_what_if_a_node_leaves_everything_finds_a_place_elsewhere(measured: FedBrain) -> None:
    told = measured.ask("whatif", topology="lines", remove=["n1.example"], rate=2)
    assert {node for node, _ in told["placement"].values()} == {"n2", "n3"}
    assert told["without_a_home"] == 3
    assert told["today"]["inter_node"] == pytest.approx(measured.inter_node())
    more = measured.ask("whatif", topology="lines", add_nodes=2)
    assert len(more["nodes"]) == 5
    assert measured.schedule().plans == []


@pytest.mark.parametrize(
    ("question", "arguments", "complaint"),
    [
        ("plan", {}, "topology is missing"),
        ("plan", {"topology": "nope"}, "no topology 'nope' is known to the brain; it knows lines"),
        ("plan", {"topology": "lines", "algorithm": "magic"}, "there is no algorithm 'magic'"),
        ("plan", {"topology": "lines", "theta": 1e9}, "theta must be"),
        ("plan", {"topology": "lines", "colour": 1}, "no argument colour"),
        ("explain", {"topology": "lines", "executor": "99"}, "components are"),
        ("whatif", {"topology": "lines", "remove": ["n9"]}, "there is no node 'n9'"),
        ("whatif", {"topology": "lines", "rate": -1}, "rate must be"),
        ("weather", {}, "there is no 'weather'"),
        ("apply", {"topology": "lines", "digest": "0123456789ab"}, "no plan 0123456789ab"),
    ],
)
def test_a_question_that_cannot_be_meant_is_refused_by_name(
    measured: FedBrain, question: str, arguments: dict[str, object], complaint: str
) -> None:
    with pytest.raises(StormbrainError, match=complaint):
        measured.ask(question, **arguments)


@pytest.mark.parametrize("text", ["[1]", "{", '"x"', "[" * 5000, "x" * 70_000])
def test_arguments_that_are_no_object_are_refused(measured: FedBrain, text: str) -> None:
    with pytest.raises(StormbrainError, match=r"arguments|JSON"):
        call_brain(measured.brain.address, "ask", "", "plan", text)


def test_apply_puts_exactly_the_shown_plan_in_force(fed: FedBrain) -> None:
    shown = fed.ask("plan", topology="lines", theta=2)
    applied = fed.ask("apply", topology="lines", digest=shown["digest"][:12])
    stored = fed.brain.store.read(fed.topology_id)
    assert stored is not None
    assert (applied["epoch"], applied["plan_digest"]) == (stored.plan.epoch, stored.digest)
    placed = {f"{s}-{e}": [*slot] for (s, e), slot in stored.plan.executors.items()}
    assert placed == shown["placement"]
    (ref,) = fed.schedule().plans
    assert ref.digest == stored.digest
    fed.schedule()
    (own,) = fed.ask("picture")["topologies"]
    assert own["plan"]["state"] == "in force"
    assert fed.inter_node() == 0
    kept = read_decisions(fed.zookeeper.client(), f"{fed.root}/decisions", fed.topology_id)
    assert kept[-1]["trigger"]["kind"] == "operator"  # type: ignore[index]


def test_a_plan_is_refused_when_the_topology_was_placed_otherwise_since(fed: FedBrain) -> None:
    shown = fed.ask("plan", topology="lines", theta=2)
    fed.slots[1] = (fed.slots[1][0], 6701)
    fed.schedule()
    with pytest.raises(StormbrainError, match="placed otherwise since"):
        fed.ask("apply", topology="lines", digest=shown["digest"])
    assert fed.brain.store.read(fed.topology_id) is None


def test_a_plan_is_refused_when_another_topology_took_a_slot(fed: FedBrain) -> None:
    shown = fed.ask("plan", topology="lines", theta=2)
    wanted = sorted({(n, p) for n, p in shown["placement"].values()})
    state = fed.state()
    thief = topology("thief-2-100", {"x": 1}, {1: wanted[0]}, conf=fed.conf)
    state.topologies.append(thief)
    call_brain(fed.brain.address, "schedule", state)
    with pytest.raises(StormbrainError, match="is now used by thief-2-100"):
        fed.ask("apply", topology="lines", digest=shown["digest"])


def test_a_plan_is_refused_when_the_executors_have_changed(fed: FedBrain) -> None:
    shown = fed.ask("plan", topology="lines", theta=2)
    fed.components = {**fed.components, "extra": 1}
    fed.slots[10] = ("n1", 6700)
    fed.schedule()
    with pytest.raises(StormbrainError, match="executors of lines have changed"):
        fed.ask("apply", topology="lines", digest=shown["digest"])


def test_a_proposal_of_mode_advise_waits_until_it_is_applied(
    zookeeper: ZooKeeperServer, tmp_path: Path
) -> None:
    fed = FedBrain(
        zookeeper,
        tmp_path,
        conf={"topology.brain.mode": "advise", "topology.brain.first.replacement.secs": 0},
    ).start()
    try:

        def proposed() -> object:
            assert fed.round().plans == []
            return fed.brain.store.read(fed.topology_id, "proposals")

        stored = eventually(proposed, 60, "a proposal")
        applied = fed.ask("apply", topology="lines", digest=stored.digest[:16])
        assert applied["moves"]
        assert fed.brain.store.read(fed.topology_id, "proposals") is None
        (ref,) = fed.schedule().plans
        assert ref.epoch == applied["epoch"] > stored.plan.epoch
        assert fed.inter_node() == 0
    finally:
        fed.stop()


def test_a_restarted_brain_still_knows_earlier_decisions(fed: FedBrain) -> None:
    shown = fed.ask("plan", topology="lines", theta=2)
    fed.ask("apply", topology="lines", digest=shown["digest"])
    fed.schedule()
    fed.restart()
    fed.schedule()
    eventually(
        lambda: fed.ask("picture")["topologies"][0]["decisions"], what="decisions from ZooKeeper"
    )
    assert fed.ask("picture")["topologies"][0]["decisions"][-1]["outcome"] == "move"


def test_a_follower_sends_askers_to_the_leader(measured: FedBrain, tmp_path: Path) -> None:
    follower = FedBrain(measured.zookeeper, tmp_path, root=measured.root)
    follower.brain.start()
    try:
        with pytest.raises(StormbrainError, match="does not lead"):
            follower.ask("picture")
    finally:
        follower.stop()


def test_questions_want_the_token(zookeeper: ZooKeeperServer, tmp_path: Path) -> None:
    fed = FedBrain(zookeeper, tmp_path, **{"brain.scheduler.token": "hush"}).start()
    try:
        fed.schedule()
        assert fed.ask("picture")["nodes"]
        with pytest.raises(StormbrainError, match="token"):
            call_brain(fed.brain.address, "ask", "", "picture", "{}")
    finally:
        fed.stop()


def test_storm_is_told_to_be_away_when_nimbus_falls_silent(fed: FedBrain) -> None:
    assert fed.ask("picture")["storm"]["state"] == "live"
    eventually(lambda: fed.ask("picture")["storm"]["state"] == "away", 30, "Nimbus told to be away")
    fed.schedule()
    eventually(lambda: fed.ask("picture")["storm"]["state"] == "live", what="Nimbus back")


def test_a_topology_without_traffic_says_what_is_waited_for(
    zookeeper: ZooKeeperServer, tmp_path: Path
) -> None:
    fed = FedBrain(zookeeper, tmp_path).start()
    try:
        fed.schedule()
        with pytest.raises(StormbrainError, match="no traffic measured yet"):
            fed.ask("plan", topology="lines")
        assert fed.ask("picture")["topologies"][0]["flow"] is None
    finally:
        fed.stop()


def test_numbers_that_json_lacks_become_null() -> None:
    from brain.service.json_text import json_text

    assert json.loads(json_text({"a": float("nan"), "b": [float("inf"), 1.5]})) == {
        "a": None,
        "b": [None, 1.5],
    }


def test_cluster_without_topologies_has_a_picture(
    zookeeper: ZooKeeperServer, tmp_path: Path
) -> None:
    fed = FedBrain(zookeeper, tmp_path).start()
    try:
        assert fed.ask("picture")["storm"]["state"] == "never"
        call_brain(fed.brain.address, "schedule", cluster_state([supervisor("n1")], []))
        shown = eventually(lambda: fed.ask("picture")["nodes"] and fed.ask("picture"))
        assert shown["topologies"] == []
    finally:
        fed.stop()
