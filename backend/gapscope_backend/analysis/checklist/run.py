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
from gapscope_backend.analysis.language import Text
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


_COUNTED = (
    (FAIL, Text("{count} to fix")),
    (WARN, Text("{count} to look at")),
    (PASS, Text("{count} good")),
    (NOT_MEASURABLE, Text("{count} not measurable")),
)


def _sentence(facts: Facts, lines: tuple[Line, ...]) -> Text:
    counts = [(text, sum(line.status == status for line in lines)) for status, text in _COUNTED]
    told = tuple(text.of(count=count) for text, count in counts if count)
    window = facts.window
    said = Text("{host}, {seconds:.0f} s: {told:, }.", host=window.host, seconds=window.seconds, told=told)
    if any(gpu.verdict not in UNLOADED for gpu in facts.verdict.gpus):
        return said
    return Text("{said} No GPU was asked for anything: check again under load.", said=said)


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
