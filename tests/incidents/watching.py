"""A database under watch without a server: batches go in, ticks follow, incidents are read."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path

from gapscope_agent.accounting import Ledger
from gapscope_agent.batch import BatchBuilder
from gapscope_agent.derive import Deriver
from gapscope_agent.recording.read import open_recording
from gapscope_agent.replay import shift_origin, shift_reading
from gapscope_agent.wire import Batch, encode
from gapscope_backend.analysis.diagnose import diagnose
from gapscope_backend.analysis.verdict import Verdict
from gapscope_backend.analysis.window import Window
from gapscope_backend.services.diagnosis import Diagnosis
from gapscope_backend.services.incidents import Fence, Incidents, no_fence
from gapscope_backend.services.ingest import Ingest
from gapscope_backend.services.rolling import Rolling
from gapscope_backend.store.database import Database
from gapscope_backend.store.incidents import IncidentFilter, list_incidents
from gapscope_backend.store.models import Incident
from tests.backend.batches import SECOND, Clock

ROOT = Path(__file__).parents[2]
CASES = ROOT.parent / "shared" / "cases"
DEMO = ROOT / "backend" / "gapscope_backend" / "demo" / "image-service-demo"
BATCH_NS = 5 * SECOND


@dataclass
class Watching:
    """The rolling diagnosis over a database, driven by hand."""

    database: Database
    clock: Clock
    analyse: Callable[[Window], Verdict] = diagnose
    verdicts: int = 0
    fence: Fence = no_fence
    rolling: Rolling = field(init=False)

    def __post_init__(self) -> None:
        self.restart()

    def restart(self) -> None:
        """A new server on the same database: all that was in memory is gone."""
        diagnosis = Diagnosis(self.database, self._counted)
        incidents = Incidents(self.database, diagnosis, self.clock, self.fence)
        self.rolling = Rolling(self.database, diagnosis, incidents, self.clock, self.clock.monotonic, fence=self.fence)

    def _counted(self, window: Window) -> Verdict:
        self.verdicts += 1
        return self.analyse(window)

    async def store(self, batch: Batch, delay_seconds: float = 0.5) -> None:
        """A batch arrives when it is closed and a little later."""
        self.clock.now_ns = max(self.clock.now_ns, batch.end_ns + int(delay_seconds * SECOND))
        await Ingest(self.database).take(encode(batch), "identity", "*", self.clock())

    async def deliver(self, batches: Iterable[Batch]) -> None:
        """Batches arrive one by one, each followed by a tick."""
        for batch in batches:
            await self.store(batch)
            await self.rolling.tick()

    async def incidents(self) -> list[Incident]:
        """All incidents, oldest first."""
        found = await list_incidents(self.database, IncidentFilter(limit=1000))
        return [incident for incident, _ in reversed(found)]


def recorded_batches(folder: Path, host: str = "", shift_ns: int = 0) -> list[Batch]:
    """The batches that an agent sends while a recording plays, its times moved."""
    recording = open_recording(folder)
    origin = shift_origin(recording.origin, shift_ns)
    deriver = Deriver(origin)
    builder = BatchBuilder(host or folder.name, {}, Ledger(), recorded=True)
    batches: list[Batch] = []
    closes = origin.start_ns + BATCH_NS
    for stored in recording.readings():
        reading = shift_reading(stored, shift_ns)
        if reading.t >= closes:
            batches += builder.close(deriver.drain(), closes)
            closes += BATCH_NS
        deriver.feed(reading)
    return batches + builder.close(deriver.drain(), closes)
