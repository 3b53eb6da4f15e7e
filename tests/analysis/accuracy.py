"""How often the verdict is right: over all recordings, with data taken away, and with thresholds moved.

``python -m tests.analysis.accuracy`` writes docs/diagnosis-accuracy.md; a test holds its first table against the code.
"""

from __future__ import annotations

import importlib
import json
import pkgutil
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import gapscope_backend.analysis as analysis
from gapscope_backend.analysis.diagnose import diagnose
from gapscope_backend.analysis.window import Window
from gapscope_backend.cli.windows import window_of_recording
from tests.analysis.ablations import ABLATIONS, rename_application, verdict_kind

ROOT = Path(__file__).resolve().parents[2]
CASES = ROOT.parent / "shared" / "cases"
DOCUMENT = ROOT / "docs" / "diagnosis-accuracy.md"
MARK = "<!-- everything below is written by `python -m tests.analysis.accuracy` -->\n"
KINDS = ("right", "coarse", "unknown", "wrong")
MOVED = (0.85, 1.15)
NO_THRESHOLDS = {
    "CELL_NS",
    "INIT_PID",
    "TID_BITS",
    "TOP",
    "FEW_SAMPLES",
    "ACTIVITY_COUNT",
    "SLOW_PERIOD_NS",
    "SLOWDOWN_BITS",
}


@dataclass(frozen=True)
class Case:
    name: str
    window: Window
    accept: list[str]


@lru_cache(maxsize=64)
def load(name: str) -> Case:
    truth = json.loads((CASES / name / "truth.json").read_text())
    return Case(name, window_of_recording(CASES / name), truth["accept"])


def case_names() -> list[str]:
    return sorted(path.parent.name for path in CASES.glob("*/truth.json"))


@lru_cache(maxsize=64)
def outcomes(ablation: str) -> dict[str, tuple[str, str]]:
    """Verdict and its kind by case."""
    found = {}
    for name in case_names():
        case = load(name)
        verdict = diagnose(ABLATIONS[ablation](case.window)).verdict
        found[name] = verdict, verdict_kind(verdict, case.accept)
    return found


def row(cells: list[str]) -> str:
    return "| " + " | ".join(cells) + " |\n"


def ablation_table() -> str:
    """Counts by ablation, and what is not right."""
    lines = row(["data", *KINDS, "not right"]) + row(["---"] * 6)
    for ablation in ABLATIONS:
        found = outcomes(ablation)
        counts = Counter(kind for _, kind in found.values())
        others = ", ".join(f"{name}: `{verdict}`" for name, (verdict, kind) in found.items() if kind != "right")
        lines += row([ablation, *(str(counts[kind]) for kind in KINDS), others])
    return lines


def _modules() -> list[str]:
    for found in pkgutil.walk_packages(analysis.__path__, "gapscope_backend.analysis."):
        if not {"contrast", "compare", "checklist"} & set(found.name.split(".")):
            importlib.import_module(found.name)
    return [name for name in sys.modules if name.startswith("gapscope_backend.analysis.")]


def thresholds() -> dict[tuple[str, float], list[str]]:
    """Named numbers of the analysis with the modules that hold them."""
    found: dict[tuple[str, float], list[str]] = {}
    for module in _modules():
        for name, value in vars(sys.modules[module]).items():
            if name.isupper() and type(value) in (float, int) and name not in NO_THRESHOLDS and value:
                found.setdefault((name, float(value)), []).append(module)
    return found


@contextmanager
def moved(name: str, modules: list[str], value: float) -> Iterator[None]:
    """One threshold at another value, wherever it is known by that name."""
    before = {module: getattr(sys.modules[module], name) for module in modules}
    for module, old in before.items():
        setattr(sys.modules[module], name, round(value) if isinstance(old, int) else value)
    try:
        yield
    finally:
        for module, old in before.items():
            setattr(sys.modules[module], name, old)


def flips(name: str, modules: list[str], value: float) -> list[str]:
    """Cases, names hashed, whose verdict is no longer accepted with the threshold at ``value``."""
    with moved(name, modules, value):
        verdicts = {n: diagnose(rename_application(load(n).window)).verdict for n in case_names()}
    return [f"{n}: `{verdict}`" for n, verdict in verdicts.items() if verdict not in load(n).accept]


def sensitivity_table() -> str:
    """The thresholds of which a move of 15 % changes a verdict, and how many were tried."""
    known = thresholds()
    lines = row(["threshold", "value", "moved to", "no longer right"]) + row(["---"] * 4)
    count = 0
    for (name, value), modules in sorted(known.items()):
        for factor in MOVED:
            lost = flips(name, modules, value * factor)
            if lost:
                count += 1
                lines += row([f"`{name}`", f"{value:g}", f"{value * factor:g}", ", ".join(lost)])
    head = (
        f"{len(known)} thresholds, each moved by -15 % and +15 %: {count} of {2 * len(known)} moves cost a verdict.\n\n"
    )
    return head + lines if count else head


def write() -> None:
    """The document: what stands above the mark stays."""
    kept = DOCUMENT.read_text().split(MARK)[0]
    text = f"{kept}{MARK}\n## Data taken away\n\n{ablation_table()}\n## Thresholds moved\n\n{sensitivity_table()}"
    DOCUMENT.write_text(text)


if __name__ == "__main__":
    write()
