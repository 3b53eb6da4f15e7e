"""Play a recording through the agent's own path, as a host named after its folder.

Moved to now means that a reading carries no future time: at speed s the shift is such that the recording's end falls
on the moment at which its playing ends. Only times move; counters stay as recorded.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from gapscope_agent.accounting import Ledger
from gapscope_agent.batch import BatchBuilder
from gapscope_agent.config import AgentConfig, ConfigError, host_name_from
from gapscope_agent.delivery import delivering
from gapscope_agent.pace import BatchPace
from gapscope_agent.pipeline import Pipeline
from gapscope_agent.reading import Gpu, GpuPowerBuffer, GpuProcesses, GpuUtilizationBuffer, Origin, Reading
from gapscope_agent.recording.read import Recording, open_recording
from gapscope_agent.shipper import Shipper
from gapscope_agent.sources.drop_watch import DropWatch
from gapscope_agent.wire import LiveFrame

TICK_NS = 100_000_000
US = 1_000


def host_of(directory: Path) -> str:
    """Name of the host as which a recording appears: its folder's."""
    return host_name_from(directory.resolve().name)


def shift_reading(reading: Reading, shift_ns: int) -> Reading:
    """Move every wall-clock time inside ``reading`` by ``shift_ns``, a multiple of 1000; changes it in place."""
    reading.t += shift_ns
    if isinstance(reading, GpuPowerBuffer | GpuUtilizationBuffer):
        for sample in reading.samples:
            sample.t_us += shift_ns // US
    elif isinstance(reading, GpuProcesses):
        for use in reading.utilization:
            use.t_us += shift_ns // US
    return reading


def shift_origin(origin: Origin, shift_ns: int) -> Origin:
    """The same facts, moved in time."""
    end = None if origin.end_ns is None else origin.end_ns + shift_ns
    return Origin(
        format=origin.format,
        start_ns=origin.start_ns + shift_ns,
        end_ns=end,
        host=origin.host,
        gpus=origin.gpus,
        jiffies_per_second=origin.jiffies_per_second,
        page_bytes=origin.page_bytes,
        driver_version=origin.driver_version,
        notes=origin.notes,
    )


def shift_for(start_ns: int, end_ns: int, begins_ns: int, speed: float) -> int:
    """Shift for playing from ``begins_ns`` at ``speed`` (infinite: all at once), a multiple of 1000."""
    length = end_ns - start_ns
    played = 0 if speed == float("inf") else int(length / speed)
    latest_start = begins_ns + min(0, played - length)
    return (latest_start - start_ns) // US * US


@dataclass
class _Player:
    """Plays copies of one recording; each copy is a run of its own."""

    config: AgentConfig
    recording: Recording
    shipper: Shipper
    ledger: Ledger
    stop: asyncio.Event
    start_ns: int
    end_ns: int
    wall_ns: Callable[[], int]
    pipeline: Pipeline | None = None

    def live_frame(self) -> LiveFrame | None:
        return None if self.pipeline is None else self.pipeline.live_frame(self.config.host)

    async def play(self, shift_ns: int, speed: float) -> None:
        """One copy, its times moved by ``shift_ns``; infinite speed ships it as fast as the server takes it."""
        builder = BatchBuilder(self.config.host, self.config.labels, self.ledger, recorded=True)
        origin = shift_origin(self.recording.origin, shift_ns)
        pipeline = self.pipeline = Pipeline(origin, builder, self.shipper, self.wall_ns)
        began = self.wall_ns()
        pace, drops = BatchPace(self.config.batch_seconds, self.start_ns), DropWatch()
        for tick_ns, readings in self._ticks():
            if self.stop.is_set():
                break
            # Nobody waits for what is shipped all at once.
            if pace.due(tick_ns - 1, speed != float("inf") and bool(drops.dropped(tick_ns))):
                pipeline.close_batch()
                await self.shipper.room(self.stop)
                await asyncio.sleep(0)
            if speed != float("inf"):
                await self.sleep_until(began + int((tick_ns - self.start_ns) / speed))
            for reading in readings:
                if isinstance(reading, Gpu):
                    drops.show(reading.gpu, reading.t, reading.utilization_gpu_pct, reading.gpm)
                pipeline.put(shift_reading(reading, shift_ns))
            pipeline.pump()
        pipeline.close_batch()

    def _ticks(self) -> Iterator[tuple[int, list[Reading]]]:
        """Readings in steps of 100 ms of the recording's time, each with the time at which it is played."""
        readings: list[Reading] = []
        tick_ns = self.start_ns + TICK_NS
        for reading in self.recording.readings():
            if reading.t > tick_ns and readings:
                yield tick_ns, readings
                readings = []
            if reading.t > tick_ns:
                tick_ns += -(-(reading.t - tick_ns) // TICK_NS) * TICK_NS
            readings.append(reading)
        if readings:
            yield tick_ns, readings

    async def sleep_until(self, wall_ns: int) -> None:
        with contextlib.suppress(asyncio.TimeoutError):
            if wall_ns > self.wall_ns():
                await asyncio.wait_for(self.stop.wait(), (wall_ns - self.wall_ns()) / 1e9)


async def run_replay(
    config: AgentConfig,
    directory: Path,
    speed: float = 1.0,
    at_recorded_time: bool = False,
    loop: bool = False,
    backfill: bool = False,
    stop: asyncio.Event | None = None,
    wall_ns: Callable[[], int] = time.time_ns,
) -> None:
    """Play the recording in ``directory`` to its end, or until ``stop``; with ``loop`` again and again.

    ``backfill`` first ships one copy at once, ending now, so that a page opened at once has content. A copy never
    overlaps the one before it, so at speeds above 1 a loop pauses between copies.
    """
    if not speed > 0:
        raise ConfigError(f"speed {speed}: want more than 0")
    if at_recorded_time and (loop or backfill):
        raise ConfigError("a recording played at its recorded time can be neither looped nor backfilled")
    recording = await asyncio.to_thread(open_recording, directory)
    start_ns, end_ns = await asyncio.to_thread(span_of, recording)
    ledger = Ledger()
    shipper = Shipper(config, ledger)
    player = _Player(config, recording, shipper, ledger, stop or asyncio.Event(), start_ns, end_ns, wall_ns)
    async with delivering(config, shipper, player.live_frame, threading.Event(), player.stop):
        if at_recorded_time:
            await player.play(0, speed)
            return
        begins = wall_ns()
        if backfill:
            await player.play(shift_for(start_ns, end_ns, begins, float("inf")), float("inf"))
        await _play_copies(player, speed, loop, begins if backfill else None)


async def _play_copies(player: _Player, speed: float, loop: bool, filled_until: int | None) -> None:
    """Play at ``speed``, once or again and again, each copy after the end of the one before."""
    length = player.end_ns - player.start_ns
    begins = player.wall_ns()
    if filled_until is not None:
        begins = max(begins, filled_until + max(0, length - int(length / speed)))
    while not player.stop.is_set():
        await player.sleep_until(begins)
        begins = max(begins, player.wall_ns())
        await player.play(shift_for(player.start_ns, player.end_ns, begins, speed), speed)
        if not loop:
            return
        begins += max(length, int(length / speed))


def span_of(recording: Recording) -> tuple[int, int]:
    """First moment and the last reading's time, just after which the recording ends."""
    first = last = None
    for reading in recording.readings():
        first = reading.t if first is None else first
        last = reading.t
    start = recording.origin.start_ns if first is None else min(first, recording.origin.start_ns)
    return start, max(last or start, start) + 1
