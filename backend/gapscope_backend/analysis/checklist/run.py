"""``run_checklist``: from a window to the checklist. Pure."""

from __future__ import annotations

from gapscope_backend.analysis.checklist.beyond import read_beyond
from gapscope_backend.analysis.checklist.check import Check
from gapscope_backend.analysis.checklist.checks import (
    batching,
    clocks,
    cpu,
    dataloader,
    evenness,
    memory,
    numa,
    other_faults,
    pcie,
    precision,
    preprocessing,
    programs,
    subsecond,
    synchronisation,
)
from gapscope_backend.analysis.checklist.facts import Facts, read_facts
from gapscope_backend.analysis.checklist.model import FAIL, NOT_MEASURABLE, PASS, WARN, Checklist, Line
from gapscope_backend.analysis.window import Window

CHECKS: tuple[Check, ...] = (
    preprocessing.CHECK,
    dataloader.CHECK,
    batching.CHECK,
    precision.CHECK,
    synchronisation.CHECK,
    subsecond.CHECK,
    evenness.CHECK,
    pcie.CHECK,
    numa.CHECK,
    clocks.CHECK,
    memory.CHECK,
    cpu.CHECK,
    other_faults.CHECK,
    programs.CHECK,
)
"""In the order in which people look: the CPU's side, how work arrives, the chip, the host."""

UNLOADED = ("no_work", "unallocated", "not_measured")


def _status(lines: tuple[Line, ...]) -> str:
    return next((status for status in (FAIL, WARN) if any(line.status == status for line in lines)), PASS)


def _sentence(facts: Facts, lines: tuple[Line, ...]) -> str:
    counts = {status: sum(line.status == status for line in lines) for status in (FAIL, WARN, PASS, NOT_MEASURABLE)}
    told = ", ".join(
        f"{count} {word}"
        for count, word in (
            (counts[FAIL], "to fix"),
            (counts[WARN], "to look at"),
            (counts[PASS], "good"),
            (counts[NOT_MEASURABLE], "not measurable"),
        )
        if count
    )
    asked = any(gpu.verdict not in UNLOADED for gpu in facts.verdict.gpus)
    load = "" if asked else " No GPU was asked for anything: check again under load."
    return f"{facts.window.host}, {facts.window.seconds:.0f} s: {told}.{load}"


def run_checklist(window: Window) -> Checklist:
    """Every check on ``window``. Never raises on missing data: lines are then not measurable."""
    facts = read_facts(window)
    lines = tuple(check.rule(facts) for check in CHECKS)
    return Checklist(
        host=window.host,
        start_ns=window.start_ns,
        end_ns=window.end_ns,
        status=_status(lines),
        sentence=_sentence(facts, lines),
        lines=lines,
        beyond=read_beyond(facts),
        notes=facts.verdict.notes,
    )
