"""What travels between agent and backend: durable batches (msgpack over POST) and live frames (WebSocket).

Contract: a batch is one host's columns over about 5 s. Its identity is (host, run_id, sequence): sending it twice
stores it once. Values are integers, ``round(value / quantum)`` with the quantum of the metric's catalogue entry,
compressed by pcodec; positions with no value repeat a neighbour and are named in ``missing`` with a reason.
"""

from __future__ import annotations

from typing import Any

import msgspec

WIRE_VERSION = 1
MEDIA_TYPE = "application/vnd.gapscope.batch+msgpack"
MAX_BATCH_BYTES = 8 * 1024 * 1024
MAX_GROUPS = 20_000
MAX_COLUMNS = 200_000
MAX_POINTS_PER_GROUP = 20_000
MAX_VALUES_PER_BATCH = 5_000_000
MAX_STACK_SAMPLES = 200_000


class MissingRun(msgspec.Struct, array_like=True):
    """``count`` positions from ``start`` have no value, for ``reason``."""

    start: int
    count: int
    reason: str


class Column(msgspec.Struct):
    """One metric of a group: pcodec int64, ``count`` of the group values, in quanta of the catalogue."""

    metric: str
    data: bytes
    missing: list[MissingRun] = []


class Group(msgspec.Struct):
    """Columns of one entity that share timestamps. ``times``: pcodec int64, ns since the epoch, ascending."""

    entity: str
    count: int
    times: bytes
    columns: list[Column]


class Entity(msgspec.Struct):
    """Who a series belongs to: ``host``, ``gpu:<uuid>``, ``core:<n>``, ``process:<pid>``, ``thread:<pid>/<tid>``,
    ``disk:<name>``, ``net:<name>``, ``cgroup:<path>``; labels are its facts as text, numbers in decimal.

    An entity's labels in a later batch are laid over those of an earlier one. Known labels (all optional), by kind:

    - host: ``logical_cpus``, ``kernel``, ``memory_total_bytes``, ``driver_version``
    - gpu: ``index``, ``name``, ``uuid``, ``memory_total_bytes``, ``power_limit_watts``, ``max_sm_clock_hertz``,
      ``max_memory_clock_hertz``, ``pcie_max_generation``, ``pcie_max_width``; ``owners``: pids that hold a context
      on it during this batch, separated by commas
    - process: ``parent_pid``, ``command``, ``user``, ``start_jiffies``
    - thread: ``name``
    """

    key: str
    kind: str
    labels: dict[str, str] = {}


class WireFrame(msgspec.Struct, array_like=True):
    """A Python frame, interned in its batch."""

    function: str
    file: str
    line: int
    source: str | None = None


class StackSample(msgspec.Struct, array_like=True):
    """One thread's stack at one moment; ``stack`` indexes ``Batch.stacks``."""

    t: int
    pid: int
    tid: int
    thread: str | None
    active: bool | None
    owns_gil: bool | None
    stack: int


class Event(msgspec.Struct):
    """Something that happened: a source's change of state, a process start, a discontinuity."""

    t: int
    kind: str
    text: str
    entity: str = "host"


class Accounting(msgspec.Struct):
    """Terms of ``sampled = delivered + spooled + buffered + dropped`` (values, since the agent's start).

    ``delivered`` counts what was acknowledged before this batch was closed; ``dropped`` is by reason.
    """

    sampled: int = 0
    delivered: int = 0
    spooled: int = 0
    buffered: int = 0
    dropped: dict[str, int] = {}


class Batch(msgspec.Struct, kw_only=True):
    """One POST. ``start_ns`` and ``end_ns`` enclose every timestamp inside (half-open)."""

    version: int
    host: str
    run_id: str
    sequence: int
    start_ns: int
    end_ns: int
    agent_version: str
    sent_ns: int
    recorded: bool = False
    labels: dict[str, str] = {}
    entities: list[Entity] = []
    groups: list[Group] = []
    frames: list[WireFrame] = []
    stacks: list[list[int]] = []
    samples: list[StackSample] = []
    events: list[Event] = []
    accounting: Accounting = msgspec.field(default_factory=Accounting)


class LiveFrame(msgspec.Struct, kw_only=True, tag_field="type", tag="frame"):
    """Agent to server, then server to page: newest values of one 100 ms tick; never stored."""

    host: str
    t: int
    values: dict[str, dict[str, float | None]]


class LiveRequest(msgspec.Struct, kw_only=True, tag_field="type", tag="watch"):
    """Server to agent: send frames for the next ``seconds``."""

    seconds: float


class Acknowledgement(msgspec.Struct):
    """Answer to a stored batch; ``duplicate`` is true when it had been stored before."""

    stored: bool
    duplicate: bool


def encode(message: Any) -> bytes:
    """Msgpack bytes of a Batch, LiveFrame or LiveRequest."""
    return msgspec.msgpack.encode(message)
