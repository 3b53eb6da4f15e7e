"""Spans of hosts side by side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from gapscope_backend.analysis.compare import Comparison, Subject, compare_subjects, read_subject
from gapscope_backend.errors import MalformedError
from gapscope_backend.services.contrast import parse_span_text
from gapscope_backend.services.diagnosis import Diagnosis
from gapscope_backend.services.hosts import find_host
from gapscope_backend.store.database import Database


@dataclass(frozen=True)
class HostSpan:
    """One of the things to compare, and how the answer names it."""

    label: str
    host: str
    start_ns: int
    end_ns: int


def parse_host_span(text: str, now_ns: int, where: str) -> HostSpan:
    """``HOST@FROM..TO``."""
    host, at, span = text.rpartition("@")
    if not (at and host):
        raise MalformedError(f"{text[:80]!r} names no host and span; write HOST@FROM..TO", where)
    parsed = parse_span_text(span, now_ns, where)
    return HostSpan(text, host, parsed.start_ns, parsed.end_ns)


async def compare_hosts(database: Database, diagnosis: Diagnosis, spans: Sequence[HostSpan]) -> Comparison:
    """Compare the spans in their order; one window at a time is held in memory."""
    subjects: list[Subject] = []
    for span in spans:
        host = await find_host(database, span.host)
        subjects.append(await diagnosis.apply(host, span.start_ns, span.end_ns, partial(read_subject, span.label)))
    return compare_subjects(subjects)
