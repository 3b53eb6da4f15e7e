"""Xid errors in words: what the commonest of NVIDIA's catalogue mean."""

from __future__ import annotations

MEANINGS: dict[int, str] = {
    13: "graphics engine exception",
    31: "memory page fault",
    43: "the GPU stopped processing a program's work",
    45: "a program's work was cleaned up",
    48: "double-bit memory error",
    61: "the GPU's microcontroller halted",
    62: "the GPU's microcontroller halted",
    63: "a memory row was remapped",
    64: "a memory row could not be remapped",
    74: "NVLink error",
    79: "the GPU has fallen off the bus",
    92: "many single-bit memory errors",
    94: "memory error, contained",
    95: "memory error, not contained",
    119: "the GPU's system processor does not answer",
    120: "the GPU's system processor failed",
}


def xid_text(code: int) -> str:
    """As an event tells it."""
    meaning = MEANINGS.get(code)
    return f"Xid {code}: {meaning}" if meaning else f"Xid {code}"
