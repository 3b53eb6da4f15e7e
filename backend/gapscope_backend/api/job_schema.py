"""Types of the API's part about jobs."""

from __future__ import annotations

import msgspec

from gapscope_backend.analysis.language import Text
from gapscope_backend.analysis.ranks import Rank
from gapscope_backend.analysis.verdict import JobVerdict, LedgerRow
from gapscope_backend.api.queries import Lang, Time


class JobQuery(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """A span of at most an hour; without one, the last 15 minutes in which the job's process was seen."""

    start: Time | None = msgspec.field(default=None, name="from")
    end: Time | None = msgspec.field(default=None, name="to")
    lang: Lang | None = None


class JobGpu(msgspec.Struct):
    """A GPU of a job; where ``shared``, other jobs held it too and its seconds were shared out."""

    entity: str
    index: int
    name: str
    verdict: str
    gap_count: int
    gap_seconds: float
    shared: bool


class JobRank(msgspec.Struct):
    """A process of a job that holds GPUs; ``rank`` and ``local_rank`` are null where it does not tell them."""

    process: Rank
    rank: int | None
    local_rank: int | None


class JobPart(msgspec.Struct):
    """A job on one host."""

    host: str
    verdict: JobVerdict
    gpus: list[JobGpu]
    ranks: list[JobRank]


class JobDetail(msgspec.Struct):
    """A job across its hosts, the one of the address first; ``ledger`` is that of all.

    ``world_size`` is null where no process tells it, ``missing_ranks`` those of it that no process is known of.
    ``master`` is the address by which hosts were put together, empty for one host. ``unsure_hosts`` name the same
    master, but ranks would stand twice; ``more_hosts`` were too many to look at. ``requests`` is null: no server tells
    of requests or batches.
    """

    job: str
    command: str
    start: str
    end: str
    verdict: str
    title: Text
    gpu_seconds: float
    lost_gpu_seconds: float
    ledger: tuple[LedgerRow, ...]
    parts: list[JobPart]
    world_size: int | None
    missing_ranks: tuple[int, ...]
    master: str
    unsure_hosts: tuple[str, ...]
    more_hosts: int
    requests: None = None
