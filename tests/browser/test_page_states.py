"""The page in the states that a person meets: several recordings, nothing there, parts failing, a large fleet."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, Route, StorageState, expect

from tests.browser.serving import CASES, DEMO, Watched, running

pytestmark = pytest.mark.browser

GPUS = 8


@dataclass(frozen=True)
class Session:
    """A server and who is logged in to it."""

    origin: str
    state: StorageState


def read_host(page: Page, origin: str, host: str) -> None:
    page.goto(f"{origin}/host/{host}")
    expect(page.get_by_test_id("verdict-cause").first).to_be_visible()
    expect(page.get_by_test_id("lane-cores")).to_be_visible()
    expect(page.get_by_test_id("ledger-row").first).to_be_visible()


@pytest.mark.cases
@pytest.mark.skipif(not CASES.is_dir(), reason="no folder of recorded cases beside the project")
@pytest.mark.parametrize(("case", "gpus"), [("copy-pinned", 1), ("ddp-straggler", 2), ("no-traffic", 1)])
def test_kinds_of_recordings(watched: Watched, tmp_path: Path, case: str, gpus: int) -> None:
    page = watched.page
    with running(tmp_path, "--replay", str(CASES / case), "--speed", "25") as served:
        page.goto(served.address)
        expect(page.get_by_test_id("fleet-host")).to_be_visible()
        read_host(page, served.origin, case)
        expect(page.get_by_test_id("lane-active")).to_have_count(gpus)
        expect(page.get_by_test_id("levels")).to_have_count(gpus)
    expect(page.get_by_test_id("live-state")).to_have_attribute("data-state", "unreachable")
    lost = "ERR_CONNECTION_REFUSED", "WebSocket connection"
    assert [fault for fault in watched.faults if not any(word in fault for word in lost)] == []


@pytest.fixture(scope="module")
def session(chromium: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    """The demo served once, and a login to it."""
    with running(tmp_path_factory.mktemp("states"), "--replay", str(DEMO), "--speed", "30") as served:
        context = chromium.new_context()
        page = context.new_page()
        page.goto(served.address)
        expect(page.get_by_test_id("fleet-host")).to_be_visible()
        state = context.storage_state()
        context.close()
        yield Session(served.origin, state)


@pytest.fixture
def page(watched: Watched, session: Session) -> Page:
    """The watched page, logged in."""
    for cookie in session.state.get("cookies", []):
        watched.page.context.add_cookies([{"name": cookie["name"], "value": cookie["value"], "url": session.origin}])
    return watched.page


def test_a_failing_lane_leaves_the_others_alone(watched: Watched, session: Session, page: Page) -> None:
    def failing(route: Route) -> None:
        problem = {"error": "internal", "detail": "the disk is full", "where": ""}
        route.fulfill(status=500, content_type="application/json", body=json.dumps(problem))

    page.route("**/series?*core*", failing)
    read_host(page, session.origin, DEMO.name)
    expect(page.get_by_test_id("lane-cores")).to_contain_text("the disk is full")
    expect(page.get_by_test_id("lane-active")).not_to_contain_text("the disk is full")
    assert [fault for fault in watched.faults if "500" not in fault] == []


def test_an_unknown_host_is_asked_for_once_and_shows_when_it_reports(
    watched: Watched, session: Session, page: Page
) -> None:
    asked: list[str] = []
    unknown = {"error": "not_found", "detail": "no such host", "where": "host"}

    def missing(route: Route) -> None:
        asked.append(route.request.url)
        route.fulfill(status=404, content_type="application/json", body=json.dumps(unknown))

    page.route("**/api/v1/hosts", lambda route: route.fulfill(content_type="application/json", body="[]"))
    page.route(f"**/api/v1/hosts/{DEMO.name}", missing)
    page.clock.install()
    page.goto(f"{session.origin}/host/{DEMO.name}")
    expect(page.get_by_text("No such host")).to_be_visible()
    page.clock.run_for(30_000)
    assert len(asked) == 1
    page.unroute_all()
    page.clock.run_for(3000)
    expect(page.get_by_test_id("verdict-sentence").first).to_be_visible()
    assert [fault for fault in watched.faults if "404" not in fault] == []


def test_an_empty_server_shows_the_command(watched: Watched, session: Session, page: Page) -> None:
    page.route("**/api/v1/hosts", lambda route: route.fulfill(content_type="application/json", body="[]"))
    page.goto(session.origin)
    expect(page.get_by_text("gapscope agent --server")).to_be_visible()
    assert watched.faults == []


def test_a_long_line_of_source_scrolls_by_itself(watched: Watched, session: Session, page: Page) -> None:
    def lengthened(route: Route) -> None:
        answer = route.fetch()
        verdict = answer.json()
        for row in verdict["ledger"]:
            for spot in row["hotspots"]:
                spot["source"] = "long_name = " * 40
        route.fulfill(response=answer, json=verdict)

    page.route("**/diagnosis?*", lengthened)
    page.set_viewport_size({"width": 1400, "height": 900})
    read_host(page, session.origin, DEMO.name)
    expect(page.get_by_test_id("hotspots").first).to_contain_text("long_name = long_name")
    assert page.evaluate("document.documentElement.scrollWidth") <= 1400
    page.unroute_all(behavior="ignoreErrors")
    assert watched.faults == []


def large_fleet(hosts: int) -> str:
    """Hosts as the API tells them, each a little busier than the one before."""

    def gpu(index: int, busy: float) -> dict[str, object]:
        return {
            "entity": f"gpu:{index}",
            "index": index,
            "name": "NVIDIA H200",
            "graphics_active_ratio": busy,
            "utilization_ratio": 1.0,
            "power_watts": 300.0,
            "memory_used_bytes": 2e9,
            "memory_total_bytes": 15e10,
            "active_last_minute": [busy] * 60,
        }

    def host(number: int) -> dict[str, object]:
        busy = number / hosts
        return {
            "host": f"gpu-{number:04d}",
            "state": "live",
            "recorded": False,
            "last_seen": "2030-01-01T00:00:00Z",
            "seconds_since_last_seen": 1.0,
            "logical_cpus": 96,
            "cpu_busy_cores": 12.0,
            "gpus": [gpu(index, busy) for index in range(GPUS)],
            "verdict": "cpu_preprocess",
            "sentence": "The 8 GPUs waited.",
            "lost_gpu_seconds": (1 - busy) * 480,
            "open_incidents": int(number == 0),
        }

    return json.dumps([host(number) for number in range(hosts)])


def test_a_thousand_hosts_of_eight_gpus(watched: Watched, session: Session, page: Page) -> None:
    fleet = large_fleet(1000)
    page.route("**/api/v1/hosts", lambda route: route.fulfill(content_type="application/json", body=fleet))
    page.goto(session.origin)
    grid = page.get_by_test_id("fleet-grid")
    expect(grid).to_be_visible()
    expect(page.get_by_role("heading", name="1000 hosts, 8000 GPUs")).to_be_visible()
    cards = page.get_by_test_id("fleet-host")
    expect(cards.first).to_have_attribute("data-host", "gpu-0000")
    expect(cards.first).to_contain_text("1 open incident")
    expect(page.get_by_test_id("open-incidents")).to_have_count(1)
    assert cards.count() <= 60
    box = grid.bounding_box()
    assert box is not None
    assert box["y"] + box["height"] <= 900
    grid.hover(position={"x": 3, "y": 6})
    expect(page.get_by_text("gpu-0000: active")).to_be_visible()
    page.mouse.move(5, 5)
    grid.focus()
    page.keyboard.press("End")
    expect(grid).to_have_attribute("data-host", "gpu-0999")
    expect(grid).to_have_attribute("data-cell", "7")
    page.get_by_role("searchbox").fill("gpu-0999")
    expect(cards).to_have_count(1)
    assert watched.faults == []
