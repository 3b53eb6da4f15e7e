"""The verdict as text for a terminal: sentence, ledger with bars, evidence, hotspots, advice, levels, jobs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gapscope_backend.analysis.language import DEFAULT_LANGUAGE, Language, Text
from gapscope_backend.analysis.quantity import WORDS
from gapscope_backend.analysis.verdict import NONE, Evidence, GpuVerdict, JobVerdict, LedgerRow, Verdict

BAR_WIDTH = 24
SHOWN_SHARE = 0.005
"""Rows below half a percent are left out of the table; ``--json`` has them all."""
EXPLAINED_SHARE = 0.05
EXPLAINED_ROWS = 3
HOTSPOTS = 5
JOB_ROWS = 3
_COLORS = {"fault": "31", "limit": "33", "unused": "36", "missing": "2", "good": "32"}
_QUIET_CLASSES = ("good", "missing")
_LEVELS = {
    "time": Text("time: {figures:, }"),
    "pipelines": Text("pipelines: {figures:, }"),
    "throughput": Text("throughput: {figures:, }"),
    "roofs": Text("roofs: {figures:, }"),
}


def render(
    verdict: Verdict, *, color: bool = False, language: Language = DEFAULT_LANGUAGE, notes: Sequence[str] = ()
) -> str:
    """The whole report, ending in a newline; ``notes`` are those of the recording itself."""
    lines = (line.render(language) if isinstance(line, Text) else line for line in _lines(verdict, color, notes))
    return "\n".join(lines) + "\n"


def _lines(verdict: Verdict, color: bool, notes: Sequence[str]) -> Iterator[str]:
    yield _paint(verdict.sentence, "1", color)
    yield ""
    yield Text(
        "{host}: verdict {verdict} (confidence {confidence:.0%}); {lost:.1f} GPU-seconds lost to faults",
        host=verdict.host,
        verdict=verdict.verdict,
        confidence=verdict.confidence,
        lost=verdict.lost_gpu_seconds,
    )
    yield from (Text("note: {note}", note=note) for note in verdict.notes)
    yield from (Text("note of the recording: {note}", note=note) for note in notes)
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
    yield from _jobs(verdict)


def _paint(text: str, code: str, color: bool) -> str:
    """``text`` in a colour; a Text stays one."""
    if not (color and code):
        return text
    return Text("{start}{text}{end}", start=f"\x1b[{code}m", text=text, end="\x1b[0m")


def _bar(share: float) -> str:
    eighths = round(share * BAR_WIDTH * 8)
    bar = "█" * (eighths // 8) + (" ▏▎▍▌▋▊▉"[eighths % 8] if eighths % 8 else "")
    return f"{bar:<{BAR_WIDTH}}"


def _table(rows: tuple[LedgerRow, ...], color: bool) -> Iterator[str]:
    width = max((len(row.cause) for row in rows), default=0)
    for row in rows:
        if row.share >= SHOWN_SHARE:
            yield Text(
                "  {cause}  {share:6.1%}  {seconds:8.1f} s  {bar}  {title}",
                cause=f"{row.cause:<{width}}",
                share=row.share,
                seconds=row.gpu_seconds,
                bar=_paint(_bar(row.share), _COLORS.get(row.row_class, ""), color),
                title=row.title,
            )


def _explained(verdict: Verdict) -> list[LedgerRow]:
    """The verdict's row first, then what else costs a good part of the window."""
    costly = [
        row
        for row in verdict.ledger
        if row.cause == verdict.verdict or (row.share >= EXPLAINED_SHARE and row.row_class not in _QUIET_CLASSES)
    ]
    return sorted(costly, key=lambda row: row.cause != verdict.verdict)[:EXPLAINED_ROWS]


def _explanation(row: LedgerRow, start_ns: int, color: bool) -> Iterator[str]:
    head = Text(
        "{cause}: {title} ({share:.1%}, confidence {confidence:.0%})",
        cause=row.cause,
        title=row.title,
        share=row.share,
        confidence=row.confidence,
    )
    yield _paint(head, "1", color)
    yield from (Text("  + {fact}", fact=_fact(fact, start_ns)) for fact in row.evidence_for)
    yield from (Text("  - {fact}", fact=_fact(fact, start_ns)) for fact in row.evidence_against)
    for spot in row.hotspots[:HOTSPOTS]:
        place = f"{spot.function}  {spot.file}:{spot.line}"
        thread = spot.thread or Text("thread")
        yield Text(
            "  {share:6.1%}  {place}  [{thread}, pid {pid}]", share=spot.share, place=place, thread=thread, pid=spot.pid
        )
        if spot.source:
            yield f"          {spot.source.strip()[:100]}"
    if row.would_change:
        yield Text("  would change this: {what}", what=row.would_change)
    if row.advice and row.priority:
        yield Text("  advice ({priority}): {advice}", priority=row.priority, advice=row.advice)
    elif row.advice:
        yield Text("  advice: {advice}", advice=row.advice)


def _value(value: float, unit: str) -> Text:
    scaled = {"ratio": (100.0, "%"), "bytes/s": (1e-6, "MB/s"), "bytes": (1e-9, "GB")}
    factor, suffix = scaled.get(unit, (1.0, WORDS.get(unit, unit)))
    digits = f"{value * factor:.3g}"
    if unit == "ratio" or not unit:
        return Text("{digits}{unit}", digits=digits, unit=suffix)
    return Text("{digits} {unit}", digits=digits, unit=suffix)


def _fact(fact: Evidence, start_ns: int) -> Text:
    against = fact.threshold
    spans = [
        Text("+{start:.1f}s to +{end:.1f}s", start=(s.start_ns - start_ns) / 1e9, end=(s.end_ns - start_ns) / 1e9)
        for s in fact.spans[:3]
    ]
    limits = NONE if against is None else Text(" (against {threshold})", threshold=_value(against, fact.unit))
    at = Text("  at {spans:, }", spans=spans) if spans else NONE
    if fact.value is None:
        return Text("{text}{limits}  {signal}{at}", text=fact.text, limits=limits, signal=fact.signal, at=at)
    return Text(
        "{value} {text}{limits}  {signal}{at}",
        value=_value(fact.value, fact.unit),
        text=fact.text,
        limits=limits,
        signal=fact.signal,
        at=at,
    )


def _levels(gpu: GpuVerdict) -> Iterator[str]:
    seconds = gpu.counter_lag_seconds
    yield Text(
        "GPU {index} ({name}), means: {gaps}; {lag}",
        index=gpu.index,
        name=gpu.name,
        gaps=(Text("{count} gap, {seconds:.1f} s") if gpu.gap_count == 1 else Text("{count} gaps, {seconds:.1f} s")).of(
            count=gpu.gap_count, seconds=gpu.gap_seconds
        ),
        lag=Text("lag not estimated") if seconds is None else Text("counters lag {lag:.0f} ms", lag=seconds * 1e3),
    )
    for name, text in _LEVELS.items():
        figures = [
            (_NEAREST if level.nearest else _FIGURE).of(label=level.label, value=level.value)
            for level in gpu.levels
            if level.level == name and level.value is not None
        ]
        if figures:
            yield Text("  {level}", level=text.of(figures=figures))


_FIGURE = Text("{label} {value:.0%}")
_NEAREST = Text("{label} {value:.0%} (the nearest)")


def _jobs(verdict: Verdict) -> Iterator[str]:
    """One line a job, where jobs tell more than the whole does."""
    if len(verdict.jobs) < 2 and not any(_differs(job, verdict) for job in verdict.jobs):
        return
    yield ""
    yield Text("jobs")
    names = {gpu.gpu: str(gpu.index) for gpu in verdict.gpus}
    for job in verdict.jobs:
        costly = [row for row in job.ledger if row.share >= SHOWN_SHARE][:JOB_ROWS]
        yield Text(
            "  pid {job}: {verdict}, {lost:.1f} of {seconds:.1f} GPU-seconds lost, on GPU {gpus:, } ({rows:, })",
            job=job.job.removeprefix("process:"),
            verdict=job.verdict,
            lost=job.lost_gpu_seconds,
            seconds=job.gpu_seconds,
            gpus=[names[gpu] for gpu in job.gpus],
            rows=[f"{row.cause} {row.share:.0%}" for row in costly],
        )
        yield f"      {job.command[:100]}"


def _differs(job: JobVerdict, verdict: Verdict) -> bool:
    """A job that has not all the time of the whole."""
    return (
        job.verdict != verdict.verdict or abs(job.gpu_seconds - sum(row.gpu_seconds for row in verdict.ledger)) > 0.05
    )
