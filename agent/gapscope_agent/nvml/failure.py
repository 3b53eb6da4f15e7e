"""Why a driver call gave no answer, in words; and which answers mean that the driver itself is gone.

Codes are nvmlReturn_t of nvml.h.
"""

from __future__ import annotations

from typing import Any, NamedTuple

SUCCESS = 0
UNINITIALIZED = 1
NOT_SUPPORTED = 3
NO_PERMISSION = 4
NOT_FOUND = 6
DRIVER_NOT_LOADED = 9
TIMEOUT = 10
LIBRARY_NOT_FOUND = 12
FUNCTION_NOT_FOUND = 13
GPU_IS_LOST = 15
RESET_REQUIRED = 16
OPERATING_SYSTEM = 17
LIBRARY_VERSION_MISMATCH = 18
NO_DATA = 21
GPU_NOT_FOUND = 28

_REASONS = {
    UNINITIALIZED: "the driver's library is not initialized",
    NOT_SUPPORTED: "this GPU or its mode does not support it",
    NO_PERMISSION: "the driver refuses it to this user",
    NOT_FOUND: "the driver has no such entry",
    DRIVER_NOT_LOADED: "the NVIDIA kernel driver is not loaded",
    TIMEOUT: "the driver timed out",
    LIBRARY_NOT_FOUND: "no NVIDIA driver is installed (its library libnvidia-ml.so.1 was not found)",
    FUNCTION_NOT_FOUND: "the installed driver is too old for it",
    GPU_IS_LOST: "the GPU is lost (it fell off the bus)",
    RESET_REQUIRED: "the GPU needs a reset",
    OPERATING_SYSTEM: "the operating system refuses the driver's device files",
    LIBRARY_VERSION_MISMATCH: "the driver was replaced while its old kernel module is loaded; reboot or reload it",
    NO_DATA: "the driver has no data",
    GPU_NOT_FOUND: "the GPU is gone",
}

LOST = frozenset(
    {UNINITIALIZED, DRIVER_NOT_LOADED, GPU_IS_LOST, RESET_REQUIRED, LIBRARY_VERSION_MISMATCH, GPU_NOT_FOUND}
)
"""After these, nothing that was opened before can be trusted: open the driver anew."""


class Failure(NamedTuple):
    """A failed call: its code and the reason as it stands beside a missing value."""

    code: int
    reason: str


def describe(error: Any) -> Failure:
    """The failure behind an NVMLError."""
    code = int(getattr(error, "value", -1))
    return Failure(code, _REASONS.get(code) or f"the driver answered: {error}")
