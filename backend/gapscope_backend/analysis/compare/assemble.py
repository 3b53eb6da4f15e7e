"""``compare``: from two or more windows to what changed between the first and the last. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from gapscope_backend.analysis.causes import CAUSES
from gapscope_backend.analysis.compare.model import Comparison, FunctionRow, LedgerChange, MetricRow, Side
from gapscope_backend.analysis.compare.sentence import comparison_sentence, next_limit
from gapscope_backend.analysis.compare.subject import Figure, Subject, read_subject
from gapscope_backend.analysis.diagnose import SMALL_SHARE
from gapscope_backend.analysis.language import Text
from gapscope_backend.analysis.window import Window

TOP_FUNCTIONS = 20
FEW_SAMPLES = 50
COUNTED = ("fault", "limit", "unused", "missing")
"""Classes of rows whose fall is good."""


def compare(windows: Sequence[tuple[str, Window]]) -> Comparison:
    """Compare labelled windows in their order; at least two, else ValueError."""
    return compare_subjects([read_subject(label, window) for label, window in windows])


def compare_subjects(subjects: Sequence[Subject]) -> Comparison:
    """Compare what ``read_subject`` kept of each window."""
    if len(subjects) < 2:
        raise ValueError("a comparison needs at least two spans or recordings")
    ledger = _ledger(subjects)
    metrics = _metrics(subjects)
    judged = [row for row in ledger if row.row_class in COUNTED and abs(row.change) >= SMALL_SHARE]
    better = sorted((row for row in judged if row.change < 0), key=lambda row: row.change)
    worse = sorted((row for row in judged if row.change > 0), key=lambda row: -row.change)
    return Comparison(
        sides=tuple(_side(subject) for subject in subjects),
        sentence=comparison_sentence(subjects, better, worse, metrics),
        better=tuple(row.cause for row in better),
        worse=tuple(row.cause for row in worse),
        next_limit=next_limit(subjects[-1].verdict),
        metrics=metrics,
        ledger=ledger,
        functions=_functions(subjects),
        notes=_notes(subjects),
    )


def _side(subject: Subject) -> Side:
    verdict = subject.verdict
    total = verdict.gpu_count * (verdict.end_ns - verdict.start_ns) / 1e9
    return Side(
        label=subject.label,
        host=verdict.host,
        start_ns=verdict.start_ns,
        end_ns=verdict.end_ns,
        gpu_count=verdict.gpu_count,
        verdict=verdict.verdict,
        title=verdict.title,
        sentence=verdict.sentence,
        lost_share=verdict.lost_gpu_seconds / total if total > 0 else 0.0,
    )


def _ledger(subjects: Sequence[Subject]) -> tuple[LedgerChange, ...]:
    """Causes that any side has, in the order of the largest share on any side."""
    shares = [{row.cause: row.share for row in subject.verdict.ledger} for subject in subjects]
    rows = [
        LedgerChange(cause.id, cause.title, cause.row_class, tuple(side.get(cause.id, 0.0) for side in shares))
        for cause in CAUSES
        if any(cause.id in side for side in shares)
    ]
    return tuple(sorted(rows, key=lambda row: -max(row.shares)))


def _metrics(subjects: Sequence[Subject]) -> tuple[MetricRow, ...]:
    figures: dict[Figure, None] = {figure: None for subject in subjects for figure in subject.figures}
    rows = [MetricRow(*figure, tuple(subject.figures.get(figure) for subject in subjects)) for figure in figures]
    return tuple(row for row in rows if any(value is not None for value in row.values))


def _functions(subjects: Sequence[Subject]) -> tuple[FunctionRow, ...]:
    """Functions by how much their share differs between any two sides that have stacks."""
    names = sorted({name for subject in subjects for name in subject.functions})
    rows = []
    for name in names:
        samples = tuple(subject.functions.get(name, 0) for subject in subjects)
        shares = tuple(
            count / subject.sample_count if subject.sample_count else None
            for count, subject in zip(samples, subjects, strict=True)
        )
        rows.append(FunctionRow(*name, shares, samples))
    return tuple(sorted(rows, key=lambda row: -_spread(row))[:TOP_FUNCTIONS])


def _spread(row: FunctionRow) -> float:
    known = [share for share in row.shares if share is not None]
    return max(known) - min(known) if len(known) > 1 else max(known, default=0.0)


def _notes(subjects: Sequence[Subject]) -> tuple[Text, ...]:
    notes: list[Text] = []
    if len({subject.verdict.gpu_count for subject in subjects}) > 1:
        counts = tuple(f"{subject.label}: {subject.verdict.gpu_count}" for subject in subjects)
        notes.append(
            Text("the sides have different numbers of GPUs ({counts:, }); shares and means are per GPU.", counts=counts)
        )
    for subject in subjects:
        if subject.sample_count < FEW_SAMPLES:
            notes.append((_FEW if subject.sample_count else _NO).of(label=subject.label, count=subject.sample_count))
        coarse = [note for note in subject.verdict.notes if "hardware counters" in note]
        notes += [Text("{label}: {note}", label=subject.label, note=note) for note in coarse]
    return tuple(notes)


_FEW = Text("{label}: {count} stack samples of feeding threads; its functions say little.")
_NO = Text("{label}: no stack samples of feeding threads; its functions say little.")
