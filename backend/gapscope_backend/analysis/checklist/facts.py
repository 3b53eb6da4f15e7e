"""Facts: everything that a check may look at, computed once."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from gapscope_backend.analysis.checklist.commands import Program, known_programs
from gapscope_backend.analysis.checklist.model import FAIL, PASS, STATUSES, WARN, Line
from gapscope_backend.analysis.diagnose import diagnose
from gapscope_backend.analysis.language import Text
from gapscope_backend.analysis.verdict import LedgerRow, Verdict
from gapscope_backend.analysis.view import View, read_views
from gapscope_backend.analysis.window import Window

MODERATE_SHARE, HIGH_SHARE = 0.05, 0.20
"""Shares of the time from which a fault is moderate or high, as the TensorBoard profiler judges input waits."""
WORKING_SHARE = 0.02
"""A GPU that works less than this has not been under load; what depends on load is then not measurable."""


@dataclass(frozen=True)
class Facts:
    """A window, its views and verdict, and the known programs among its processes."""

    window: Window
    views: tuple[View, ...]
    verdict: Verdict
    programs: tuple[Program, ...]

    def row(self, view: View, cause: str) -> LedgerRow | None:
        """The ledger row of ``cause`` on one GPU."""
        judged = next((gpu for gpu in self.verdict.gpus if gpu.gpu == view.gpu.key), None)
        return next((row for row in judged.ledger if row.cause == cause), None) if judged else None

    def share(self, view: View, *causes: str) -> float:
        """Share of the window that the causes took on one GPU."""
        rows = (self.row(view, cause) for cause in causes)
        return sum(row.share for row in rows if row is not None)

    def name(self, view: View) -> Text:
        """``GPU 0``."""
        return Text("GPU {index}", index=view.gpu.index)

    def worked(self, view: View) -> bool:
        """True where the GPU was under any load."""
        active = view.mean(view.counters.graphics)
        return active is not None and active >= WORKING_SHARE


def read_facts(window: Window) -> Facts:
    """Facts of ``window``."""
    return Facts(window, read_views(window), diagnose(window), known_programs(window.processes))


def judge(value: float, warn: float = MODERATE_SHARE, fail: float = HIGH_SHARE) -> str:
    """Status of a figure that should be small."""
    return FAIL if value >= fail else WARN if value >= warn else PASS


def worst(lines: Iterable[Line], otherwise: Line) -> Line:
    """The worst line, the first of them with the largest value; ``otherwise`` where there is none."""
    return min(lines, key=lambda line: (STATUSES.index(line.status), -abs(line.value or 0.0)), default=otherwise)


def each_gpu(facts: Facts, check: Callable[[Facts, View], Line | None], otherwise: Line) -> Line:
    """The line of the GPU that fares worst; ``otherwise`` where no GPU has one."""
    return worst((line for view in facts.views if (line := check(facts, view)) is not None), otherwise)
