"""The three levels side by side: was the GPU in use, were its pipes busy, how near is it to its roofs."""

from __future__ import annotations

from gapscope_backend.analysis.counters import link_bytes_per_second
from gapscope_backend.analysis.language import Text
from gapscope_backend.analysis.roofs import read_roofs
from gapscope_backend.analysis.verdict import Level
from gapscope_backend.analysis.view import View


def read_levels(view: View) -> tuple[Level, ...]:
    """Means over the window and the roofs; None where nothing was measured."""
    c = view.counters
    link = link_bytes_per_second(view.gpu)
    power = view.mean(c.power)
    limit = view.gpu.power_limit_watts
    time = (
        Text("graphics active") if c.exact else Text("{source} (coarse: copies count, 200 ms steps)", source=c.source)
    )
    ratios = (
        ("time", c.source, time, view.mean(c.graphics)),
        ("time", "gpu_utilization_ratio", Text("utilization as nvidia-smi says"), view.mean(c.utilization)),
        ("pipelines", "gpu_sm_active_ratio", Text("SMs active"), view.mean(c.sm)),
        ("pipelines", "gpu_sm_occupancy_ratio", Text("SM occupancy"), view.mean(c.occupancy)),
        ("pipelines", "gpu_tensor_active_ratio", Text("tensor pipes"), view.mean(c.tensor)),
        ("pipelines", "gpu_fp32_active_ratio", Text("FP32 pipe"), view.mean(c.fp32)),
        ("throughput", "gpu_dram_active_ratio", Text("of peak memory bandwidth"), view.mean(c.dram)),
        (
            "throughput",
            "pcie_rx_bytes_per_second",
            Text("of the PCIe link, host to device"),
            _over(view.mean(c.rx), link),
        ),
        (
            "throughput",
            "pcie_tx_bytes_per_second",
            Text("of the PCIe link, device to host"),
            _over(view.mean(c.tx), link),
        ),
        ("throughput", "gpu_power_watts", Text("of the power limit"), _over(power, limit)),
    )
    levels = tuple(Level(level, name, label, value, "ratio") for level, name, label, value in ratios)
    return levels + read_roofs(view)


def _over(value: float | None, whole: float | None) -> float | None:
    return value / whole if value is not None and whole else None
