"""From the fleet to an incident on a phone, and from there to the function that the GPU waits for."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.browser.serving import CASES, Watched, running

PHONE = 390


@pytest.mark.browser
@pytest.mark.cases
@pytest.mark.skipif(not CASES.is_dir(), reason="no folder of recorded cases beside the project")
def test_an_incident_on_a_phone(watched: Watched, tmp_path: Path) -> None:
    page = watched.page
    page.set_viewport_size({"width": PHONE, "height": 844})
    with running(tmp_path, "--replay", str(CASES / "image-service-pil"), "--speed", "25") as served:
        page.goto(served.address)
        expect(page.get_by_test_id("fleet-host")).to_be_visible()
        expect(page.get_by_test_id("open-incidents")).to_be_visible()
        page.get_by_test_id("header-incidents").click()
        card = page.get_by_test_id("incident")
        expect(card).to_have_attribute("data-cause", "cpu_preprocess")
        page.get_by_test_id("incident-state").select_option("closed")
        expect(card).to_have_count(0)
        page.go_back()
        card.get_by_role("link").click()
        sentence = page.get_by_test_id("incident-sentence")
        expect(sentence).to_contain_text("waited")
        fix = page.get_by_test_id("incident-fix")
        expect(fix.get_by_test_id("hotspots")).to_contain_text("ImageFile.load")
        box = fix.get_by_test_id("hotspots").get_by_role("listitem").first.bounding_box()
        assert box is not None
        assert box["y"] + box["height"] < 844
        expect(page.get_by_test_id("incident-evidence")).to_contain_text("Speaks for it")
        expect(page.get_by_test_id("ledger-row").first).to_be_visible()
        page.get_by_test_id("acknowledge").click()
        expect(page.get_by_test_id("acknowledged")).to_contain_text("owner")
        page.get_by_label("Comment", exact=True).fill("decode moves to\nworker processes")
        page.get_by_role("button", name="Send").click()
        expect(page.get_by_test_id("comments")).to_contain_text("worker processes")
        assert page.evaluate("document.documentElement.scrollWidth") <= PHONE
        page.get_by_test_id("incident-flame").click()
        expect(page.get_by_test_id("flame-graph")).to_have_attribute(
            "data-top", "ImageFile.load, Image.resize, to_tensor"
        )
        assert page.evaluate("document.documentElement.scrollWidth") <= PHONE
        page.go_back()
        page.get_by_test_id("incident-spans").get_by_role("button").first.click()
        expect(page.get_by_test_id("drawer-sentence")).to_be_visible()
    assert watched.faults == []
