"""Recordings of real GPUs as the batches that an agent sends, without an agent or a server."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from gapscope_agent.accounting import Ledger
from gapscope_agent.batch import BatchBuilder
from gapscope_agent.derive import Deriver
from gapscope_agent.recording.read import open_recording
from gapscope_agent.replay import shift_origin, shift_reading, span_of
from gapscope_agent.wire import Batch

ROOT = Path(__file__).resolve().parents[2]
CASES = ROOT.parent / "shared" / "cases"
"""Beside the project, not in it."""
OWN = ROOT / "tests" / "recordings"
BATCH_NS = 5_000_000_000


def folders(where: Path) -> list[Path]:
    """Recordings in a folder, by name."""
    return sorted(path.parent for path in where.glob("*/recording.json"))


def span(folder: Path) -> tuple[int, int]:
    """First and last moment of a recording, ns."""
    return span_of(open_recording(folder))


def batches(folder: Path, host: str, shift_ns: int = 0) -> Iterator[Batch]:
    """Batches of 5 s of a recording that is moved in time by ``shift_ns``, a multiple of 1000."""
    recording = open_recording(folder)
    start_ns, _ = span_of(recording)
    builder = BatchBuilder(host, {}, Ledger(), recorded=True)
    deriver = Deriver(shift_origin(recording.origin, shift_ns))
    closes_ns = start_ns + shift_ns + BATCH_NS
    for reading in recording.readings():
        moved = shift_reading(reading, shift_ns)
        while moved.t >= closes_ns:
            yield from builder.close(deriver.drain(), closes_ns)
            closes_ns += BATCH_NS
        deriver.feed(moved)
    yield from builder.close(deriver.drain(), closes_ns)
