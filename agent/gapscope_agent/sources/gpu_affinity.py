"""The CPUs near a GPU, as a list in the kernel's form. Asked once, by the probe."""

from __future__ import annotations

from collections.abc import Iterable

from gapscope_agent.nvml.session import Device, Session

WORD_BITS = 64
"""The driver fills an array of unsigned long."""


def ask_affinity(session: Session, device: Device, logical_cpus: int) -> str | None:
    """CPUs on the GPU's own NUMA node (``0-15,32-47``); None where the driver does not tell."""
    words, failure = session.ask("nvmlDeviceGetCpuAffinity", device.handle, -(-logical_cpus // WORD_BITS))
    if failure is not None:
        return None
    mask = sum(int(word) << (WORD_BITS * place) for place, word in enumerate(words))
    return cpu_list_text(cpu for cpu in range(logical_cpus) if mask >> cpu & 1) or None


def cpu_list_text(cpus: Iterable[int]) -> str:
    """Ascending CPUs as the kernel writes a list of them."""
    runs: list[list[int]] = []
    for cpu in cpus:
        if runs and cpu == runs[-1][1] + 1:
            runs[-1][1] = cpu
        else:
            runs.append([cpu, cpu])
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in runs)
