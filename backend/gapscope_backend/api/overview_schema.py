"""Types of what is about the whole server: the fleet in a past minute, what opens incidents, settings, agents."""

from __future__ import annotations

import msgspec

from gapscope_backend.analysis.drops import DropSettings
from gapscope_backend.analysis.language import Text
from gapscope_backend.api.queries import DEFAULT_DAY, Lang, Time
from gapscope_backend.services.times import parse_span
from gapscope_backend.services.watch import CostSettings


class FleetQuery(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """A moment, by default the newest minute that is stored."""

    at: Time | None = None
    lang: Lang | None = None


class PastGpu(msgspec.Struct):
    """A GPU in a minute. Null: not measured. ``idle_ratio`` is the share of samples below 0.1."""

    entity: str
    index: int
    name: str
    active_mean_ratio: float | None
    idle_ratio: float | None
    utilization_mean_ratio: float | None
    power_mean_watts: float | None


class PastIncident(msgspec.Struct):
    """An incident that touches the minute."""

    id: str
    cause: str
    title: Text
    row_class: str
    severity: str
    sentence: Text


class PastHostSummary(msgspec.Struct):
    """A host in a minute. ``waiting``: its batches of then are stored, but not summed up yet."""

    host: str
    recorded: bool
    waiting: bool
    gpus: list[PastGpu]
    idle_gpu_seconds: float | None
    incidents: list[PastIncident]


class FleetMinute(msgspec.Struct):
    """The fleet in the minute that starts at ``minute_ms``; null: nothing is stored at all."""

    minute_ms: float | None
    hosts: list[PastHostSummary]


class FleetBounds(msgspec.Struct):
    """Starts of the oldest and of the newest minute that is stored of any GPU; null: none is."""

    oldest_ms: float | None
    newest_ms: float | None


class IncidentRules(msgspec.Struct):
    """What opens, joins, grades and closes incidents. It cannot be changed by settings.

    ``opens_for`` are the classes of causes that open one, ``opens_unexplained`` whether a finding without explanation
    does. Times in seconds.
    """

    drop: DropSettings
    cost: CostSettings
    opens_for: list[str]
    opens_unexplained: bool
    merge_seconds: float
    silent_seconds: float
    silent_recording_seconds: float
    major_gpu_seconds: float
    critical_gpu_seconds: float


class FiredQuery(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """When incidents opened, by the server's clock."""

    start: Time = msgspec.field(default=DEFAULT_DAY, name="from")
    end: Time = msgspec.field(default="now", name="to")
    lang: Lang | None = None

    def span_ns(self, now_ns: int) -> tuple[int, int]:
        """The span in nanoseconds."""
        return parse_span(self.start, self.end, now_ns)


class FiredRow(msgspec.Struct):
    """Incidents of a cause on a host that opened in the span; ``title`` is empty for a cause of another version."""

    host: str
    cause: str
    title: Text
    row_class: str
    count: int
    still_open: int
    lost_gpu_seconds: float


class FiredAnswer(msgspec.Struct):
    """Counts of incidents that opened in the span; ``per_step`` in even steps from its start."""

    from_ms: float
    to_ms: float
    step_ms: float
    per_step: list[int]
    rows: list[FiredRow]


class PinInfo(msgspec.Struct):
    """Samples and stacks that stay for an incident; ``until`` null: as long as it is open."""

    incident: str
    host: str
    cause: str
    title: Text
    row_class: str
    sentence: Text
    from_ms: float
    to_ms: float
    until: str | None


class PinsAnswer(msgspec.Struct):
    """The newest pins, and how many there are."""

    total: int
    pins: list[PinInfo]


class KeptSetting(msgspec.Struct):
    """A retention: the server's setting, its value in hours or days, and the kinds of data that go by it."""

    setting: str
    value: float
    unit: str
    kinds: list[str]


class ServerSettings(msgspec.Struct):
    """What this server was started with."""

    retention: list[KeptSetting]
    gap_threshold_ratio: float
    allowed_hosts: list[str]
    read_only: bool


class AgentInfo(msgspec.Struct):
    """An agent as its newest batch tells: its cost, and what became of every value that it took since its start.

    ``unaccounted`` is what the terms of its ledger leave over: 0, unless values were lost without a word.
    """

    host: str
    state: str
    recorded: bool
    version: str
    same_version: bool
    logical_cpus: int | None
    cpu_cores: float | None
    stacks_cpu_cores: float | None
    resident_bytes: float | None
    sampled: int
    delivered: int
    waiting: int
    dropped: dict[str, int]
    unaccounted: int


class DatabaseInfo(msgspec.Struct):
    """The engine with its version, and what the database takes on disk, null where the engine does not tell."""

    engine: str
    version: str
    size_bytes: int | None


class About(msgspec.Struct):
    """The server and its agents."""

    version: str
    wire_version: int
    database: DatabaseInfo
    agents: list[AgentInfo]
