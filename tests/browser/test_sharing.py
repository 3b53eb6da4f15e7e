"""Sharing, from a webhook's link to the function to fix, assigning, and the page of a job; as people do it."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from tests.browser.conftest import WAIT_MS
from tests.browser.serving import CASES, Served, Watched, running
from tests.browser.test_recorded_incident import serious_faults

pytestmark = [
    pytest.mark.browser,
    pytest.mark.cases,
    pytest.mark.skipif(not CASES.is_dir(), reason="no folder of recorded cases beside the project"),
]
FUNCTION = "ImageFile.load"
"""What the case's host computes on the serving thread most of the time."""
SIZES = [(1440, 900), (390, 844)]


@dataclass(frozen=True)
class Case:
    """A recorded case, served."""

    served: Served
    data: Path

    def login_address(self) -> str:
        """What ``gapscope login`` prints."""
        words = [sys.executable, "-m", "gapscope_backend.cli.main", "login", "--data", str(self.data)]
        said = subprocess.run(words, capture_output=True, text=True, check=True).stdout
        found = re.search(r"\S+/login#token=\S+", said)
        assert found, said
        return found[0]


@pytest.fixture(scope="module")
def pil(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Case]:
    data = tmp_path_factory.mktemp("pil")
    with running(data, "--replay", str(CASES / "image-service-pil"), "--speed", "25") as served:
        yield Case(served, data)


@pytest.fixture(scope="module")
def ddp(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Case]:
    data = tmp_path_factory.mktemp("ddp")
    with running(data, "--replay", str(CASES / "ddp-straggler"), "--speed", "25") as served:
        yield Case(served, data)


@contextmanager
def profile(chromium: Browser, size: tuple[int, int] = SIZES[0], **more: Any) -> Iterator[Page]:
    """A fresh profile: nobody is logged in."""
    context = chromium.new_context(viewport={"width": size[0], "height": size[1]}, reduced_motion="reduce", **more)
    page = context.new_page()
    page.set_default_timeout(WAIT_MS)
    yield page
    context.close()


def log_in(page: Page, case: Case) -> None:
    page.goto(case.login_address())
    expect(page.get_by_test_id("fleet-host").first).to_be_visible()


def incident_of(page: Page, case: Case) -> str:
    """Id of the incident that the server opens; somebody is logged in."""
    page.goto(f"{case.served.origin}/incidents")
    link = page.get_by_test_id("incident").first.get_by_role("link")
    expect(link).to_be_visible()
    return (link.get_attribute("href") or "").rsplit("/", 1)[-1]


def stored_span(page: Page, host: str, start: float, end: float) -> str:
    """Seconds of a host's data as the address names them, once so much of its recording has been played."""
    data = page.wait_for_function(
        """async ([host, end]) => {
          const told = await (await fetch(`/api/v1/hosts/${host}`)).json()
          const first = Date.parse(told.first_data)
          return Date.parse(told.last_data) - first > end * 1000 && first
        }""",
        arg=[host, end],
        polling=500,
    )
    first = int(data.json_value())
    return f"{first + round(start * 1000)}-{first + round(end * 1000)}"


def in_sight(page: Page, shown: Locator) -> bool:
    """Whether all of it is within the window as it stands."""
    box, size = shown.bounding_box(), page.viewport_size
    assert box is not None
    assert size is not None
    below = box["y"] + box["height"] <= size["height"]
    return below and box["y"] >= 0 and box["x"] >= 0 and box["x"] + box["width"] <= size["width"]


COUNT_CLICKS = """
sessionStorage.clicks ??= 0
addEventListener('click', (event) => {
  if (event.detail) sessionStorage.clicks = Number(sessionStorage.clicks) + 1
}, true)
"""


@pytest.mark.parametrize("size", SIZES)
def test_from_a_webhooks_link_to_the_function_to_fix(
    pil: Case, chromium: Browser, size: tuple[int, int], record_property: Callable[[str, object], None]
) -> None:
    with profile(chromium) as page:
        log_in(page, pil)
        incident = incident_of(page, pil)
    with profile(chromium, size) as page:
        page.add_init_script(COUNT_CLICKS)
        link = f"{pil.served.origin}/incident/{incident}"
        page.goto(link)
        page.wait_for_url("**/login?next=**")
        page.get_by_test_id("login-link").fill(pil.login_address())
        page.get_by_role("button", name="Log in").click()
        page.wait_for_url(link)
        function = page.get_by_test_id("incident-fix").get_by_test_id("hotspots").get_by_text(FUNCTION, exact=True)
        expect(function).to_be_visible()
        assert page.evaluate("scrollY") == 0
        assert in_sight(page, function)
        assert in_sight(page, page.get_by_test_id("incident-sentence"))
        clicks = int(page.evaluate("sessionStorage.clicks"))
        record_property("clicks", clicks)
        assert clicks == 1
        assert page.evaluate("document.documentElement.scrollWidth") <= size[0]


def test_the_printed_link_leads_back_too(pil: Case, chromium: Browser) -> None:
    with profile(chromium) as page:
        page.goto(f"{pil.served.origin}/incidents?state=open")
        page.wait_for_url("**/login?next=**")
        page.get_by_test_id("login-link").fill("no link at all")
        page.keyboard.press("Enter")
        expect(page.get_by_text("That holds no login")).to_be_visible()
        page.goto(pil.login_address())
        page.wait_for_url("**/incidents?state=open")
        page.goto(pil.login_address())
        page.wait_for_url(f"{pil.served.origin}/")


def make_link(page: Page, *, public: bool) -> str:
    page.get_by_test_id("share").click()
    if public:
        page.get_by_test_id("share-public").check()
    page.get_by_test_id("share-make").click()
    expect(page.get_by_test_id("share-address")).to_be_visible()
    address = page.get_by_test_id("share-address").input_value()
    page.get_by_test_id("share-dialog").get_by_role("button", name="Close").click()
    expect(page.get_by_test_id("share-dialog")).to_have_count(0)
    return address


def test_an_incident_is_shared_opened_elsewhere_and_revoked(pil: Case, chromium: Browser, watched: Watched) -> None:
    page = watched.page
    log_in(page, pil)
    page.goto(f"{pil.served.origin}/incident/{incident_of(page, pil)}")
    expect(page.get_by_test_id("incident-fix")).to_be_visible()
    closed, public = make_link(page, public=False), make_link(page, public=True)
    expect(page.get_by_test_id("share-links").get_by_role("listitem")).to_have_count(2)
    with profile(chromium) as stranger:
        stranger.goto(closed)
        stranger.wait_for_url("**/login?next=/share/**")
        stranger.get_by_test_id("login-link").fill(pil.login_address())
        stranger.keyboard.press("Enter")
        stranger.wait_for_url(closed)
        expect(stranger.get_by_test_id("share-banner")).to_contain_text("shared by owner")
        expect(stranger.get_by_test_id("hotspots").first).to_contain_text(FUNCTION)
    with profile(chromium, SIZES[1]) as stranger:
        asked: list[str] = []
        stranger.on("request", lambda request: asked.append(request.url))
        look_through(stranger, public)
        api = [url for url in asked if "/api/" in url]
        assert len(api) > 8
        assert [url for url in api if "/api/v1/shared/" not in url] == []
    links = page.get_by_test_id("share-links").get_by_role("listitem")
    links.filter(has_text="public").get_by_test_id("revoke").click()
    expect(links.filter(has_text="revoked")).to_have_count(1)
    with profile(chromium) as stranger:
        response = stranger.goto(public)
        assert response is not None
        assert response.status == 410
        expect(stranger.get_by_test_id("share-over")).to_contain_text("revoked")
        response = stranger.goto(f"{closed[:-1]}{'1' if closed[-1] == '0' else '0'}")
        assert response is not None
        assert response.status == 404
        expect(stranger.get_by_test_id("share-unknown")).to_be_visible()
    assert watched.faults == []


def look_through(page: Page, address: str) -> None:
    """What a stranger does with a public link to an incident, on a phone."""
    faults: list[str] = []
    page.on("console", lambda message: faults.append(message.text) if message.type in {"error", "warning"} else None)
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.goto(address)
    expect(page.get_by_test_id("share-banner")).to_contain_text("Anyone with the link")
    function = page.get_by_test_id("hotspots").get_by_text(FUNCTION, exact=True)
    expect(function).to_be_visible()
    assert in_sight(page, function)
    expect(page.get_by_test_id("ledger-row").first).to_be_visible()
    expect(page.get_by_test_id("incident-evidence")).to_contain_text("Speaks for it")
    for absent in ("acknowledge", "share", "assign", "incident-file", "share-links", "header-incidents", "job-link"):
        expect(page.get_by_test_id(absent)).to_have_count(0)
    page.get_by_test_id("incident-flame").click()
    expect(page.get_by_test_id("flame-graph")).to_have_attribute("data-top", re.compile(f"^{re.escape(FUNCTION)}"))
    expect(page.get_by_test_id("lane-active").first).to_be_visible()
    for absent in ("add-note", "export-csv", "share"):
        expect(page.get_by_test_id(absent)).to_have_count(0)
    page.get_by_test_id("drawer-close").click()
    page.get_by_role("link", name="Incident", exact=True).click()
    page.get_by_test_id("incident-spans").get_by_role("button").first.click()
    expect(page.get_by_test_id("drawer-sentence")).to_be_visible()
    page.go_back()
    expect(page.get_by_test_id("incident-sentence")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= SIZES[1][0]
    assert faults == []


def test_a_span_is_shared_with_its_view(pil: Case, chromium: Browser, watched: Watched) -> None:
    page = watched.page
    log_in(page, pil)
    span = stored_span(page, "image-service-pil", 4, 9)
    page.goto(f"{pil.served.origin}/host/image-service-pil?t={span}&sel={span}&tab=flame&mode=all")
    expect(page.get_by_test_id("flame-graph")).to_be_visible()
    address = make_link(page, public=True)
    with profile(chromium) as stranger:
        stranger.goto(address)
        expect(stranger.get_by_test_id("share-banner")).to_contain_text("frozen span of image-service-pil")
        stranger.wait_for_url(re.compile(rf"/share/[0-9a-f]+\?.*sel={span}"))
        assert "tab=flame" in stranger.url
        assert "mode=all" in stranger.url
        expect(stranger.get_by_test_id("flame-graph")).to_be_visible()
        stranger.keyboard.press("f")
        expect(stranger.get_by_role("toolbar")).to_contain_text("5.0 s")
    assert watched.faults == []


def test_an_incident_is_given_to_somebody_and_downloaded(pil: Case, watched: Watched, tmp_path: Path) -> None:
    page = watched.page
    page.set_viewport_size({"width": SIZES[1][0], "height": SIZES[1][1]})
    log_in(page, pil)
    page.goto(f"{pil.served.origin}/incident/{incident_of(page, pil)}")
    people = page.get_by_test_id("assign")
    for name, told in (("Ann Lee", "Assigned to Ann Lee"), ("night shift", "Assigned to night shift")):
        people.get_by_label("Name").fill(name)
        people.get_by_role("button", name="Assign").click()
        expect(page.get_by_test_id("assigned")).to_have_text(told)
    people.get_by_role("button", name="Nobody").click()
    expect(page.get_by_test_id("assigned")).to_have_text("Nobody yet.")
    people.get_by_text("3 changes").click()
    expect(people.get_by_role("listitem")).to_have_count(3)
    expect(people.get_by_role("listitem").last).to_contain_text("owner assigned it to Ann Lee")
    with page.expect_download() as download:
        page.get_by_test_id("incident-file").click()
    download.value.save_as(tmp_path / "one.gapscope")
    assert (tmp_path / "one.gapscope").read_bytes().startswith(b"SQLite format 3\0")
    assert page.evaluate("document.documentElement.scrollWidth") <= SIZES[1][0]
    assert watched.faults == []


def test_a_job_with_two_ranks(ddp: Case, watched: Watched) -> None:
    page = watched.page
    log_in(page, ddp)
    span = stored_span(page, "ddp-straggler", 0, 18)
    page.goto(f"{ddp.served.origin}/host/ddp-straggler?t={span}&sel={span}")
    page.get_by_test_id("job-link").click()
    expect(page.get_by_test_id("job-cause")).to_have_attribute("data-cause", "straggler")
    ranks = page.get_by_test_id("job-rank")
    expect(ranks).to_have_count(2)
    expect(ranks.first).to_contain_text("1076")
    expect(ranks.last).to_contain_text("slow_augment")
    expect(page.get_by_test_id("job-ledger").get_by_test_id("ledger-row").first).to_contain_text("slower peer")
    expect(page.get_by_test_id("job-lanes").get_by_test_id("lane-active")).to_have_count(2)
    unknown = page.get_by_test_id("job-unknown")
    expect(unknown).to_contain_text("no server tells Gapscope of them")
    expect(unknown).to_contain_text("do not tell RANK")
    page.set_viewport_size({"width": SIZES[1][0], "height": SIZES[1][1]})
    expect(ranks.first).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= SIZES[1][0]
    page.goto(f"{ddp.served.origin}/job/ddp-straggler:1077")
    expect(page.get_by_test_id("job-title")).to_have_text("app.py")
    page.wait_for_url("**t=**")
    assert watched.faults == []


@pytest.mark.parametrize("job", ["ddp-straggler:9", "ddp-straggler", "nobody:1"])
def test_what_is_no_job_says_so(ddp: Case, chromium: Browser, job: str) -> None:
    with profile(chromium) as page:
        log_in(page, ddp)
        page.goto(f"{ddp.served.origin}/job/{job}")
        expect(page.get_by_role("heading", name=re.compile("No such job|names no job"))).to_be_visible()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_pages_are_accessible(pil: Case, ddp: Case, chromium: Browser, scheme: Literal["light", "dark"]) -> None:
    with profile(chromium, color_scheme=scheme) as page:
        log_in(page, pil)
        page.goto(f"{pil.served.origin}/incident/{incident_of(page, pil)}")
        expect(page.get_by_test_id("incident-fix")).to_be_visible()
        page.get_by_test_id("share").click()
        expect(page.get_by_test_id("share-make")).to_be_visible()
        assert serious_faults(page) == []
        page.keyboard.press("Escape")
        address = make_link(page, public=True)
        expect(page.get_by_test_id("share-links")).to_be_visible()
        assert serious_faults(page) == []
        page.goto(address)
        expect(page.get_by_test_id("incident-fix")).to_be_visible()
        assert serious_faults(page) == []
        page.goto(f"{pil.served.origin}/share/0000")
        expect(page.get_by_test_id("share-unknown")).to_be_visible()
        assert serious_faults(page) == []
    with profile(chromium, color_scheme=scheme) as page:
        page.goto(f"{ddp.served.origin}/job/ddp-straggler:1044")
        expect(page.get_by_test_id("login-link")).to_be_visible()
        assert serious_faults(page) == []
        page.get_by_test_id("login-link").fill(ddp.login_address())
        page.keyboard.press("Enter")
        expect(page.get_by_test_id("job-lanes").get_by_test_id("lane-active").first).to_be_visible()
        assert serious_faults(page) == []
