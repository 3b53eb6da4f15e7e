"""A window joined of pieces is the window read whole."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from gapscope_backend.analysis.diagnose import diagnose
from gapscope_backend.analysis.window import Window
from gapscope_backend.services.hosts import find_host
from gapscope_backend.services.recent import Recent, join_windows
from gapscope_backend.services.windows import load_window
from tests.backend.batches import SECOND
from tests.incidents.story import START, batches
from tests.incidents.watching import DEMO, Watching, recorded_batches


def same(joined: Window, whole: Window) -> None:
    assert (joined.start_ns, joined.end_ns) == (whole.start_ns, whole.end_ns)
    assert joined.gpus == whole.gpus
    assert {p.pid: p for p in joined.processes} == {p.pid: p for p in whole.processes}
    assert joined.series.keys() == whole.series.keys()
    for key, series in whole.series.items():
        assert np.array_equal(joined.series[key].times, series.times)
        assert np.array_equal(joined.series[key].values, series.values, equal_nan=True)


async def test_pieces_of_a_recording_make_the_same_verdict(watching: Watching) -> None:
    for batch in recorded_batches(DEMO, "demo"):
        await watching.store(batch)
    host = await find_host(watching.database, "demo")
    edges = [host.first_data_ns + seconds * SECOND for seconds in (10, 20, 31, 40, 55)]
    pieces = [await load_window(watching.database, host, *edge) for edge in pairwise(edges)]
    start_ns, end_ns = edges[0] + 5 * SECOND, edges[-1]
    joined = join_windows(pieces, start_ns, end_ns)
    whole = await load_window(watching.database, host, start_ns, end_ns)
    assert joined.stacks is not None
    assert whole.stacks is not None
    assert joined.stacks.times.tolist() == whole.stacks.times.tolist()
    mine, told = diagnose(joined), diagnose(whole)
    assert mine.verdict == told.verdict
    assert [(row.cause, row.hotspots) for row in mine.ledger] == [(row.cause, row.hotspots) for row in told.ledger]
    shares = {row.cause: row.share for row in told.ledger}
    assert {row.cause: row.share for row in mine.ledger} == pytest.approx(shares, abs=1e-6)


async def test_only_what_is_new_is_read(watching: Watching, monkeypatch: pytest.MonkeyPatch) -> None:
    for batch in batches((120, 0.9), seconds=10):
        await watching.store(batch)
    host = await find_host(watching.database, "node-1")
    read: list[float] = []

    async def counted(database: object, host_: object, start_ns: int, end_ns: int) -> Window:
        read.append((end_ns - start_ns) / SECOND)
        return await load_window(watching.database, host, start_ns, end_ns)

    monkeypatch.setattr("gapscope_backend.services.recent.load_window", counted)
    recent = Recent(watching.database)
    for end in (60, 70, 80, 85, 120):
        end_ns = START + end * SECOND
        window = await recent.window(host, end_ns - 60 * SECOND, end_ns)
        same(window, await load_window(watching.database, host, end_ns - 60 * SECOND, end_ns))
    assert read == [58, 2, 10, 2, 10, 2, 5, 2, 35, 2]
    recent.forget(host.id)
    await recent.window(host, START + 60 * SECOND, START + 120 * SECOND)
    await recent.window(host, START, START + 30 * SECOND)
    assert read[10:] == [58, 2, 28, 2]
