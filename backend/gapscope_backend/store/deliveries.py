"""Rows of messages to be sent: claiming them, writing down what came of an attempt, the log.

A claim counts the attempt and moves ``due_ns`` to where its lease ends: a row whose sender died is due again by then,
and what a sender writes down later than that, under the number of its attempt, changes nothing any more. An attempt
that was begun (``attempts``) and never written down (``log``) was cut off, or is on its way while ``due_ns`` is ahead.

PostgreSQL's workers pass over rows that another is just claiming; SQLite has one writer at a time anyway.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import ColumnElement, delete, func, or_, select, tuple_, update
from sqlalchemy.ext.asyncio import AsyncSession

from gapscope_backend.store.alert_models import Delivery
from gapscope_backend.store.database import Database
from gapscope_backend.store.upsert import insert

PENDING = "pending"
DELIVERED = "delivered"
FAILED = "failed"
SUPERSEDED = "superseded"
TEST = "test"
HEARTBEAT = "heartbeat"
DAY_NS = 24 * 3600 * 1_000_000_000
KEPT_NS = 30 * DAY_NS
HEARTBEATS_KEPT_NS = DAY_NS // 24


@dataclass(frozen=True)
class DeliveryFilter:
    """Which rows of the log: of a channel, in a state, of a kind; None for any. Heartbeats only where asked for."""

    channel: str | None = None
    state: str | None = None
    kind: str | None = None
    limit: int = 200


async def add_delivery(session: AsyncSession, dialect: str, delivery: Delivery) -> None:
    """Put a message into the outbox; one that is there already stays as it is."""
    row = {column.key: getattr(delivery, column.key) for column in Delivery.__table__.columns}
    await session.execute(insert(dialect, Delivery).values(row).on_conflict_do_nothing())


async def any_due(database: Database, now_ns: int) -> bool:
    """Tell whether anything is to be sent; a reader's question, which takes no lock."""
    query = select(Delivery.id).where(Delivery.state == PENDING, Delivery.due_ns <= now_ns).limit(1)
    async with database.read() as session:
        return await session.scalar(query) is not None


@dataclass(frozen=True)
class Room:
    """How many rows may be claimed: in all, and of each channel, of which ``taken`` are on their way already."""

    rows: int
    of_channel: int
    taken: Mapping[str, int] = field(default_factory=dict)


async def claim_deliveries(database: Database, now_ns: int, until_ns: int, room: Room) -> list[Delivery]:
    """Claim due rows until ``until_ns``, longest due first, as far as there is room. None: there is none, or no row.

    Of a group only the newest state is told: older ones become superseded. While an older one is on its way the newer
    one waits, so that they arrive in their order.
    """
    counts = Counter(room.taken)
    full = [channel for channel, count in counts.items() if count >= room.of_channel]
    due = (
        select(Delivery)
        .where(Delivery.state == PENDING, Delivery.due_ns <= now_ns, Delivery.channel_id.not_in(full))
        .order_by(Delivery.due_ns, Delivery.created_ns)
        .limit(room.rows)
        .with_for_update(skip_locked=True)
    )
    async with database.write() as session:
        found = list(await session.scalars(due))
        if not found:
            return []
        groups = {(row.channel_id, row.group_key) for row in found}
        newest = await _newest(session, groups)
        claimed = []
        for row in found:
            if _told(row) and row.created_ns < newest.get((row.channel_id, row.group_key), 0):
                row.state, row.done_ns = SUPERSEDED, now_ns
            elif counts[row.channel_id] < room.of_channel and (not _told(row) or await _alone(session, row, now_ns)):
                row.attempts, row.due_ns = row.attempts + 1, until_ns
                counts[row.channel_id] += 1
                claimed.append(row)
        return claimed


def _told(row: Delivery) -> bool:
    """Tell whether a newer one of its group makes this one worthless."""
    return row.kind != TEST and not row.resend_of


def _in(groups: Collection[tuple[str, str]]) -> Sequence[ColumnElement[bool]]:
    of_group = tuple_(Delivery.channel_id, Delivery.group_key).in_(groups)
    return (of_group, Delivery.kind != TEST, Delivery.resend_of == "")


async def _newest(session: AsyncSession, groups: Collection[tuple[str, str]]) -> dict[tuple[str, str], int]:
    query = select(Delivery.channel_id, Delivery.group_key, func.max(Delivery.created_ns)).where(*_in(groups))
    rows = await session.execute(query.group_by(Delivery.channel_id, Delivery.group_key))
    return {(channel, group): created_ns for channel, group, created_ns in rows}


async def _alone(session: AsyncSession, row: Delivery, now_ns: int) -> bool:
    """Supersede the older ones of a row's group that wait; False where one of them is on its way."""
    older = select(Delivery.host_id, Delivery.id, Delivery.attempts, Delivery.due_ns, Delivery.log).where(
        *_in([(row.channel_id, row.group_key)]), Delivery.state == PENDING, Delivery.created_ns < row.created_ns
    )
    alone = True
    for other in (await session.execute(older)).all():
        if other.attempts > len(other.log) and other.due_ns > now_ns:
            alone = False
            continue
        same = (Delivery.state == PENDING, Delivery.attempts == other.attempts)
        over = update(Delivery).where(Delivery.host_id == other.host_id, Delivery.id == other.id, *same)
        changed = await session.execute(
            over.values(state=SUPERSEDED, done_ns=now_ns).returning(Delivery.id),
            execution_options={"synchronize_session": False},
        )
        alone = alone and changed.first() is not None
    return alone


@dataclass(frozen=True)
class Outcome:
    """What an attempt leaves: the row's state, its log, when it is due again and when it was over for good."""

    state: str
    log: list[dict[str, Any]]
    due_ns: int
    done_ns: int | None


async def finish_delivery(database: Database, claimed: Delivery, outcome: Outcome) -> bool:
    """Write down what came of a claimed row's attempt. False where another attempt has begun, or ended it, by now."""
    mine = (Delivery.state == PENDING, Delivery.attempts == claimed.attempts)
    which = update(Delivery).where(Delivery.host_id == claimed.host_id, Delivery.id == claimed.id, *mine)
    values = {"state": outcome.state, "log": outcome.log, "due_ns": outcome.due_ns, "done_ns": outcome.done_ns}
    async with database.write() as session:
        changed = await session.execute(
            which.values(values).returning(Delivery.id), execution_options={"synchronize_session": False}
        )
        return changed.first() is not None


async def list_deliveries(database: Database, wanted: DeliveryFilter) -> list[Delivery]:
    """Rows of the log, newest first."""
    query = select(Delivery)
    if wanted.channel is not None:
        query = query.where(Delivery.channel_id == wanted.channel)
    if wanted.state is not None:
        query = query.where(Delivery.state == wanted.state)
    query = query.where(Delivery.kind != HEARTBEAT if wanted.kind is None else Delivery.kind == wanted.kind)
    async with database.read() as session:
        rows = await session.scalars(query.order_by(Delivery.created_ns.desc(), Delivery.id).limit(wanted.limit))
        return list(rows)


async def delivery_of(database: Database, delivery_id: str) -> Delivery | None:
    """A row of the log; None where there is none of that id."""
    async with database.read() as session:
        found: Delivery | None = await session.scalar(select(Delivery).where(Delivery.id == delivery_id))
        return found


async def delete_old_deliveries(session: AsyncSession, now_ns: int) -> None:
    """Forget what was over a month ago, and heartbeats after an hour."""
    old = or_(
        Delivery.created_ns < now_ns - KEPT_NS,
        (Delivery.kind == HEARTBEAT) & (Delivery.created_ns < now_ns - HEARTBEATS_KEPT_NS),
    )
    await session.execute(
        delete(Delivery).where(Delivery.state != PENDING, old), execution_options={"synchronize_session": False}
    )
