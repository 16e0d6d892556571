"""The dashboard's HTTP server: what it gives out, and what it does not."""

from __future__ import annotations

import http.client
import json
import re
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from brain.dashboard.metrics import metrics_text
from brain.dashboard.server import MAX_CONNECTIONS, Dashboard
from tests.harness.feed import FedBrain
from tests.harness.zookeeper import ZooKeeperServer, eventually

TOKEN = "hush"


@pytest.fixture(scope="module")
def fed(zookeeper: ZooKeeperServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[FedBrain]:
    fed = FedBrain(
        zookeeper, tmp_path_factory.mktemp("brain"), **{"brain.scheduler.token": TOKEN}
    ).start()
    try:
        fed.until_measured()
        yield fed
    finally:
        fed.stop()


@pytest.fixture(scope="module")
def page(fed: FedBrain) -> Iterator[Dashboard]:
    page = Dashboard(fed.brain, "127.0.0.1", 0, TOKEN)
    page.start()
    yield page
    page.stop()


def port(page: Dashboard) -> int:
    return int(page.url.rstrip("/").rpartition(":")[2])


def request(
    page: Dashboard, method: str, path: str, body: Any = None, **headers: str
) -> tuple[int, http.client.HTTPMessage, bytes]:
    client = http.client.HTTPConnection("127.0.0.1", port(page), timeout=90)
    try:
        data = None if body is None else json.dumps(body).encode()
        client.putrequest(method, path, skip_host="Host" in headers)
        for name, value in headers.items():
            client.putheader(name.replace("_", "-"), value)
        if data is not None:
            client.putheader("Content-Length", str(len(data)))
        client.endheaders(data)
        answer = client.getresponse()
        return answer.status, answer.headers, answer.read()
    finally:
        client.close()


def own_page(page: Dashboard) -> dict[str, str]:
    return {"Origin": page.url.rstrip("/"), "Content_Type": "application/json"}


def test_the_page_and_its_assets_come_with_a_strict_policy(page: Dashboard) -> None:
    status, headers, body = request(page, "GET", "/")
    assert status == 200
    assert headers["Content-Type"] == "text/html; charset=utf-8"
    policy = headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    named = re.findall(r'(?:src|href)="(/assets/[^"]+)"', body.decode())
    assert named
    for path in named:
        assert request(page, "GET", path)[0] == 200, path


def test_assets_name_no_other_site() -> None:
    from brain.dashboard.server import _load_assets

    for path, (_, body) in _load_assets().items():
        others = set(re.findall(rb"https?://[^\"'` )]+", body)) - {b"http://www.w3.org/2000/svg"}
        assert not others, (path, others)


@pytest.mark.parametrize(
    "path",
    ["/assets/../server.py", "/assets/%2e%2e/server.py", "//etc/passwd", "/../../etc/passwd",
     "/assets/", "/assets/index.html", "/api/", "/api/picture/x", "/favicon.ico"],
)  # fmt: skip
def test_there_is_no_way_to_other_files(page: Dashboard, path: str) -> None:
    assert request(page, "GET", path)[0] in (400, 404)


def test_the_picture_is_the_brains(page: Dashboard, fed: FedBrain) -> None:
    fed.round()
    status, headers, body = request(page, "GET", f"/api/picture?topology={fed.topology_id}")
    assert status == 200
    assert headers["Cache-Control"] == "no-store"
    assert json.loads(body)["topologies"][0]["id"] == fed.topology_id
    status, _, body = request(page, "GET", "/api/picture?topology=nope")
    assert status == 400
    assert json.loads(body)["field"] == "topology"


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:8790", "", "127.0.0.1.evil.example"]
)
def test_a_rebound_name_reads_nothing(page: Dashboard, host: str) -> None:
    assert request(page, "GET", "/api/picture", Host=host)[0] == 403


def test_loopback_names_may_read(page: Dashboard) -> None:
    for host in (f"localhost:{port(page)}", f"127.0.0.1:{port(page)}", "[::1]:1"):
        assert request(page, "GET", "/api/about", Host=host)[0] == 200


def test_a_dry_run_is_for_the_own_page_only(page: Dashboard, fed: FedBrain) -> None:
    ask = {"topology": "lines", "algorithm": "metis"}
    assert request(page, "POST", "/api/plan", ask)[0] == 403
    other = {"Origin": "http://evil.example", "Content_Type": "application/json"}
    assert request(page, "POST", "/api/plan", ask, **other)[0] == 403
    plain = {"Origin": page.url.rstrip("/"), "Content_Type": "text/plain"}
    assert request(page, "POST", "/api/plan", ask, **plain)[0] == 415
    fed.round()
    status, _, body = request(page, "POST", "/api/plan", ask, **own_page(page))
    assert status == 200, body
    assert json.loads(body)["digest"]


def test_applying_wants_the_token(page: Dashboard) -> None:
    ask = {"topology": "lines", "digest": "0123456789ab"}
    assert request(page, "POST", "/api/apply", ask, **own_page(page))[0] == 401
    wrong = {**own_page(page), "Authorization": "Bearer wrong"}
    assert request(page, "POST", "/api/apply", ask, **wrong)[0] == 401
    right = {**own_page(page), "Authorization": f"Bearer {TOKEN}"}
    status, _, body = request(page, "POST", "/api/apply", ask, **right)
    assert status == 400
    assert "no plan 0123456789ab" in json.loads(body)["error"]


def test_without_a_token_nothing_can_be_applied(fed: FedBrain) -> None:
    page = Dashboard(fed.brain, "127.0.0.1", 0, None)
    page.start()
    try:
        ask = {"topology": "lines", "digest": "0123456789ab"}
        assert request(page, "POST", "/api/apply", ask, **own_page(page))[0] == 403
        assert json.loads(request(page, "GET", "/api/about")[2])["can_apply"] is False
    finally:
        page.stop()


@pytest.mark.parametrize("length", [None, "x", "-1", str(10**9)])
def test_a_body_of_a_bad_size_is_refused(page: Dashboard, length: str | None) -> None:
    headers = {**own_page(page), **({"Content_Length": length} if length else {})}
    assert request(page, "POST", "/api/plan", None, **headers)[0] in (400, 411, 413)


def test_garbage_breaks_only_its_own_connection(page: Dashboard) -> None:
    for garbage in (b"\x00\xff\r\n\r\n", b"GET " + b"x" * 70_000, b"POST / HTTP/9.9\r\n\r\n"):
        with socket.create_connection(("127.0.0.1", port(page)), timeout=10) as sock:
            sock.sendall(garbage)
            sock.shutdown(socket.SHUT_WR)
            while sock.recv(4096):
                pass
    assert request(page, "GET", "/healthz")[0] == 200


def test_more_connections_than_allowed_are_refused_and_places_come_free(page: Dashboard) -> None:
    held = [
        socket.create_connection(("127.0.0.1", port(page)), timeout=10)
        for _ in range(MAX_CONNECTIONS + 5)
    ]
    try:
        refused = 0
        for sock in held[MAX_CONNECTIONS:]:
            sock.settimeout(10)
            refused += sock.recv(1) == b""
        assert refused > 0
    finally:
        for sock in held:
            sock.close()

    def served() -> bool:
        try:
            return request(page, "GET", "/healthz")[0] == 200
        except (OSError, http.client.HTTPException):
            return False

    eventually(served, what="a free place")


def test_prometheus_can_read_the_metrics(page: Dashboard, fed: FedBrain) -> None:
    fed.round()
    status, headers, body = request(page, "GET", "/metrics", Host="brain-1:8790")
    assert status == 200
    assert headers["Content-Type"].startswith("text/plain; version=0.0.4")
    samples = parse(body.decode())
    assert samples["stormbrain_leading"] == {"": 1.0}
    assert samples["stormbrain_storm_live"] == {"": 1.0}
    assert samples["stormbrain_topology_executors"] == {'topology="lines"': 9.0}
    inter = samples["stormbrain_topology_inter_node_bytes_per_second"]
    assert inter == pytest.approx({'topology="lines"': fed.inter_node()})


def test_labels_are_escaped() -> None:
    brain = {"version": 'a"b\\c\nd', "id": "b", "leading": False, "term": 0}
    text = metrics_text(brain, None, {})
    assert 'version="a\\"b\\\\c\\nd"' in text


def parse(text: str) -> dict[str, dict[str, float]]:
    """Reads the text format strictly: every sample after its HELP and TYPE."""
    samples: dict[str, dict[str, float]] = {}
    typed: set[str] = set()
    for line in text.splitlines():
        if line.startswith("# TYPE "):
            typed.add(line.split()[2])
            continue
        if line.startswith("# HELP "):
            continue
        match = re.fullmatch(r"([a-z_]+)(?:\{(.*)\})? (\S+)", line)
        assert match, line
        assert match[1] in typed, line
        samples.setdefault(match[1], {})[match[2] or ""] = float(match[3])
    return samples


def test_grafana_asks_only_for_metrics_that_exist(page: Dashboard, fed: FedBrain) -> None:
    fed.round()
    board = json.loads(
        (Path(__file__).parents[2] / "deploy" / "grafana-dashboard.json").read_text()
    )
    wanted = set(re.findall(r"stormbrain_[a-z_]+", json.dumps(board)))
    assert wanted
    from brain.dashboard import metrics

    source = Path(metrics.__file__).read_text()
    given = set(parse(request(page, "GET", "/metrics")[2].decode()))
    for name in wanted - given:  # those that have no sample just now must still be known
        short = name.removeprefix("stormbrain_").removeprefix("topology_")
        assert short in source, name


def test_losses_of_workers_are_metrics(page: Dashboard, fed: FedBrain) -> None:
    fed.lost_windows, fed.lost_lines = 12, 3

    def told() -> bool:
        fed.round()
        samples = parse(request(page, "GET", "/metrics")[2].decode())
        found = [
            sum(samples[f"stormbrain_topology_{name}_total"].values())
            for name in ("lost_windows", "lost_log_lines", "edges_over_limit")
        ]
        return found == [12, 3, 0]

    try:
        eventually(told, 20, "the losses")
    finally:
        fed.lost_windows = fed.lost_lines = 0


def test_a_follower_shows_what_the_leader_knows(
    fed: FedBrain, zookeeper: ZooKeeperServer, tmp_path: Path
) -> None:
    follower = FedBrain(zookeeper, tmp_path, root=fed.root, **{"brain.scheduler.token": TOKEN})
    follower.brain.start()
    page = Dashboard(follower.brain, "127.0.0.1", 0, TOKEN)
    page.start()
    try:
        fed.round()
        eventually(lambda: follower.brain.election.known_leader, what="it knows the leader")
        status, _, body = request(page, "GET", "/api/picture")
        assert status == 200
        assert json.loads(body)["brain"]["id"] == fed.brain.id
        samples = parse(request(page, "GET", "/metrics")[2].decode())
        assert samples["stormbrain_leading"] == {"": 0.0}
    finally:
        page.stop()
        follower.stop()
