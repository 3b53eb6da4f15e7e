"""Recordings of real GPUs, arriving batch by batch: who gets an incident, with which cause, from when to when."""

from __future__ import annotations

import msgspec
import pytest

from gapscope_agent.recording.read import open_recording
from gapscope_backend.analysis.language import from_message
from gapscope_backend.analysis.verdict import Verdict
from tests.backend.batches import SECOND
from tests.incidents.watching import CASES, DEMO, Watching, recorded_batches

needs_cases = [
    pytest.mark.cases,
    pytest.mark.skipif(not CASES.is_dir(), reason=f"no recorded cases at {CASES}"),
]

FAULTS = {
    "image-service-pil": {"cpu_preprocess"},
    "copy-pageable": {"h2d_copy"},
    "train-no-workers": {"dataloader_starved"},
}
NO_FAULTS = ["gemm-bf16", "image-service-cuda-graph", "decode-matrix-vector", "no-traffic", "bursts"]


@pytest.mark.parametrize("name", [pytest.param(name, marks=needs_cases) for name in FAULTS])
async def test_a_waiting_gpu_opens_one_incident(watching: Watching, name: str) -> None:
    await watching.deliver(recorded_batches(CASES / name))
    (incident,) = await watching.incidents()
    assert incident.cause in FAULTS[name]
    assert (incident.state, incident.row_class, incident.severity) == ("open", "fault", "minor")
    seconds = (incident.end_ns - incident.start_ns) / 1e9
    assert seconds > 15
    assert incident.lost_gpu_seconds == pytest.approx(seconds, rel=0.15)
    assert incident.sentence.startswith("GPU 0 ")
    assert incident.spans
    assert incident.ledger[0]["cause"] == incident.cause


@pytest.mark.parametrize("name", [pytest.param(name, marks=needs_cases) for name in NO_FAULTS])
async def test_a_healthy_or_unused_gpu_opens_none(watching: Watching, name: str) -> None:
    await watching.deliver(recorded_batches(CASES / name))
    assert await watching.incidents() == []


async def test_the_demo_opens_one_incident_around_the_photos(watching: Watching) -> None:
    await watching.deliver(recorded_batches(DEMO))
    (incident,) = await watching.incidents()
    start_ns = open_recording(DEMO).origin.start_ns
    began, ended = (incident.start_ns - start_ns) / SECOND, (incident.end_ns - start_ns) / SECOND
    assert began == pytest.approx(20, abs=1)
    assert ended == pytest.approx(41.3, abs=1)
    assert (incident.state, incident.end_reason, incident.cause) == ("closed", "recovered", "cpu_preprocess")
    assert incident.lost_gpu_seconds == pytest.approx(ended - began, abs=1)
    assert "PIL" in incident.sentence
    verdict = msgspec.json.decode(incident.verdict, type=Verdict, dec_hook=from_message)
    assert (verdict.start_ns, verdict.end_ns) == (incident.start_ns, incident.end_ns)
    assert verdict.ledger[0].hotspots
    for span in incident.spans:
        assert incident.start_ns <= span["start_ns"] < span["end_ns"] <= incident.end_ns
