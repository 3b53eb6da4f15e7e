"""The types that travel between agent and backend: durable batches over POST, live frames over a WebSocket.

A batch is one host's columns over about 5 s. Its identity is (host, run_id, sequence): sending it twice stores it
once. Values are integers, ``round(value / quantum)`` with the quantum of the metric's catalogue entry, compressed by
pcodec, all series that share timestamps in one go: a call a series would cost more than the decoding; positions with
no value repeat a neighbour and are named in ``missing`` with a reason. The limits written
into the types are checked by msgspec while it decodes, before a list is allocated.
"""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from msgspec import Meta

WIRE_VERSION = 2
MEDIA_TYPE = "application/vnd.gapscope.batch+msgpack"
MAX_BATCH_BYTES = 8 * 1024 * 1024
MAX_GROUPS = 20_000
MAX_COLUMNS = 200_000
MAX_POINTS_PER_GROUP = 20_000
MAX_VALUES_PER_GROUP = 1_000_000
MAX_VALUES_PER_BATCH = 5_000_000
MAX_STACK_SAMPLES = 200_000
MAX_STACK_DEPTH = 1_000
MAX_SPAN_NS = 600 * 1_000_000_000
MAX_TIME_NS = 1 << 62
MAX_QUANTA = 1 << 53
"""Largest magnitude of a transported integer: beyond it a float64 could not hold it exactly."""
MAX_TEXT = 4096

HOST_PATTERN = r"\A[A-Za-z0-9](?:[A-Za-z0-9._-]{0,251}[A-Za-z0-9])?\Z"
"""Host names: letters, digits, dot, underscore, hyphen; at most 253; starts and ends with a letter or digit."""

HostName = Annotated[str, Meta(pattern=HOST_PATTERN, max_length=253)]
Text = Annotated[str, Meta(max_length=MAX_TEXT)]
Name = Annotated[str, Meta(min_length=1, max_length=512)]
Time = Annotated[int, Meta(ge=0, le=MAX_TIME_NS)]
Id = Annotated[int, Meta(ge=0, le=MAX_QUANTA)]
Labels = Annotated[dict[Name, Text], Meta(max_length=64)]


class MissingRun(msgspec.Struct, array_like=True):
    """``count`` positions from ``start`` have no value, for ``reason``."""

    start: Id
    count: Annotated[int, Meta(ge=1, le=MAX_POINTS_PER_GROUP)]
    reason: Name


class Group(msgspec.Struct):
    """Series that share timestamps: each of ``metrics`` of each of ``entities``, as one matrix.

    ``times``: pcodec int64[count], ns since the epoch, ascending. ``data``: pcodec int64[rows x count], row after row,
    in quanta of the catalogue; row ``entity * len(metrics) + metric``. ``missing``: by row, where it has no value.
    """

    entities: Annotated[list[Name], Meta(min_length=1, max_length=MAX_GROUPS)]
    metrics: Annotated[list[Name], Meta(min_length=1, max_length=1000)]
    count: Annotated[int, Meta(ge=1, le=MAX_POINTS_PER_GROUP)]
    times: bytes
    data: bytes
    missing: Annotated[
        dict[Id, Annotated[list[MissingRun], Meta(max_length=MAX_POINTS_PER_GROUP)]], Meta(max_length=MAX_COLUMNS)
    ] = {}

    @property
    def rows(self) -> int:
        """Series in the group."""
        return len(self.entities) * len(self.metrics)


class Entity(msgspec.Struct):
    """Who a series belongs to: ``host``, ``gpu:<uuid>``, ``core:<n>``, ``process:<pid>``, ``thread:<pid>/<tid>``,
    ``disk:<name>``, ``net:<name>``, ``cgroup:<path>``; labels are its facts as text, numbers in decimal.

    An entity's labels in a later batch are laid over those of an earlier one. Known labels (all optional), by kind:

    - host: ``logical_cpus``, ``kernel``, ``memory_total_bytes``, ``driver_version``
    - gpu: ``index``, ``name``, ``uuid``, ``memory_total_bytes``, ``power_limit_watts``, ``max_sm_clock_hertz``,
      ``max_memory_clock_hertz``, ``pcie_max_generation``, ``pcie_max_width``, ``cpu_affinity`` (a list of CPUs as
      the kernel writes it); ``owners``: pids that hold a context on it during this batch, separated by commas
    - process: ``pid``, ``parent_pid``, ``command``, ``user``, ``start_jiffies``; ``environment``: named variables, as
      ``NAME=VALUE`` with spaces between; ``owner_of``: keys of the GPUs on
      which it has held a context, separated by commas
    - thread: ``pid``, ``tid``, ``name``
    - core: ``index``; disk, net: ``name``; cgroup: ``path``
    """

    key: Name
    kind: Name
    labels: Labels = {}


class WireFrame(msgspec.Struct, array_like=True, frozen=True):
    """A Python frame, interned in its batch."""

    function: Text
    file: Text
    line: Annotated[int, Meta(ge=-1, le=1 << 31)]
    source: Text | None = None


class StackSample(msgspec.Struct, array_like=True):
    """One thread's stack at one moment; ``stack`` indexes ``Batch.stacks``."""

    t: Time
    pid: Id
    tid: Id
    thread: Text | None
    active: bool | None
    owns_gil: bool | None
    stack: Id


class Event(msgspec.Struct):
    """Something that happened: a source's change of state, a process start, a discontinuity."""

    t: Time
    kind: Name
    text: Text
    entity: Name = "host"


class Accounting(msgspec.Struct):
    """Terms of ``sampled = delivered + spooled + buffered + dropped`` (values, since the agent's start).

    ``delivered`` counts what was acknowledged before this batch was closed; ``dropped`` is by reason.
    """

    sampled: Id = 0
    delivered: Id = 0
    spooled: Id = 0
    buffered: Id = 0
    dropped: Annotated[dict[Name, Id], Meta(max_length=64)] = {}


class Batch(msgspec.Struct, kw_only=True):
    """One POST. ``start_ns`` and ``end_ns`` enclose every timestamp inside (half-open)."""

    version: int
    host: HostName
    run_id: Annotated[str, Meta(pattern=r"\A[0-9A-Za-z_-]{8,64}\Z")]
    sequence: Id
    start_ns: Time
    end_ns: Time
    agent_version: Name
    sent_ns: Time
    recorded: bool = False
    labels: Labels = {}
    entities: Annotated[list[Entity], Meta(max_length=MAX_GROUPS)] = []
    groups: Annotated[list[Group], Meta(max_length=MAX_GROUPS)] = []
    frames: Annotated[list[WireFrame], Meta(max_length=MAX_STACK_SAMPLES)] = []
    stacks: Annotated[
        list[Annotated[list[Id], Meta(max_length=MAX_STACK_DEPTH)]], Meta(max_length=MAX_STACK_SAMPLES)
    ] = []
    samples: Annotated[list[StackSample], Meta(max_length=MAX_STACK_SAMPLES)] = []
    events: Annotated[list[Event], Meta(max_length=10_000)] = []
    accounting: Accounting = msgspec.field(default_factory=Accounting)


class LiveFrame(msgspec.Struct, kw_only=True, tag_field="type", tag="frame"):
    """Agent to server, then server to page: newest values of one 100 ms tick; never stored."""

    host: HostName
    t: Time
    values: Annotated[dict[Name, Annotated[dict[Name, float | None], Meta(max_length=200)]], Meta(max_length=5_000)]


class LiveRequest(msgspec.Struct, kw_only=True, tag_field="type", tag="watch"):
    """Server to agent: send frames for the next ``seconds``."""

    seconds: Annotated[float, Meta(ge=0, le=3600)]


class StackRequest(msgspec.Struct, kw_only=True, tag_field="type", tag="stacks"):
    """Server to agent: take Python stacks for the next ``seconds``; they come with the durable batches."""

    seconds: Annotated[float, Meta(ge=0, le=300)]


class Acknowledgement(msgspec.Struct):
    """Answer to a stored batch; ``duplicate`` is true when it had been stored before."""

    stored: bool
    duplicate: bool


def encode(message: Any) -> bytes:
    """Msgpack bytes of a Batch, LiveFrame, LiveRequest or StackRequest."""
    return msgspec.msgpack.encode(message)
