"""A recording through the agent's own path, against a real server, with a clock of our own."""

from __future__ import annotations

import asyncio
import gzip
import time
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from gapscope_agent import wire
from gapscope_agent.config import AgentConfig, ConfigError
from gapscope_agent.errors import RecordingError
from gapscope_agent.reading import (
    Gpu,
    GpuFacts,
    GpuPowerBuffer,
    GpuProcesses,
    GpuProcessUtilization,
    HostFacts,
    Origin,
    PowerSample,
    Reading,
)
from gapscope_agent.replay import host_of, run_replay, shift_for, shift_reading

Backend = Any
S = 1_000_000_000
RECORDED = 1_700_000_000 * S
SECONDS = 12


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    """12 s of one GPU at 10 Hz with its power buffer and stacks."""
    folder = tmp_path / "a case"
    folder.mkdir()
    origin = Origin(
        format=1,
        start_ns=RECORDED,
        end_ns=RECORDED + SECONDS * S,
        host=HostFacts(name="gpu-host", logical_cpus=2),
        gpus=[GpuFacts(index=0, name="GPU")],
    )
    readings: list[Reading] = []
    for step in range(1, SECONDS * 10 + 1):
        t = RECORDED + step * S // 10
        readings.append(Gpu(t=t, gpu=0, power_milliwatts=100_000 + step, gpm={"graphics_util_pct": step % 100}))
        if step % 10 == 0:
            samples = [PowerSample(t_us=(t - back * 20_000_000) // 1000, power_milliwatts=5) for back in range(50)]
            readings.append(GpuPowerBuffer(t=t, gpu=0, samples=samples))
    (folder / "recording.json").write_bytes(msgspec.json.encode(origin))
    (folder / "readings.jsonl.gz").write_bytes(gzip.compress(msgspec.json.Encoder().encode_lines(readings)))
    thread = {"tid": 2, "name": "main", "active": True, "owns_gil": True}
    frames = [{"function": "f", "file": "a.py", "line": 1}]
    lines = [{"t": RECORDED + n * S + 5, "pid": 1, "threads": [{**thread, "frames": frames}]} for n in range(SECONDS)]
    (folder / "stacks.jsonl.gz").write_bytes(gzip.compress(msgspec.json.Encoder().encode_lines(lines)))
    return folder


class Clock:
    """Wall time that a test can start anywhere; it runs as fast as the real one."""

    def __init__(self, start_ns: int) -> None:
        self._real = time.monotonic_ns
        self._offset = start_ns - self._real()

    def __call__(self) -> int:
        return self._offset + self._real()


NOW = 1_900_000_000 * S


def times(backend: Backend, metric: str, run_id: str | None = None) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    groups = [
        wire.decode_matrix(group).times
        for batch in backend.batches
        if run_id in (None, batch.run_id)
        for group in batch.groups
        if metric in group.metrics
    ]
    return np.concatenate(groups)


async def play(config: AgentConfig, folder: Path, **options: Any) -> None:
    host = msgspec.structs.replace(config, host=host_of(folder))
    await run_replay(host, folder, wall_ns=Clock(NOW), **options)


async def test_a_recording_arrives_whole_and_marked_as_a_host_named_after_its_folder(
    backend: Backend, config: AgentConfig, recording: Path
) -> None:
    await play(config, recording, at_recorded_time=True, speed=1000)
    assert {batch.host for batch in backend.batches} == {"a-case"}
    assert all(batch.recorded for batch in backend.batches)
    at = times(backend, "gpu_power_watts")
    assert (at - RECORDED).tolist() == [step * S // 10 for step in range(1, SECONDS * 10 + 1)]
    assert times(backend, "gpu_power_fine_watts").size == SECONDS * 50
    assert sum(len(batch.samples) for batch in backend.batches) == SECONDS
    assert len(backend.batches) == 3
    assert len({batch.run_id for batch in backend.batches}) == 1


async def test_moved_to_now_the_end_of_the_recording_is_the_end_of_its_play(
    backend: Backend, config: AgentConfig, recording: Path
) -> None:
    await play(config, recording, speed=40)
    at = times(backend, "gpu_power_watts")
    played = SECONDS * S // 40
    assert at[-1] == pytest.approx(NOW + played, abs=50_000_000)
    assert np.ptp(at) == (SECONDS * 10 - 1) * S // 10
    fine = times(backend, "gpu_power_fine_watts")
    assert fine[-1] == pytest.approx(at[-1], abs=2000)


async def test_a_backfill_ends_now_and_the_live_copy_follows_without_overlap(
    backend: Backend, config: AgentConfig, recording: Path
) -> None:
    stop = asyncio.Event()

    async def count(request: Any, number: int) -> Any:
        answer = await backend.store(request)
        if len({batch.run_id for batch in backend.batches}) == 2:
            stop.set()
        return answer

    backend.replies = [count] * 200
    host = msgspec.structs.replace(config, host="case", batch_seconds=0.5)
    await run_replay(host, recording, backfill=True, loop=True, stop=stop, wall_ns=Clock(NOW))
    runs = list(dict.fromkeys(batch.run_id for batch in backend.batches))
    assert len(runs) == 2
    first, second = (times(backend, "gpu_power_watts", run) for run in runs)
    assert first[-1] == pytest.approx(NOW, abs=100_000_000)
    assert first.size == SECONDS * 10
    assert second[0] > first[-1]


@pytest.mark.parametrize("speed", [0.25, 0.5, 1, 2, 10, 1e6, float("inf")])
def test_no_reading_is_played_before_its_time(speed: float) -> None:
    length = 20 * S
    shift = shift_for(RECORDED, RECORDED + length, NOW, speed)
    assert shift % 1000 == 0
    for offset in range(0, length + 1, S):
        played_at = NOW + (0 if speed == float("inf") else int(offset / speed))
        assert RECORDED + offset + shift <= played_at
    if speed >= 1:
        end = NOW if speed == float("inf") else NOW + int(length / speed)
        assert RECORDED + length + shift == pytest.approx(end, abs=2000)


def test_every_time_inside_a_reading_is_moved_alike() -> None:
    use = GpuProcessUtilization(pid=1, sm_util_pct=0, memory_util_pct=0, t_us=10)
    moved = shift_reading(GpuProcesses(t=10_000, mono=5, gpu=0, processes=[], utilization=[use]), 7_000)
    assert isinstance(moved, GpuProcesses)
    assert (moved.t, moved.mono, moved.utilization[0].t_us) == (17_000, 5, 17)


@pytest.mark.parametrize("options", [{"speed": 0}, {"speed": float("nan")}, {"at_recorded_time": True, "loop": True}])
async def test_impossible_options_are_refused(config: AgentConfig, recording: Path, options: dict[str, Any]) -> None:
    with pytest.raises(ConfigError):
        await run_replay(config, recording, **options)


async def test_a_folder_that_is_no_recording_is_named(config: AgentConfig, tmp_path: Path) -> None:
    with pytest.raises(RecordingError, match="nothing-here"):
        await run_replay(config, tmp_path / "nothing-here")
