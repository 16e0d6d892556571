"""The page in a real browser, on a real brain: it shows, follows, reconnects and asks."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from brain.algorithms import registry
from brain.dashboard.server import Dashboard
from tests.dashboard.browser import WAIT_MS, open_browser, open_page
from tests.harness.feed import FedBrain
from tests.harness.zookeeper import ZooKeeperServer, eventually

pytestmark = [pytest.mark.browser, pytest.mark.timeout(600)]
TOKEN = "hush"
POLLS = 3
"""A re-placement is on the page within three polls (one a second) of the brain seeing it."""
NAMELESS = """() => [...document.querySelectorAll('button, input, select, a, [role=img]')]
    .filter(e => e.offsetParent !== null && !(e.getAttribute('aria-label')
        || e.textContent.trim() || e.closest('label')?.textContent.trim()))
    .map(e => e.outerHTML)"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    expect.set_options(timeout=WAIT_MS)
    with open_browser() as browser:
        yield browser


class Served:
    """A fed brain with its dashboard; the dashboard's port stays over a restart of both."""

    def __init__(self, fed: FedBrain) -> None:
        self.fed = fed
        self.page = Dashboard(fed.brain, "127.0.0.1", 0, TOKEN)
        self.page.start()
        self.url = self.page.url

    def stop(self) -> None:
        self.page.stop()
        self.fed.stop()

    def restart(self) -> None:
        self.fed.restart()
        port = int(self.url.rstrip("/").rpartition(":")[2])
        self.page = Dashboard(self.fed.brain, "127.0.0.1", port, TOKEN)
        self.page.start()


@contextmanager
def serving(fed: FedBrain) -> Iterator[Served]:
    """Measured, and fed on while the page is looked at."""
    served = Served(fed.start())
    try:
        fed.until_measured()
        fed.feed()
        yield served
    finally:
        served.stop()


@pytest.fixture
def served(zookeeper: ZooKeeperServer, tmp_path: Path) -> Iterator[Served]:
    """For tests that change something."""
    with serving(FedBrain(zookeeper, tmp_path, **{"brain.scheduler.token": TOKEN})) as served:
        yield served


@pytest.fixture(scope="module")
def shared(
    zookeeper: ZooKeeperServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Served]:
    """For tests that only look and ask."""
    with serving(FedBrain(zookeeper, tmp_path_factory.mktemp("brain"))) as served:
        yield served


def places(page: Any) -> dict[int, str]:
    """Task → slot, as the page shows it."""
    found = page.eval_on_selector_all(
        "#now .chip", "all => all.map(c => [c.dataset.executor, c.closest('.worker').dataset.slot])"
    )
    return {int(executor.split("-")[0]): slot for executor, slot in found}


def slots(fed: FedBrain) -> dict[int, str]:
    return {t: f"{node}:{port}" for t, (node, port) in fed.slots.items()}


def test_it_shows_the_running_topology_and_follows_a_replacement(
    browser: Any, served: Served
) -> None:
    fed = served.fed
    with open_page(browser, served.url) as page:
        page.wait_for_selector("body[data-state=live]")
        page.wait_for_selector("#now .chip")
        assert places(page) == slots(fed)
        expect(page.locator("#tile-inter .value")).to_have_text("360 kB/s")
        assert "9 executors" in page.inner_text("#tile-placement")

        fed.pause()
        fed.slots = {t: (fed.nodes[(t - 1) % 3], 6701) for t in fed.tasks}
        wanted = slots(fed)
        fed.round()
        polls: list[str] = []
        page.on("response", lambda r: polls.append(r.url) if "/api/picture" in r.url else None)
        eventually(lambda: places(page) == wanted, 60, "the new placement on the page")
        assert len(polls) <= POLLS
        fed.feed()
        page.wait_for_selector(".chart .move", state="attached")
        expect(page.locator("#tile-inter .value")).to_have_text("0 B/s")

        assert page.locator(".losses").count() == 0
        fed.lost_windows = 12
        expect(page.locator(".losses")).to_contain_text("Lost: 12 windows did not reach a brain")


def test_it_tells_when_storm_is_away_and_when_it_is_back(browser: Any, served: Served) -> None:
    with open_page(browser, served.url) as page:
        page.wait_for_selector("body[data-state=live]")
        served.fed.pause()
        page.wait_for_selector("body[data-state=storm-away]")
        assert "Nimbus has not asked for" in page.inner_text("#banner")
        assert page.locator("#now .chip").count() == 9
        served.fed.feed()
        page.wait_for_selector("body[data-state=live]")
        assert page.is_hidden("#banner")


def test_it_survives_a_restart_of_the_brain(browser: Any, served: Served) -> None:
    with open_page(browser, served.url) as page:
        page.wait_for_selector("body[data-state=live]")
        served.page.stop()
        page.wait_for_selector("body[data-state=brain-away]")
        assert "reconnects by itself" in page.inner_text("#banner")
        served.restart()
        page.wait_for_selector("body[data-state=live]")
        page.wait_for_selector("#now .chip")
        assert places(page) == slots(served.fed)


def test_a_dry_run_shows_before_and_after_and_can_be_applied(browser: Any, served: Served) -> None:
    fed = served.fed
    with open_page(browser, served.url) as page:
        page.wait_for_selector("body[data-state=live]")
        page.click("#tab-plan")
        offered = page.locator("#panel-plan select[name=algorithm] option")
        assert offered.all_inner_texts() == ["as configured", *registry.names()]
        page.select_option("#panel-plan select[name=algorithm]", "metis")
        page.click("#panel-plan button.primary")
        page.wait_for_selector("#then .chip")
        assert "0 B/s between nodes" in page.inner_text("#then-caption")
        moved = page.locator("#then .chip.moved").count()
        assert moved > 0
        page.fill("#panel-plan input[type=password]", "wrong")
        page.click("text=/^Apply/")
        page.wait_for_selector("#panel-plan p.error")
        assert fed.brain.store.read(fed.topology_id) is None
        page.fill("#panel-plan input[type=password]", TOKEN)
        page.click("text=/^Apply/")
        page.wait_for_selector("text=/Plan 1 is written/")
        eventually(lambda: fed.inter_node() == 0, what="the plan in force")
        expect(page.locator("#tile-plan .value")).to_have_text("plan 1 in force")
        page.click("#tab-decisions")
        assert "move" in page.inner_text("#panel-decisions .badge")


def test_choosing_an_executor_explains_it(browser: Any, shared: Served) -> None:
    with open_page(browser, shared.url) as page:
        page.wait_for_selector("#now .chip")
        page.click("#now .chip[data-executor='5-5']")
        page.wait_for_selector("#panel-explain .verdict")
        text = page.inner_text("#panel-explain")
        assert "spout 2-2" in text
        assert "other node" in text
        assert "Why nothing moves just now" in text
        page.keyboard.press("ArrowRight")
        assert page.evaluate("document.activeElement.dataset.executor") is not None


def test_what_if_a_node_is_lost(browser: Any, shared: Served) -> None:
    with open_page(browser, shared.url) as page:
        page.wait_for_selector("#now .chip")
        page.click("#tab-whatif")
        page.select_option("#panel-whatif select[name=remove]", "n1")
        page.select_option("#panel-whatif select[name=algorithm]", "metis")
        page.click("#panel-whatif button.primary")
        page.wait_for_selector("#then .chip")
        assert page.locator("#then article[data-node=n1]").count() == 0
        assert page.locator("#then .chip").count() == 9
        assert "3 executors would lose their node" in page.inner_text("#panel-whatif")


def test_names_are_text_and_never_markup(
    browser: Any, zookeeper: ZooKeeperServer, tmp_path: Path
) -> None:
    evil = "<img src=x onerror=document.title='owned'>"
    fed = FedBrain(zookeeper, tmp_path, name="evil")
    fed.components = {"spout": 3, evil: 3, "stage-2": 3}
    with serving(fed) as served, open_page(browser, served.url) as page:
        page.wait_for_selector("#now .chip")
        page.click("#now .chip[data-executor='5-5']")
        page.wait_for_selector("#panel-explain .verdict")
        assert evil in page.inner_text("#legend")
        assert page.title() == "Stormbrain"
        assert page.locator("main img").count() == 0


def test_two_hundred_executors_are_all_there_and_the_page_answers(
    browser: Any, zookeeper: ZooKeeperServer, tmp_path: Path
) -> None:
    fed = FedBrain(zookeeper, tmp_path, nodes=8, lines=50, depth=4)
    with serving(fed) as served, open_page(browser, served.url) as page:
        expect(page.locator("#now .chip")).to_have_count(200)
        expect(page.locator("#picture-note")).to_contain_text("150 edges")
        page.click("#now .chip[data-executor='60-60']")
        page.wait_for_selector("#panel-explain .verdict")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_controls_have_names_and_the_page_has_landmarks(
    browser: Any, shared: Served, scheme: str
) -> None:
    with open_page(browser, shared.url, color_scheme=scheme) as page:
        page.wait_for_selector("#now .chip")
        nameless = page.evaluate(NAMELESS)
        assert nameless == []
        for selector in ("main", "header", "[role=tablist]", "[role=status]", "h1"):
            assert page.locator(selector).count() == 1, selector
