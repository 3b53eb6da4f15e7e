"""The one set of tables, for every engine.

Invariants: ``host_id`` comes first in every key of a per-host table, so that the same keys serve SQLite, PostgreSQL
and Citus. Times are int64 nanoseconds since the epoch. Secrets are stored as SHA-256 only: all of them are random
strings of 192 bits or more, for which a slow password hash would add nothing.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import JSON, BigInteger, Double, ForeignKey, Index, Integer, LargeBinary, MetaData, String
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

NAMING = {
    "ix": "ix_%(table_name)s_%(column_0_N_name)s",
    "uq": "uq_%(table_name)s_%(column_0_N_name)s",
    "ck": "ck_%(table_name)s_%(constraint_name)s",
    "fk": "fk_%(table_name)s_%(column_0_N_name)s",
    "pk": "pk_%(table_name)s",
}


class Base(DeclarativeBase):
    """Metadata of all tables; constraints carry fixed names so that migrations can speak of them."""

    metadata = MetaData(naming_convention=NAMING)
    type_annotation_map = {  # noqa: RUF012
        int: BigInteger,
        dict[str, Any]: JSON,
        dict[str, str]: JSON,
        list[str]: JSON,
        list[float]: JSON,
        list[list[int]]: JSON,
        list[dict[str, Any]]: JSON,
    }


class Host(Base):
    """A host that an agent reports for. ``*_seen_ns`` is the server's clock, ``*_data_ns`` the data's own time.

    ``facts_digest`` is that of the entities and their labels in the newest batch; the entity table has them as seen
    until ``facts_until_ns``. Samples before ``raw_from_ns`` are kept as they were taken only where a pin covers them.
    """

    __tablename__ = "host"

    id: Mapped[int] = mapped_column(Integer, primary_key=True)
    name: Mapped[str] = mapped_column(String(255), unique=True)
    recorded: Mapped[bool]
    agent_version: Mapped[str] = mapped_column(String(512))
    labels: Mapped[dict[str, str]]
    accounting: Mapped[dict[str, Any]]
    has_stacks: Mapped[bool]
    first_seen_ns: Mapped[int]
    last_seen_ns: Mapped[int]
    first_data_ns: Mapped[int]
    last_data_ns: Mapped[int]
    facts_digest: Mapped[bytes] = mapped_column(LargeBinary, server_default="")
    facts_until_ns: Mapped[int] = mapped_column(server_default="0")
    raw_from_ns: Mapped[int] = mapped_column(server_default="0")


class Entity(Base):
    """Who a series belongs to: a GPU, a core, a process, ...; ``labels`` are its facts as last told."""

    __tablename__ = "entity"

    host_id: Mapped[int] = mapped_column(ForeignKey("host.id"), primary_key=True)
    key: Mapped[str] = mapped_column(String(512), primary_key=True)
    kind: Mapped[str] = mapped_column(String(16))
    labels: Mapped[dict[str, str]]
    first_seen_ns: Mapped[int]
    last_seen_ns: Mapped[int]

    __table_args__ = (Index(None, "host_id", "kind", "last_seen_ns"),)


class IngestHot(Base):
    """One batch as it was sent. The key makes a retry harmless.

    ``payload`` is the msgpack of the batch under ``encoding`` (``msgpack``, ``msgpack+zlib`` or ``msgpack+gzip``).
    Retention goes by ``received_ns``: a recording shown at its own, old time lives as long as anything else.
    """

    __tablename__ = "ingest_hot"

    host_id: Mapped[int] = mapped_column(ForeignKey("host.id"), primary_key=True)
    run_id: Mapped[str] = mapped_column(String(64), primary_key=True)
    sequence: Mapped[int] = mapped_column(primary_key=True)
    t0_ns: Mapped[int]
    t1_ns: Mapped[int]
    received_ns: Mapped[int]
    encoding: Mapped[str] = mapped_column(String(16))
    payload: Mapped[bytes] = mapped_column(LargeBinary)

    __table_args__ = (Index(None, "host_id", "t0_ns"), Index(None, "received_ns"))


class Event(Base):
    """Something that happened on a host; ``position`` is its place in its batch."""

    __tablename__ = "event"

    host_id: Mapped[int] = mapped_column(ForeignKey("host.id"), primary_key=True)
    run_id: Mapped[str] = mapped_column(String(64), primary_key=True)
    sequence: Mapped[int] = mapped_column(primary_key=True)
    position: Mapped[int] = mapped_column(primary_key=True)
    t_ns: Mapped[int]
    received_ns: Mapped[int]
    kind: Mapped[str] = mapped_column(String(512))
    text: Mapped[str]
    entity: Mapped[str] = mapped_column(String(512))

    __table_args__ = (Index(None, "host_id", "t_ns"), Index(None, "received_ns"))


class HostLatest(Base):
    """Newest value of each series of a host: msgpack of entity to metric to (time, value), one upsert a batch."""

    __tablename__ = "host_latest"

    host_id: Mapped[int] = mapped_column(ForeignKey("host.id"), primary_key=True)
    t_ns: Mapped[int]
    latest: Mapped[bytes] = mapped_column(LargeBinary)


class Token(Base):
    """A token of an agent (``ingest``) or a program that reads (``read``); shown once, stored hashed."""

    __tablename__ = "token"

    id: Mapped[int] = mapped_column(Integer, primary_key=True)
    name: Mapped[str] = mapped_column(String(255))
    kind: Mapped[str] = mapped_column(String(16))
    host_pattern: Mapped[str] = mapped_column(String(255))
    prefix: Mapped[str] = mapped_column(String(16))
    hash: Mapped[str] = mapped_column(String(64), unique=True)
    created_ns: Mapped[int]
    last_used_ns: Mapped[int | None]
    revoked_ns: Mapped[int | None]


class LoginSession(Base):
    """A logged-in browser; the key is the hash of its cookie."""

    __tablename__ = "login_session"

    hash: Mapped[str] = mapped_column(String(64), primary_key=True)
    user: Mapped[str] = mapped_column(String(255))
    created_ns: Mapped[int]
    expires_ns: Mapped[int]


class LoginToken(Base):
    """A one-time login, good until ``expires_ns`` or its first use."""

    __tablename__ = "login_token"

    hash: Mapped[str] = mapped_column(String(64), primary_key=True)
    created_ns: Mapped[int]
    expires_ns: Mapped[int]
    used_ns: Mapped[int | None]


class HostVerdict(Base):
    """The newest rolling verdict on a host: ``verdict`` is its JSON, over the data from ``start_ns`` to ``end_ns``.

    ``active`` is the JSON of each GPU's active ratio in each second of that minute (null: none).
    """

    __tablename__ = "host_verdict"

    host_id: Mapped[int] = mapped_column(ForeignKey("host.id"), primary_key=True)
    start_ns: Mapped[int]
    end_ns: Mapped[int]
    made_ns: Mapped[int]
    verdict: Mapped[bytes] = mapped_column(LargeBinary)
    active: Mapped[bytes] = mapped_column(LargeBinary, server_default="{}")


class HostWatch(Base):
    """What the watch over a host remembers: its detectors' states, good for the data before ``watermark_ns``.

    It is written in the transaction of the incidents that follow from it; an older one is as good, the same data
    leads to the same incidents again.
    """

    __tablename__ = "host_watch"

    host_id: Mapped[int] = mapped_column(ForeignKey("host.id"), primary_key=True)
    watermark_ns: Mapped[int]
    saved_ns: Mapped[int]
    state: Mapped[dict[str, Any]]


class Incident(Base):
    """A time in which GPUs of a host were lost to one cause.

    ``id`` is made of the host, the GPU and the first moment, so that the same finding is the same incident. ``end_ns``
    is how far it reached so far; ``state`` is ``open`` or ``closed``. ``settled_until_ns`` and ``settled`` (cause to
    GPU-seconds) hold the part of a long incident that needs no new diagnosis. ``verdict`` is the JSON of the verdict.
    ``opened_ns``, ``updated_ns``, ``closed_ns`` and what people did are by the server's clock, the rest is data time.
    ``assignments`` is every change of who looks after it, the newest last; an empty name is nobody.
    """

    __tablename__ = "incident"

    host_id: Mapped[int] = mapped_column(ForeignKey("host.id"), primary_key=True)
    id: Mapped[str] = mapped_column(String(32), primary_key=True)
    state: Mapped[str] = mapped_column(String(16))
    end_reason: Mapped[str] = mapped_column(String(32))
    gpus: Mapped[list[str]]
    cause: Mapped[str] = mapped_column(String(64))
    row_class: Mapped[str] = mapped_column(String(16))
    severity: Mapped[str] = mapped_column(String(16))
    sentence: Mapped[str]
    confidence: Mapped[float] = mapped_column(Double)
    start_ns: Mapped[int]
    end_ns: Mapped[int]
    lost_gpu_seconds: Mapped[float] = mapped_column(Double)
    settled_until_ns: Mapped[int]
    settled: Mapped[dict[str, Any]]
    episodes: Mapped[list[dict[str, Any]]]
    ledger: Mapped[list[dict[str, Any]]]
    spans: Mapped[list[dict[str, Any]]]
    verdict: Mapped[bytes] = mapped_column(LargeBinary)
    opened_ns: Mapped[int]
    updated_ns: Mapped[int]
    closed_ns: Mapped[int | None]
    acknowledged_ns: Mapped[int | None]
    acknowledged_by: Mapped[str] = mapped_column(String(255))
    comments: Mapped[list[dict[str, Any]]]
    assignments: Mapped[list[dict[str, Any]]] = mapped_column(server_default="[]")

    __table_args__ = (Index(None, "id"), Index(None, "host_id", "start_ns"), Index(None, "state", "host_id"))


class Pin(Base):
    """Raw data and stacks of a host that retention leaves alone until ``until_ns`` (None: as long as the pin is)."""

    __tablename__ = "pin"

    host_id: Mapped[int] = mapped_column(ForeignKey("host.id"), primary_key=True)
    id: Mapped[str] = mapped_column(String(32), primary_key=True)
    start_ns: Mapped[int]
    end_ns: Mapped[int]
    until_ns: Mapped[int | None]


class Work(Base):
    """A job of a kind, for one host or (``host_id`` 0) for all of them, which one worker at a time may do.

    It is due at ``due_ns`` and belongs to ``claimed_by`` until ``claimed_until_ns``; after that anyone may take it: its
    worker has died. ``failures`` counts the failed runs in a row, ``done_ns`` is the end of the last good one.
    """

    __tablename__ = "work"

    host_id: Mapped[int] = mapped_column(Integer, primary_key=True)
    kind: Mapped[str] = mapped_column(String(32), primary_key=True)
    due_ns: Mapped[int]
    claimed_by: Mapped[str] = mapped_column(String(64))
    claimed_until_ns: Mapped[int]
    failures: Mapped[int]
    done_ns: Mapped[int | None]

    __table_args__ = (Index(None, "due_ns"),)


class MetricSet(Base):
    """Metrics that chunks name by number, with the quanta in which their integers count; the id follows from both."""

    __tablename__ = "metric_set"

    id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    names: Mapped[list[str]]
    quanta: Mapped[list[float]]


class Chunk(Base):
    """Series of a group of entities over [t0, t1): samples (``tier`` 0), or buckets of ``tier`` seconds.

    A sample that was acknowledged is in a hot batch or in one chunk of tier 0, never in both, never in neither; once it
    is in a chunk it is counted in one chunk of each tier. Chunks of a tier may overlap: their buckets add up.
    ``received_ns`` is that of the newest batch inside, ``revision`` counts the rewritings.
    """

    __tablename__ = "chunk"

    host_id: Mapped[int] = mapped_column(ForeignKey("host.id"), primary_key=True)
    tier: Mapped[int] = mapped_column(Integer, primary_key=True)
    t0_ns: Mapped[int] = mapped_column(primary_key=True)
    t1_ns: Mapped[int] = mapped_column(primary_key=True)
    group_id: Mapped[str] = mapped_column(String(512), primary_key=True)
    received_ns: Mapped[int]
    revision: Mapped[int]
    samples: Mapped[int]
    codec: Mapped[str] = mapped_column(String(16))
    metric_set_id: Mapped[int] = mapped_column(ForeignKey("metric_set.id"))
    data: Mapped[bytes] = mapped_column(LargeBinary)

    __table_args__ = (Index(None, "tier", "received_ns"),)


class IngestRun(Base):
    """Which batches of a run are in chunks: ranges [first, last] of their numbers, so that a late retry is harmless."""

    __tablename__ = "ingest_run"

    host_id: Mapped[int] = mapped_column(ForeignKey("host.id"), primary_key=True)
    run_id: Mapped[str] = mapped_column(String(64), primary_key=True)
    ranges: Mapped[list[list[int]]]
    received_ns: Mapped[int]

    __table_args__ = (Index(None, "received_ns"),)


class Stack(Base):
    """A Python stack, kept once a host: deflated msgpack of its frames, innermost first. The id follows from them.

    ``seen_ns`` is when a sample of it was last received.
    """

    __tablename__ = "stack"

    host_id: Mapped[int] = mapped_column(ForeignKey("host.id"), primary_key=True)
    id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    frames: Mapped[bytes] = mapped_column(LargeBinary)
    seen_ns: Mapped[int]

    __table_args__ = (Index(None, "host_id", "seen_ns"),)


class StackChunk(Base):
    """Stack samples of a process over [t0, t1)."""

    __tablename__ = "stack_chunk"

    host_id: Mapped[int] = mapped_column(ForeignKey("host.id"), primary_key=True)
    t0_ns: Mapped[int] = mapped_column(primary_key=True)
    t1_ns: Mapped[int] = mapped_column(primary_key=True)
    process_id: Mapped[int] = mapped_column(primary_key=True)
    received_ns: Mapped[int]
    revision: Mapped[int]
    samples: Mapped[int]
    codec: Mapped[str] = mapped_column(String(16))
    data: Mapped[bytes] = mapped_column(LargeBinary)

    __table_args__ = (Index(None, "received_ns"),)


class DeviceMinute(Base):
    """A GPU over a minute, in plain columns for SQL and dashboards; None where nothing was measured.

    Ratios are 0..1. ``samples`` counts the samples of the active ratio; ``idle_ratio`` is the share of them below 0.1.
    """

    __tablename__ = "device_minute"

    host_id: Mapped[int] = mapped_column(ForeignKey("host.id"), primary_key=True)
    device: Mapped[str] = mapped_column(String(512), primary_key=True)
    minute_ns: Mapped[int] = mapped_column(primary_key=True)
    received_ns: Mapped[int]
    samples: Mapped[int]
    active_mean_ratio: Mapped[float | None] = mapped_column(Double)
    active_min_ratio: Mapped[float | None] = mapped_column(Double)
    idle_ratio: Mapped[float | None] = mapped_column(Double)
    utilization_mean_ratio: Mapped[float | None] = mapped_column(Double)
    sm_active_mean_ratio: Mapped[float | None] = mapped_column(Double)
    tensor_active_mean_ratio: Mapped[float | None] = mapped_column(Double)
    dram_active_mean_ratio: Mapped[float | None] = mapped_column(Double)
    power_mean_watts: Mapped[float | None] = mapped_column(Double)
    power_max_watts: Mapped[float | None] = mapped_column(Double)
    temperature_max_celsius: Mapped[float | None] = mapped_column(Double)
    memory_used_max_bytes: Mapped[float | None] = mapped_column(Double)
    pcie_rx_mean_bytes_per_second: Mapped[float | None] = mapped_column(Double)
    pcie_tx_mean_bytes_per_second: Mapped[float | None] = mapped_column(Double)

    __table_args__ = (Index(None, "minute_ns"), Index(None, "received_ns"))


class Annotation(Base):
    """What a person or a program noted at a time on a host: a deployment, a change of settings."""

    __tablename__ = "annotation"

    host_id: Mapped[int] = mapped_column(ForeignKey("host.id"), primary_key=True)
    id: Mapped[str] = mapped_column(String(32), primary_key=True)
    start_ns: Mapped[int]
    end_ns: Mapped[int]
    kind: Mapped[str] = mapped_column(String(64))
    text: Mapped[str]
    made_ns: Mapped[int]
    made_by: Mapped[str] = mapped_column(String(255))

    __table_args__ = (Index(None, "host_id", "start_ns"),)


class Share(Base):
    """A link to a frozen copy of some time of a host: the bytes of an incident file, in pieces.

    ``hash`` is that of the link's secret, ``id`` names the share among the others. ``incident`` is empty for a span;
    [start, end) is that of the incident, or the span. ``view`` is the query with which the page opens. Without
    ``public`` a login is asked for. A revoked or expired share loses its pieces and stays as a row for a while.
    """

    __tablename__ = "share"

    host_id: Mapped[int] = mapped_column(ForeignKey("host.id"), primary_key=True)
    id: Mapped[str] = mapped_column(String(32), primary_key=True)
    hash: Mapped[str] = mapped_column(String(64))
    incident: Mapped[str] = mapped_column(String(32))
    start_ns: Mapped[int]
    end_ns: Mapped[int]
    view: Mapped[str]
    public: Mapped[bool]
    made_ns: Mapped[int]
    made_by: Mapped[str] = mapped_column(String(255))
    expires_ns: Mapped[int]
    revoked_ns: Mapped[int | None]
    size_bytes: Mapped[int]

    __table_args__ = (Index(None, "hash"), Index(None, "id"), Index(None, "expires_ns"))


class SharePiece(Base):
    """Some of the bytes of a share, by their order."""

    __tablename__ = "share_piece"

    host_id: Mapped[int] = mapped_column(ForeignKey("host.id"), primary_key=True)
    share_id: Mapped[str] = mapped_column(String(32), primary_key=True)
    position: Mapped[int] = mapped_column(Integer, primary_key=True, autoincrement=False)
    data: Mapped[bytes] = mapped_column(LargeBinary)
