"""``contrast``: from a window and one of its GPUs to what differs between its gaps and the rest. Pure."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gapscope_backend.analysis.contrast.blocks import LEVEL, Blocks, adjusted_p_values, find_blocks
from gapscope_backend.analysis.contrast.from_series import mean_effect, metric_table
from gapscope_backend.analysis.contrast.from_stacks import (
    function_table,
    line_table,
    process_table,
    read_snapshots,
    share_effect,
    thread_table,
)
from gapscope_backend.analysis.contrast.idle_hotspots import rank_idle_hotspots
from gapscope_backend.analysis.contrast.model import Contrast, Difference
from gapscope_backend.analysis.contrast.sentence import contrast_sentence
from gapscope_backend.analysis.contrast.split import Split, split_by_idle_share, split_by_spans
from gapscope_backend.analysis.contrast.table import Table
from gapscope_backend.analysis.samples import read_samples
from gapscope_backend.analysis.verdict import Span
from gapscope_backend.analysis.view import read_views
from gapscope_backend.analysis.window import Floats, Gpu, Window

KINDS = ("function", "line", "thread", "process", "metric")
LISTED = 40
"""Differences a kind; the rest differ less."""


def _rank(difference: Difference) -> tuple[bool, bool, bool, float]:
    """What is more than chance first, then what is more in the gaps, then by size; the GPU's own counters last."""
    return difference.follows, not difference.significant, difference.effect <= 0, -abs(difference.effect)


def _differences(table: Table, split: Split, p: Floats | None) -> tuple[Difference, ...]:
    if not table.items:
        return ()
    gap, rest = table.side(split.gap), table.side(split.rest)
    is_share = table.items[0].kind != "metric"
    effect = share_effect(gap, rest) if is_share else mean_effect(table, gap, rest)
    totals = table.total(split.gap), table.total(split.rest)
    counts = (table.values @ split.gap, table.values @ split.rest) if is_share else totals
    found = [
        Difference(
            kind=item.kind,
            name=item.name,
            detail=item.detail,
            unit=item.unit,
            in_gaps=float(gap[row]),
            in_rest=float(rest[row]),
            effect=float(effect[row]),
            gap_count=float(counts[0][row]),
            gap_total=float(totals[0][row]),
            rest_count=float(counts[1][row]),
            rest_total=float(totals[1][row]),
            p_value=None if p is None else float(p[row]),
            significant=p is not None and bool(p[row] <= LEVEL),
            follows=item.follows,
            also=item.also,
        )
        for row, item in enumerate(table.items)
        if not np.isnan(gap[row] + rest[row])
    ]
    return tuple(sorted(found, key=_rank)[:LISTED])


def _tables(window: Window, gpu: Gpu) -> dict[str, Table]:
    """A table for each of ``KINDS``; those of stacks are left out where there are none."""
    samples = read_samples(window)
    metrics = {"metric": metric_table(window, gpu)}
    if samples is None:
        return metrics
    snapshots = read_snapshots(samples, window.cell_count)
    return {
        "function": function_table(snapshots),
        "line": line_table(snapshots),
        "thread": thread_table(snapshots),
        "process": process_table(snapshots, window.processes),
        **metrics,
    }


def _all_differences(tables: dict[str, Table], split: Split, blocks: Blocks) -> dict[str, tuple[Difference, ...]]:
    p = adjusted_p_values(list(tables.values()), split, blocks) if blocks.enough else [None] * len(tables)
    return {kind: _differences(table, split, own) for (kind, table), own in zip(tables.items(), p, strict=True)}


def contrast(window: Window, gpu: Gpu, spans: Sequence[Span] | None = None) -> Contrast:
    """What differs between the gaps of ``gpu`` (or ``spans``) and the rest of ``window``, and its idle hotspots.

    ``gpu`` must be one of the window's. Never raises on missing data: lists are then empty.
    """
    view = next(view for view in read_views(window) if view.gpu.key == gpu.key)
    split = split_by_spans(view, spans) if spans else split_by_idle_share(view)
    hotspots = rank_idle_hotspots(view)
    blocks = find_blocks(split)
    found = _all_differences(_tables(window, gpu), split, blocks) if split.has_contrast else {}
    return Contrast(
        host=window.host,
        gpu=gpu.key,
        index=gpu.index,
        start_ns=window.start_ns,
        end_ns=window.end_ns,
        split=split.name,
        has_contrast=split.has_contrast,
        sentence=contrast_sentence(gpu, split, hotspots, [d for kind in KINDS for d in found.get(kind, ())]),
        idlest=split.idlest,
        busiest=split.busiest,
        idle_gpu_seconds=float(view.idle.sum()),
        level=LEVEL,
        blocks=blocks.count if blocks.enough else 0,
        block_cells=blocks.length,
        hotspots=hotspots,
        functions=found.get("function", ()),
        lines=found.get("line", ()),
        threads=found.get("thread", ()),
        processes=found.get("process", ()),
        metrics=found.get("metric", ()),
    )
