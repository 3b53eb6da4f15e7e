"""Which processes hold a GPU: written by the source that asks the driver, read by the one that walks /proc."""

from __future__ import annotations

from collections.abc import Iterable


class GpuOwners:
    """PIDs by GPU. Replacing a frozen set is atomic, so two threads need no lock."""

    def __init__(self) -> None:
        self._by_gpu: dict[int, frozenset[int]] = {}

    def replace(self, gpu: int, pids: Iterable[int]) -> None:
        """Set who holds ``gpu`` now."""
        self._by_gpu = {**self._by_gpu, gpu: frozenset(pids)}

    def clear(self) -> None:
        """Forget all owners: the driver can no longer tell."""
        self._by_gpu = {}

    def pids(self) -> frozenset[int]:
        """All owners of all GPUs."""
        return frozenset().union(*self._by_gpu.values())
