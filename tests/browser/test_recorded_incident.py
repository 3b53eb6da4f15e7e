"""What a person does with a recorded incident: log in, see the host, open it, read gap, ribbon and verdict."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.serving import CASES, DEMO, Watched, running

pytestmark = pytest.mark.browser


def open_host(page: Page, address: str, host: str) -> None:
    page.goto(address)
    row = page.locator(f'[data-testid="fleet-host"][data-host="{host}"]')
    expect(row.get_by_test_id("recorded-badge")).to_be_visible()
    row.get_by_role("link").first.click()
    page.wait_for_url("**/host/**")


def pil_is_named(functions: str) -> bool:
    return any(name in functions for name in ("Image", "resize", "to_tensor", "decode", "convert", "normalize"))


@pytest.mark.cases
@pytest.mark.skipif(not CASES.is_dir(), reason="no folder of recorded cases beside the project")
def test_pil_on_the_serving_thread(watched: Watched, tmp_path: Path) -> None:
    page = watched.page
    with running(tmp_path, "--replay", str(CASES / "image-service-pil"), "--speed", "25") as served:
        open_host(page, served.address, "image-service-pil")
        cause = page.get_by_test_id("verdict-cause").first
        expect(cause).to_have_attribute("data-cause", "cpu_preprocess")
        expect(page.get_by_test_id("verdict-sentence").first).not_to_be_empty()
        expect(page.get_by_test_id("gap-list")).to_contain_text("s")
        expect(page.locator('[data-testid="ledger-row"][data-cause="cpu_preprocess"]')).to_be_visible()
        page.wait_for_function("document.querySelector('[data-testid=ribbon]')?.dataset.functions?.length > 0")
        assert pil_is_named(page.get_by_test_id("ribbon").first.get_attribute("data-functions") or "")
    assert watched.faults == []


def test_bundled_demo(watched: Watched, tmp_path: Path) -> None:
    page = watched.page
    with running(tmp_path, "--replay", str(DEMO), "--speed", "30") as served:
        open_host(page, served.address, DEMO.name)
        expect(page.get_by_test_id("verdict-cause").first).to_have_attribute("data-cause", "cpu_preprocess")
    assert watched.faults == []


def test_login_is_asked_and_leads_back(watched: Watched, chromium: Browser, tmp_path: Path) -> None:
    page = watched.page
    with running(tmp_path, "--replay", str(DEMO), "--speed", "100") as served:
        page.goto(f"{served.origin}/host/{DEMO.name}")
        page.wait_for_url("**/login**")
        page.goto(served.address)
        page.wait_for_url(lambda url: "/login" not in url)
        page.goto(served.address)
        expect(page).to_have_url(f"{served.origin}/")
        expect(page.get_by_test_id("fleet-host")).to_be_visible()
        with chromium.new_context() as other:
            stranger = other.new_page()
            stranger.goto(served.address)
            expect(stranger.get_by_text("this login has been used")).to_be_visible()
            expect(stranger.get_by_text("gapscope login", exact=True)).to_be_visible()
            expect(stranger).to_have_url(f"{served.origin}/login")
    assert watched.faults == []


AXE = Path(__file__).parents[2] / "frontend" / "node_modules" / "axe-core" / "axe.min.js"


def serious_faults(page: Page) -> list[str]:
    page.evaluate(AXE.read_text())
    found = page.evaluate("axe.run()")["violations"]
    return [f"{fault['id']}: {fault['help']}" for fault in found if fault["impact"] in {"serious", "critical"}]


def test_keys_zoom_walk_the_gaps_and_go_back(watched: Watched, tmp_path: Path) -> None:
    page = watched.page
    with running(tmp_path, "--replay", str(DEMO), "--speed", "30") as served:
        open_host(page, served.address, DEMO.name)
        expect(page.get_by_test_id("gap-list")).to_contain_text("s")
        page.wait_for_url("**t=**")
        live = page.url
        page.keyboard.press("f")
        page.wait_for_function("before => location.href !== before", arg=live)
        expect(page.get_by_title("Next gap (.)")).to_be_enabled()
        whole = page.url
        page.keyboard.press(",")
        page.wait_for_function("before => location.href !== before", arg=whole)
        page.go_back()
        expect(page).to_have_url(whole)
        page.keyboard.press("w")
        page.wait_for_function("before => location.href !== before", arg=whole)
        expect(page.get_by_test_id("verdict-sentence").first).not_to_be_empty()
    assert watched.faults == []
