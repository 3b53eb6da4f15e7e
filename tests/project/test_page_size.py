"""What the built page costs to load: scripts with gzip, one kB being 1,000 bytes."""

from __future__ import annotations

import gzip
import re
from pathlib import Path

import pytest

STATIC = Path(__file__).parents[2] / "frontend" / "gapscope_frontend" / "static"
ASSETS = STATIC / "assets"
LANGUAGES = ("en", "zh")
AIM = 180_000
TIMELINE = ("index", "rolldown-runtime", "timeline", "worker", "zh")
"""What a visit of a host's timeline loads; Chinese is the larger table."""

pytestmark = pytest.mark.skipif(not ASSETS.is_dir(), reason="the page is not built")


def sizes() -> dict[str, int]:
    """Every script of the page by the name before its hash."""
    return {path.name[: -len("-12345678.js")]: len(gzip.compress(path.read_bytes(), 9)) for path in ASSETS.glob("*.js")}


def imported(name: str) -> set[str]:
    """Scripts that one imports as it starts."""
    (path,) = ASSETS.glob(f"{name}-????????.js")
    return {found[:-9] for found in re.findall(r'(?:from|import)"\./([^"]+)\.js"', path.read_text())}


def test_all_pages_in_one_language_are_small() -> None:
    found = sizes()
    for language in LANGUAGES:
        others = {name for name in LANGUAGES if name != language}
        assert sum(size for name, size in found.items() if name not in others) <= AIM, found


def test_the_timeline_loads_only_its_own() -> None:
    assert sum(sizes()[name] for name in TIMELINE) <= AIM
    assert imported("timeline") <= {"index", "rolldown-runtime"}
    assert re.findall(r'src="/assets/([\w-]+)-.{8}\.js"', (STATIC / "index.html").read_text()) == ["index"]
    assert not imported("index") & set(LANGUAGES)
