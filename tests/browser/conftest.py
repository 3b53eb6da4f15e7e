"""Chromium and a page that is watched, for the browser tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, ConsoleMessage, Request, expect, sync_playwright

from tests.browser.chromium import FLAGS, find
from tests.browser.serving import Watched

WAIT_MS = 30_000
"""Two busy cores render slowly; a test fails only where a thing never comes."""


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    path = find()
    assert path, "no Chromium; run tests/browser/chromium.py"
    expect.set_options(timeout=WAIT_MS)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=list(FLAGS))
        yield browser
        browser.close()


@pytest.fixture
def watched(chromium: Browser) -> Iterator[Watched]:
    context = chromium.new_context(viewport={"width": 1440, "height": 900}, reduced_motion="reduce")
    page = context.new_page()
    page.set_default_timeout(WAIT_MS)
    faults: list[str] = []

    def console(message: ConsoleMessage) -> None:
        expected = "401" in message.text and "Failed to load resource" in message.text
        if message.type in {"error", "warning"} and not expected:
            faults.append(message.text)

    def request(request: Request) -> None:
        if not request.url.startswith(("http://127.0.0.1:", "data:", "blob:")):
            faults.append(f"foreign request {request.url}")

    page.on("console", console)
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.on("request", request)
    yield Watched(page, faults)
    context.close()
