"""One training job or service across its GPUs and hosts.

On a host a job is the tree of processes below one launcher, as in a verdict. Hosts are put together where their
processes were started with the same ``MASTER_ADDR`` and ``WORLD_SIZE`` and tell different ranks, which the agent's
helper reads where it is allowed to; else a job is what is known of one host.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from gapscope_backend.analysis.diagnose import choose, diagnose
from gapscope_backend.analysis.ranks import Rank, ranks_of
from gapscope_backend.analysis.verdict import GpuVerdict, JobVerdict, LedgerRow, Verdict
from gapscope_backend.analysis.window import Window
from gapscope_backend.errors import MalformedError, NotFoundError
from gapscope_backend.services.diagnosis import Diagnosis
from gapscope_backend.services.hosts import find_host
from gapscope_backend.store.database import Database
from gapscope_backend.store.hosts import entity_of, list_entities, processes_telling
from gapscope_backend.store.models import Entity, Host

DEFAULT_NS = 900 * 1_000_000_000
MAX_HOSTS = 16
"""A diagnosis of each is made while one waits."""


@dataclass(frozen=True)
class Started:
    """What a process was started with, as far as it is told; ``where`` is its master and the number of ranks."""

    rank: int | None = None
    local_rank: int | None = None
    world_size: int | None = None
    master: str = ""

    @property
    def where(self) -> tuple[str, int] | None:
        """What the ranks of one job over several hosts have in common; None where that cannot be told."""
        local = not self.master or self.master == "localhost" or self.master.startswith("127.")
        return None if local or self.world_size is None else (self.master, self.world_size)


@dataclass(frozen=True)
class JobPart:
    """A job on one host: its verdict there, its GPUs, those of them that other jobs held too, and the processes that
    hold them with what each was started with."""

    host: Host
    verdict: JobVerdict
    gpus: tuple[GpuVerdict, ...]
    shared: frozenset[str]
    ranks: tuple[tuple[Rank, Started], ...]


@dataclass(frozen=True)
class GpuJob:
    """A job over [start, end). ``unsure`` are hosts whose processes name the same master but tell ranks twice.

    ``missing`` are ranks that no process is known of, ``more_hosts`` how many were not looked at.
    """

    start_ns: int
    end_ns: int
    parts: tuple[JobPart, ...]
    verdict: str
    ledger: tuple[LedgerRow, ...]
    world_size: int | None
    master: str
    missing: tuple[int, ...]
    unsure: tuple[str, ...]
    more_hosts: int


def started_with(entity: Entity | None) -> Started:
    """What a process's ``environment`` label tells."""
    text = "" if entity is None else entity.labels.get("environment", "")
    told = dict(part.split("=", 1) for part in text.split() if "=" in part)
    return Started(
        rank=_whole(told.get("RANK")),
        local_rank=_whole(told.get("LOCAL_RANK")),
        world_size=_whole(told.get("WORLD_SIZE")),
        master=told.get("MASTER_ADDR", ""),
    )


async def find_job(database: Database, diagnosis: Diagnosis, job: str, span: tuple[int, int] | None) -> GpuJob:
    """The job ``HOST:PID`` over a span of at most an hour, by default the last 15 minutes that its process was seen.

    The pid is that of its topmost process or of one that holds a GPU. Raises NotFoundError where no such job held a
    GPU in that time.
    """
    name, _, pid_text = job.rpartition(":")
    if not name or not pid_text.isdecimal() or len(pid_text) > 10:
        raise MalformedError(f"{job[:100]!r} names no job; write HOST:PID", "job")
    host, pid = await find_host(database, name), int(pid_text)
    start_ns, end_ns = span or await _last_seen(database, host, pid)
    first = await _part(database, diagnosis, host, pid, start_ns, end_ns)
    where = next((started.where for _, started in first.ranks if started.where), None)
    parts, unsure, more = [first], [], 0
    if where is not None and len(first.ranks) < where[1]:
        others = await _elsewhere(database, host, where, start_ns, end_ns)
        more = max(0, len(others) - MAX_HOSTS)
        for other, pids in others[:MAX_HOSTS]:
            part = await _part(database, diagnosis, other, pids[0], start_ns, end_ns)
            if _numbers(parts) & _numbers([part]):
                unsure.append(other.name)
            else:
                parts.append(part)
    ledger = _joined([part.verdict for part in parts])
    size = where[1] if where else next((s.world_size for _, s in first.ranks if s.world_size), None)
    numbers = _numbers(parts)
    missing = tuple(sorted(set(range(size)) - numbers)) if size is not None and size <= 4096 and numbers else ()
    master = where[0] if where else ""
    told = choose(ledger)
    return GpuJob(start_ns, end_ns, tuple(parts), told, ledger, size, master, missing, tuple(unsure), more)


async def _last_seen(database: Database, host: Host, pid: int) -> tuple[int, int]:
    entity = await entity_of(database, host.id, f"process:{pid}")
    first_ns, last_ns = (host.first_data_ns, host.last_data_ns)
    if entity is not None:
        first_ns, last_ns = max(first_ns, entity.first_seen_ns), min(last_ns, entity.last_seen_ns)
    return max(first_ns, last_ns - DEFAULT_NS), last_ns


async def _part(database: Database, diagnosis: Diagnosis, host: Host, pid: int, start_ns: int, end_ns: int) -> JobPart:
    if start_ns >= end_ns:
        raise NotFoundError(f"nothing is stored of the process {pid} of {host.name} in that time", "job")

    def judge(window: Window) -> tuple[Verdict, JobVerdict, tuple[Rank, ...]] | None:
        verdict = diagnose(window)
        job = next((job for job in verdict.jobs if pid in job.pids or job.job == f"process:{pid}"), None)
        return None if job is None else (verdict, job, ranks_of(window, job, verdict.gpus))

    found = await diagnosis.apply(host, start_ns, end_ns, judge)
    if found is None:
        raise NotFoundError(f"no job of the process {pid} held a GPU of {host.name} in that time", "job")
    entities = {e.key: e for e in await list_entities(database, host.id, start_ns, end_ns, ("process",))}
    verdict, job, ranks = found
    return JobPart(
        host=host,
        verdict=job,
        gpus=tuple(gpu for gpu in verdict.gpus if gpu.gpu in job.gpus),
        shared=frozenset(gpu for other in verdict.jobs if other.job != job.job for gpu in other.gpus),
        ranks=tuple((rank, started_with(entities.get(f"process:{rank.pid}"))) for rank in ranks),
    )


async def _elsewhere(
    database: Database, host: Host, where: tuple[str, int], start_ns: int, end_ns: int
) -> list[tuple[Host, list[int]]]:
    """Other hosts on which processes that hold a GPU were started with the same master and number of ranks."""
    found: dict[int, tuple[Host, list[int]]] = {}
    for other, entity in await processes_telling(database, f"MASTER_ADDR={where[0]}", start_ns, end_ns):
        pid = entity.key.removeprefix("process:")
        if other.id != host.id and started_with(entity).where == where and entity.labels.get("owner_of"):
            found.setdefault(other.id, (other, []))[1].append(int(pid))
    return list(found.values())


def _numbers(parts: Iterable[JobPart]) -> set[int]:
    return {started.rank for part in parts for _, started in part.ranks if started.rank is not None}


def _joined(jobs: Sequence[JobVerdict]) -> tuple[LedgerRow, ...]:
    """The ledgers of a job's parts as one; a cause's evidence is that of the host on which it cost most."""
    if len(jobs) == 1:
        return jobs[0].ledger
    total = sum(job.gpu_seconds for job in jobs)
    rows: dict[str, list[LedgerRow]] = {}
    for job in jobs:
        for row in job.ledger:
            rows.setdefault(row.cause, []).append(row)
    joined = [_sum(some, total) for some in rows.values()]
    return tuple(sorted(joined, key=lambda row: -row.gpu_seconds))


def _sum(rows: Sequence[LedgerRow], total: float) -> LedgerRow:
    most = max(rows, key=lambda row: row.gpu_seconds)
    seconds = sum(row.gpu_seconds for row in rows)
    gains = [row.expected_gain_gpu_seconds for row in rows if row.expected_gain_gpu_seconds is not None]
    return replace(
        most,
        gpu_seconds=seconds,
        share=seconds / total if total else 0.0,
        busy_gpu_seconds=sum(row.busy_gpu_seconds for row in rows),
        expected_gain_gpu_seconds=sum(gains) if gains else None,
    )


def _whole(text: str | None) -> int | None:
    return int(text) if text is not None and text.isdecimal() and len(text) < 8 else None
