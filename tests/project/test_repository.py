"""Rules that hold for the whole repository and that no other tool checks."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

from gapscope_agent.catalog import METRICS
from gapscope_backend.analysis.causes import CAUSES
from gapscope_backend.cli.main import COMMANDS

ROOT = Path(__file__).parents[2]


def tracked() -> list[Path]:
    names = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return [ROOT / name for name in names.splitlines()]


def test_every_series_stands_in_the_docs() -> None:
    text = (ROOT / "docs" / "series.md").read_text()
    assert [metric.name for metric in METRICS if f"`{metric.name}`" not in text] == []


def test_every_cause_stands_in_the_docs() -> None:
    text = (ROOT / "docs" / "causes.md").read_text()
    assert [cause.id for cause in CAUSES if f"`{cause.id}`" not in text] == []


def test_every_command_stands_in_the_docs() -> None:
    text = (ROOT / "docs" / "commands.md").read_text()
    assert [name for name, _ in COMMANDS if f"`gapscope {name}" not in text] == []


def test_lock_file_names_no_host() -> None:
    lock = (ROOT / "frontend" / "package-lock.json").read_text()
    assert re.findall(r'"resolved": "https?://[^"]*', lock) == []


def test_no_absolute_path_of_a_machine() -> None:
    homes = re.compile(r"(?<![\w.])/(?:root|home/\w+|work)/\w")
    text = {p: p.read_text(errors="ignore") for p in tracked() if p.suffix in {".py", ".md", ".ts", ".vue", ".toml"}}
    assert {str(p.relative_to(ROOT)): homes.findall(t) for p, t in text.items() if homes.findall(t)} == {}
