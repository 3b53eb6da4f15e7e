"""Writes docs/series.md, docs/causes.md and the table of ``[stacks]`` in docs/configuration.md from the code.

``python docs/generate.py`` writes; a test compares.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

from gapscope_agent.catalog import METRICS, Metric
from gapscope_agent.config import STACKS_PREFIX
from gapscope_agent.stacks.settings import MEANINGS, StackSettings
from gapscope_backend.analysis.causes import CAUSES
from gapscope_backend.analysis.causes.cause import Cause

HERE = Path(__file__).parent
STACKS_BEGIN, STACKS_END = "<!-- written by docs/generate.py -->", "<!-- end -->"
SERIES_HEAD = """# Series

Every series that Gapscope samples, stores and shows. The name ends in the unit; `step` is what a value is rounded to
before it is stored; a missing value is null with a reason, never 0. Hardware counters describe 100 ms that ended
`gpu_counter_lag_seconds` before their time. Written by `docs/generate.py` from the agent's catalogue.
"""
CAUSES_HEAD = """# Causes

Where a GPU-second can go. Every GPU-second of a window goes to exactly one row and the rows sum to the window. The
class says what a row means: `fault` is something to fix and the only class that counts as lost; `limit` is a roof of
the hardware; `unused` nobody asked for work; `missing` not measured or not known; `good` work that fills the chip.
Where the evidence for a finer cause is thin, the coarser rows `host_side`, `transfer` and `gpu_side` say what is
sure, and `unknown` the rest. Written by `docs/generate.py` from the causes themselves.
"""


def table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """A Markdown table."""
    names = list(head)
    lines = [names, ["---"] * len(names), *map(list, rows)]
    return "".join("| " + " | ".join(line).replace("\n", " ") + " |\n" for line in lines)


def _period(metric: Metric) -> str:
    seconds = metric.period_seconds
    return f"{1 / seconds:g} Hz" if seconds <= 1 else f"{seconds:g} s"


def series() -> str:
    """docs/series.md: one table an entity."""
    parts = [SERIES_HEAD]
    for entity in dict.fromkeys(metric.entity for metric in METRICS):
        rows = (
            (f"`{m.name}`", m.unit, _period(m), f"{m.quantum:g}", m.help, ", ".join(f"`{a}`" for a in m.aliases))
            for m in METRICS
            if m.entity == entity
        )
        parts.append(f"\n## {entity}\n\n")
        parts.append(table(("series", "unit", "every", "step", "what it is", "known elsewhere as"), rows))
    return "".join(parts)


def _cause(cause: Cause) -> Iterable[str]:
    return (f"`{cause.id}`", cause.title, cause.row_class, cause.priority, cause.advice, cause.would_change)


def causes() -> str:
    """docs/causes.md: one table."""
    head = ("cause", "the GPU ...", "class", "priority", "advice", "what would change the verdict")
    return CAUSES_HEAD + "\n" + table(head, map(_cause, CAUSES))


def _default(value: object) -> str:
    if value is None or value == ():
        return "none"
    return f"`{str(value).lower()}`" if isinstance(value, str | bool) else f"{value:g}"


def configuration() -> str:
    """docs/configuration.md with the table of ``[stacks]`` written anew between its two marks."""
    before, _, rest = (HERE / "configuration.md").read_text().partition(STACKS_BEGIN)
    _, _, after = rest.partition(STACKS_END)
    rows = (
        (f"`{key}`", f"`{STACKS_PREFIX}{key.upper()}`", _default(getattr(StackSettings(), key)), meaning)
        for key, meaning in MEANINGS.items()
    )
    settings = table(("key", "environment", "default", "meaning"), rows)
    return f"{before}{STACKS_BEGIN}\n\n{settings}\n{STACKS_END}{after}"


GENERATED: dict[str, Callable[[], str]] = {
    "series.md": series,
    "causes.md": causes,
    "configuration.md": configuration,
}


if __name__ == "__main__":
    for name, text in GENERATED.items():
        (HERE / name).write_text(text())
