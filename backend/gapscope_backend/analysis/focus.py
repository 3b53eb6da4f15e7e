"""Focus: a verdict seen from some of the host's GPUs, and the row that an incident is about."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from gapscope_backend.analysis.causes.cause import FAULT
from gapscope_backend.analysis.causes.plain import UNKNOWN
from gapscope_backend.analysis.diagnose import choose, merge_ledgers
from gapscope_backend.analysis.verdict import LedgerRow, Verdict


def focus(verdict: Verdict, gpus: Collection[str]) -> Verdict:
    """The verdict with the ledgers of these GPUs only; sentence and title stay those of the whole."""
    kept = tuple(gpu for gpu in verdict.gpus if gpu.gpu in gpus)
    if len(kept) == len(verdict.gpus):
        return verdict
    ledger = merge_ledgers(kept, len(kept) * (verdict.end_ns - verdict.start_ns) / 1e9)
    return replace(
        verdict,
        gpu_count=len(kept),
        gpus=kept,
        ledger=ledger,
        verdict=choose(ledger),
        lost_gpu_seconds=sum(row.gpu_seconds for row in ledger if row.row_class == FAULT),
    )


def fault_row(rows: Sequence[LedgerRow], always: bool = False) -> LedgerRow | None:
    """The row that makes lost time an incident: the verdict's, where that is a fault or not explained.

    None where the verdict says that nothing is wrong (unused, at a limit, healthy, no data); with ``always`` the
    costliest fault stands in then: an incident that once had a cause keeps one.
    """
    verdict = choose(rows)
    row = next((row for row in rows if row.cause == verdict), None)
    if row is not None and (row.row_class == FAULT or row.cause == UNKNOWN.id):
        return row
    faults = [row for row in rows if row.row_class == FAULT]
    return max(faults, key=lambda row: row.gpu_seconds) if always and faults else None
