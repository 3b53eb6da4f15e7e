"""``python -m tests.bench.page --save page``: how fast the page draws in a headless Chromium, and what it keeps.

The bundled recording plays in real time on a server of its own. A script that is there before the page's own notes the
time of every frame that draws (all of its animation callbacks), the moment at which the first read series stands as
lines, and for each live sample the time from when it was taken to when it was drawn. The heap is read after a garbage
collection. ``--seconds`` is how long the live view is watched; ``--soak`` ends with 1 where its heap grows.
"""

from __future__ import annotations

import argparse
import gzip
import json
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, Page, expect, sync_playwright

from tests.bench.machine import save, spread_ms
from tests.browser.chromium import FLAGS, find
from tests.browser.serving import DEMO, Served, running
from tests.browser.test_page_states import large_fleet

ROOT = Path(__file__).parents[2]
ASSETS = ROOT / "frontend" / "gapscope_frontend" / "static" / "assets"
NOTES = Path(__file__).with_name("page.js").read_text()
WAIT_MS = 120_000
LOADS, STEPS, MOVES = 7, 160, 200
HEAP_EVERY_SECONDS = 10
GROWTH = 1.1
"""A heap is flat where the median of its last third is at most so many times that of the third before."""


def measure(seconds: float) -> dict[str, Any]:
    """All figures; ``seconds`` of a live view."""
    path = find()
    assert path, "no Chromium; run tests/browser/chromium.py"
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=list(FLAGS))
        try:
            with running(Path(folder), "--replay", str(DEMO), "--loop") as served, opened(browser, served) as page:
                return {"chromium": browser.version, "javascript": javascript(), **_measured(page, served, seconds)}
        finally:
            browser.close()


def _measured(page: Page, served: Served, seconds: float) -> dict[str, Any]:
    first = [first_lanes(page, served) for _ in range(LOADS)]
    live = live_view(page, served, seconds)
    return {
        "first_lanes_ms": spread_ms([one["first"] / 1e3 for one in first]),
        "loaded_kb": first[0]["loaded_kb"],
        **live,
        "redraw_ms": redraw(page, served),
        "grid_ms": grid(page, served),
    }


@contextmanager
def opened(browser: Browser, served: Served) -> Iterator[Page]:
    """A page of a logged-in person, noted."""
    context = browser.new_context(viewport={"width": 1440, "height": 900}, reduced_motion="reduce")
    page = context.new_page()
    page.set_default_timeout(WAIT_MS)
    expect.set_options(timeout=WAIT_MS)
    page.add_init_script(NOTES)
    page.goto(served.address)
    expect(page.get_by_test_id("fleet-host").first).to_be_visible()
    yield page
    context.close()


def javascript() -> dict[str, float]:
    """Each file of the built page and its workers, kB with gzip."""
    sizes = {path.name: len(gzip.compress(path.read_bytes(), 9)) / 1e3 for path in sorted(ASSETS.glob("*.js"))}
    return {name[: -len("-12345678.js")]: round(size, 1) for name, size in sizes.items()}


def first_lanes(page: Page, served: Served) -> dict[str, Any]:
    """From the first series that is read to the frame with its lines, ms; scripts that a visit loads, kB."""
    page.goto(f"{served.origin}/host/{DEMO.name}")
    page.wait_for_function("() => window.noted.first !== null")
    told: dict[str, Any] = page.evaluate(
        """() => ({
          first: window.noted.first,
          names: performance.getEntriesByType('resource').map((one) => one.name).filter((name) => name.endsWith('.js')),
        })"""
    )
    files = {ASSETS / name.rsplit("/", 1)[-1] for name in told.pop("names")} | set(ASSETS.glob("worker-*.js"))
    return {**told, "loaded_kb": round(sum(len(gzip.compress(file.read_bytes(), 9)) for file in files) / 1e3, 1)}


def drawn(page: Page) -> dict[str, float]:
    """Durations of the frames noted since the last call, ms."""
    took = page.evaluate("window.noted.frames.splice(0).map(({ took }) => took)")
    return spread_ms([one / 1e3 for one in took])


def live_view(page: Page, served: Served, seconds: float) -> dict[str, Any]:
    """Frames of a live host, its samples until they are drawn, and the heap in the meantime, MB."""
    page.goto(f"{served.origin}/host/{DEMO.name}")
    expect(page.get_by_test_id("live-state")).to_have_attribute("data-state", "live")
    page.wait_for_function("() => window.noted.samples.length > 20")
    page.evaluate("window.noted.frames = [], window.noted.samples.length = 0")
    devtools = page.context.new_cdp_session(page)
    heap: list[float] = []
    took: list[float] = []
    samples: list[float] = []
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        page.wait_for_timeout(1000 * min(HEAP_EVERY_SECONDS, max(end - time.monotonic(), 0.1)))
        # What is noted is taken out, so that the heap is that of the page.
        took += page.evaluate("window.noted.frames.splice(0).map(({ took }) => took)")
        samples += page.evaluate("window.noted.samples.splice(0)")
        devtools.send("HeapProfiler.collectGarbage")
        heap.append(round(devtools.send("Runtime.getHeapUsage")["usedSize"] / 1e6, 2))
        page.evaluate("window.noted.frames = [], window.noted.samples.length = 0")
    return {
        "live_seconds": seconds,
        "live_draw_ms": spread_ms([one / 1e3 for one in took]),
        "sample_to_pixel_ms": spread_ms([one / 1e3 for one in samples]),
        "heap_mb": heap,
    }


def redraw(page: Page, served: Served) -> dict[str, float]:
    """Frames of a view that is panned and zoomed by keys."""
    page.goto(f"{served.origin}/host/{DEMO.name}")
    page.wait_for_function("() => window.noted.first !== null")
    page.get_by_test_id("live-toggle").click()
    page.wait_for_url("**t=*-*")
    page.evaluate("window.noted.frames = []")
    for step in range(STEPS):
        page.keyboard.press("awds"[step % 4])
    return drawn(page)


def grid(page: Page, served: Served) -> dict[str, float]:
    """Frames of the fleet's grid of 1,000 hosts of 8 GPUs, while the pointer moves over it."""
    fleet = large_fleet(1000)
    page.route("**/api/v1/hosts", lambda route: route.fulfill(content_type="application/json", body=fleet))
    page.goto(served.origin)
    box = page.get_by_test_id("fleet-grid").bounding_box()
    assert box is not None
    page.evaluate("window.noted.frames = []")
    for step in range(MOVES):
        page.mouse.move(box["x"] + box["width"] * step / MOVES, box["y"] + box["height"] * (step % 7) / 7)
    return drawn(page)


def is_flat(heap: list[float]) -> bool:
    """Whether the last third is no higher than the one before; the first fills rings and caches."""
    third = len(heap) // 3
    before, last = (sorted(part)[third // 2] for part in (heap[-2 * third : -third], heap[-third:]))
    return last <= GROWTH * before


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--soak", action="store_true")
    parser.add_argument("--save", metavar="NAME")
    asked = parser.parse_args()
    told = measure(asked.seconds)
    print(json.dumps(told, indent=1))
    if asked.save:
        save(asked.save, told)
    return int(asked.soak and not is_flat(told["heap_mb"]))


if __name__ == "__main__":
    sys.exit(main())
