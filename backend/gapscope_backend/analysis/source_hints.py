"""Hints from the text of a source line: calls of well-known interfaces that run below Python and so have no frame."""

from __future__ import annotations

import re

from gapscope_backend.analysis.activity import Activity

_ON_CPU: tuple[tuple[re.Pattern[str], Activity], ...] = (
    (re.compile(r"\.empty_cache\(|\.memory\.caching_allocator|cuda(Malloc|Free)\b"), Activity.ALLOCATOR),
    (re.compile(r"\btorch\.save\(|\bpickle\.dump\(|\bnp\.savez?\(|\bsave_file\("), Activity.CHECKPOINT),
    (re.compile(r"\.item\(\)|\.tolist\(\)|\bnonzero\(|\.cpu\(\)\.numpy\(|\bmasked_select\("), Activity.SYNC),
    (re.compile(r"\.copy_\(|\.cuda\(|\.cpu\(\)|\.to\(|\.pin_memory\(|\bdevice_put\(|\bdevice_get\("), Activity.COPY),
    (re.compile(r"\bsynchronize\(|\bblock_until_ready\("), Activity.DEVICE_WAIT),
    (re.compile(r"\b(np|numpy|cv2|pd|pandas|scipy|sklearn|Image|json|re|random)\.[a-z_]"), Activity.CPU_WORK),
    (re.compile(r"\b(torch|F|jnp|cp|cupy)\.[a-z_]"), Activity.LAUNCH),
)
_OFF_CPU: tuple[tuple[re.Pattern[str], Activity], ...] = (
    (re.compile(r"\.accept\(|\bselect\(|\.poll\("), Activity.QUEUE_WAIT),
    (re.compile(r"\.recv(_into|from|msg)?\(|\.readinto\(|\.read\(|\.readline\(|\burlopen\("), Activity.IO_WAIT),
    (re.compile(r"\bos\.(read|pread|fsync)\(|\bopen\(|\.fromfile\(|\b(np|torch)\.load\("), Activity.IO_WAIT),
    (re.compile(r"\bsleep\(|\.get\(|\.wait\(|\.acquire\(|\.join\(\)"), Activity.QUEUE_WAIT),
)


def _first(text: str | None, hints: tuple[tuple[re.Pattern[str], Activity], ...]) -> Activity | None:
    return next((activity for pattern, activity in hints if pattern.search(text)), None) if text else None


def on_cpu_hint(source: str | None) -> Activity | None:
    """What a thread on the CPU is at, by the line it stands on; None where the line does not tell."""
    return _first(source, _ON_CPU)


def off_cpu_hint(source: str | None) -> Activity | None:
    """What a thread off the CPU waits for, by the line it stands on; None where the line does not tell."""
    return _first(source, _OFF_CPU)
