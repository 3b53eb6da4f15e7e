"""Recordings of real GPUs through the real watch and evaluator, with the rules that are on by default.

A case is played some times over, so that it lasts longer than the rules' times; what it is about is known.
"""

from __future__ import annotations

import pytest
from sqlalchemy import select

from gapscope_agent.recording.read import open_recording
from gapscope_agent.wire import Batch, encode
from gapscope_backend.alerts.files import default_specs
from gapscope_backend.alerts.message import from_plain
from gapscope_backend.services.alert_rules import sync_rules
from gapscope_backend.services.alerting import Alerting
from gapscope_backend.services.ingest import Ingest
from gapscope_backend.store.alert_models import Alert, Channel, Delivery
from gapscope_backend.store.database import Database
from tests.alerts.stage import ServerClock
from tests.backend.batches import SECOND
from tests.incidents.watching import CASES, DEMO, Watching, recorded_batches

LASTS_SECONDS = 110
needs_cases = [
    pytest.mark.cases,
    pytest.mark.skipif(not CASES.is_dir(), reason=f"no recorded cases at {CASES}"),
    pytest.mark.timeout(600),
]
FAULTS = {
    "image-service-pil": {"cpu_preprocess"},
    "train-no-workers": {"dataloader_starved"},
    "copy-pageable": {"h2d_copy"},
    "remote-reads": {"io_wait"},
}
NONE = ["gemm-bf16", "image-service-cuda-graph", "decode-matrix-vector", "no-traffic"]


def played(name: str) -> list[Batch]:
    """Copies of a case, one after another."""
    origin = open_recording(CASES / name).origin
    assert origin.end_ns is not None
    length_ns = origin.end_ns - origin.start_ns
    copies = range(-(-LASTS_SECONDS * SECOND // length_ns))
    return [batch for copy in copies for batch in recorded_batches(CASES / name, "node-1", copy * length_ns)]


async def told(database: Database, batches: list[Batch]) -> tuple[list[Alert], list[Delivery]]:
    """What the default rules raise over batches that arrive in time."""
    clock = ServerClock(batches[0].start_ns)
    watch = Watching(database, clock)
    alerting = Alerting(database, clock, clock.monotonic, "https://gapscope.example")
    await sync_rules(database, default_specs(), clock())
    async with database.write() as session:
        session.add(Channel(id="ops", kind="webhook", name="", settings={}, secrets=[], enabled=True, origin="api",
                            revision=1, updated_ns=clock()))  # fmt: skip
    for batch in batches:
        while clock() < batch.end_ns + SECOND // 2:
            clock.advance(1)
            await alerting.tick()
        await Ingest(database).take(encode(batch), "identity", "*", clock())
        await watch.rolling.tick()
        await alerting.tick()
    for _ in range(5):
        clock.advance(1)
        await watch.rolling.tick()
        await alerting.tick()
    async with database.read() as session:
        alerts = list(await session.scalars(select(Alert).where(Alert.firing_ns.is_not(None))))
        return alerts, list(await session.scalars(select(Delivery).order_by(Delivery.created_ns)))


@pytest.mark.parametrize("name", [pytest.param(name, marks=needs_cases) for name in FAULTS])
async def test_a_waiting_gpu_is_told_with_its_cause(database: Database, name: str) -> None:
    alerts, deliveries = await told(database, played(name))
    assert {alert.rule_id for alert in alerts} == {"gpu-drop"}
    assert {alert.cause for alert in alerts} <= FAULTS[name]
    message = from_plain(deliveries[0].message)
    assert message.state == "firing"
    assert message.cause in FAULTS[name]
    assert message.ledger[0].cause in FAULTS[name]
    assert message.sparkline is not None
    assert message.link.startswith("https://gapscope.example/incident/")
    assert "GPU 0" in message.sentence


@pytest.mark.parametrize("name", [pytest.param(name, marks=needs_cases) for name in NONE])
async def test_a_healthy_or_unused_gpu_is_not_told(database: Database, name: str) -> None:
    alerts, deliveries = await told(database, played(name))
    assert alerts == []
    assert deliveries == []


async def test_a_drop_that_recovers_before_for_is_not_told(database: Database) -> None:
    """The recording of the package drops for 21 s; the default rule wants 30."""
    alerts, _ = await told(database, recorded_batches(DEMO))
    assert alerts == []
