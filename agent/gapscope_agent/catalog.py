"""The one catalogue of series: name, entity, unit, quantum, meaning, and what other tools call it.

A series name ends in its unit in the Prometheus manner. ``quantum`` is the step to which the agent rounds a value
before it is stored (the largest lever on size); a value travels as the integer ``round(value / quantum)``.
Nothing may emit, store or show a series that is not listed here.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Metric:
    """One entry. ``kind`` is gauge, ratio (0..1), rate (per second), counter or code (an enumeration in help)."""

    name: str
    entity: str
    unit: str
    quantum: float
    kind: str
    period_seconds: float
    help: str
    aliases: tuple[str, ...] = ()


def _gpu(name: str, unit: str, quantum: float, kind: str, help_: str, *aliases: str, period: float = 0.1) -> Metric:
    return Metric(name, "gpu", unit, quantum, kind, period, help_, aliases)


def _gpm(name: str, help_: str, *aliases: str) -> Metric:
    return _gpu(name, "ratio", 0.0001, "ratio", help_, *aliases)


STATE_CODES = {"R": 1, "S": 2, "D": 3, "T": 4, "t": 4, "Z": 5, "X": 5, "I": 6}
"""``*_state_code`` values by the state letter of /proc; 0 is any other letter."""

METRICS: tuple[Metric, ...] = (
    # GPU: hardware counters (GPM) over 100 ms, lagging by gpu_counter_lag_seconds
    _gpm(
        "gpu_graphics_active_ratio",
        "share of time in which the compute or graphics engine was active",
        "DCGM_FI_PROF_GR_ENGINE_ACTIVE",
    ),
    _gpm(
        "gpu_sm_active_ratio",
        "share of time in which an SM had a warp, averaged over SMs",
        "DCGM_FI_PROF_SM_ACTIVE",
    ),
    _gpm("gpu_sm_occupancy_ratio", "resident warps over the maximum", "DCGM_FI_PROF_SM_OCCUPANCY"),
    _gpm(
        "gpu_tensor_active_ratio",
        "share of time in which any tensor pipe was active",
        "DCGM_FI_PROF_PIPE_TENSOR_ACTIVE",
    ),
    _gpm(
        "gpu_tensor_hmma_active_ratio",
        "tensor pipe on half-precision products",
        "DCGM_FI_PROF_PIPE_TENSOR_HMMA_ACTIVE",
    ),
    _gpm(
        "gpu_tensor_imma_active_ratio",
        "tensor pipe on integer products",
        "DCGM_FI_PROF_PIPE_TENSOR_IMMA_ACTIVE",
    ),
    _gpm(
        "gpu_tensor_dfma_active_ratio",
        "tensor pipe on double-precision products",
        "DCGM_FI_PROF_PIPE_TENSOR_DFMA_ACTIVE",
    ),
    _gpm("gpu_fp64_active_ratio", "FP64 pipe active", "DCGM_FI_PROF_PIPE_FP64_ACTIVE"),
    _gpm("gpu_fp32_active_ratio", "FP32 pipe active", "DCGM_FI_PROF_PIPE_FP32_ACTIVE"),
    _gpm("gpu_fp16_active_ratio", "FP16 pipe active", "DCGM_FI_PROF_PIPE_FP16_ACTIVE"),
    _gpm("gpu_integer_active_ratio", "integer pipe active", "DCGM_FI_PROF_PIPE_INT_ACTIVE"),
    _gpm(
        "gpu_dram_active_ratio",
        "memory interface moving data, share of peak bandwidth",
        "DCGM_FI_PROF_DRAM_ACTIVE",
    ),
    _gpu(
        "pcie_rx_bytes_per_second",
        "bytes/s",
        1024.0,
        "rate",
        "host to device over PCIe, payload: the counter less 8 % of packet headers",
        "DCGM_FI_PROF_PCIE_RX_BYTES",
    ),
    _gpu(
        "pcie_tx_bytes_per_second",
        "bytes/s",
        1024.0,
        "rate",
        "device to host over PCIe, payload: the counter less 9 % of packet headers",
        "DCGM_FI_PROF_PCIE_TX_BYTES",
    ),
    _gpu(
        "nvlink_rx_bytes_per_second",
        "bytes/s",
        1024.0,
        "rate",
        "into the GPU over NVLink",
        "DCGM_FI_PROF_NVLINK_RX_BYTES",
    ),
    _gpu(
        "nvlink_tx_bytes_per_second",
        "bytes/s",
        1024.0,
        "rate",
        "out of the GPU over NVLink",
        "DCGM_FI_PROF_NVLINK_TX_BYTES",
    ),
    # GPU: driver figures
    _gpu(
        "gpu_utilization_ratio",
        "ratio",
        0.01,
        "ratio",
        "nvidia-smi's utilization: time in which anything ran, copies included; renewed every 200 ms",
        "DCGM_FI_DEV_GPU_UTIL",
        "hw.gpu.utilization",
    ),
    _gpu(
        "gpu_memory_utilization_ratio",
        "ratio",
        0.01,
        "ratio",
        "time in which memory was read or written",
        "DCGM_FI_DEV_MEM_COPY_UTIL",
    ),
    _gpu(
        "gpu_memory_used_bytes",
        "bytes",
        1048576.0,
        "gauge",
        "device memory in use",
        "DCGM_FI_DEV_FB_USED",
        "hw.gpu.memory.usage",
    ),
    _gpu("gpu_power_watts", "watts", 0.1, "gauge", "power draw", "DCGM_FI_DEV_POWER_USAGE"),
    _gpu("gpu_temperature_celsius", "celsius", 1.0, "gauge", "core temperature", "DCGM_FI_DEV_GPU_TEMP"),
    _gpu("gpu_sm_clock_hertz", "hertz", 1e6, "gauge", "SM clock", "DCGM_FI_DEV_SM_CLOCK"),
    _gpu("gpu_memory_clock_hertz", "hertz", 1e6, "gauge", "memory clock", "DCGM_FI_DEV_MEM_CLOCK"),
    _gpu(
        "gpu_clocks_event_reasons_code",
        "bit mask",
        1.0,
        "code",
        "why clocks are held down: 0x1 idle, 0x2 application clocks, 0x4 software power cap, 0x8 hardware slowdown, "
        "0x10 sync boost, 0x20 software thermal, 0x40 hardware thermal, 0x80 power brake",
        "DCGM_FI_DEV_CLOCKS_EVENT_REASONS",
    ),
    _gpu("gpu_power_fine_watts", "watts", 0.1, "gauge", "the driver's own 20 ms power samples", period=0.02),
    _gpu(
        "gpu_utilization_fine_ratio",
        "ratio",
        0.01,
        "ratio",
        "the driver's own 200 ms utilization samples",
        period=0.2,
    ),
    _gpu(
        "gpu_counter_lag_seconds",
        "seconds",
        0.001,
        "gauge",
        "how much earlier than their timestamps the hardware counters' cells ended",
        period=5.0,
    ),
    _gpu(
        "gpu_processes_count",
        "processes",
        1.0,
        "gauge",
        "processes that hold a context on the GPU",
        period=1.0,
    ),
    _gpu("pcie_link_generation", "generation", 1.0, "gauge", "current PCIe generation", period=1.0),
    _gpu("pcie_link_width_lanes", "lanes", 1.0, "gauge", "current PCIe width", period=1.0),
    _gpu("gpu_violation_power_ratio", "ratio", 0.001, "ratio", "time held down by the power limit", period=5.0),
    _gpu("gpu_violation_thermal_ratio", "ratio", 0.001, "ratio", "time held down by temperature", period=5.0),
    _gpu(
        "gpu_ecc_errors_count",
        "errors",
        1.0,
        "counter",
        "uncorrected ECC errors since the driver loaded",
        "DCGM_FI_DEV_ECC_DBE_VOL_TOTAL",
        period=30.0,
    ),
    _gpu(
        "pcie_replays_count",
        "replays",
        1.0,
        "counter",
        "PCIe replays since boot",
        "DCGM_FI_DEV_PCIE_REPLAY_COUNTER",
        period=30.0,
    ),
    # CPU cores
    Metric("cpu_core_busy_ratio", "core", "ratio", 0.01, "ratio", 0.1, "1 - idle - iowait of one core"),
    # Host
    Metric("cpu_busy_cores", "host", "cores", 0.01, "gauge", 0.1, "cores busy, all cores together"),
    Metric("cpu_user_cores", "host", "cores", 0.01, "gauge", 0.1, "cores busy in user mode (nice included)"),
    Metric("cpu_system_cores", "host", "cores", 0.01, "gauge", 0.1, "cores busy in the kernel (irq included)"),
    Metric("cpu_iowait_cores", "host", "cores", 0.01, "gauge", 0.1, "cores idle while a task waits for a disk"),
    Metric("cpu_steal_cores", "host", "cores", 0.01, "gauge", 0.1, "cores taken by the hypervisor"),
    Metric("host_memory_used_bytes", "host", "bytes", 1048576.0, "gauge", 1.0, "total - available"),
    Metric("host_swap_used_bytes", "host", "bytes", 1048576.0, "gauge", 1.0, "swap in use"),
    Metric("host_swap_in_bytes_per_second", "host", "bytes/s", 1024.0, "rate", 1.0, "read back from swap"),
    Metric("host_swap_out_bytes_per_second", "host", "bytes/s", 1024.0, "rate", 1.0, "written to swap"),
    Metric(
        "host_cpu_pressure_ratio",
        "host",
        "ratio",
        0.001,
        "ratio",
        1.0,
        "time in which some task waited for a CPU",
    ),
    Metric(
        "host_memory_pressure_ratio",
        "host",
        "ratio",
        0.001,
        "ratio",
        1.0,
        "time in which some task waited for memory",
    ),
    Metric(
        "host_io_pressure_ratio",
        "host",
        "ratio",
        0.001,
        "ratio",
        1.0,
        "time in which some task waited for I/O",
    ),
    Metric("agent_cpu_cores", "host", "cores", 0.001, "gauge", 5.0, "what the agent itself costs: cores"),
    Metric("stack_sampler_cpu_cores", "host", "cores", 0.001, "gauge", 5.0, "what taking Python stacks costs: cores"),
    Metric("agent_resident_bytes", "host", "bytes", 65536.0, "gauge", 5.0, "what the agent itself costs: memory"),
    # Disks and networks
    Metric("disk_read_bytes_per_second", "disk", "bytes/s", 1024.0, "rate", 1.0, "read from the device"),
    Metric("disk_write_bytes_per_second", "disk", "bytes/s", 1024.0, "rate", 1.0, "written to the device"),
    Metric("disk_busy_ratio", "disk", "ratio", 0.001, "ratio", 1.0, "time with an I/O in flight"),
    Metric("network_rx_bytes_per_second", "net", "bytes/s", 1024.0, "rate", 1.0, "received"),
    Metric("network_tx_bytes_per_second", "net", "bytes/s", 1024.0, "rate", 1.0, "sent"),
    # Processes around the GPU
    Metric("process_cpu_cores", "process", "cores", 0.01, "gauge", 0.2, "cores used by the process"),
    Metric("process_user_cores", "process", "cores", 0.01, "gauge", 0.2, "of them in user mode"),
    Metric("process_system_cores", "process", "cores", 0.01, "gauge", 0.2, "of them in the kernel"),
    Metric(
        "process_state_code",
        "process",
        "code",
        1.0,
        "code",
        0.2,
        "state of the main thread: 1 running, 2 sleeping, 3 disk sleep, 4 stopped, 5 dead, 6 idle",
    ),
    Metric("process_threads_count", "process", "threads", 1.0, "gauge", 0.2, "threads"),
    Metric("process_resident_bytes", "process", "bytes", 65536.0, "gauge", 0.2, "resident memory"),
    Metric(
        "process_voluntary_switches_per_second",
        "process",
        "switches/s",
        1.0,
        "rate",
        0.2,
        "times the main thread gave the CPU away",
    ),
    Metric(
        "process_involuntary_switches_per_second",
        "process",
        "switches/s",
        1.0,
        "rate",
        0.2,
        "times the main thread was taken off its CPU",
    ),
    Metric(
        "process_read_bytes_per_second",
        "process",
        "bytes/s",
        1024.0,
        "rate",
        1.0,
        "bytes through read calls, cached or not, sockets included where the kernel counts them",
    ),
    Metric(
        "process_write_bytes_per_second",
        "process",
        "bytes/s",
        1024.0,
        "rate",
        1.0,
        "bytes through write calls",
    ),
    Metric(
        "process_disk_read_bytes_per_second",
        "process",
        "bytes/s",
        1024.0,
        "rate",
        1.0,
        "fetched from a device",
    ),
    Metric("process_disk_write_bytes_per_second", "process", "bytes/s", 1024.0, "rate", 1.0, "sent to a device"),
    Metric(
        "process_gpu_memory_bytes",
        "process",
        "bytes",
        1048576.0,
        "gauge",
        1.0,
        "device memory of the process, all GPUs together",
    ),
    Metric(
        "process_gpu_sm_ratio",
        "process",
        "ratio",
        0.01,
        "ratio",
        1.0,
        "SM utilization of the process by the driver's samples, sum over GPUs",
    ),
    Metric(
        "process_block_io_delay_ratio",
        "process",
        "ratio",
        0.001,
        "ratio",
        0.2,
        "time spent waiting for a block device (0 where the kernel's delay accounting is off)",
    ),
    # Threads
    Metric("thread_cpu_cores", "thread", "cores", 0.01, "gauge", 1.0, "cores used by the thread"),
    Metric("thread_system_cores", "thread", "cores", 0.01, "gauge", 1.0, "of them in the kernel"),
    Metric("thread_state_code", "thread", "code", 1.0, "code", 1.0, "state, coded as process_state_code"),
    Metric("thread_last_cpu_index", "thread", "core", 1.0, "code", 1.0, "core on which the thread last ran"),
    Metric(
        "thread_run_delay_ratio",
        "thread",
        "ratio",
        0.001,
        "ratio",
        1.0,
        "time runnable but waiting for a core",
    ),
    Metric("thread_voluntary_switches_per_second", "thread", "switches/s", 1.0, "rate", 1.0, "CPU given away"),
    Metric(
        "thread_involuntary_switches_per_second",
        "thread",
        "switches/s",
        1.0,
        "rate",
        1.0,
        "taken off its CPU",
    ),
    # Control groups
    Metric("cgroup_cpu_cores", "cgroup", "cores", 0.01, "gauge", 1.0, "cores used by the group"),
    Metric(
        "cgroup_cpu_throttled_ratio",
        "cgroup",
        "ratio",
        0.001,
        "ratio",
        1.0,
        "time throttled by the CPU quota",
    ),
    Metric("cgroup_cpu_quota_cores", "cgroup", "cores", 0.01, "gauge", 1.0, "the quota"),
)

BY_NAME: dict[str, Metric] = {metric.name: metric for metric in METRICS}

PCIE_RX_PAYLOAD_SHARE = 256 / (256 + 20)
"""Payload of a packet of 256 bytes (the usual maximum) over what the counters count: payload, 12 bytes of completion
header, 8 of framing and link CRC. Against timed pinned copies on an H200 the raw counter reads 7.2 % high into the
device and 8.8 % out of it, and this -0.6 % both ways (docs/adr/0004)."""
PCIE_TX_PAYLOAD_SHARE = 256 / (256 + 24)
"""The same out of the device: a memory write's header has 16 bytes."""

GPM_SERIES: dict[str, tuple[str, float]] = {
    "graphics_util_pct": ("gpu_graphics_active_ratio", 0.01),
    "sm_util_pct": ("gpu_sm_active_ratio", 0.01),
    "sm_occupancy_pct": ("gpu_sm_occupancy_ratio", 0.01),
    "any_tensor_util_pct": ("gpu_tensor_active_ratio", 0.01),
    "hmma_tensor_util_pct": ("gpu_tensor_hmma_active_ratio", 0.01),
    "imma_tensor_util_pct": ("gpu_tensor_imma_active_ratio", 0.01),
    "dfma_tensor_util_pct": ("gpu_tensor_dfma_active_ratio", 0.01),
    "fp64_util_pct": ("gpu_fp64_active_ratio", 0.01),
    "fp32_util_pct": ("gpu_fp32_active_ratio", 0.01),
    "fp16_util_pct": ("gpu_fp16_active_ratio", 0.01),
    "integer_util_pct": ("gpu_integer_active_ratio", 0.01),
    "dram_bandwidth_util_pct": ("gpu_dram_active_ratio", 0.01),
    "pcie_rx_mib_per_second": ("pcie_rx_bytes_per_second", 1048576.0 * PCIE_RX_PAYLOAD_SHARE),
    "pcie_tx_mib_per_second": ("pcie_tx_bytes_per_second", 1048576.0 * PCIE_TX_PAYLOAD_SHARE),
    "nvlink_rx_mib_per_second": ("nvlink_rx_bytes_per_second", 1048576.0),
    "nvlink_tx_mib_per_second": ("nvlink_tx_bytes_per_second", 1048576.0),
}
"""Field of a Gpu reading's ``gpm`` to (series, factor)."""

VIOLATION_SERIES: dict[str, str] = {
    "power": "gpu_violation_power_ratio",
    "thermal": "gpu_violation_thermal_ratio",
}
"""Policy of a GpuViolation reading to series."""

HEALTH_SERIES: dict[str, str] = {
    "ecc_uncorrected": "gpu_ecc_errors_count",
    "pcie_replays": "pcie_replays_count",
}
"""Counter of a GpuHealth reading to series."""
