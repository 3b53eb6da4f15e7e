"""Reading: what a driver or the kernel answered, with its time and before any arithmetic.

This is the first of the two seams of the design. Live sources and recordings both yield these structs; everything
behind the seam (derivation, batches, analysis) cannot tell them apart. Each struct is one line of a recording's
``readings.jsonl.gz``, with the tag in ``kind``.

Invariants: ``t`` is nanoseconds since the epoch (wall clock), ``mono`` the monotonic clock of the same moment
(absent in recordings of version 1). A field that a driver did not answer is None and its reason stands in
``missing`` under the field's name; a number is never invented for it.
"""

from __future__ import annotations

import msgspec


class _Reading(msgspec.Struct, tag_field="kind", kw_only=True, omit_defaults=True):
    t: int
    mono: int | None = None


class Gpu(_Reading, tag="gpu"):
    """One 10 Hz look at one GPU. ``gpm`` holds hardware counters over the 100 ms before the driver's lag.

    GPM values are percent (``*_pct``) or MiB/s (``*_mib_per_second``); PCIe ``rx`` is host to device.
    ``gpm_span_ns`` is the time between the two snapshots that ``gpm`` is computed from, where it is known.
    ``missing`` names single GPM figures by their own field name, and all of them together as ``gpm``.
    """

    gpu: int
    utilization_gpu_pct: float | None = None
    utilization_memory_pct: float | None = None
    memory_used_bytes: int | None = None
    memory_total_bytes: int | None = None
    power_milliwatts: int | None = None
    temperature_celsius: float | None = None
    sm_clock_mhz: int | None = None
    memory_clock_mhz: int | None = None
    clocks_event_reasons: int | None = None
    gpm: dict[str, float | None] | None = None
    gpm_span_ns: int | None = None
    missing: dict[str, str] = {}


class PowerSample(msgspec.Struct):
    """One entry of the driver's own 20 ms power buffer; ``t_us`` is microseconds since the epoch."""

    t_us: int
    power_milliwatts: int


class GpuPowerBuffer(_Reading, tag="gpu_power_buffer"):
    """The power samples (20 ms apart) that the driver kept since the last drain."""

    gpu: int
    samples: list[PowerSample]


class UtilizationSample(msgspec.Struct):
    """One entry of the driver's own 200 ms utilization buffer."""

    t_us: int
    utilization_gpu_pct: float


class GpuUtilizationBuffer(_Reading, tag="gpu_utilization_buffer"):
    """The utilization samples (200 ms apart) that the driver kept since the last drain."""

    gpu: int
    samples: list[UtilizationSample]


class GpuProcess(msgspec.Struct, omit_defaults=True):
    """A process with a context on the GPU; memory is None where the driver does not tell (MIG, WSL)."""

    pid: int
    memory_used_bytes: int | None = None


class GpuProcessUtilization(msgspec.Struct):
    """SM and memory utilization of one process over one driver sample that ended at ``t_us``."""

    pid: int
    sm_util_pct: float
    memory_util_pct: float
    t_us: int


class GpuProcesses(_Reading, tag="gpu_processes"):
    """Who holds the GPU, once a second."""

    gpu: int
    processes: list[GpuProcess]
    utilization: list[GpuProcessUtilization] = []
    missing: dict[str, str] = {}


class GpuLink(_Reading, tag="gpu_link"):
    """State of the PCIe link, once a second. Links idle down: judge only under load."""

    gpu: int
    generation: int | None = None
    width: int | None = None
    max_generation: int | None = None
    max_width: int | None = None
    missing: dict[str, str] = {}


class GpuViolation(_Reading, tag="gpu_violation"):
    """Cumulative time (ns) for which clocks were held down, by policy name (``power``, ``thermal``)."""

    gpu: int
    violation_ns: dict[str, int | None]
    missing: dict[str, str] = {}


class GpuHealth(_Reading, tag="gpu_health"):
    """Health counters, once in tens of seconds: name to cumulative count.

    Names: ``ecc_uncorrected`` and ``ecc_corrected`` (since the driver loaded), ``pcie_replays`` (since boot),
    ``remapped_rows_uncorrected``, ``remapped_rows_corrected``, ``remapped_rows_pending``, ``remapped_rows_failed``.
    """

    gpu: int
    counters: dict[str, int | None]
    missing: dict[str, str] = {}


class GpuXid(_Reading, tag="gpu_xid"):
    """An error that the driver reported of a GPU, by its number in NVIDIA's catalogue of Xid errors."""

    gpu: int
    code: int


class Cpu(_Reading, tag="cpu"):
    """Cumulative jiffies a core: user, nice, system, idle, iowait, irq, softirq, steal."""

    jiffies: list[list[int]]


class Disk(msgspec.Struct):
    """Cumulative counters of one block device."""

    name: str
    read_bytes: int
    write_bytes: int
    busy_ms: int


class Network(msgspec.Struct):
    """Cumulative counters of one network interface."""

    name: str
    rx_bytes: int
    tx_bytes: int


class Pressure(msgspec.Struct):
    """Cumulative stall time (us) of /proc/pressure for one resource (cpu, memory, io)."""

    resource: str
    some_us: int
    full_us: int | None = None


class Host(_Reading, tag="host"):
    """Host-wide figures that need no 10 Hz: memory, swap, disks, network, pressure; once a second."""

    memory_total_bytes: int | None = None
    memory_available_bytes: int | None = None
    swap_total_bytes: int | None = None
    swap_used_bytes: int | None = None
    swap_in_bytes: int | None = None
    swap_out_bytes: int | None = None
    disks: list[Disk] = []
    networks: list[Network] = []
    pressure: list[Pressure] = []
    missing: dict[str, str] = {}


class ThreadCpu(msgspec.Struct, omit_defaults=True):
    """One thread of a process: cumulative CPU, and where and how it was scheduled."""

    tid: int
    name: str
    state: str
    user_jiffies: int
    system_jiffies: int
    last_cpu: int | None = None
    run_ns: int | None = None
    run_delay_ns: int | None = None
    voluntary_switches: int | None = None
    involuntary_switches: int | None = None


class ProcessIo(msgspec.Struct):
    """Cumulative I/O of a process: all bytes through read/write calls, and those that reached a device."""

    rchar: int
    wchar: int
    read_bytes: int
    write_bytes: int


class CgroupCpu(msgspec.Struct):
    """cpu.stat of the process's cgroup: cumulative usage and quota throttling."""

    path: str
    usage_us: int
    periods: int
    throttled_periods: int
    throttled_us: int
    quota_cores: float | None = None


class Process(msgspec.Struct, omit_defaults=True):
    """One process of the tree around the GPU's owners, five times a second; details once a second."""

    pid: int
    parent_pid: int
    state: str
    user_jiffies: int
    system_jiffies: int
    threads: int
    rss_pages: int
    block_io_delay_jiffies: int | None = None
    voluntary_switches: int | None = None
    involuntary_switches: int | None = None
    start_jiffies: int | None = None
    command: str | None = None
    user: str | None = None
    io: ProcessIo | None = None
    environment: dict[str, str] | None = None
    cgroup: CgroupCpu | None = None
    thread_cpu: list[ThreadCpu] | None = None
    missing: dict[str, str] = {}


class Processes(_Reading, tag="processes"):
    """The process tree of the GPU's owners and, with no GPU, the busiest processes of the host."""

    processes: list[Process]


class Frame(msgspec.Struct, omit_defaults=True):
    """One Python frame; ``source`` is the text of the line where the file could be read."""

    function: str
    file: str
    line: int
    source: str | None = None


class ThreadStack(msgspec.Struct, omit_defaults=True):
    """The stack of one thread, innermost frame first; ``active`` is on CPU by the sampler's judgement."""

    tid: int
    frames: list[Frame]
    name: str | None = None
    active: bool | None = None
    owns_gil: bool | None = None


class Stacks(_Reading, tag="stacks"):
    """One snapshot of the Python stacks of one process (``stacks.jsonl.gz`` in a recording, without the tag)."""

    pid: int
    threads: list[ThreadStack]


class SourceState(_Reading, tag="source_state"):
    """A source changed state: ``ok``, ``unavailable`` or ``late``; ``reason`` says why in one sentence."""

    source: str
    state: str
    reason: str = ""


Reading = (
    Gpu
    | GpuPowerBuffer
    | GpuUtilizationBuffer
    | GpuProcesses
    | GpuLink
    | GpuViolation
    | GpuHealth
    | GpuXid
    | Cpu
    | Host
    | Processes
    | Stacks
    | SourceState
)


class PcieLink(msgspec.Struct):
    """What the PCIe link is and could be."""

    generation: int | None
    max_generation: int | None
    width: int | None
    max_width: int | None


class GpuFacts(msgspec.Struct, kw_only=True):
    """What does not change about a GPU during a recording. ``uuid`` is its identity (None in version 1).

    ``cpu_affinity`` lists the CPUs on the GPU's own NUMA node as the kernel writes such lists (``0-15,32-47``).
    """

    index: int
    name: str
    memory_total_bytes: int | None = None
    power_limit_milliwatts: int | None = None
    max_sm_clock_mhz: int | None = None
    max_memory_clock_mhz: int | None = None
    pcie: PcieLink | None = None
    uuid: str | None = None
    gpm_supported: bool | None = None
    cpu_affinity: str | None = None

    @property
    def key(self) -> str:
        """Stable entity key ``gpu:<uuid>``; ``gpu:index-<n>`` where a recording of version 1 has no UUID."""
        return f"gpu:{self.uuid}" if self.uuid else f"gpu:index-{self.index}"


class HostFacts(msgspec.Struct, kw_only=True):
    """What does not change about a host during a recording."""

    name: str
    logical_cpus: int
    kernel: str | None = None
    memory_total_bytes: int | None = None


class Origin(msgspec.Struct, kw_only=True):
    """The facts that a stream of readings is read with: ``recording.json`` of a recording, or a live probe."""

    format: int
    start_ns: int
    host: HostFacts
    gpus: list[GpuFacts]
    end_ns: int | None = None
    jiffies_per_second: int = 100
    page_bytes: int = 4096
    driver_version: str | None = None
    notes: list[str] = []
