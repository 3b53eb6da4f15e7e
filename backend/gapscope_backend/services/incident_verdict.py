"""What an incident says: cause, sentence, severity and evidence, from verdicts over its own span.

An incident is diagnosed whole while it is short. Of a longer one, finished stretches are settled into GPU-seconds by
cause and only the rest is diagnosed again, so that an incident of a day costs no more than one of minutes.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

import msgspec

from gapscope_backend.analysis.causes import BY_ID
from gapscope_backend.analysis.causes.cause import FAULT
from gapscope_backend.analysis.focus import fault_row, focus
from gapscope_backend.analysis.gaps import longest
from gapscope_backend.analysis.language import Text, as_message, from_message
from gapscope_backend.analysis.sentence import tell
from gapscope_backend.analysis.verdict import LedgerRow, Verdict
from gapscope_backend.services.watch import DROP
from gapscope_backend.store.incidents import OPEN
from gapscope_backend.store.models import Incident

SEGMENT_NS = 600_000_000_000
TOP_ROWS = 5
MAX_GAPS = 100
MAX_SPANS = 10
MAJOR_GPU_SECONDS = 300.0
CRITICAL_GPU_SECONDS = 3600.0

Diagnose = Callable[[int, int], Awaitable[Verdict]]


def severity(lost_gpu_seconds: float) -> str:
    """``minor``, ``major`` from five GPU-minutes, ``critical`` from one GPU-hour."""
    if lost_gpu_seconds >= CRITICAL_GPU_SECONDS:
        return "critical"
    return "major" if lost_gpu_seconds >= MAJOR_GPU_SECONDS else "minor"


async def judge(incident: Incident, diagnose: Diagnose) -> None:
    """Diagnose an incident over its span and write down what it says; changes ``incident``."""
    while incident.end_ns - incident.settled_until_ns >= 1.5 * SEGMENT_NS:
        until_ns = incident.settled_until_ns + SEGMENT_NS
        part = focus(await diagnose(incident.settled_until_ns, until_ns), incident.gpus)
        incident.settled = _sum(incident.settled, part.ledger)
        incident.settled_until_ns = until_ns
    verdict = focus(await diagnose(incident.settled_until_ns, incident.end_ns), incident.gpus)
    _write(incident, verdict, _with_settled(incident, verdict))


def sentence_of(incident: Incident) -> Text:
    """The sentence of an incident, to be said in any language: its verdict holds it as a message."""
    if not incident.verdict:
        return Text(incident.sentence)
    return msgspec.json.decode(incident.verdict, type=_Told, dec_hook=from_message).sentence


class _Told(msgspec.Struct):
    sentence: Text


def _sum(settled: dict[str, Any], rows: tuple[LedgerRow, ...]) -> dict[str, Any]:
    out = dict(settled)
    for row in rows:
        out[row.cause] = out.get(row.cause, 0.0) + row.gpu_seconds
    return out


def _with_settled(incident: Incident, verdict: Verdict) -> list[LedgerRow]:
    """The ledger over the whole incident: evidence is that of the newest part."""
    newest = {row.cause: row for row in verdict.ledger}
    seconds = _sum(incident.settled, verdict.ledger)
    total = sum(seconds.values())
    rows = []
    for cause, spent in seconds.items():
        known = BY_ID[cause]
        plain = LedgerRow(cause, known.title, known.row_class, 0.0, 0.0, advice=known.advice, priority=known.priority)
        rows.append(replace(newest.get(cause, plain), gpu_seconds=spent, share=spent / total if total else 0.0))
    return sorted(rows, key=lambda row: -row.gpu_seconds)


def _write(incident: Incident, verdict: Verdict, rows: list[LedgerRow]) -> None:
    row = fault_row(rows, always=True) or next((row for row in rows if row.cause == incident.cause), None)
    if row is not None:
        incident.cause, incident.row_class, incident.confidence = row.cause, row.row_class, row.confidence
    incident.lost_gpu_seconds = _lost(incident, rows)
    incident.severity = severity(incident.lost_gpu_seconds)
    sentence = _sentence(incident, verdict, row)
    incident.sentence = str(sentence)
    incident.ledger = [_slim(row) for row in rows[:TOP_ROWS]]
    incident.spans = _spans(row, verdict)
    gpus = tuple(replace(gpu, gaps=longest(gpu.gaps, MAX_GAPS)) for gpu in verdict.gpus)
    incident.verdict = msgspec.json.encode(replace(verdict, gpus=gpus, sentence=sentence), enc_hook=as_message)


def _lost(incident: Incident, rows: list[LedgerRow]) -> float:
    """A drop loses what all faults took meanwhile; a fault that only costs steadily loses its own part."""
    dropped = any(episode["kind"] == DROP for episode in incident.episodes)
    return sum(row.gpu_seconds for row in rows if row.row_class == FAULT and (dropped or row.cause == incident.cause))


def _sentence(incident: Incident, verdict: Verdict, row: LedgerRow | None) -> Text:
    numbers = sorted(gpu.index for gpu in verdict.gpus)
    one = len(numbers) == 1
    name = Text("GPU {index}", index=numbers[0]) if one else Text("GPUs {indexes:, }", indexes=[*map(str, numbers)])
    seconds = (incident.end_ns - incident.start_ns) / 1e9
    length = (
        Text("{amount:.0f} s", amount=seconds) if seconds < 120 else Text("{amount:.0f} minutes", amount=seconds / 60)
    )
    return tell(incident.cause, name, Text("the last {time}", time=length) if incident.state == OPEN else length, row)


def _slim(row: LedgerRow) -> dict[str, Any]:
    """A row without its evidence, for lists and messages."""
    return {
        "cause": row.cause,
        "title": str(row.title),
        "row_class": row.row_class,
        "gpu_seconds": row.gpu_seconds,
        "share": row.share,
        "confidence": row.confidence,
        "hotspot": msgspec.to_builtins(row.hotspots[0]) if row.hotspots else None,
    }


def _spans(row: LedgerRow | None, verdict: Verdict) -> list[dict[str, Any]]:
    """Where to look: the stretches that the cause's evidence names, else the longest gaps."""
    told = [(span, fact.text) for fact in row.evidence_for for span in fact.spans] if row else []
    if not told:
        gaps = longest(tuple(gap for gpu in verdict.gpus for gap in gpu.gaps), MAX_SPANS)
        told = [(gap, Text("idle")) for gap in gaps]
    return [
        {"start_ns": span.start_ns, "end_ns": span.end_ns, "text": text.message()} for span, text in told[:MAX_SPANS]
    ]
