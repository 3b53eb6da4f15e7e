"""Readings to series: the one place where raw answers become the catalogue's names and units.

Contract: ``feed`` takes readings in about the order of their time (each kind in order), ``drain`` gives what came
together since the last drain. Nothing here knows whether a reading is live or recorded. Memory is bounded by what one
drain interval holds and by the processes that exist.
"""

from __future__ import annotations

from dataclasses import dataclass

from gapscope_agent.derive.cpu import CpuDeriver
from gapscope_agent.derive.gpu import GpuDeriver, gpu_labels
from gapscope_agent.derive.gpu_processes import GpuProcessesDeriver
from gapscope_agent.derive.host import HostDeriver
from gapscope_agent.derive.lag import LagEstimator
from gapscope_agent.derive.processes import ProcessesDeriver
from gapscope_agent.derive.table import CLOCK_STEP_NS, DerivedGroup, Tables
from gapscope_agent.derive.xid import xid_text
from gapscope_agent.reading import (
    Cpu,
    Gpu,
    GpuFacts,
    GpuHealth,
    GpuLink,
    GpuPowerBuffer,
    GpuProcesses,
    GpuUtilizationBuffer,
    GpuViolation,
    GpuXid,
    Host,
    Origin,
    Processes,
    Reading,
    SourceState,
    Stacks,
)
from gapscope_agent.wire import Entity, Event

LIVE_KINDS = ("host", "gpu:", "core:")


@dataclass(frozen=True)
class Derived:
    """What one drain gives; ``entities`` are those of the groups, with their labels as of now."""

    groups: list[DerivedGroup]
    entities: list[Entity]
    stacks: list[Stacks]
    events: list[Event]


class Deriver:
    """Turns the readings of one origin into series, stack snapshots and events."""

    def __init__(self, origin: Origin) -> None:
        self._tables = Tables()
        self._stacks: list[Stacks] = []
        self._events: list[Event] = []
        self._states: dict[str, tuple[str, str]] = {}
        self._wall_minus_mono: int | None = None
        self._start_ns = origin.start_ns
        self._gpus: dict[int, GpuDeriver] = {}
        self._lags: dict[int, LagEstimator] = {}
        self._keys: dict[int, str] = {}
        for facts in origin.gpus:
            self._add_gpu(facts)
        self._cpu = CpuDeriver(self._tables)
        self._host = HostDeriver(self._tables)
        self._processes = ProcessesDeriver(self._tables, origin)
        self._gpu_processes = GpuProcessesDeriver(self._tables, self._keys, lambda pid: pid in self._processes.pids)
        self._tables.label(
            "host",
            logical_cpus=origin.host.logical_cpus,
            kernel=origin.host.kernel,
            memory_total_bytes=origin.host.memory_total_bytes,
            driver_version=origin.driver_version,
        )

    def feed(self, reading: Reading) -> None:
        """Take one reading."""
        self._watch_clock(reading)
        if isinstance(reading, Cpu):
            self._cpu.feed(reading)
        elif isinstance(reading, Processes):
            self._processes.feed(reading)
        elif isinstance(reading, Host):
            self._host.feed(reading)
        elif isinstance(reading, Stacks):
            self._stacks.append(reading)
        elif isinstance(reading, SourceState):
            self._feed_state(reading)
        else:
            self._feed_gpu(reading)

    def add(self, t: int, entity: str, clock: str, values: dict[str, float]) -> None:
        """Add a row that comes from no reading, such as the agent's own cost."""
        self._tables.table(entity, clock).append(t, values)

    def drain(self) -> Derived:
        """Everything since the last drain."""
        groups, labels = self._tables.drain()
        entities = [Entity(key, key.partition(":")[0], facts) for key, facts in labels.items()]
        derived = Derived(groups, entities, self._stacks, self._events)
        self._stacks, self._events = [], []
        self._gpu_processes.drained()
        return derived

    def newest(self, since_ns: int) -> tuple[int, dict[str, dict[str, float]]]:
        """Newest row (its time in ns) and values, by entity, of the host, its GPUs, cores and GPU processes."""
        owners = {f"process:{pid}" for pid in self._gpu_processes.owners}
        found = self._tables.newest(since_ns, lambda key: key.startswith(LIVE_KINDS) or key in owners)
        t = max((t for t, _ in found.values()), default=0)
        return t, {entity: values for entity, (_, values) in found.items()}

    def note(self, event: Event) -> None:
        """Add an event that comes from no reading."""
        self._events.append(event)

    def _add_gpu(self, facts: GpuFacts) -> None:
        self._keys[facts.index] = facts.key
        self._gpus[facts.index] = GpuDeriver(self._tables, facts.key, self._start_ns)
        self._lags[facts.index] = LagEstimator()
        self._tables.label(facts.key, **gpu_labels(facts))

    def _feed_gpu(
        self,
        reading: Gpu
        | GpuPowerBuffer
        | GpuUtilizationBuffer
        | GpuProcesses
        | GpuLink
        | GpuViolation
        | GpuHealth
        | GpuXid,
    ) -> None:
        if reading.gpu not in self._gpus:  # appeared after the probe
            self._add_gpu(GpuFacts(index=reading.gpu, name="unknown"))
        gpu, lag = self._gpus[reading.gpu], self._lags[reading.gpu]
        if isinstance(reading, Gpu):
            gpu.feed_gpu(reading)
            lag.add_counters(reading)
        elif isinstance(reading, GpuPowerBuffer):
            lag.add_power(gpu.feed_power_buffer(reading))
            self._emit_lag(reading, lag)
        elif isinstance(reading, GpuUtilizationBuffer):
            lag.add_utilization(gpu.feed_utilization_buffer(reading))
        elif isinstance(reading, GpuProcesses):
            self._gpu_processes.feed(reading)
        elif isinstance(reading, GpuLink):
            gpu.feed_link(reading)
        elif isinstance(reading, GpuViolation):
            gpu.feed_violation(reading)
        elif isinstance(reading, GpuXid):
            text = xid_text(reading.code)
            self._events.append(Event(t=reading.t, kind="xid", text=text, entity=self._keys[reading.gpu]))
        else:
            gpu.feed_health(reading)

    def _emit_lag(self, reading: GpuPowerBuffer, lag: LagEstimator) -> None:
        seconds = lag.estimate(reading.t)
        if seconds is not None:
            self.add(reading.t, self._keys[reading.gpu], "lag", {"gpu_counter_lag_seconds": seconds})

    def _feed_state(self, reading: SourceState) -> None:
        state = (reading.state, reading.reason)
        if self._states.get(reading.source) == state:
            return
        self._states[reading.source] = state
        text = f"{reading.source}: {reading.state}" + (f" ({reading.reason})" if reading.reason else "")
        self._events.append(Event(t=reading.t, kind="source_state", text=text))

    def _watch_clock(self, reading: Reading) -> None:
        if reading.mono is None:
            return
        offset = reading.t - reading.mono
        before, self._wall_minus_mono = self._wall_minus_mono, offset
        if before is not None and abs(offset - before) > CLOCK_STEP_NS:
            seconds = (offset - before) / 1e9
            text = f"the wall clock was set by {seconds:+.1f} s, or the host was suspended"
            self._events.append(Event(t=reading.t, kind="clock_step", text=text))
