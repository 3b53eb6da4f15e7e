"""The size gate: no file over 500 lines, no function over 60; medians and p90 as docs/style asks."""

from __future__ import annotations

import ast
import statistics
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PYTHON = ("agent", "backend", "migrations", "tests", "frontend/gapscope_frontend", "frontend/page_build.py")
PAGE = ("frontend/src",)
MAX_FILE, MAX_FUNCTION, P90_FILE, MEDIAN_FILE, MEDIAN_FUNCTION = 500, 60, 350, 150, 12


def python_files() -> list[Path]:
    tops = [ROOT / name for name in PYTHON]
    return [path for top in tops for path in ([top] if top.is_file() else sorted(top.rglob("*.py")))]


def page_files() -> list[Path]:
    return [p for name in PAGE for p in sorted((ROOT / name).rglob("*")) if p.suffix in {".ts", ".vue", ".css"}]


def lines(path: Path) -> int:
    return len(path.read_text().splitlines())


def functions(path: Path) -> Iterator[tuple[str, int]]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield f"{path.relative_to(ROOT)}:{node.name}", (node.end_lineno or node.lineno) - node.lineno + 1


@pytest.mark.parametrize("files", [python_files(), page_files()], ids=["python", "page"])
def test_no_file_is_too_long(files: list[Path]) -> None:
    assert files
    assert {str(p.relative_to(ROOT)): lines(p) for p in files if lines(p) > MAX_FILE} == {}
    sizes = sorted(lines(p) for p in files if lines(p) > 3)
    assert statistics.median(sizes) <= MEDIAN_FILE
    assert sizes[int(len(sizes) * 0.9)] <= P90_FILE


def test_no_function_is_too_long() -> None:
    found = [entry for path in python_files() for entry in functions(path)]
    assert [entry for entry in found if entry[1] > MAX_FUNCTION] == []
    assert statistics.median(size for _, size in found) <= MEDIAN_FUNCTION
