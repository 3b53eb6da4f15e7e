"""Minutes of devices in plain columns, for dashboards, alerts and SQL."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sqlalchemy import select, tuple_
from sqlalchemy.orm import Session

from gapscope_agent.catalog import BY_NAME
from gapscope_backend.store.chunks.block import Block
from gapscope_backend.store.chunks.rollup import Rolled, combine, roll
from gapscope_backend.store.models import DeviceMinute
from gapscope_backend.store.tiers import SECOND_NS
from gapscope_backend.store.upsert import insert

MINUTE_NS = 60 * SECOND_NS
ACTIVE = "gpu_graphics_active_ratio"
UTILIZATION = "gpu_utilization_ratio"


@dataclass(frozen=True)
class Measure:
    """A column of the table: which metric, folded how."""

    metric: str
    fold: str


MEASURES: Mapping[str, Measure] = {
    "active_mean_ratio": Measure(ACTIVE, "mean"),
    "active_min_ratio": Measure(ACTIVE, "min"),
    "idle_ratio": Measure(ACTIVE, "idle"),
    "utilization_mean_ratio": Measure(UTILIZATION, "mean"),
    "sm_active_mean_ratio": Measure("gpu_sm_active_ratio", "mean"),
    "tensor_active_mean_ratio": Measure("gpu_tensor_active_ratio", "mean"),
    "dram_active_mean_ratio": Measure("gpu_dram_active_ratio", "mean"),
    "power_mean_watts": Measure("gpu_power_watts", "mean"),
    "power_max_watts": Measure("gpu_power_watts", "max"),
    "temperature_max_celsius": Measure("gpu_temperature_celsius", "max"),
    "memory_used_max_bytes": Measure("gpu_memory_used_bytes", "max"),
    "pcie_rx_mean_bytes_per_second": Measure("pcie_rx_bytes_per_second", "mean"),
    "pcie_tx_mean_bytes_per_second": Measure("pcie_tx_bytes_per_second", "mean"),
}
_METRICS = frozenset(measure.metric for measure in MEASURES.values())
_WIDER: Mapping[str, Callable[[float, float], float]] = {"min": min, "max": max}

Minutes = dict[tuple[str, int], dict[str, Any]]
"""Device and start of the minute to the columns."""


def minutes_of(blocks: Iterable[Block]) -> Minutes:
    """The minutes of the GPUs in blocks."""
    found: Minutes = {}
    chosen = [block.select(rows) for block in blocks if (rows := _rows(block))]
    for part in combine([roll(block, MINUTE_NS) for block in chosen]) if chosen else []:
        _add(found, part)
    return found


def store_minutes(session: Session, dialect: str, host_id: int, minutes: Minutes, received_ns: int) -> None:
    """Add minutes to those that are there: samples that came in parts are weighed by their number."""
    if not minutes:
        return
    key = tuple_(DeviceMinute.device, DeviceMinute.minute_ns)
    old = select(DeviceMinute).where(DeviceMinute.host_id == host_id, key.in_(list(minutes)))
    known = {(row.device, row.minute_ns): _values(row) for row in session.scalars(old)}
    rows = [
        {
            **dict.fromkeys(MEASURES),
            **(merged(known[place], fresh) if place in known else {"samples": 0, **fresh}),
            "host_id": host_id,
            "device": place[0],
            "minute_ns": place[1],
            "received_ns": received_ns,
        }
        for place, fresh in minutes.items()
    ]
    statement = insert(dialect, DeviceMinute)
    renewed = {name: statement.excluded[name] for name in ("samples", "received_ns", *MEASURES)}
    keys = ["host_id", "device", "minute_ns"]
    session.execute(statement.on_conflict_do_update(index_elements=keys, set_=renewed), rows)


def merged(old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, Any]:
    """Two parts of one minute; means and shares weighed by the samples of the active ratio."""
    weights = old.get("samples") or 0, new.get("samples") or 0
    out: dict[str, Any] = {"samples": sum(weights)}
    if not any(weights):
        weights = 1, 1
    for name, measure in MEASURES.items():
        before, after = old.get(name), new.get(name)
        if before is None or after is None:
            out[name] = after if before is None else before
        elif measure.fold in _WIDER:
            out[name] = _WIDER[measure.fold](before, after)
        else:
            out[name] = (before * weights[0] + after * weights[1]) / sum(weights)
    return out


def _rows(block: Block) -> Sequence[int]:
    return [at for at, (entity, metric) in enumerate(block.rows) if metric in _METRICS and entity.startswith("gpu:")]


def _add(found: Minutes, part: Rolled) -> None:
    numbers = {row: at for at, row in enumerate(part.rows)}
    for device in {entity for entity, _ in part.rows}:
        for name, measure in MEASURES.items():
            row = numbers.get((device, measure.metric))
            if row is None:
                continue
            quantum = BY_NAME[measure.metric].quantum
            for bucket in np.flatnonzero(part.counts[row]).tolist():
                values = found.setdefault((device, int(part.times[bucket])), {})
                values[name] = _fold(part, row, bucket, measure.fold, quantum)
                if name == "active_mean_ratio":
                    values["samples"] = int(part.counts[row, bucket])


def _fold(part: Rolled, row: int, bucket: int, fold: str, quantum: float) -> float:
    count = int(part.counts[row, bucket])
    if fold == "idle":
        return float(part.idle[row, bucket]) / count
    whole = {"mean": part.total, "min": part.minimum, "max": part.maximum}[fold]
    return float(whole[row, bucket]) * quantum / (count if fold == "mean" else 1)


def _values(row: DeviceMinute) -> dict[str, Any]:
    return {name: getattr(row, name) for name in ("samples", *MEASURES)}
