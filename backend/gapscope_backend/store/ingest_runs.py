"""Which batches of a run went into chunks: a retry of one of them must not be stored again."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from sqlalchemy import select, tuple_
from sqlalchemy.orm import Session

from gapscope_backend.store.models import IngestRun
from gapscope_backend.store.upsert import insert

Range = list[int]
"""First and last number, both inside."""
Key = tuple[int, str, int]
"""A batch: host, run, number."""


def with_numbers(ranges: Sequence[Range], numbers: Iterable[int]) -> list[Range]:
    """Ranges that hold the numbers too: ascending, no two of them touching."""
    merged: list[Range] = []
    for first, last in sorted([*ranges, *([number, number] for number in numbers)]):
        if merged and first <= merged[-1][1] + 1:
            merged[-1] = [merged[-1][0], max(merged[-1][1], last)]
        else:
            merged.append([first, last])
    return merged


def holds(ranges: Sequence[Range], number: int) -> bool:
    """Whether a number is in a range."""
    return any(first <= number <= last for first, last in ranges)


def compacted_of(session: Session, keys: Sequence[Key]) -> set[Key]:
    """Which of these batches went into chunks. Asked and answered under the lock of their hosts."""
    runs = {(host_id, run_id) for host_id, run_id, _ in keys}
    query = select(IngestRun).where(tuple_(IngestRun.host_id, IngestRun.run_id).in_(runs))
    ranges = {(row.host_id, row.run_id): row.ranges for row in session.scalars(query)}
    return {key for key in keys if holds(ranges.get(key[:2], ()), key[2])}


def add_to_runs(
    session: Session, dialect: str, host_id: int, numbers: Sequence[tuple[str, int]], received_ns: int
) -> None:
    """Note batches (run, number) that went into chunks."""
    runs: dict[str, list[int]] = {}
    for run_id, number in numbers:
        runs.setdefault(run_id, []).append(number)
    for run_id, added in runs.items():
        row = session.get(IngestRun, (host_id, run_id))
        ranges = with_numbers(row.ranges if row else [], added)
        values = {"ranges": ranges, "received_ns": max(received_ns, row.received_ns if row else 0)}
        statement = insert(dialect, IngestRun).values(host_id=host_id, run_id=run_id, **values)
        session.execute(statement.on_conflict_do_update(index_elements=["host_id", "run_id"], set_=values))
