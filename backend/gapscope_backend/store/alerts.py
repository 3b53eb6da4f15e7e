"""Rows of rules, alerts, silences, and of what the evaluator remembers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import and_, delete, func, or_, select, update
from sqlalchemy.ext.asyncio import AsyncSession

from gapscope_backend.store.alert_models import Alert, AlertRule, AlertWatch, Silence, VerdictMinute
from gapscope_backend.store.database import Database
from gapscope_backend.store.models import Event, Host, HostLatest, HostVerdict, HostWatch, Incident
from gapscope_backend.store.slices import slices
from gapscope_backend.store.upsert import insert

PENDING, FIRING, RESOLVED = "pending", "firing", "resolved"
UNSEEN = "unseen"
_AT_ONCE = 500
_OF_PEOPLE = frozenset({"host_id", "id", "acknowledged_ns", "acknowledged_by", "told_state", "told_ns", "told_count"})
"""Columns that a renewed alert keeps."""


@dataclass(frozen=True)
class Stand:
    """How far the data of a host and what is made of it have come."""

    host_id: int
    last_seen_ns: int
    last_data_ns: int
    watch_saved_ns: int
    verdict_made_ns: int
    latest_ns: int
    facts_digest: bytes


async def stands(database: Database) -> list[Stand]:
    """All hosts, in one read of a few numbers each."""
    query = (
        select(
            Host.id,
            Host.last_seen_ns,
            Host.last_data_ns,
            func.coalesce(HostWatch.saved_ns, 0),
            func.coalesce(HostVerdict.made_ns, 0),
            func.coalesce(HostLatest.t_ns, 0),
            Host.facts_digest,
        )
        .join(HostWatch, HostWatch.host_id == Host.id, isouter=True)
        .join(HostVerdict, HostVerdict.host_id == Host.id, isouter=True)
        .join(HostLatest, HostLatest.host_id == Host.id, isouter=True)
    )
    async with database.read() as session:
        return [Stand(*row) for row in await session.execute(query)]


async def hosts_of(database: Database, host_ids: Sequence[int]) -> dict[int, Host]:
    """Hosts by id."""
    found: dict[int, Host] = {}
    async with database.read() as session:
        for some in slices(host_ids, _AT_ONCE):
            found.update((host.id, host) for host in await session.scalars(select(Host).where(Host.id.in_(some))))
    return found


async def watches_of(database: Database, host_ids: Sequence[int]) -> dict[int, HostWatch]:
    """What the watch over these hosts remembers."""
    found: dict[int, HostWatch] = {}
    async with database.read() as session:
        for some in slices(host_ids, _AT_ONCE):
            rows = await session.scalars(select(HostWatch).where(HostWatch.host_id.in_(some)))
            found.update((row.host_id, row) for row in rows)
    return found


async def verdicts_of(database: Database, host_ids: Sequence[int]) -> dict[int, bytes]:
    """The newest rolling verdicts on these hosts, as JSON."""
    found: dict[int, bytes] = {}
    async with database.read() as session:
        for some in slices(host_ids, _AT_ONCE):
            query = select(HostVerdict.host_id, HostVerdict.verdict).where(HostVerdict.host_id.in_(some))
            found.update((row[0], row[1]) for row in await session.execute(query))
    return found


async def minutes_between(database: Database, host_id: int, after_ns: int, until_ns: int) -> list[bytes]:
    """Kept minutes of a host that end in (after, until], oldest first."""
    query = (
        select(VerdictMinute.ledgers)
        .where(VerdictMinute.host_id == host_id, VerdictMinute.end_ns > after_ns, VerdictMinute.end_ns <= until_ns)
        .order_by(VerdictMinute.end_ns)
    )
    async with database.read() as session:
        return list(await session.scalars(query))


async def store_minute(
    session: AsyncSession, dialect: str, host_id: int, end_ns: int, stored_ns: int, ledgers: bytes
) -> None:
    """Keep a minute; one that is there already stays."""
    row = {"host_id": host_id, "end_ns": end_ns, "stored_ns": stored_ns, "ledgers": ledgers}
    await session.execute(insert(dialect, VerdictMinute).values(row).on_conflict_do_nothing())


async def incidents_of(
    database: Database, host_ids: Sequence[int], start_ns: int, end_ns: int
) -> dict[int, list[Incident]]:
    """Incidents of these hosts that touch the span, oldest first, by host."""
    found: dict[int, list[Incident]] = {host_id: [] for host_id in host_ids}
    async with database.read() as session:
        for some in slices(host_ids, _AT_ONCE):
            query = select(Incident).where(
                Incident.host_id.in_(some),
                Incident.start_ns <= end_ns,
                or_(Incident.end_ns >= start_ns, Incident.state == "open"),
            )
            for row in await session.scalars(query.order_by(Incident.start_ns, Incident.id)):
                found[row.host_id].append(row)
    return found


async def events_since(database: Database, received_ns: int, kinds: Sequence[str]) -> list[Event]:
    """Events of some kinds, received at or after a moment, oldest first."""
    query = select(Event).where(Event.received_ns >= received_ns, Event.kind.in_(kinds))
    async with database.read() as session:
        return list(await session.scalars(query.order_by(Event.t_ns, Event.position)))


async def events_between(
    database: Database, host_id: int, start_ns: int, end_ns: int, kinds: Sequence[str]
) -> list[Event]:
    """Events of some kinds of a host in [start, end), oldest first."""
    query = select(Event).where(
        Event.host_id == host_id, Event.t_ns >= start_ns, Event.t_ns < end_ns, Event.kind.in_(kinds)
    )
    async with database.read() as session:
        return list(await session.scalars(query.order_by(Event.t_ns, Event.position)))


async def read_memories(database: Database) -> dict[int, Mapping[str, Any]]:
    """What the evaluator remembers, by host."""
    async with database.read() as session:
        rows = await session.execute(select(AlertWatch.host_id, AlertWatch.state))
        return {row[0]: row[1] for row in rows}


async def store_memories(
    session: AsyncSession, dialect: str, memories: Mapping[int, tuple[int, Mapping[str, Any]]]
) -> None:
    """Keep what the evaluator remembers, by host: up to when it was evaluated (data time, ns), and the state."""
    rows = [
        {"host_id": host_id, "evaluated_ns": evaluated_ns, "state": dict(state)}
        for host_id, (evaluated_ns, state) in memories.items()
    ]
    if rows:
        statement = insert(dialect, AlertWatch)
        renewed = {name: statement.excluded[name] for name in ("evaluated_ns", "state")}
        await session.execute(statement.on_conflict_do_update(index_elements=["host_id"], set_=renewed), rows)


async def store_alert(session: AsyncSession, dialect: str, row: Mapping[str, Any]) -> None:
    """Add an alert or renew it; what people did and were told of it stays."""
    statement = insert(dialect, Alert).values(**row)
    renewed = {name: value for name, value in row.items() if name not in _OF_PEOPLE}
    await session.execute(statement.on_conflict_do_update(index_elements=["host_id", "id"], set_=renewed))


async def add_alert(session: AsyncSession, dialect: str, row: Mapping[str, Any]) -> None:
    """Add an alert that is over already; one that is known stays as it is."""
    await session.execute(insert(dialect, Alert).values(**row).on_conflict_do_nothing())


async def change_alert(session: AsyncSession, host_id: int, alert_id: str, values: Mapping[str, Any]) -> None:
    """Set some columns of an alert."""
    which = update(Alert).where(Alert.host_id == host_id, Alert.id == alert_id)
    await session.execute(which.values(**values), execution_options={"synchronize_session": False})


async def delete_alert(session: AsyncSession, host_id: int, alert_id: str) -> None:
    """Forget an alert that never fired."""
    which = delete(Alert).where(Alert.host_id == host_id, Alert.id == alert_id, Alert.state == PENDING)
    await session.execute(which, execution_options={"synchronize_session": False})


async def alerts_to_tell(database: Database) -> list[tuple[Alert, str]]:
    """Alerts that fire, and those whose end may have to be told, with their hosts' names, oldest first."""
    query = (
        select(Alert, Host.name)
        .join(Host, Host.id == Alert.host_id)
        .where(or_(Alert.state == FIRING, and_(Alert.state == RESOLVED, Alert.told_state.in_((FIRING, UNSEEN)))))
        .order_by(Alert.began_ns, Alert.id)
    )
    async with database.read() as session:
        return [(alert, name) for alert, name in await session.execute(query)]


@dataclass(frozen=True)
class AlertFilter:
    """Which alerts: in these states, of a host (by id), of a rule; None for any."""

    states: tuple[str, ...] | None = None
    host_id: int | None = None
    rule: str | None = None
    limit: int = 200


async def list_alerts(database: Database, wanted: AlertFilter) -> list[tuple[Alert, str]]:
    """Alerts with their host's name: firing ones first, then the newest."""
    query = select(Alert, Host.name).join(Host, Host.id == Alert.host_id)
    if wanted.states is not None:
        query = query.where(Alert.state.in_(wanted.states))
    if wanted.host_id is not None:
        query = query.where(Alert.host_id == wanted.host_id)
    if wanted.rule is not None:
        query = query.where(Alert.rule_id == wanted.rule)
    query = query.order_by((Alert.state == FIRING).desc(), Alert.updated_ns.desc(), Alert.id).limit(wanted.limit)
    async with database.read() as session:
        return [(alert, name) for alert, name in await session.execute(query)]


async def alert_of(database: Database, alert_id: str) -> tuple[Alert, str] | None:
    """The alert of that id with its host's name."""
    query = select(Alert, Host.name).join(Host, Host.id == Alert.host_id).where(Alert.id == alert_id)
    async with database.read() as session:
        row = (await session.execute(query)).first()
    return None if row is None else (row[0], row[1])


async def acknowledge_alert(database: Database, alert: Alert, by: str, now_ns: int) -> None:
    """Write down who looks after an alert; the first one's name stays."""
    which = update(Alert).where(Alert.host_id == alert.host_id, Alert.id == alert.id, Alert.acknowledged_ns.is_(None))
    async with database.write() as session:
        await session.execute(which.values(acknowledged_ns=now_ns, acknowledged_by=by))


async def list_rules(database: Database) -> list[AlertRule]:
    """All rules, by id."""
    async with database.read() as session:
        return list(await session.scalars(select(AlertRule).order_by(AlertRule.id)))


async def rules_revision(database: Database) -> tuple[int, ...]:
    """Changes whenever any rule does."""
    figures = (func.count(AlertRule.id), func.sum(AlertRule.revision), func.max(AlertRule.updated_ns))
    async with database.read() as session:
        return tuple(int(figure or 0) for figure in (await session.execute(select(*figures))).one())


async def put_rules(database: Database, rows: Iterable[Mapping[str, Any]], gone: Iterable[str] = ()) -> None:
    """Add or change rules, each with one revision more, and forget others, in one transaction."""
    async with database.write() as session:
        known = {row.id: row.revision for row in await session.scalars(select(AlertRule))}
        for row in rows:
            values = {**row, "revision": known.get(row["id"], 0) + 1}
            statement = insert(database.dialect, AlertRule).values(**values)
            await session.execute(statement.on_conflict_do_update(index_elements=["id"], set_=values))
        forgotten = list(gone)
        if forgotten:
            await session.execute(delete(AlertRule).where(AlertRule.id.in_(forgotten)))


async def list_silences(database: Database, end_after_ns: int | None = None) -> list[Silence]:
    """Silences that end after a moment, or all; the newest first."""
    query = select(Silence).order_by(Silence.start_ns.desc(), Silence.id)
    if end_after_ns is not None:
        query = query.where(Silence.end_ns > end_after_ns)
    async with database.read() as session:
        return list(await session.scalars(query))


async def add_silence(database: Database, silence: Silence) -> None:
    """Keep a silence."""
    async with database.write() as session:
        session.add(silence)


async def end_silence(database: Database, silence_id: str, now_ns: int) -> bool:
    """End a silence now; one that was over stays as it is. False where there is none."""
    async with database.write() as session:
        row = await session.get(Silence, silence_id)
        if row is None:
            return False
        if row.end_ns > now_ns:
            row.end_ns = row.ended_ns = now_ns
    return True


async def delete_old_alerts(session: AsyncSession, before_ns: int) -> None:
    """Forget alerts and silences that were over before a moment."""
    over = delete(Alert).where(Alert.state == RESOLVED, Alert.updated_ns < before_ns)
    await session.execute(over, execution_options={"synchronize_session": False})
    await session.execute(delete(Silence).where(Silence.end_ns < before_ns))
