"""Types of the web API: the requests that they validate, the answers that they shape, and the OpenAPI made of them.

Conventions: scalar times are ISO 8601 UTC strings with a ``Z``; times in arrays are ``time_ms``, milliseconds since
the epoch as numbers. A missing value is null, never 0. A verdict is
``gapscope_backend.analysis.verdict.Verdict`` as JSON.
"""

from __future__ import annotations

import msgspec

from gapscope_backend.analysis.language import Text


class Problem(msgspec.Struct):
    """Every error: what was wrong, where, and what to do."""

    error: str
    detail: str
    where: str = ""


class LoginRequest(msgspec.Struct, forbid_unknown_fields=True):
    """The one-time token of the address that ``gapscope up`` printed."""

    token: str


class SessionInfo(msgspec.Struct):
    """Who is logged in."""

    user: str
    expires: str


class Health(msgspec.Struct):
    """Public: is the server there, which version, does it store."""

    status: str
    version: str
    database: str
    seconds_since_last_batch: float | None
    hosts: int
    read_only: bool = False


class MetricInfo(msgspec.Struct):
    """One entry of the catalogue."""

    name: str
    entity: str
    unit: str
    kind: str
    period_seconds: float
    help: str
    aliases: list[str]


class CauseInfo(msgspec.Struct):
    """One cause of the ledger."""

    id: str
    title: Text
    row_class: str
    advice: Text
    priority: str


class Catalog(msgspec.Struct):
    """Series and causes, as documented."""

    metrics: list[MetricInfo]
    causes: list[CauseInfo]


class DeviceInfo(msgspec.Struct):
    """A GPU of a host; ``entity`` is its key in series."""

    entity: str
    index: int
    name: str
    uuid: str | None
    memory_total_bytes: int | None
    power_limit_watts: float | None


class FleetGpu(msgspec.Struct):
    """A GPU on the fleet page: newest figures, and the last minute in 60 steps of a second (null: no data)."""

    entity: str
    index: int
    name: str
    graphics_active_ratio: float | None
    utilization_ratio: float | None
    power_watts: float | None
    memory_used_bytes: int | None
    memory_total_bytes: int | None
    active_last_minute: list[float | None]


class HostSummary(msgspec.Struct):
    """A host on the fleet page. ``state`` is live (seen < 15 s ago), stale, or retired (not seen for a day)."""

    host: str
    state: str
    recorded: bool
    last_seen: str
    seconds_since_last_seen: float
    logical_cpus: int | None
    cpu_busy_cores: float | None
    gpus: list[FleetGpu]
    verdict: str
    sentence: Text
    lost_gpu_seconds: float
    open_incidents: int = 0


class ProcessInfo(msgspec.Struct):
    """A process of the host's last minutes. ``owner_of`` lists entity keys of GPUs that it holds."""

    entity: str
    pid: int
    parent_pid: int | None
    command: str
    user: str | None
    owner_of: list[str]
    first_seen: str
    last_seen: str


class EventInfo(msgspec.Struct):
    """Something that happened on the host."""

    time: str
    kind: str
    text: str
    entity: str


class HostDetail(msgspec.Struct):
    """Everything the timeline needs before it asks for series. ``first_data``/``last_data`` bound what is stored."""

    host: str
    state: str
    recorded: bool
    first_data: str
    last_data: str
    logical_cpus: int | None
    agent_version: str
    labels: dict[str, str]
    devices: list[DeviceInfo]
    cores: list[str]
    processes: list[ProcessInfo]
    events: list[EventInfo]
    has_stacks: bool


class MissingSpan(msgspec.Struct):
    """A stretch without values and why."""

    from_ms: float
    to_ms: float
    reason: str


class SeriesData(msgspec.Struct):
    """One series in buckets, or raw (then min, mean and max are the same array and every sample is a bucket).

    ``idle_share`` (ratio series only): share of a bucket's samples below the gap threshold. Buckets without a
    sample hold null.
    """

    entity: str
    metric: str
    unit: str
    time_ms: list[float]
    mean: list[float | None]
    min: list[float | None]
    max: list[float | None]
    idle_share: list[float | None] | None
    missing: list[MissingSpan]


class SeriesAnswer(msgspec.Struct):
    """Series over one span. ``raw`` tells samples from buckets; bucketed ``time_ms`` is each bucket's start."""

    host: str
    start: str
    end: str
    raw: bool
    bucket_ms: float | None
    series: list[SeriesData]


class LatestAnswer(msgspec.Struct):
    """Newest value of each series: entity to metric to value."""

    host: str
    time: str
    values: dict[str, dict[str, float | None]]


class RibbonFunction(msgspec.Struct):
    """A function named by the ribbon."""

    function: str
    file: str
    line: int


class RibbonBucket(msgspec.Struct):
    """The function most often innermost-in-interest on the GPU-feeding threads; ``function`` indexes the list."""

    time_ms: float
    function: int
    share: float
    samples: int
    on_cpu_share: float | None


class RibbonAnswer(msgspec.Struct):
    """The ribbon of the top stack function; ``reason`` says why it is empty when it is."""

    host: str
    bucket_ms: float
    functions: list[RibbonFunction]
    buckets: list[RibbonBucket]
    reason: Text


class GapInfo(msgspec.Struct):
    """A run of cells with graphics active below the threshold, longest first."""

    entity: str
    from_ms: float
    to_ms: float
    idle_seconds: float


class GapsAnswer(msgspec.Struct):
    """Gaps of one span; ``threshold`` is the ratio below which a cell counts."""

    host: str
    threshold: float
    gaps: list[GapInfo]
    total: int
