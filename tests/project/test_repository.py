"""Rules that hold for the whole repository and that no other tool checks."""

from __future__ import annotations

import importlib.util
import re
import subprocess
from pathlib import Path

import pytest

from gapscope_backend.cli.main import COMMANDS

ROOT = Path(__file__).parents[2]


def tracked() -> list[Path]:
    names = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return [ROOT / name for name in names.splitlines()]


@pytest.mark.parametrize("name", ["series.md", "causes.md", "configuration.md"])
def test_generated_docs_agree_with_the_catalogues(name: str) -> None:
    path = ROOT / "docs" / "generate.py"
    spec = importlib.util.spec_from_file_location("generate", path)
    assert spec is not None
    assert spec.loader is not None
    generate = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(generate)
    assert (ROOT / "docs" / name).read_text() == generate.GENERATED[name]()


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
