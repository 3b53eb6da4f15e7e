"""The fleet now and in the past, alerts, settings, about, and the command palette, on recordings of real GPUs."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import pytest
from playwright.sync_api import Browser, Page, Route, StorageState, expect

from gapscope_agent.version import __version__
from gapscope_backend.analysis.drops import DEFAULTS
from tests.browser.serving import CASES, Served, Watched, running
from tests.browser.stored_fleet import RETIRED, STALE, StoredFleet, served, store_fleet
from tests.browser.test_recorded_incident import serious_faults

pytestmark = [
    pytest.mark.browser,
    pytest.mark.cases,
    pytest.mark.skipif(not CASES.is_dir(), reason="no folder of recorded cases beside the project"),
]

PIL = "image-service-pil"


@dataclass(frozen=True)
class Session:
    """A server on stored hosts, and who is logged in to it."""

    served: Served
    fleet: StoredFleet
    state: StorageState

    @property
    def origin(self) -> str:
        return self.served.origin


@pytest.fixture(scope="module")
def session(chromium: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    data = tmp_path_factory.mktemp("fleet")
    fleet = store_fleet(data)
    with served(data) as server:
        context = chromium.new_context()
        page = context.new_page()
        page.goto(server.address)
        expect(page.get_by_test_id("fleet-host").first).to_be_visible()
        state = context.storage_state()
        context.close()
        yield Session(server, fleet, state)


@pytest.fixture
def page(watched: Watched, session: Session) -> Page:
    """The watched page, logged in, on the fleet."""
    cookies = session.state["cookies"]
    watched.page.context.add_cookies([{"name": c["name"], "value": c["value"], "url": session.origin} for c in cookies])
    watched.page.goto(session.origin)
    expect(watched.page.get_by_test_id("fleet-host")).to_have_count(len(STALE) + 1)
    return watched.page


def open_palette(page: Page, text: str) -> None:
    page.keyboard.press("Control+k")
    page.keyboard.type(text)
    expect(page.get_by_role("combobox", name="Host, incident, page or action")).to_have_value(text)


def test_states_filter_and_order_live_in_the_address(watched: Watched, page: Page) -> None:
    hosts = page.get_by_test_id("fleet-host")
    expect(hosts.last).to_have_attribute("data-host", RETIRED)
    expect(hosts.last).to_contain_text("retired")
    expect(page.get_by_test_id("state-stale")).to_have_text("3 stale")
    page.get_by_test_id("state-retired").click()
    expect(hosts).to_have_count(1)
    page.wait_for_url("**q=retired**")
    page.get_by_test_id("state-retired").click()
    page.get_by_test_id("fleet-order").select_option("name")
    page.wait_for_url("**order=name**")
    page.keyboard.press("Escape")
    page.locator("body").click(position={"x": 5, "y": 880})
    page.keyboard.press("/")
    page.keyboard.type("h200 pil")
    expect(hosts).to_have_count(1)
    address = page.url
    page.goto(address)
    expect(page.get_by_role("searchbox")).to_have_value("h200 pil")
    expect(hosts).to_have_attribute("data-host", PIL)
    assert watched.faults == []


def test_keys_move_through_the_gpus_and_open_a_host(watched: Watched, page: Page) -> None:
    grid = page.get_by_test_id("fleet-grid")
    told = page.get_by_test_id("fleet-told")
    page.keyboard.press("ArrowDown")
    expect(grid).to_be_focused()
    expect(told).to_contain_text("ddp-straggler")
    page.keyboard.press("ArrowRight")
    expect(grid).to_have_attribute("data-cell", "1")
    expect(told).to_contain_text("GPU 1: active")
    page.keyboard.press("ArrowRight")
    expect(grid).to_have_attribute("data-host", PIL)
    page.keyboard.press("Enter")
    page.wait_for_url(f"**/host/{PIL}**")
    page.keyboard.press("g")
    page.keyboard.press("f")
    expect(page).to_have_url(f"{watched.page.url.split('/host/')[0].rstrip('/')}/")
    page.keyboard.press("g")
    page.keyboard.press("h")
    page.wait_for_url(f"**/host/{PIL}**")
    assert watched.faults == []


def test_the_fleet_as_it_was(watched: Watched, page: Page, session: Session) -> None:
    scrubber = page.get_by_role("slider", name="Time of the board")
    expect(page.get_by_test_id("strip-incident")).to_have_count(2)
    page.get_by_test_id("incident-before").click()
    page.wait_for_url("**at=**")
    then = page.get_by_test_id("fleet-then")
    expect(then).to_have_attribute("data-minute", str(session.fleet.minute_ms))
    rows = page.get_by_test_id("past-host")
    pil = page.locator(f'[data-testid="past-host"][data-host="{PIL}"]')
    expect(pil).to_contain_text("idle in that minute")
    expect(pil.get_by_test_id("past-incident")).to_contain_text("ImageFile.load")
    expect(page.locator(f'[data-host="{RETIRED}"]')).to_contain_text("no data in that minute")
    expect(rows.last).to_have_attribute("data-host", RETIRED)
    scrubber.focus()
    page.keyboard.press("PageDown")
    page.wait_for_url(lambda url: f"at={session.fleet.minute_ms}" not in url)
    expect(page.get_by_test_id("fleet-then")).not_to_have_attribute("data-minute", "")
    expect(pil).to_have_count(0)
    page.goto(f"{session.origin}/?at={session.fleet.minute_ms}")
    page.get_by_test_id("fleet-grid").focus()
    expect(page.get_by_test_id("fleet-told")).to_contain_text("idle")
    page.keyboard.press("Enter")
    page.wait_for_url("**/host/**t=**")
    shown = re.search(r"t=(\d+)-(\d+)", page.url)
    assert shown is not None
    assert int(shown[1]) < session.fleet.minute_ms < int(shown[2])
    page.go_back()
    expect(then).to_be_visible()
    page.get_by_test_id("scrub-now").click()
    expect(page.get_by_test_id("fleet-host").first).to_be_visible()
    assert "at=" not in page.url
    assert watched.faults == []


def test_dragging_the_scrubber(watched: Watched, page: Page) -> None:
    track = page.get_by_test_id("scrubber")
    box = track.bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + box["width"] * 0.9, box["y"] + 10)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * 0.5, box["y"] + 10, steps=4)
    page.mouse.up()
    page.wait_for_url("**at=**")
    expect(page.get_by_test_id("scrub-time")).to_contain_text("ago")
    expect(page.get_by_test_id("fleet-then").or_(page.get_by_text("No host had reported by then"))).to_be_visible()
    page.mouse.click(box["x"] + box["width"] - 2, box["y"] + 10)
    expect(page.get_by_test_id("scrub-time")).to_have_text("Now")
    assert watched.faults == []


def test_alerts_tell_the_rule_in_force_and_what_it_opened(watched: Watched, page: Page) -> None:
    page.keyboard.press("g")
    page.keyboard.press("a")
    rule = page.get_by_test_id("rule")
    expect(rule).to_contain_text(f"below {DEFAULTS.level_ratio:.0%}".replace("%", " %"))
    expect(rule).to_contain_text(f"lasted {DEFAULTS.min_duration_seconds:.0f} s")
    expect(page.get_by_test_id("fired-count")).to_have_text("It fired 2 times in the last 24 hours")
    causes = page.get_by_test_id("fired-cause")
    expect(causes.first).to_have_attribute("data-cause", "cpu_preprocess")
    expect(page.get_by_test_id("fired-host")).to_have_count(2)
    page.get_by_test_id("fired-host").get_by_role("link", name=PIL).click()
    expect(page.get_by_test_id("incident")).to_have_count(1)
    assert watched.faults == []


FIRING = {
    "id": "a1",
    "rule": "gpu-drop",
    "host": PIL,
    "subject": "gpu:0",
    "state": "firing",
    "severity": "warning",
    "sentence": "GPU 0 waits for image decoding.",
    "cause": "cpu_preprocess",
    "row_class": "fault",
    "value": 0.05,
    "threshold": 0.25,
    "began": "2030-01-01T00:00:00Z",
    "fired": "2030-01-01T00:00:30Z",
    "resolved": None,
    "start_ms": 1893456000000,
    "end_ms": 1893456030000,
    "no_data_since": None,
    "incident": "",
    "labels": {},
    "acknowledged": None,
    "acknowledged_by": "",
    "silenced": False,
}
DELIVERY = {
    "id": "d1",
    "message_id": "m1",
    "channel": "ops",
    "kind": "firing",
    "state": "failed",
    "group_key": "g",
    "sentence": "GPU 0 waits for image decoding.",
    "alerts": ["a1"],
    "created": "2030-01-01T00:00:31Z",
    "due": None,
    "done": None,
    "attempts": 1,
    "log": [{"at": "2030-01-01T00:00:31Z", "status": 503, "error": "the receiver is full", "milliseconds": 12.0}],
    "resend_of": None,
}


def test_what_fires_is_acknowledged_and_what_failed_is_sent_again(watched: Watched, page: Page) -> None:
    asked: list[str] = []

    def answer(route: Route, told: object) -> None:
        if route.request.method == "POST":
            asked.append(route.request.url.rsplit("/api/v1", 1)[-1])
        route.fulfill(json=told)

    acknowledged = {**FIRING, "acknowledged": "2030-01-01T00:01:00Z", "acknowledged_by": "owner"}
    page.route("**/alerts/a1/acknowledge", lambda route: answer(route, acknowledged))
    page.route("**/api/v1/alerts?*", lambda route: answer(route, [acknowledged if asked else FIRING]))
    page.route("**/deliveries?*", lambda route: answer(route, [DELIVERY]))
    page.route("**/deliveries/d1", lambda route: answer(route, {**DELIVERY, "message": {"summary": "what was sent"}}))
    page.route("**/deliveries/d1/resend", lambda route: answer(route, DELIVERY))
    page.get_by_test_id("header-alerts").click()
    alert = page.get_by_test_id("alert")
    expect(alert).to_contain_text("firing")
    page.get_by_test_id("alert-acknowledge").click()
    expect(alert).to_contain_text("acknowledged by owner")
    page.get_by_test_id("to-log").click()
    delivery = page.get_by_test_id("delivery")
    expect(delivery).to_contain_text("failed")
    delivery.get_by_role("button", name="GPU 0 waits").click()
    expect(delivery).to_contain_text("the receiver is full")
    expect(page.get_by_test_id("payload")).to_contain_text("what was sent")
    page.get_by_test_id("resend").click()
    expect(page.get_by_test_id("resend")).to_be_enabled()
    assert asked == ["/alerts/a1/acknowledge", "/deliveries/d1/resend"]
    page.unroute_all(behavior="ignoreErrors")
    assert watched.faults == []


def test_alert_rules_are_tried_kept_and_silenced(watched: Watched, tmp_path: Path) -> None:
    page = watched.page
    with running(tmp_path, "--replay", str(CASES / PIL), "--speed", "25") as live:
        page.goto(live.address)
        expect(page.get_by_test_id("fleet-host").first).to_be_visible()
        page.get_by_test_id("header-alerts").click()
        rule = page.locator('[data-testid="alert-rule"][data-rule="gpu-drop"]')
        rule.get_by_role("button", name="GPU stopped being used").click()
        page.get_by_test_id("rule-text").fill("{")
        page.get_by_test_id("rule-preview").click()
        expect(page.get_by_test_id("rule-list").get_by_role("alert")).to_contain_text("JSON")
        page.get_by_test_id("rule-text").fill('{"kind": "utilization_drop", "for": "5s"}')
        page.get_by_test_id("rule-preview").click()
        expect(page.get_by_test_id("rule-previewed")).to_contain_text("Would have fired")
        rule.get_by_role("button", name="Save").click()
        expect(rule).to_contain_text("changed here")
        page.get_by_test_id("silence-matchers").fill("host=image-* rule=gpu-drop")
        page.get_by_test_id("silence-add").click()
        silence = page.get_by_test_id("silence")
        expect(silence).to_contain_text("rule=gpu-drop")
        silence.get_by_role("button", name="End now").click()
        expect(silence.get_by_role("button", name="End now")).to_have_count(0)
        page.get_by_test_id("to-log").click()
        page.wait_for_url("**/alerts/log")
        page.reload()
        expect(page.get_by_test_id("channel-list")).to_contain_text("Nobody is told yet")
        expect(page.get_by_test_id("delivery-list")).to_contain_text("No such message was sent")
    lost = "ERR_CONNECTION_REFUSED", "422"
    assert [fault for fault in watched.faults if not any(word in fault for word in lost)] == []


def test_settings_are_what_is_set(watched: Watched, page: Page) -> None:
    page.get_by_test_id("header-settings").click()
    retention = page.get_by_test_id("settings-retention")
    expect(retention.locator('[data-setting="retention_hours"]')).to_contain_text("48 h")
    expect(retention.locator('[data-setting="retention_5min_days"]')).to_contain_text("365 days")
    expect(page.get_by_test_id("settings-pins")).to_contain_text("3 incidents keep their samples")
    capacity = page.get_by_test_id("settings-capacity")
    expect(page.get_by_test_id("capacity-headline")).not_to_be_empty()
    expect(capacity.get_by_test_id("capacity-host")).to_have_count(len(STALE) + 1)
    expect(capacity).to_contain_text("--retention-hours: 48 → 24")
    view = page.get_by_test_id("settings-view")
    view.get_by_role("button", name="dark").click()
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"
    view.get_by_role("button", name="简体中文").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("设置")
    page.reload()
    expect(page.get_by_role("heading", level=1)).to_have_text("设置")
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"
    assert watched.faults == []


def test_the_palette_finds_hosts_incidents_pages_and_actions(watched: Watched, page: Page) -> None:
    open_palette(page, "ddp")
    found = page.get_by_test_id("palette").get_by_role("option")
    expect(found.first).to_contain_text("ddp-straggler")
    expect(found.first).to_have_attribute("aria-selected", "true")
    page.keyboard.press("Enter")
    page.wait_for_url("**/host/ddp-straggler**")
    open_palette(page, "imagefile")
    chosen = page.locator('[role="option"][aria-selected="true"]')
    expect(chosen).to_contain_text("incident")
    page.keyboard.press("ArrowDown")
    expect(chosen).to_have_attribute("data-item", f"host {PIL}")
    page.keyboard.press("ArrowUp")
    expect(chosen).to_contain_text("incident")
    page.keyboard.press("Enter")
    page.wait_for_url("**/incident/**")
    open_palette(page, "abo")
    page.keyboard.press("Enter")
    expect(page.get_by_test_id("about-version")).to_have_text(__version__)
    open_palette(page, "dark")
    page.keyboard.press("Enter")
    page.wait_for_function("document.documentElement.dataset.theme === 'dark'")
    open_palette(page, "zzzz")
    expect(page.get_by_text("Nothing matches")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_test_id("palette")).to_have_count(0)
    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="Help")).to_contain_text("Go to or do anything")
    assert watched.faults == []


def test_a_live_agent_tells_what_it_costs(watched: Watched, tmp_path: Path) -> None:
    page = watched.page
    with running(tmp_path) as live:
        page.goto(live.address)
        host = page.get_by_test_id("fleet-host").filter(has_not_text="Recorded")
        expect(host).to_contain_text("live")
        page.get_by_test_id("header-settings").click()
        page.get_by_role("link", name="Versions and what the agents cost").click()
        agent = page.get_by_test_id("about-agent").filter(has_not_text="Recorded")
        expect(page.get_by_test_id("about-versions")).to_contain_text(f"run {__version__}, as the server does")
        expect(page.get_by_test_id("about-agents")).to_contain_text("of a core and")
        expect(agent).to_contain_text("MiB")
        expect(page.get_by_test_id("about-lost")).to_contain_text("none is unaccounted for")
        expect(page.get_by_test_id("about-database")).to_contain_text("sqlite 3")
    assert [fault for fault in watched.faults if "ERR_CONNECTION_REFUSED" not in fault] == []


def test_logging_out_asks_for_a_login(chromium: Browser, watched: Watched, tmp_path: Path) -> None:
    page = watched.page
    data = tmp_path / "data"
    data.mkdir(mode=0o700)
    store_fleet(data)
    with served(data) as server:
        page.goto(server.address)
        expect(page.get_by_test_id("fleet-host").first).to_be_visible()
        open_palette(page, "settings")
        page.keyboard.press("Enter")
        expect(page.get_by_test_id("settings-session")).to_contain_text("Logged in as owner")
        page.get_by_test_id("logout").click()
        page.wait_for_url("**/login**")
        page.goto(f"{server.origin}/settings")
        page.wait_for_url("**/login?next=/settings")
    assert watched.faults == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_palette_and_help_are_accessible(watched: Watched, page: Page, scheme: Literal["light", "dark"]) -> None:
    page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
    open_palette(page, "a")
    assert serious_faults(page) == []
    page.keyboard.press("Escape")
    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="Help")).to_be_visible()
    assert serious_faults(page) == []
    assert watched.faults == []
