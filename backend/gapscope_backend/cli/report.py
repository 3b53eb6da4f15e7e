"""The verdict as text for a terminal: sentence, ledger with bars, evidence, hotspots, advice."""

from __future__ import annotations

from collections.abc import Iterator

from gapscope_backend.analysis.verdict import Evidence, GpuVerdict, LedgerRow, Verdict

BAR_WIDTH = 24
SHOWN_SHARE = 0.005
"""Rows below half a percent are left out of the table; ``--json`` has them all."""
EXPLAINED_SHARE = 0.05
EXPLAINED_ROWS = 3
HOTSPOTS = 5
_COLORS = {"fault": "31", "limit": "33", "unused": "36", "missing": "2", "good": "32"}
_QUIET_CLASSES = ("good", "missing")


def render(verdict: Verdict, *, color: bool = False) -> str:
    """The whole report, ending in a newline."""
    return "\n".join(_lines(verdict, color)) + "\n"


def _lines(verdict: Verdict, color: bool) -> Iterator[str]:
    yield _paint(verdict.sentence, "1", color)
    yield ""
    yield f"{verdict.host}: verdict {verdict.verdict} (confidence {verdict.confidence:.0%}); " + (
        f"{verdict.lost_gpu_seconds:.1f} GPU-seconds lost to faults"
    )
    yield from (f"note: {note}" for note in verdict.notes)
    yield ""
    yield from _table(verdict.ledger, color)
    if len(verdict.gpus) > 1:
        for gpu in verdict.gpus:
            yield ""
            yield f"GPU {gpu.index} ({gpu.name}): {gpu.verdict}"
            yield from _table(gpu.ledger, color)
    for row in _explained(verdict):
        yield ""
        yield from _explanation(row, verdict.start_ns, color)
    for gpu in verdict.gpus:
        yield ""
        yield from _levels(gpu)


def _paint(text: str, code: str, color: bool) -> str:
    return f"\x1b[{code}m{text}\x1b[0m" if color and code else text


def _bar(share: float) -> str:
    eighths = round(share * BAR_WIDTH * 8)
    bar = "█" * (eighths // 8) + (" ▏▎▍▌▋▊▉"[eighths % 8] if eighths % 8 else "")
    return f"{bar:<{BAR_WIDTH}}"


def _table(rows: tuple[LedgerRow, ...], color: bool) -> Iterator[str]:
    width = max((len(row.cause) for row in rows), default=0)
    for row in rows:
        if row.share >= SHOWN_SHARE:
            bar = _paint(_bar(row.share), _COLORS.get(row.row_class, ""), color)
            yield f"  {row.cause:<{width}}  {row.share:6.1%}  {row.gpu_seconds:8.1f} s  {bar}  {row.title}"


def _explained(verdict: Verdict) -> list[LedgerRow]:
    """The verdict's row first, then what else costs a good part of the window."""
    costly = [
        row
        for row in verdict.ledger
        if row.cause == verdict.verdict or (row.share >= EXPLAINED_SHARE and row.row_class not in _QUIET_CLASSES)
    ]
    return sorted(costly, key=lambda row: row.cause != verdict.verdict)[:EXPLAINED_ROWS]


def _explanation(row: LedgerRow, start_ns: int, color: bool) -> Iterator[str]:
    yield _paint(f"{row.cause}: {row.title} ({row.share:.1%}, confidence {row.confidence:.0%})", "1", color)
    yield from (f"  + {_fact(fact, start_ns)}" for fact in row.evidence_for)
    yield from (f"  - {_fact(fact, start_ns)}" for fact in row.evidence_against)
    for spot in row.hotspots[:HOTSPOTS]:
        thread = f"  [{spot.thread or 'thread'}, pid {spot.pid}]"
        yield f"  {spot.share:6.1%}  {spot.function}  {spot.file}:{spot.line}{thread}"
        if spot.source:
            yield f"          {spot.source.strip()[:100]}"
    if row.would_change:
        yield f"  would change this: {row.would_change}"
    if row.advice:
        yield f"  advice{f' ({row.priority})' if row.priority else ''}: {row.advice}"


def _value(value: float, unit: str) -> str:
    scaled = {"ratio": (100.0, "%"), "bytes/s": (1e-6, " MB/s"), "bytes": (1e-9, " GB")}
    factor, suffix = scaled.get(unit, (1.0, f" {unit}" if unit else ""))
    return f"{value * factor:.3g}{suffix}"


def _fact(fact: Evidence, start_ns: int) -> str:
    value = "" if fact.value is None else f"{_value(fact.value, fact.unit)} "
    against = "" if fact.threshold is None else f" (against {_value(fact.threshold, fact.unit)})"
    spans = ", ".join(
        f"+{(s.start_ns - start_ns) / 1e9:.1f}s to +{(s.end_ns - start_ns) / 1e9:.1f}s" for s in fact.spans[:3]
    )
    return f"{value}{fact.text}{against}  {fact.signal}" + (f"  at {spans}" if spans else "")


def _levels(gpu: GpuVerdict) -> Iterator[str]:
    gaps = f"{gpu.gap_count} gap{'' if gpu.gap_count == 1 else 's'}, {gpu.gap_seconds:.1f} s"
    seconds = gpu.counter_lag_seconds
    lag = "lag not estimated" if seconds is None else f"counters lag {seconds * 1e3:.0f} ms"
    yield f"GPU {gpu.index} ({gpu.name}), means: {gaps}; {lag}"
    for level in ("time", "pipelines", "throughput"):
        figures = [f"{f.label} {f.value:.0%}" for f in gpu.levels if f.level == level and f.value is not None]
        if figures:
            yield f"  {level}: " + ", ".join(figures)
