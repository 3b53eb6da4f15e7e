"""Every page of the router in both themes, and every recorded case: no console error, nothing foreign, accessible."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import pytest
from playwright.sync_api import Browser, Locator, Page, StorageState, expect

from tests.browser.serving import CASES, Watched
from tests.browser.stored_fleet import DAY_NS, RETIRED, served, store_fleet
from tests.browser.test_recorded_incident import serious_faults

pytestmark = [
    pytest.mark.browser,
    pytest.mark.cases,
    pytest.mark.timeout(600),
    pytest.mark.skipif(not CASES.is_dir(), reason="no folder of recorded cases beside the project"),
]

ROUTER = Path(__file__).parents[2] / "frontend" / "src" / "router.ts"
PIL, DDP = "image-service-pil", "ddp-straggler"
SECONDS = 16
"""No recording is shorter."""
VIOLATIONS = """
window.violations = []
addEventListener('securitypolicyviolation', ({ violatedDirective, blockedURI }) => {
  window.violations.push(`${violatedDirective} ${blockedURI}`)
})
"""


def every_case() -> list[str]:
    return sorted(folder.name for folder in CASES.iterdir() if (folder / "recording.json").exists())


@dataclass(frozen=True)
class Session:
    """A server on all cases as hosts of their names, and who is logged in to it."""

    origin: str
    state: StorageState
    start_ms: int

    def span(self, case: str, begin: int = 0, end: int = SECONDS) -> str:
        """Seconds of a case as the address names them."""
        start = self.start_ms - (3 * DAY_NS // 1_000_000 if case == RETIRED else 0)
        return f"{start + begin * 1000}-{start + end * 1000}"

    def side(self, begin: int, end: int) -> str:
        start, stop = self.span(PIL, begin, end).split("-")
        return f"{PIL}@{start}..{stop}"


@pytest.fixture(scope="module")
def session(chromium: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    data = tmp_path_factory.mktemp("cases")
    fleet = store_fleet(data, [case for case in every_case() if case != RETIRED])
    with served(data) as server:
        context = chromium.new_context()
        page = context.new_page()
        page.goto(server.address)
        expect(page.get_by_test_id("fleet-host").first).to_be_visible()
        state = context.storage_state()
        context.close()
        yield Session(server.origin, state, fleet.minute_ms)


@pytest.fixture
def page(watched: Watched, session: Session) -> Page:
    """The watched page, logged in."""
    cookies = session.state["cookies"]
    watched.page.context.add_cookies([{"name": c["name"], "value": c["value"], "url": session.origin} for c in cookies])
    watched.page.add_init_script(VIOLATIONS)
    return watched.page


def test_every_case_is_read_without_a_fault(watched: Watched, page: Page, session: Session) -> None:
    cases = every_case()
    assert len(cases) > 20
    for case in cases:
        page.goto(f"{session.origin}/host/{case}?t={session.span(case)}")
        expect(page.get_by_test_id("lane-active").first, case).to_be_visible()
        expect(page.get_by_test_id("verdict-sentence").first, case).not_to_be_empty()
        expect(page.get_by_test_id("ledger-row").first, case).to_be_visible()
        expect(page.locator("[data-testid=lane-active] [data-state=loading]"), case).to_have_count(0)
        assert page.get_by_role("alert").all_inner_texts() == [], case
        assert page.evaluate("window.violations") == [], case
        assert watched.faults == [], case


def make_share(page: Page, incident: str) -> str:
    """Path of a public link to an incident."""
    path: str = page.evaluate(
        """async (incident) => {
          const headers = { 'Content-Type': 'application/json' }
          const body = JSON.stringify({ incident, view: '', public: true, days: 1 })
          return (await (await fetch('/api/v1/shares', { method: 'POST', headers, body })).json()).path
        }""",
        incident,
    )
    return path


def addresses(page: Page, session: Session) -> dict[str, list[tuple[str, Locator]]]:
    """Every path of the router: addresses of it, each with a part that is there once it is read."""
    page.goto(f"{session.origin}/incidents")
    card = page.locator('[data-testid="incident"][data-cause="cpu_preprocess"]').first.get_by_role("link")
    expect(card).to_be_visible()
    incident = (card.get_attribute("href") or "").rsplit("/", 1)[-1]
    share = make_share(page, incident)
    fix, lane = page.get_by_test_id("incident-fix"), page.get_by_test_id("lane-active").first
    host, span = f"/host/{PIL}?t={session.span(PIL)}", session.span(PIL, 4, 12)
    job = f"/job/{DDP}:1044?t={session.span(DDP)}"
    return {
        "/": [
            ("/", page.get_by_test_id("fleet-grid")),
            (f"/?at={session.start_ms}", page.get_by_test_id("fleet-then")),
        ],
        "/host/:host": [
            (host, page.get_by_test_id("ledger-row").first),
            (f"{host}&sel={span}", page.get_by_test_id("drawer-sentence")),
            (f"{host}&sel={span}&tab=flame&mode=gaps", page.get_by_test_id("flame-graph")),
            (f"{host}&sel={span}&tab=contrast", page.get_by_test_id("contrast")),
            (f"{host}&sel={span}&tab=processes", page.get_by_test_id("drawer-processes")),
            (f"{host}&sel={span}&tab=raw", page.get_by_test_id("drawer-raw")),
        ],
        "/incidents": [("/incidents", page.get_by_test_id("incident").first)],
        "/incident/:id": [(f"/incident/{incident}", fix)],
        "/share/:link": [(share, fix)],
        "/job/:job": [(job, lane)],
        "/compare": [
            (f"/compare?a={session.side(0, 8)}&b={session.side(8, 16)}", page.get_by_test_id("compare-sentence")),
            ("/compare", page.get_by_role("heading", name="Choose two spans")),
        ],
        "/alerts": [("/alerts", page.get_by_test_id("fired-count"))],
        "/alerts/log": [("/alerts/log", page.get_by_test_id("delivery-list"))],
        "/settings": [("/settings", page.get_by_test_id("capacity-headline"))],
        "/about": [("/about", page.get_by_test_id("about-agents"))],
        "/login": [("/login", page.get_by_test_id("login-link"))],
    }


def faults_in_both_themes(page: Page) -> list[str]:
    """Serious faults of the page as it stands, light and dark."""
    found: list[str] = []
    schemes: tuple[Literal["light", "dark"], ...] = ("light", "dark")
    for scheme in schemes:
        page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
        page.wait_for_function("scheme => document.documentElement.dataset.theme === scheme", arg=scheme)
        found += [f"{scheme} {fault}" for fault in serious_faults(page)]
    return found


def test_every_page_is_accessible_and_fits_a_phone(watched: Watched, page: Page, session: Session) -> None:
    told = addresses(page, session)
    # The server itself answers an unknown path; the page's own is only reached from within.
    assert set(told) | {"/:path(.*)*"} == set(re.findall(r"path: '([^']+)'", ROUTER.read_text()))
    found: dict[str, list[str]] = {}
    for address, part in (one for ones in told.values() for one in ones):
        page.set_viewport_size({"width": 1440, "height": 900})
        if address == "/login":
            page.context.clear_cookies()
        page.goto(session.origin + address)
        expect(part, address).to_be_visible()
        faults = faults_in_both_themes(page)
        page.set_viewport_size({"width": 390, "height": 844})
        expect(part, address).to_be_visible()
        page.wait_for_function("() => document.documentElement.scrollWidth <= 390")
        if faults := faults + page.evaluate("window.violations"):
            found[address] = faults
    assert found == {}
    assert watched.faults == []
