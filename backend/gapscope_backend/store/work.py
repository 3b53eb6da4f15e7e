"""Rows of claimable work: a job of a kind, for one host or for all, belongs to one worker for the time of its lease.

PostgreSQL's workers pass over rows that another is just claiming (FOR UPDATE SKIP LOCKED); SQLite has one writer at a
time anyway. A lease that its worker did not renew runs out, and any worker may take the job. Times are the workers'
own clocks: they must agree far better than the length of a lease.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from sqlalchemy import or_, select, tuple_, update
from sqlalchemy.ext.asyncio import AsyncSession

from gapscope_backend.errors import BackendError
from gapscope_backend.store.database import Database
from gapscope_backend.store.models import Host, Work
from gapscope_backend.store.upsert import insert

ALL_HOSTS = 0
"""``host_id`` of a job that is not about one host."""


class LeaseLostError(BackendError):
    """The work belongs to another worker by now; what was to be written with it is not."""


@dataclass(frozen=True)
class Lease:
    """A job that ``worker`` has claimed; ``failures`` is the number of failed runs in a row before this one."""

    kind: str
    host_id: int
    worker: str
    failures: int = 0


async def add_work(database: Database, kind: str, per_host: bool, now_ns: int) -> None:
    """See to it that a kind's jobs exist, due at once where they are new: one, or one for each host that is known."""
    async with database.write() as session:
        known = select(Work.host_id).where(Work.kind == kind)
        wanted: Iterable[int] = [ALL_HOSTS]
        if per_host:
            wanted = await session.scalars(select(Host.id).where(Host.id.not_in(known)))
        rows = [
            {"host_id": host, "kind": kind, "due_ns": now_ns, "claimed_by": "", "claimed_until_ns": 0, "failures": 0}
            for host in wanted
        ]
        if rows:
            await session.execute(insert(database.dialect, Work).values(rows).on_conflict_do_nothing())


async def claim_work(
    database: Database, worker: str, kinds: Sequence[str], now_ns: int, lease_ns: int, limit: int
) -> list[Lease]:
    """Claim up to ``limit`` due jobs of these kinds that belong to nobody, longest due first."""
    free = or_(Work.claimed_by == "", Work.claimed_until_ns <= now_ns)
    due = (
        select(Work.host_id, Work.kind, Work.failures)
        .where(Work.kind.in_(kinds), Work.due_ns <= now_ns, free)
        .order_by(Work.due_ns, Work.host_id)
        .limit(limit)
        .with_for_update(skip_locked=True)
    )
    async with database.write() as session:
        found = (await session.execute(due)).all()
        keys = [(row.host_id, row.kind) for row in found]
        if keys:
            await session.execute(
                update(Work)
                .where(tuple_(Work.host_id, Work.kind).in_(keys))
                .values(claimed_by=worker, claimed_until_ns=now_ns + lease_ns)
            )
    return [Lease(row.kind, row.host_id, worker, row.failures) for row in found]


async def renew_leases(
    database: Database, worker: str, jobs: Iterable[tuple[str, int]], until_ns: int
) -> set[tuple[str, int]]:
    """Hold jobs (kind, host) of a worker longer; those that it still has.

    What else is claimed in its name, by a claim or an end that was lost on the way, runs out.
    """
    keys = [(host_id, kind) for kind, host_id in jobs]
    which = update(Work).where(Work.claimed_by == worker, tuple_(Work.host_id, Work.kind).in_(keys))
    async with database.write() as session:
        rows = await session.execute(which.values(claimed_until_ns=until_ns).returning(Work.kind, Work.host_id))
        return {(row.kind, row.host_id) for row in rows}


async def release_leases(database: Database, worker: str) -> None:
    """Give all jobs of a worker back, as due as they were: it ends, or its predecessor of that name has."""
    async with database.write() as session:
        held = update(Work).where(Work.claimed_by == worker)
        await session.execute(held.values(claimed_by="", claimed_until_ns=0))


async def finish_work(database: Database, lease: Lease, due_ns: int, done_ns: int | None) -> None:
    """Give a job back, to be done again at ``due_ns``; without ``done_ns`` this run has failed.

    Raises LeaseLostError when another has it.
    """
    outcome = {"failures": lease.failures + 1} if done_ns is None else {"failures": 0, "done_ns": done_ns}
    which = update(Work).where(Work.host_id == lease.host_id, Work.kind == lease.kind, Work.claimed_by == lease.worker)
    given_back = which.values(claimed_by="", claimed_until_ns=0, due_ns=due_ns, **outcome)
    async with database.write() as session:
        changed = await session.execute(given_back.returning(Work.host_id))
        _check(lease, changed.first() is not None)


async def hold_lease(session: AsyncSession, lease: Lease) -> None:
    """In a transaction that writes what the job has found: nobody takes the job before its end.

    Raises LeaseLostError when another has it already.
    """
    held = select(Work.claimed_by).where(Work.host_id == lease.host_id, Work.kind == lease.kind)
    _check(lease, await session.scalar(held.with_for_update()) == lease.worker)


async def note_round(database: Database, lease: Lease, now_ns: int) -> None:
    """Write down that an endless job got through a round. Raises LeaseLostError when another has it."""
    async with database.write() as session:
        await hold_lease(session, lease)
        which = update(Work).where(Work.host_id == lease.host_id, Work.kind == lease.kind)
        await session.execute(which.values(done_ns=now_ns))


async def gets_through(database: Database, kind: str, now_ns: int, within_ns: int) -> bool:
    """Tell whether a worker does the one job of a kind now, and got through a round of it not long ago."""
    held = (Work.claimed_by != "", Work.claimed_until_ns > now_ns, Work.done_ns > now_ns - within_ns)
    query = select(Work.kind).where(Work.host_id == ALL_HOSTS, Work.kind == kind, *held)
    async with database.read() as session:
        return await session.scalar(query) is not None


async def list_work(database: Database) -> list[Work]:
    """All jobs, by kind and host."""
    async with database.read() as session:
        return list(await session.scalars(select(Work).order_by(Work.kind, Work.host_id)))


def _check(lease: Lease, held: bool) -> None:
    if not held:
        about = f" of host {lease.host_id}" if lease.host_id != ALL_HOSTS else ""
        raise LeaseLostError(f"{lease.kind}{about} belongs to another worker by now")
