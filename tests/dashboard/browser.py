"""Debian's Chromium, driven by Playwright."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking",
         "--disable-component-update", "--disable-sync", "--no-first-run"]  # fmt: skip
WAIT_MS = 60_000
"""Generous: on a loaded machine a browser is slow. Nothing below waits longer than it needs."""


@contextmanager
def open_browser() -> Iterator[Any]:
    """A browser; fails, naming the package, where there is none."""
    from playwright.sync_api import sync_playwright

    found = shutil.which("chromium")
    if found is None:
        pytest.fail(
            "the browser tests need Chromium: apt-get install chromium, or leave them out "
            'with pytest -m "not browser"'
        )
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=FLAGS, timeout=120_000)
        try:
            yield browser
        finally:
            browser.close()


@contextmanager
def open_page(browser: Any, url: str, **more: Any) -> Iterator[Any]:
    """A page whose script errors fail the test."""
    context = browser.new_context(viewport={"width": 1440, "height": 960}, **more)
    page = context.new_page()
    page.set_default_timeout(WAIT_MS)
    errors: list[str] = []
    page.on("pageerror", lambda e: errors.append(str(e)))
    page.on(
        "console",
        lambda m: errors.append(m.text) if "Content Security Policy" in m.text else None,
    )
    try:
        page.goto(url)
        yield page
        assert errors == []
    finally:
        context.close()
