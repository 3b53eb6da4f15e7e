"""The timeline of a host: a gap in a day, lanes that are moved, live values, spans between windows, files."""

from __future__ import annotations

import asyncio
import re
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import parse_qs, urlsplit
from urllib.request import Request, urlopen

import aiohttp
import msgspec
import numpy as np
import pytest
from playwright.sync_api import Browser, Locator, Page, StorageState, expect

from gapscope_agent.wire import MEDIA_TYPE, LiveRequest, StackRequest, encode, encode_group
from gapscope_backend.services import admin
from tests.backend.batches import GPU, SECOND, TICK, BatchMaker
from tests.browser.serving import DEMO, Served, Watched, running
from tests.browser.stored_day import HOST, StoredDay, store_day

# A busy machine takes minutes to store a day.
pytestmark = [pytest.mark.browser, pytest.mark.timeout(600)]

# Where the colour of gaps stands in the top row of a lane: the columns of its canvas, 0..1 of the width.
MARKED = """canvas => {
    const wanted = getComputedStyle(document.documentElement).getPropertyValue('--idle').trim()
    const [r, g, b] = [1, 3, 5].map((at) => parseInt(wanted.slice(at, at + 2), 16))
    const copy = new OffscreenCanvas(canvas.width, 2).getContext('2d', { willReadFrequently: true })
    copy.drawImage(canvas, 0, 0)
    const row = copy.getImageData(0, 1, canvas.width, 1).data
    const found = []
    for (let x = 0; x < canvas.width; x += 1) {
        if (Math.abs(row[4 * x] - r) + Math.abs(row[4 * x + 1] - g) + Math.abs(row[4 * x + 2] - b) < 30) found.push(x)
    }
    return { columns: found, width: canvas.width }
}"""


@dataclass(frozen=True)
class Session:
    """A server, and who is logged in to it."""

    origin: str
    state: StorageState

    def enter(self, page: Page, address: str) -> None:
        """Go to an address of the server, logged in."""
        for cookie in self.state["cookies"]:
            page.context.add_cookies([{"name": cookie["name"], "value": cookie["value"], "url": self.origin}])
        page.goto(self.origin + address)
        expect(page.get_by_test_id("lane-active")).to_be_visible()


def log_in(chromium: Browser, served: Served) -> Session:
    context = chromium.new_context()
    page = context.new_page()
    page.goto(served.address)
    expect(page.get_by_test_id("fleet-host").first).to_be_visible()
    state = context.storage_state()
    context.close()
    return Session(served.origin, state)


@dataclass(frozen=True)
class DayServed:
    """A server on the stored day, with a token of its agent."""

    session: Session
    day: StoredDay
    token: str


def _agent_token(data: Path) -> str:
    return asyncio.run(admin.create_token(admin.database_url(data), "ingest", HOST, "agent"))


@pytest.fixture(scope="module")
def stored(chromium: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[DayServed]:
    data = tmp_path_factory.mktemp("day")
    # Playwright runs an event loop in this thread.
    with ThreadPoolExecutor(1) as beside:
        day = beside.submit(store_day, data).result()
        token = beside.submit(_agent_token, data).result()
    with running(data, "--no-demo") as served:
        yield DayServed(log_in(chromium, served), day, token)


@pytest.fixture(scope="module")
def demo(chromium: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    """The recorded incident as it happens, again and again."""
    with running(tmp_path_factory.mktemp("live"), "--replay", str(DEMO), "--loop") as served:
        yield log_in(chromium, served)


def shown(page: Page) -> tuple[float, float]:
    """The visible span, ms."""
    start, end = parse_qs(urlsplit(page.url).query)["t"][0].split("-")
    return float(start), float(end)


def lane_order(page: Page) -> list[str]:
    names: list[str] = page.locator("[data-lane]").evaluate_all("slots => slots.map((slot) => slot.dataset.lane)")
    return names


def test_a_gap_of_100_ms_is_seen_in_a_day_and_reached(watched: Watched, stored: DayServed) -> None:
    page, day = watched.page, stored.day
    stored.session.enter(page, f"/host/{HOST}")
    page.keyboard.press("f")
    page.wait_for_url(f"**t={day.start_ns // 10**6}-*")
    start, end = shown(page)
    assert end - start > 86_000_000
    expect(page.get_by_test_id("gap-list").get_by_role("listitem")).to_have_text(re.compile("100 ms"))
    canvas = page.get_by_test_id("lane-active").locator("canvas").first
    page.wait_for_function(f"canvas => ({MARKED})(canvas).columns.length > 0", arg=canvas.element_handle())
    marked = canvas.evaluate(MARKED)
    share = (day.gap_ns / 1e6 - start) / (end - start)
    assert 3 <= len(marked["columns"]) <= 20
    assert all(abs(column - share * marked["width"]) <= 12 for column in marked["columns"])

    page.keyboard.press(".")
    page.wait_for_function("before => location.href !== before", arg=page.url)
    start, end = shown(page)
    assert start < day.gap_ns / 1e6 < end
    assert end - start < 10_000
    expect(page.get_by_test_id("verdict-cause")).to_be_visible()
    page.keyboard.press(".")
    expect(page.get_by_role("toolbar")).to_contain_text("No further gap that way.")
    page.keyboard.press("t")
    page.keyboard.press("z")
    page.wait_for_url(f"**t={day.start_ns // 10**6}-*")
    assert watched.faults == []


def state_of(lane: Locator, kind: str) -> Locator:
    return lane.locator(f"[data-state={kind}]")


def test_what_a_lane_lacks_is_told_and_never_0(watched: Watched, stored: DayServed) -> None:
    page, day = watched.page, stored.day
    span = day.unmeasured
    around = (span.start // 10**6 - 1_800_000, span.stop // 10**6 + 1_800_000)
    stored.session.enter(page, f"/host/{HOST}?t={around[0]}-{around[1]}")
    power = page.get_by_test_id("lane-power")
    expect(state_of(power, "partial")).to_have_text("33 % missing: not supported here")
    expect(state_of(page.get_by_test_id("lane-pcie"), "empty")).to_be_visible()
    expect(page.get_by_test_id("lane-active").locator("[data-state]")).to_have_count(0)
    power.locator(".plot").hover()
    expect(power.locator(".label li")).to_have_text("power not supported here")
    page.goto(f"{stored.session.origin}/host/{HOST}?t={span.start // 10**6 + 60_000}-{span.stop // 10**6 - 60_000}")
    expect(state_of(power, "missing")).to_have_text("Not measured here: not supported here.")
    end = day.end_ns // 10**6
    page.goto(f"{stored.session.origin}/host/{HOST}?t={end - 60_000}-{end + 30_000}")
    expect(state_of(page.get_by_test_id("lane-active"), "stale")).to_contain_text("no data since")
    assert watched.faults == []


@contextmanager
def agent_of(stored: DayServed) -> Iterator[list[LiveRequest | StackRequest]]:
    """An agent on the live socket that only listens; what it was asked for so far."""
    asked: list[LiveRequest | StackRequest] = []
    ready, loop = threading.Event(), asyncio.new_event_loop()

    async def listen() -> None:
        url = f"{stored.session.origin}/api/v1/agent/live?host={HOST}"
        headers = {"Authorization": f"Bearer {stored.token}"}
        async with aiohttp.ClientSession() as session, session.ws_connect(url, headers=headers) as socket:
            ready.set()
            while not socket.closed:
                asked.append(msgspec.msgpack.decode(await socket.receive_bytes(), type=LiveRequest | StackRequest))

    task = loop.create_task(listen())
    thread = threading.Thread(target=lambda: loop.run_until_complete(asyncio.gather(task, return_exceptions=True)))
    thread.start()
    try:
        assert ready.wait(30)
        yield asked
    finally:
        loop.call_soon_threadsafe(task.cancel)
        thread.join(30)
        loop.close()


def test_stacks_are_asked_for_and_the_answer_is_told(watched: Watched, stored: DayServed) -> None:
    page, day = watched.page, stored.day
    end = day.end_ns // 10**6
    stored.session.enter(page, f"/host/{HOST}?t={end - 60_000}-{end}&sel={end - 30_000}-{end}&tab=flame&mode=all")
    empty = page.get_by_test_id("flame-empty")
    expect(empty).to_contain_text("takes no Python stacks")
    expect(page.get_by_test_id("live-state")).to_have_attribute("data-state", "offline")
    empty.get_by_test_id("ask-stacks").click()
    told = empty.get_by_test_id("stacks-told")
    expect(told).to_have_text("Not asked: this host's agent is not connected.")
    with agent_of(stored) as asked:
        expect(page.get_by_test_id("live-state")).to_have_attribute("data-state", "waiting")
        empty.get_by_test_id("ask-stacks").click()
        expect(told).to_have_text("The agent takes stacks for 10 s; they arrive within seconds.")
        assert StackRequest(seconds=10) in asked
    assert watched.faults == []


def test_lanes_are_pinned_moved_and_folded(watched: Watched, demo: Session) -> None:
    page = watched.page
    demo.enter(page, f"/host/{DEMO.name}")
    usual = lane_order(page)
    assert usual[:5] == ["notes", "gpu0", "ribbon", "processes", "cores"]
    page.locator("[data-lane=cores]").hover()
    page.keyboard.press("p")
    page.wait_for_url("**pin=cores**")
    expect(page.get_by_test_id("pinned").get_by_test_id("lane-cores")).to_be_visible()
    page.locator("[data-fold=ribbon]").click()
    page.wait_for_url("**lanes=-ribbon**")
    expect(page.get_by_test_id("ribbon").locator("canvas")).to_be_hidden()
    page.locator("[data-grip=processes]").focus()
    page.keyboard.press("ArrowUp")
    page.keyboard.press("ArrowUp")
    page.wait_for_url("**lanes=notes,processes,-ribbon**")
    expect(page.locator("[data-grip=processes]")).to_be_focused()
    grip, top = page.locator("[data-grip=gpu0]").bounding_box(), page.locator("[data-lane=notes]").bounding_box()
    assert grip is not None
    assert top is not None
    page.mouse.move(grip["x"] + 5, grip["y"] + 5)
    page.mouse.down()
    page.mouse.move(grip["x"] + 5, top["y"] + 3, steps=3)
    page.mouse.up()
    page.wait_for_url("**lanes=gpu0,notes,processes,-ribbon**")
    assert lane_order(page)[:5] == ["cores", "gpu0", "notes", "processes", "ribbon"]
    address = page.url
    page.reload()
    expect(page.get_by_test_id("pinned").get_by_test_id("lane-cores")).to_be_visible()
    assert lane_order(page)[:5] == ["cores", "gpu0", "notes", "processes", "ribbon"]
    page.keyboard.press("Control+z")
    page.wait_for_url("**lanes=notes,processes,-ribbon**")
    page.keyboard.press("Control+Shift+z")
    expect(page).to_have_url(address)
    page.get_by_role("button", name="Pin CPU cores").click()
    page.wait_for_url(lambda url: "pin=" not in url)
    expect(page.get_by_test_id("pinned")).to_have_count(0)
    page.go_back()
    expect(page.get_by_test_id("pinned")).to_be_visible()
    assert watched.faults == []


def test_a_span_is_copied_from_one_window_to_another(watched: Watched, stored: DayServed) -> None:
    page, day = watched.page, stored.day
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    start = day.start_ns // 10**6 + 3_600_000
    stored.session.enter(page, f"/host/{HOST}?t={start}-{start + 45_000}")
    other = page.context.new_page()
    stored.session.enter(other, f"/host/{HOST}")
    page.bring_to_front()
    page.keyboard.press("Control+c")
    expect(page.get_by_role("toolbar")).to_contain_text("Span copied")
    other.bring_to_front()
    other.keyboard.press("Control+v")
    expect(other.get_by_role("toolbar")).to_contain_text("Span pasted")
    other.wait_for_url(f"**t={start}-{start + 45_000}")
    other.evaluate('navigator.clipboard.writeText(\'{"from":"now-2h","to":"now-1h"}\')')
    other.keyboard.press("Control+v")
    other.wait_for_function("before => !location.href.includes(before)", arg=f"t={start}-")
    found = shown(other)
    assert found[1] - found[0] == 3_600_000
    other.close()
    assert watched.faults == []


def test_live_values_come_through_a_worker_and_a_pause_leaves_no_hole(watched: Watched, demo: Session) -> None:
    page = watched.page
    demo.enter(page, f"/host/{DEMO.name}")
    expect(page.get_by_test_id("live-state")).to_have_attribute("data-state", "live")
    assert [re.search(r"/assets/worker-\w+", worker.url) is not None for worker in page.workers] == [True]
    lane = page.get_by_test_id("lane-active")
    expect(lane.locator("[data-state]")).to_have_count(0)
    toggle = page.get_by_test_id("live-toggle")
    toggle.click()
    expect(page.get_by_test_id("live-state")).to_have_attribute("data-state", "paused")
    page.wait_for_url(re.compile(r"[?&]t=\d+-\d+"))
    paused = shown(page)[1]
    # The host's newest stored time goes well beyond what was seen when it paused.
    query = f"/api/v1/hosts/{DEMO.name}"
    page.wait_for_function(
        "async ([query, paused]) => Date.parse((await (await fetch(query)).json()).last_data) > paused + 4000",
        arg=[query, paused],
    )
    toggle.click()
    expect(page.get_by_test_id("live-state")).to_have_attribute("data-state", "live")
    expect(lane.locator("[data-state]")).to_have_count(0)
    expect(page.get_by_test_id("lane-cores").locator("[data-state]")).to_have_count(0)
    page.get_by_role("toolbar").get_by_test_id("ask-stacks").click()
    expect(page.get_by_test_id("stacks-told").first).to_contain_text("this is a recording")
    assert watched.faults == []


def test_files_of_what_is_visible(watched: Watched, demo: Session, tmp_path: Path) -> None:
    page = watched.page
    demo.enter(page, f"/host/{DEMO.name}")
    # The recording is played again and again: its incident opens, ends and opens anew.
    for name, beginning in (("incident-file", b"SQLite format 3"), ("export-csv", b"time")):
        with page.expect_download(timeout=240_000) as caught:
            page.get_by_test_id(name).click(timeout=240_000)
        file = tmp_path / caught.value.suggested_filename
        caught.value.save_as(file)
        assert file.read_bytes().startswith(beginning)
    assert watched.faults == []


def send(stored: DayServed, at_ns: int) -> None:
    """One batch of 5 s from the agent of the day's host."""
    times = at_ns + np.arange(50, dtype=np.int64) * TICK
    groups = [encode_group(GPU, times, {"gpu_graphics_active_ratio": np.full(50, 0.9)})]
    body = encode(BatchMaker(HOST, run_id=f"run-{at_ns}").make(at_ns, at_ns + 5 * SECOND, groups))
    headers = {"Authorization": f"Bearer {stored.token}", "Content-Type": MEDIA_TYPE}
    url = f"{stored.session.origin}/api/v1/ingest"
    with urlopen(Request(url, body, headers), timeout=60) as answer:
        assert answer.status == 200


def test_late_data_fills_the_hole_that_it_left(watched: Watched, stored: DayServed) -> None:
    page, end_ns = watched.page, stored.day.end_ns
    later = (end_ns + at * SECOND for at in range(10, 300, 5))
    send(stored, next(later))
    end = end_ns // 10**6
    stored.session.enter(page, f"/host/{HOST}?t={end - 10_000}-{end + 300_000}")
    lane = page.get_by_test_id("lane-active")
    expect(state_of(lane, "partial")).to_contain_text("missing: nothing was received")
    for at in (end_ns, end_ns + 5 * SECOND):
        send(stored, at)
    # The agent goes on meanwhile, as agents do: the page asks a host anew while it is live.
    while state_of(lane, "partial").count():
        send(stored, next(later))
        page.wait_for_timeout(3000)
    assert watched.faults == []
