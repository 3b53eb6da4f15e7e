"""The CPUs near a GPU, from the driver's mask to the window that the analysis sees."""

from __future__ import annotations

import pytest

from gapscope_agent.nvml.driver import Driver
from gapscope_agent.sources.base import Context
from gapscope_agent.sources.gpu_affinity import ask_affinity, cpu_list_text
from gapscope_agent.sources.probe import probe
from gapscope_backend.analysis.cpu import cpu_list
from gapscope_backend.cli.windows import window_of_readings
from tests.agent_sources.fakes import FakeClock, FakeNvml


@pytest.mark.parametrize(
    ("cpus", "text"), [([], ""), ([3], "3"), ([0, 1, 2, 3], "0-3"), ([0, 1, 8, 10, 11, 12], "0-1,8,10-12")]
)
def test_cpus_as_the_kernel_lists_them(cpus: list[int], text: str) -> None:
    assert cpu_list_text(cpus) == text
    assert sorted(cpu_list(text)) == cpus


def test_the_drivers_mask_has_a_word_for_64_cpus() -> None:
    nvml = FakeNvml()
    nvml.answers["nvmlDeviceGetCpuAffinity"] = [1 << 63, 0b11]
    session = Driver(nvml).session()
    assert ask_affinity(session, session.devices[0], 128) == "63-65"
    assert nvml.last_arguments["nvmlDeviceGetCpuAffinity"] == ("handle-0", 2)
    nvml.errors["nvmlDeviceGetCpuAffinity"] = 3
    assert ask_affinity(session, session.devices[0], 128) is None


def test_a_live_window_knows_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("psutil.cpu_count", lambda: 16)
    origin = probe(Context(driver=Driver(FakeNvml())), FakeClock())
    (gpu,) = window_of_readings(origin, (), origin.start_ns, origin.start_ns + 10**9).gpus
    assert gpu.cpu_affinity == "0-3,12-15"
