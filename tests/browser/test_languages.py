"""The page in the reader's language: chosen, remembered, or as the browser prefers."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from tests.browser.serving import DEMO, Watched, running
from tests.browser.test_recorded_incident import open_host

pytestmark = pytest.mark.browser

CHINESE_SENTENCE = re.compile(r"秒内，NVIDIA H200 有 \d+% 的时间在等待供数进程中的 CPU 工作")


def test_a_reader_chooses_chinese(watched: Watched, chromium: Browser, tmp_path: Path) -> None:
    page = watched.page
    with running(tmp_path, "--replay", str(DEMO), "--speed", "30") as served:
        open_host(page, served.address, DEMO.name)
        sentence = page.get_by_test_id("verdict-sentence").first
        expect(sentence).to_contain_text("waited")
        assert page.evaluate("document.documentElement.lang") == "en"
        page.get_by_test_id("language").select_option("zh-Hans")
        expect(sentence).to_contain_text(CHINESE_SENTENCE)
        expect(page.get_by_test_id("ledger-row").first).to_contain_text("等待供数进程中的 CPU 工作")
        expect(page.get_by_test_id("lane-active")).to_contain_text("引擎活跃率")
        page.reload()
        expect(sentence).to_contain_text(CHINESE_SENTENCE)
        assert page.evaluate("document.documentElement.lang") == "zh-Hans"
        words = page.evaluate("document.body.innerText")
        assert re.findall(r"[a-z]{3,} [a-z]{3,} [a-z]{3,}", words) == []
        page.set_viewport_size({"width": 390, "height": 844})
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
        page.get_by_test_id("language").select_option("en")
        expect(sentence).to_contain_text("waited")
        cookies = page.context.cookies()
        with chromium.new_context(locale="zh-CN", viewport={"width": 1440, "height": 900}) as other:
            other.add_cookies([{"name": c["name"], "value": c["value"], "url": served.origin} for c in cookies])
            reader = other.new_page()
            reader.goto(served.origin)
            expect(reader.get_by_test_id("fleet-host")).to_contain_text("等待供数进程中的 CPU 工作")
    assert watched.faults == []
