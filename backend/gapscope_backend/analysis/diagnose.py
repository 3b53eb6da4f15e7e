"""``diagnose``: from a Window to a Verdict. Pure; the same window gives the same answer."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from gapscope_backend.analysis.causes import BY_ID, CAUSES
from gapscope_backend.analysis.causes.cause import FAULT, LIMIT, MISSING, UNUSED
from gapscope_backend.analysis.causes.plain import NOT_MEASURED
from gapscope_backend.analysis.gain import expected_gain
from gapscope_backend.analysis.gaps import GAP_THRESHOLD_RATIO, Flags, find_gaps
from gapscope_backend.analysis.hotspots import TOP, find_hotspots
from gapscope_backend.analysis.jobs import Job, find_jobs, job_shares, scaled
from gapscope_backend.analysis.language import Text
from gapscope_backend.analysis.ledger import Entry, build_ledger
from gapscope_backend.analysis.levels import read_levels
from gapscope_backend.analysis.notes import read_notes
from gapscope_backend.analysis.sentence import verdict_sentence
from gapscope_backend.analysis.verdict import NONE, Evidence, GpuVerdict, JobVerdict, LedgerRow, Span, Verdict
from gapscope_backend.analysis.view import View, read_views
from gapscope_backend.analysis.window import CELL_NS, Window

LEAST_KNOWN = 0.05
"""A window of which no more than this share was measured has no other verdict."""
TOLERATED_SHARE = 0.2
"""Up to this share may be unexplained: idle time without an explanation speaks against ``healthy``."""
SMALL_SHARE = 0.08
"""A fault or limit that costs less than this share of the known time is not the verdict."""
PLAIN_SHARE = 0.2
"""A fault of this size is the verdict though most of the rest is time at work that cannot be judged without counters;
idle time without an explanation must be less."""
UNUSED_WEIGHT = 0.25
"""Nor is one that costs less than a quarter of the time in which nobody asked for anything."""
SPANS_PER_FACT = 5


def _longest_spans(flags: Flags, window: Window) -> tuple[Span, ...]:
    """The longest runs of True, in order of time."""
    edges = np.flatnonzero(np.diff(np.concatenate(([0], flags.astype(np.int8), [0]))))
    starts, stops = edges[::2], edges[1::2]
    best = np.sort(np.argsort(starts - stops, kind="stable")[:SPANS_PER_FACT])
    return tuple(
        Span(window.start_ns + a * CELL_NS, min(window.end_ns, window.start_ns + b * CELL_NS))
        for a, b in zip(starts[best].tolist(), stops[best].tolist(), strict=True)
    )


def _with_spans(entry: Entry, view: View, evidence: tuple[Evidence, ...]) -> tuple[Evidence, ...]:
    """Give the first fact the longest stretches in which the cause took most of the cell."""
    if not evidence:
        return evidence
    window = view.window
    spans = _longest_spans(entry.cells > 0.5 * CELL_NS / 1e9, window)
    return (replace(evidence[0], spans=spans), *evidence[1:])


def _row(view: View, entry: Entry, price: float | None) -> LedgerRow:
    cause, findings = entry.cause, entry.cause.findings(view)
    gain = expected_gain(view, entry)
    return LedgerRow(
        cause=cause.id,
        title=cause.title,
        row_class=cause.row_class,
        gpu_seconds=entry.seconds,
        share=entry.seconds / view.window.seconds,
        confidence=entry.confidence,
        evidence_for=_with_spans(entry, view, findings.supports),
        evidence_against=findings.speaks_against,
        would_change=cause.would_change,
        advice=cause.advice,
        priority=cause.priority,
        hotspots=find_hotspots(view, entry),
        expected_gain=NONE if gain is None else gain.text,
        expected_gain_gpu_seconds=None if gain is None else gain.gpu_seconds,
        source=cause.source,
        cost=_cost(entry.seconds, price),
        busy_gpu_seconds=0.0 if cause is NOT_MEASURED else float(entry.busy.sum()),
    )


def _ranked(rows: Iterable[LedgerRow]) -> tuple[LedgerRow, ...]:
    order = {cause.id: place for place, cause in enumerate(CAUSES)}
    return tuple(sorted(rows, key=lambda row: (-row.gpu_seconds, order[row.cause])))


def choose(rows: Sequence[LedgerRow]) -> str:
    """Verdict of a ledger: too much unexplained, else costliest fault or limit, else nothing asked, else healthy.

    Shares are of the time that is known; ``not_measured`` is the verdict only where next to nothing is.
    """
    total = sum(row.share for row in rows)
    seen = [row for row in rows if row.cause != NOT_MEASURED.id]
    known = sum(row.share for row in seen)
    if known <= LEAST_KNOWN * total:
        return NOT_MEASURED.id
    best = {cls: max((r for r in seen if r.row_class in cls), key=lambda r: r.share, default=None) for cls in _CLASSES}
    worst, unused, unknown = (best[cls] for cls in _CLASSES)
    worst_share = worst.share / known if worst else 0.0
    unused_share = unused.share / known if unused else 0.0
    if unknown and unknown.share / known > max(worst_share, unused_share, TOLERATED_SHARE):
        busy_part = unknown.busy_gpu_seconds / max(unknown.gpu_seconds, 1e-9)
        unexplained = unknown.share / known * (1.0 - busy_part)
        if not worst or worst_share < max(PLAIN_SHARE, unexplained):
            return unknown.cause
    if worst and worst_share >= max(SMALL_SHARE, UNUSED_WEIGHT * unused_share):
        return worst.cause
    if unused and unused_share > SMALL_SHARE:
        return unused.cause
    return "healthy"


_CLASSES = ((FAULT, LIMIT), (UNUSED,), (MISSING,))


def _judge_gpu(view: View, price: float | None) -> GpuVerdict:
    window, gpu = view.window, view.gpu
    rows = _ranked(_row(view, entry, price) for entry in build_ledger(view))
    gaps = find_gaps(view.counters.graphics, window.start_ns, window.end_ns, GAP_THRESHOLD_RATIO)
    return GpuVerdict(
        gpu=gpu.key,
        index=gpu.index,
        name=gpu.name,
        verdict=choose(rows),
        ledger=rows,
        levels=read_levels(view),
        gap_count=len(gaps),
        gap_seconds=sum(span.end_ns - span.start_ns for span in gaps) / 1e9,
        gaps=gaps,
        counter_lag_seconds=gpu.counter_lag_ns / 1e9 if gpu.lag_estimated else None,
    )


def _labelled(gpus: Sequence[tuple[int, LedgerRow]], attribute: str) -> tuple[Evidence, ...]:
    """Evidence of one cause over GPUs; each fact says whose it is where there are several."""
    many = len(gpus) > 1
    return tuple(
        replace(fact, text=Text("GPU {index}: {text}", index=index, text=fact.text)) if many else fact
        for index, row in gpus
        for fact in getattr(row, attribute)
    )


def _merge(cause: str, gpus: Sequence[tuple[int, LedgerRow]], total: float) -> LedgerRow:
    seconds = sum(row.gpu_seconds for _, row in gpus)
    spots = [replace(s, share=s.share * r.gpu_seconds / seconds) for _, r in gpus for s in r.hotspots]
    return replace(
        gpus[0][1],
        gpu_seconds=seconds,
        share=seconds / total,
        confidence=sum(row.confidence * row.gpu_seconds for _, row in gpus) / seconds,
        evidence_for=_labelled(gpus, "evidence_for"),
        evidence_against=_labelled(gpus, "evidence_against"),
        hotspots=tuple(sorted(spots, key=lambda spot: -spot.share)[:TOP]),
        expected_gain_gpu_seconds=_sum(row.expected_gain_gpu_seconds for _, row in gpus),
        cost=_sum(row.cost for _, row in gpus),
        busy_gpu_seconds=sum(row.busy_gpu_seconds for _, row in gpus),
    )


def _sum(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) if known else None


def _seconds_of(rows: Iterable[LedgerRow], row_class: str) -> float:
    return sum(row.gpu_seconds for row in rows if row.row_class == row_class)


def _cost(gpu_seconds: float, price: float | None) -> float | None:
    return None if price is None else gpu_seconds / 3600 * price


def _judge_job(job: Job, parts: Sequence[tuple[GpuVerdict, float]], seconds: float, price: float | None) -> JobVerdict:
    total = seconds * sum(share for _, share in parts)
    rows: dict[str, list[tuple[int, LedgerRow]]] = {}
    for gpu, share in parts:
        for row in gpu.ledger:
            if row.gpu_seconds * share > 0:
                rows.setdefault(row.cause, []).append((gpu.index, scaled(row, share)))
    ledger = _ranked(_merge(cause, found, total) for cause, found in rows.items())
    verdict = choose(ledger)
    lost, unused = _seconds_of(ledger, FAULT), _seconds_of(ledger, UNUSED)
    return JobVerdict(
        job=f"process:{job.root}",
        command=job.command,
        pids=job.pids,
        gpus=tuple(gpu.gpu for gpu, _ in parts),
        verdict=verdict,
        title=BY_ID[verdict].title,
        gpu_seconds=total,
        lost_gpu_seconds=lost,
        unused_gpu_seconds=unused,
        ledger=ledger,
        lost_cost=_cost(lost, price),
        unused_cost=_cost(unused, price),
    )


def _judge_jobs(views: Sequence[View], gpus: Sequence[GpuVerdict], price: float | None) -> tuple[JobVerdict, ...]:
    if not gpus:
        return ()
    window = views[0].window
    jobs = find_jobs(window)
    shares = [job_shares(view, jobs) for view in views]
    parts = {job: [(gpu, s[job]) for gpu, s in zip(gpus, shares, strict=True) if s.get(job, 0.0) > 0] for job in jobs}
    return tuple(_judge_job(job, found, window.seconds, price) for job, found in parts.items() if found)


def merge_ledgers(gpus: Sequence[GpuVerdict], total: float) -> tuple[LedgerRow, ...]:
    """The ledgers of some GPUs as one over ``total`` GPU-seconds."""
    rows: dict[str, list[tuple[int, LedgerRow]]] = {}
    for gpu in gpus:
        for row in gpu.ledger:
            rows.setdefault(row.cause, []).append((gpu.index, row))
    return _ranked(_merge(cause, found, total) for cause, found in rows.items())


def diagnose(window: Window, price_per_gpu_hour: float | None = None) -> Verdict:
    """Where the GPU time of ``window`` went. Never raises on missing data: rows then get coarser or unknown.

    With a price, rows, jobs and the whole also carry what they cost.
    """
    price = price_per_gpu_hour
    views = read_views(window)
    gpus = tuple(_judge_gpu(view, price) for view in views) if window.end_ns > window.start_ns else ()
    ledger = merge_ledgers(gpus, window.seconds * len(gpus))
    verdict = choose(ledger)
    row = next((row for row in ledger if row.cause == verdict), None)
    lost, unused = _seconds_of(ledger, FAULT), _seconds_of(ledger, UNUSED)
    return Verdict(
        host=window.host,
        start_ns=window.start_ns,
        end_ns=window.end_ns,
        gpu_count=len(window.gpus),
        verdict=verdict,
        title=BY_ID[verdict].title,
        sentence=verdict_sentence(window, verdict, ledger, gpus),
        confidence=row.confidence if row else 0.0,
        lost_gpu_seconds=lost,
        ledger=ledger,
        gpus=gpus,
        notes=read_notes(window, views),
        jobs=_judge_jobs(views, gpus, price),
        unused_gpu_seconds=unused,
        lost_gpu_hours=lost / 3600,
        unused_gpu_hours=unused / 3600,
        price_per_gpu_hour=price,
        lost_cost=_cost(lost, price),
        unused_cost=_cost(unused, price),
    )
