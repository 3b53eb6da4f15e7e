"""Writing a batch: everything of it in one transaction, or, when it had been stored before, nothing."""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Sequence
from dataclasses import dataclass

import msgspec
from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from gapscope_agent.wire import Batch
from gapscope_backend.store.database import Database
from gapscope_backend.store.entities import store_entities
from gapscope_backend.store.ingest_runs import is_compacted
from gapscope_backend.store.latest import Latest, decode_latest, encode_latest, merge_latest
from gapscope_backend.store.models import Event, Host, HostLatest, IngestHot
from gapscope_backend.store.upsert import insert

PLAIN = "msgpack"
DEFLATED = "msgpack+zlib"
FACTS_NS = 60_000_000_000
"""Entities are written as seen until so long after the batch that tells of them, not with each batch."""


@dataclass(frozen=True)
class CheckedBatch:
    """A batch that was validated to the last value: its parts, its bytes for the store, its newest values.

    ``facts_digest`` is one of its entities and their labels; ``received_ns`` is the server's clock.
    """

    batch: Batch
    encoding: str
    payload: bytes
    latest: Latest
    facts_digest: bytes
    received_ns: int


def digest_of(batch: Batch) -> bytes:
    """A digest of what a batch tells of its entities, and of which entities it has series."""
    keys = sorted({key for group in batch.groups for key in group.entities})
    told = sorted((entity.key, sorted(entity.labels.items())) for entity in batch.entities)
    return hashlib.blake2b(msgspec.msgpack.encode((keys, told)), digest_size=16).digest()


def pack(payload: bytes) -> tuple[str, bytes]:
    """Encoding and bytes under which a batch is kept: the text in it (entities, frames) deflates to a third."""
    deflated = zlib.compress(payload, 1)
    return (DEFLATED, deflated) if len(deflated) < len(payload) else (PLAIN, payload)


def unpack(encoding: str, payload: bytes) -> bytes:
    """The msgpack of a stored batch."""
    return zlib.decompress(payload) if encoding == DEFLATED else payload


async def store_batches(database: Database, batches: Sequence[CheckedBatch]) -> list[bool]:
    """Store batches in one transaction, all or none; False for each that was there before.

    Many hosts' batches in one transaction cost one wait for the disk. Hosts are locked in the order of their names, so
    that two writers never wait for each other.
    """
    stored = [False] * len(batches)
    async with database.write() as session:
        for at in sorted(range(len(batches)), key=lambda at: batches[at].batch.host):
            stored[at] = await _store(session, database.dialect, batches[at])
    return stored


async def lock_host(session: AsyncSession, host_id: int) -> None:
    """Wait until nobody else changes what a host's batches and chunks hold."""
    await session.execute(select(Host.id).where(Host.id == host_id).with_for_update(key_share=True))


async def _store(session: AsyncSession, dialect: str, checked: CheckedBatch) -> bool:
    batch, now_ns = checked.batch, checked.received_ns
    host = await _host_row(session, dialect, batch, now_ns)
    host.last_seen_ns = max(host.last_seen_ns, now_ns)
    if await is_compacted(session, host.id, batch.run_id, batch.sequence):
        return False
    row = {
        "host_id": host.id,
        "run_id": batch.run_id,
        "sequence": batch.sequence,
        "t0_ns": batch.start_ns,
        "t1_ns": batch.end_ns,
        "received_ns": now_ns,
        "encoding": checked.encoding,
        "payload": checked.payload,
    }
    statement = insert(dialect, IngestHot).values(row).on_conflict_do_nothing()
    added = await session.execute(statement.returning(IngestHot.sequence))
    if added.first() is None:
        return False
    await _store_facts(session, host, checked)
    _renew_host(host, batch)
    await _store_events(session, host.id, batch, now_ns)
    await _store_latest(session, host.id, checked)
    return True


async def _store_facts(session: AsyncSession, host: Host, checked: CheckedBatch) -> None:
    """Entities as told. As a rule a batch tells what the one before it told; then nothing is written for a minute."""
    batch = checked.batch
    newest = batch.end_ns >= host.last_data_ns
    known = checked.facts_digest == host.facts_digest and batch.start_ns >= host.first_data_ns
    if known and newest and batch.end_ns <= host.facts_until_ns:
        return
    await store_entities(session, host.id, batch, batch.end_ns + FACTS_NS)
    if newest:
        host.facts_digest, host.facts_until_ns = checked.facts_digest, batch.end_ns + FACTS_NS


async def _host_row(session: AsyncSession, dialect: str, batch: Batch, now_ns: int) -> Host:
    """The host's row, made where there is none, and locked: batches of one host are stored one after the other."""
    query = select(Host).where(Host.name == batch.host).with_for_update(key_share=True)
    host: Host | None = await session.scalar(query)
    if host is not None:
        return host
    new = insert(dialect, Host).values(
        name=batch.host,
        recorded=batch.recorded,
        agent_version=batch.agent_version,
        labels={},
        accounting={},
        has_stacks=False,
        first_seen_ns=now_ns,
        last_seen_ns=now_ns,
        first_data_ns=batch.start_ns,
        last_data_ns=batch.end_ns,
    )
    await session.execute(new.on_conflict_do_nothing(index_elements=["name"]))
    return (await session.scalars(query)).one()


def _renew_host(host: Host, batch: Batch) -> None:
    """What a late batch tells of an earlier time does not replace what is known of a later one."""
    if batch.end_ns >= host.last_data_ns:
        host.recorded = batch.recorded
        host.agent_version = batch.agent_version
        host.labels = dict(batch.labels)
        host.accounting = msgspec.to_builtins(batch.accounting)
    host.first_data_ns = min(host.first_data_ns, batch.start_ns)
    host.last_data_ns = max(host.last_data_ns, batch.end_ns)
    host.has_stacks = host.has_stacks or bool(batch.samples)


async def _store_events(session: AsyncSession, host_id: int, batch: Batch, now_ns: int) -> None:
    session.add_all(
        Event(
            host_id=host_id,
            run_id=batch.run_id,
            sequence=batch.sequence,
            position=position,
            t_ns=event.t,
            received_ns=now_ns,
            kind=event.kind,
            text=event.text,
            entity=event.entity,
        )
        for position, event in enumerate(batch.events)
    )


async def _store_latest(session: AsyncSession, host_id: int, checked: CheckedBatch) -> None:
    row = await session.get(HostLatest, host_id)
    if row is None:
        session.add(HostLatest(host_id=host_id, t_ns=checked.batch.end_ns, latest=encode_latest(checked.latest)))
        return
    merged = merge_latest(decode_latest(row.latest), checked.latest)
    row.latest = encode_latest(merged)
    row.t_ns = max(row.t_ns, checked.batch.end_ns)
