"""A span that is brushed on the timeline: its verdict, the flame graph of only the gaps, and the other views."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import Browser, Page, StorageState, expect

from tests.browser.serving import CASES, Watched, running

pytestmark = [
    pytest.mark.browser,
    pytest.mark.cases,
    pytest.mark.skipif(not CASES.is_dir(), reason="no folder of recorded cases beside the project"),
]

HOST = "image-service-pil"


@dataclass(frozen=True)
class Session:
    """A server of the recorded case, and who is logged in to it."""

    origin: str
    state: StorageState


@pytest.fixture(scope="module")
def session(chromium: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    with running(tmp_path_factory.mktemp("selection"), "--replay", str(CASES / HOST), "--speed", "25") as served:
        context = chromium.new_context()
        page = context.new_page()
        page.goto(served.address)
        expect(page.get_by_test_id("fleet-host")).to_be_visible()
        state = context.storage_state()
        context.close()
        yield Session(served.origin, state)


@pytest.fixture
def page(watched: Watched, session: Session) -> Page:
    cookies = session.state["cookies"]
    watched.page.context.add_cookies([{"name": c["name"], "value": c["value"], "url": session.origin} for c in cookies])
    watched.page.goto(f"{session.origin}/host/{HOST}")
    expect(watched.page.get_by_test_id("gap-list").get_by_role("listitem").first).to_be_visible()
    return watched.page


def brush(page: Page, start: float = 0.25, end: float = 0.75) -> None:
    """Drag over a part of the lane of the GPU."""
    box = page.get_by_test_id("lane-active").locator(".plot").bounding_box()
    assert box is not None
    middle = box["y"] + box["height"] / 2
    page.mouse.move(box["x"] + box["width"] * start, middle)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * end, middle, steps=3)
    page.mouse.up()


def test_brush_to_the_flame_graph_of_only_the_gaps(page: Page, watched: Watched) -> None:
    brush(page)
    expect(page.get_by_test_id("drawer-cause")).to_have_attribute("data-cause", "cpu_preprocess")
    expect(page.get_by_test_id("drawer")).to_contain_text("Expected gain")
    page.get_by_role("tab", name="Flame").click()
    graph = page.get_by_test_id("flame-graph")
    expect(page.get_by_role("button", name="In gaps")).to_have_attribute("aria-pressed", "true")
    expect(graph).to_have_attribute("data-top", "ImageFile.load, Image.resize, to_tensor")
    expect(page.get_by_test_id("flame-counted")).to_contain_text("samples")
    graph.hover(position={"x": 40, "y": 70})
    tip = page.get_by_test_id("flame-tip")
    expect(tip).to_contain_text(".py:")
    expect(tip).to_contain_text("%")
    page.get_by_role("searchbox").fill("PIL/")
    expect(page.get_by_test_id("flame-found")).to_contain_text("of the samples match")
    page.get_by_test_id("flame-as-table").click()
    expect(page.get_by_test_id("flame-table")).to_contain_text("ImageFile.load")
    page.get_by_role("button", name="ImageFile.load", exact=True).click()
    expect(page.get_by_test_id("flame-sandwich")).to_contain_text("Callers and callees of ImageFile.load")
    address = page.url
    assert "sel=" in address
    assert "tab=flame" in address
    page.go_back()
    expect(page.get_by_test_id("drawer-cause")).to_be_visible()
    page.go_back()
    expect(page.get_by_test_id("drawer")).to_have_count(0)
    page.goto(address)
    expect(graph).to_be_visible()
    assert watched.faults == []


def test_orders_and_directions_of_a_flame_graph(page: Page, watched: Watched) -> None:
    brush(page)
    page.get_by_role("tab", name="Flame").click()
    graph = page.get_by_test_id("flame-graph")
    expect(graph).to_be_visible()
    page.keyboard.press("1")
    page.wait_for_url("**mode=all**")
    with page.expect_response("**/flame?*order=time*") as answered:
        page.get_by_test_id("flame-order").select_option("time")
    told = answered.value.json()
    frames = [told["frames"][frame]["function"] for frame in told["nodes"]["frame"]]
    assert frames.count("ImageFile.load") > 3, "each time that it ran is a box of its own"
    expect(page.get_by_label("At the root")).to_have_value("thread")
    with page.expect_download() as caught:
        page.get_by_test_id("flame-panel").get_by_role("link", name="speedscope").click()
    profile = json.loads(caught.value.path().read_text())["profiles"][0]
    assert len(profile["samples"]) > len({tuple(stack) for stack in profile["samples"]})
    page.keyboard.press("i")
    page.wait_for_url("**invert=1**")
    expect(page.get_by_label("Inverted")).to_be_checked()
    page.keyboard.press("/")
    page.keyboard.type("PIL/")
    expect(page.get_by_test_id("flame-found")).to_contain_text("of the samples match")
    page.wait_for_url("**find=PIL**")
    address = page.url
    page.goto(address)
    expect(page.get_by_test_id("flame-order")).to_have_value("time")
    expect(page.get_by_role("searchbox")).to_have_value("PIL/")
    expect(page.get_by_test_id("flame-found")).to_contain_text("of the samples match")
    page.keyboard.press("Escape")
    expect(page.get_by_test_id("drawer")).to_have_count(0)
    assert not {"order", "find", "invert", "mode", "sel"} & set(parse_qs(urlsplit(page.url).query))
    assert watched.faults == []


def test_every_view_of_a_span_by_the_keyboard(page: Page, watched: Watched) -> None:
    page.keyboard.press(",")
    page.keyboard.press("m")
    drawer = page.get_by_test_id("drawer")
    expect(drawer).to_be_focused()
    page.keyboard.press("Tab")
    page.keyboard.press("ArrowRight")
    graph = page.get_by_test_id("flame-graph")
    expect(graph).to_be_visible()
    graph.focus()
    for key in ("ArrowDown", "ArrowDown", "ArrowDown"):
        page.keyboard.press(key)
    expect(page.get_by_test_id("flame-tip")).to_contain_text("preprocess")
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="Reset zoom")).to_be_visible()
    page.keyboard.press("Backspace")
    expect(page.get_by_role("button", name="Reset zoom")).to_have_count(0)
    page.keyboard.press("3")
    page.wait_for_url("**mode=difference**")
    page.get_by_role("tab", name="Flame").focus()
    page.keyboard.press("ArrowRight")
    expect(page.get_by_test_id("contrast")).to_contain_text("ImageFile.load")
    page.keyboard.press("ArrowRight")
    expect(page.get_by_test_id("drawer-processes")).to_contain_text("app.py")
    page.keyboard.press("ArrowRight")
    raw = page.get_by_test_id("drawer-raw")
    expect(raw).to_contain_text("gpu_graphics_active_ratio")
    with page.expect_download() as caught:
        raw.get_by_role("link", name="CSV").click()
    assert caught.value.path().read_text().startswith("time")
    page.keyboard.press("Escape")
    expect(drawer).to_have_count(0)
    assert watched.faults == []


def test_two_spans_are_compared(page: Page, watched: Watched) -> None:
    brush(page, 0.5, 0.8)
    page.get_by_test_id("drawer").get_by_role("link", name="Compare").click()
    expect(page.get_by_test_id("compare-sentence")).to_contain_text("From A to B")
    row = page.get_by_test_id("compare-ledger").locator('[data-row="cpu_preprocess"]')
    expect(row).to_contain_text("%")
    expect(page.get_by_test_id("flame-graph")).to_have_attribute("data-top", re.compile("ImageFile.load"))
    address = page.url
    before = parse_qs(urlsplit(address).query)
    page.get_by_role("button", name="Swap").click()
    page.wait_for_function("before => location.href !== before", arg=address)
    after = parse_qs(urlsplit(page.url).query)
    assert after == {"a": before["b"], "b": before["a"]}
    page.set_viewport_size({"width": 390, "height": 844})
    expect(row).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert watched.faults == []


def test_notes_copied_spans_and_a_picture(page: Page, watched: Watched) -> None:
    brush(page)
    expect(page.get_by_test_id("drawer")).to_be_visible()
    page.keyboard.press("n")
    page.keyboard.type("eight loader workers now")
    page.keyboard.press("Enter")
    note = page.get_by_test_id("notes").get_by_role("button", name="eight loader workers now")
    expect(note).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_test_id("drawer")).to_have_count(0)
    note.click()
    page.get_by_test_id("notes-read").get_by_role("button", name="Remove").click()
    expect(note).to_have_count(0)
    page.wait_for_url("**t=**")
    before = page.url
    page.evaluate(
        """() => {
            const clipboardData = new DataTransfer()
            clipboardData.setData('text', `x@${new Date(Date.now() - 9000).toISOString()}..${new Date().toISOString()}`)
            document.dispatchEvent(new ClipboardEvent('paste', { clipboardData, cancelable: true }))
        }"""
    )
    page.wait_for_function("before => location.href !== before", arg=before)
    page.keyboard.press("Control+z")
    expect(page).to_have_url(before)
    with page.expect_download() as caught:
        page.get_by_test_id("picture").click()
    assert caught.value.suggested_filename.endswith(".png")
    assert caught.value.path().read_bytes().startswith(b"\x89PNG")
    assert watched.faults == []


NO_STACKS: dict[str, object] = {
    "where": "gaps",
    "against": None,
    "samples": 0,
    "weight": 0.0,
    "other_weight": 0.0,
    "known_share": 0.0,
    "frames": [],
    "nodes": {"frame": [], "parent": [], "total": [], "own": [], "other_total": [], "other_own": []},
}


def test_a_flame_graph_says_why_it_is_empty(page: Page, watched: Watched) -> None:
    answer = dict(NO_STACKS)
    page.route("**/flame?*", lambda route: route.fulfill(json=answer))
    page.keyboard.press("m")
    page.get_by_role("tab", name="Flame").click()
    empty = page.get_by_test_id("flame-empty")
    expect(empty).to_contain_text("No Python stacks were taken in this span.")
    answer["samples"] = 40
    page.get_by_role("button", name="Outside").click()
    expect(empty).to_contain_text("All 40 samples fell in gaps")
    page.unroute("**/flame?*")
    empty.get_by_role("button", name="Show all stacks").click()
    expect(page.get_by_test_id("flame-graph")).to_be_visible()
    page.route(
        "**/flame?*", lambda route: route.fulfill(status=503, json={"error": "busy", "detail": "too busy", "where": ""})
    )
    page.get_by_label("On CPU only").check()
    expect(page.get_by_test_id("flame-panel").get_by_role("alert")).to_have_text("too busy")
    assert [fault for fault in watched.faults if "503" not in fault] == []
