"""Writing a batch: everything of it in one transaction, or, when it had been stored before, nothing."""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import msgspec
from sqlalchemy import Table, select
from sqlalchemy.orm import Session

from gapscope_agent.wire import MAX_BATCH_BYTES, Batch
from gapscope_backend.store.database import Database
from gapscope_backend.store.entities import entities_of, seen_on, store_entities
from gapscope_backend.store.inflate import inflate
from gapscope_backend.store.ingest_runs import Key, compacted_of
from gapscope_backend.store.latest import LatestGroup, decode_latest, encode_latest, merge_latest
from gapscope_backend.store.models import Event, Host, HostLatest, IngestHot
from gapscope_backend.store.upsert import insert

PLAIN = "msgpack"
DEFLATED = "msgpack+zlib"
GZIPPED = "msgpack+gzip"
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
    latest: list[LatestGroup]
    facts_digest: bytes
    received_ns: int


def digest_of(batch: Batch) -> bytes:
    """A digest of what a batch tells of its entities, and of which entities it has series."""
    told = msgspec.msgpack.encode((entities_of(batch), batch.entities))
    return hashlib.blake2b(told, digest_size=16).digest()


def pack(payload: bytes, gzipped: bytes | None = None) -> tuple[str, bytes]:
    """Encoding and bytes under which a batch is kept: the text in it (entities, frames) deflates to a third.

    What came ``gzipped`` is kept as it came; it was found to inflate to the payload.
    """
    if gzipped is not None and len(gzipped) < len(payload):
        return GZIPPED, gzipped
    deflated = zlib.compress(payload, 1)
    return (DEFLATED, deflated) if len(deflated) < len(payload) else (PLAIN, payload)


def unpack(encoding: str, payload: bytes) -> bytes:
    """The msgpack of a stored batch. Raises StoreError where the database is damaged."""
    return payload if encoding == PLAIN else inflate(payload, MAX_BATCH_BYTES)


async def store_batches(database: Database, batches: Sequence[CheckedBatch]) -> list[bool]:
    """Store batches in one transaction, all or none; False for each that was there before.

    Many hosts' batches in one transaction cost one wait for the disk and a few statements. Hosts are locked in the
    order of their names, so that two writers never wait for each other.
    """
    return await database.write_in_thread(lambda session: _store(session, database.dialect, batches))


def _store(session: Session, dialect: str, batches: Sequence[CheckedBatch]) -> list[bool]:
    hosts = _host_rows(session, dialect, batches)
    for checked in batches:
        host = hosts[checked.batch.host]
        host.last_seen_ns = max(host.last_seen_ns, checked.received_ns)
    fresh = _add_hot(session, dialect, hosts, batches)
    stored = [batches[at] for at in sorted(fresh)]
    for checked in stored:
        host = hosts[checked.batch.host]
        _store_facts(session, host, checked)
        _renew_host(host, checked.batch)
        _store_events(session, host.id, checked)
    _store_latest(session, hosts, stored)
    return [at in fresh for at in range(len(batches))]


def lock_host(session: Session, host_id: int) -> None:
    """Wait until nobody else changes what a host's batches and chunks hold."""
    session.execute(select(Host.id).where(Host.id == host_id).with_for_update(key_share=True))


def _add_hot(session: Session, dialect: str, hosts: Mapping[str, Host], batches: Sequence[CheckedBatch]) -> set[int]:
    """Add the rows of batches; the places of those that were not there, neither as rows nor in chunks."""
    keys = [(hosts[one.batch.host].id, one.batch.run_id, one.batch.sequence) for one in batches]
    compacted = compacted_of(session, keys)
    first: dict[Key, int] = {}
    for at, key in enumerate(keys):
        if key not in compacted:
            first.setdefault(key, at)
    rows = [_row(key, batches[at]) for key, at in first.items()]
    if not rows:
        return set()
    table = cast("Table", IngestHot.__table__)
    columns = (table.c.host_id, table.c.run_id, table.c.sequence)
    statement = insert(dialect, table).on_conflict_do_nothing().returning(*columns)
    return {first[tuple(row)] for row in session.execute(statement, rows)}


def _row(key: Key, checked: CheckedBatch) -> dict[str, Any]:
    host_id, run_id, sequence = key
    return {
        "host_id": host_id,
        "run_id": run_id,
        "sequence": sequence,
        "t0_ns": checked.batch.start_ns,
        "t1_ns": checked.batch.end_ns,
        "received_ns": checked.received_ns,
        "encoding": checked.encoding,
        "payload": checked.payload,
    }


def _store_facts(session: Session, host: Host, checked: CheckedBatch) -> None:
    """Entities as told. As a rule a batch tells what the one before it told; then nothing is written for a minute."""
    batch = checked.batch
    newest = batch.end_ns >= host.last_data_ns
    known = checked.facts_digest == host.facts_digest and batch.start_ns >= host.first_data_ns
    if known and newest and batch.end_ns <= host.facts_until_ns:
        return
    if known and batch.start_ns >= host.last_data_ns:
        seen_on(session, host.id, entities_of(batch), batch.end_ns + FACTS_NS)
    else:
        store_entities(session, host.id, batch, batch.end_ns + FACTS_NS)
    if newest:
        host.facts_digest, host.facts_until_ns = checked.facts_digest, batch.end_ns + FACTS_NS


def _host_rows(session: Session, dialect: str, batches: Sequence[CheckedBatch]) -> dict[str, Host]:
    """The hosts' rows, made where there are none, and locked: batches of one host are stored one after the other."""
    firsts = {checked.batch.host: checked for checked in reversed(batches)}
    query = select(Host).where(Host.name.in_(firsts)).order_by(Host.name).with_for_update(key_share=True)
    found = {host.name: host for host in session.scalars(query)}
    unknown = [_new_host(firsts[name]) for name in sorted(firsts.keys() - found.keys())]
    if unknown:
        session.execute(insert(dialect, Host).on_conflict_do_nothing(index_elements=["name"]), unknown)
        found = {host.name: host for host in session.scalars(query)}
    return found


def _new_host(checked: CheckedBatch) -> dict[str, Any]:
    batch = checked.batch
    return {
        "name": batch.host,
        "recorded": batch.recorded,
        "agent_version": batch.agent_version,
        "labels": {},
        "accounting": {},
        "has_stacks": False,
        "first_seen_ns": checked.received_ns,
        "last_seen_ns": checked.received_ns,
        "first_data_ns": batch.start_ns,
        "last_data_ns": batch.end_ns,
    }


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


def _store_events(session: Session, host_id: int, checked: CheckedBatch) -> None:
    session.add_all(
        Event(
            host_id=host_id,
            run_id=checked.batch.run_id,
            sequence=checked.batch.sequence,
            position=position,
            t_ns=event.t,
            received_ns=checked.received_ns,
            kind=event.kind,
            text=event.text,
            entity=event.entity,
        )
        for position, event in enumerate(checked.batch.events)
    )


def _store_latest(session: Session, hosts: Mapping[str, Host], stored: Sequence[CheckedBatch]) -> None:
    ids = {hosts[checked.batch.host].id for checked in stored}
    rows = {row.host_id: row for row in session.scalars(select(HostLatest).where(HostLatest.host_id.in_(ids)))}
    for checked in stored:
        host_id, end_ns = hosts[checked.batch.host].id, checked.batch.end_ns
        row = rows.get(host_id)
        if row is None:
            rows[host_id] = HostLatest(host_id=host_id, t_ns=end_ns, latest=encode_latest(checked.latest))
            session.add(rows[host_id])
            continue
        row.latest = encode_latest(merge_latest(decode_latest(row.latest), checked.latest))
        row.t_ns = max(row.t_ns, end_ns)
