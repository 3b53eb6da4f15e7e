"""Keeping entities: who they are, their facts, and when they were first and last seen.

Most batches tell nothing new about most entities; those cost one statement for all of them together.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from sqlalchemy import Table, insert, select, update
from sqlalchemy.orm import Session

from gapscope_agent.wire import Batch
from gapscope_backend.store.models import Entity
from gapscope_backend.store.slices import slices

_KEYS_AT_ONCE = 500  # below SQLite's limit of bound parameters

Known = dict[str, tuple[dict[str, str], int]]
"""Key to (labels, last seen) as stored."""


def entities_of(batch: Batch) -> list[str]:
    """Keys of the entities that a batch tells of or has series of."""
    return sorted({entity.key for entity in batch.entities}.union(*(group.entities for group in batch.groups)))


def store_entities(session: Session, host_id: int, batch: Batch, seen_until_ns: int) -> None:
    """Lay what a batch tells of its entities over what is stored; a late batch fills in, it replaces nothing.

    They count as seen until ``seen_until_ns``, which may lie beyond the batch: so long nothing need be written.
    """
    told = {entity.key: entity.labels for entity in batch.entities}
    keys = entities_of(batch)
    known = _load(session, host_id, keys)
    rows = [
        {
            "host_id": host_id,
            "key": key,
            "kind": key.partition(":")[0],
            "labels": told.get(key, {}),
            "first_seen_ns": batch.start_ns,
            "last_seen_ns": seen_until_ns,
        }
        for key in keys
        if key not in known
    ]
    if rows:
        session.execute(insert(cast("Table", Entity.__table__)), rows)
    seen_on(session, host_id, sorted(known), seen_until_ns)
    _seen_from(session, host_id, sorted(known), batch.start_ns)
    for key in told.keys() & known.keys():
        labels, last_seen_ns = known[key]
        merged = {**labels, **told[key]} if seen_until_ns >= last_seen_ns else {**told[key], **labels}
        if merged != labels:
            which = update(Entity).where(Entity.host_id == host_id, Entity.key == key)
            session.execute(which.values(labels=merged), execution_options={"synchronize_session": False})


def seen_on(session: Session, host_id: int, keys: Sequence[str], until_ns: int) -> None:
    """Note that stored entities were seen until then; where they were seen later already, nothing changes."""
    for some in slices(keys, _KEYS_AT_ONCE):
        which = update(Entity).where(Entity.host_id == host_id, Entity.key.in_(some), Entity.last_seen_ns < until_ns)
        session.execute(which.values(last_seen_ns=until_ns), execution_options={"synchronize_session": False})


def _load(session: Session, host_id: int, keys: Sequence[str]) -> Known:
    known: Known = {}
    for some in slices(keys, _KEYS_AT_ONCE):
        rows = session.execute(
            select(Entity.key, Entity.labels, Entity.last_seen_ns).where(
                Entity.host_id == host_id, Entity.key.in_(some)
            )
        )
        known.update((key, (labels, last_seen_ns)) for key, labels, last_seen_ns in rows)
    return known


def _seen_from(session: Session, host_id: int, keys: Sequence[str], first_ns: int) -> None:
    for some in slices(keys, _KEYS_AT_ONCE):
        which = update(Entity).where(Entity.host_id == host_id, Entity.key.in_(some), Entity.first_seen_ns > first_ns)
        session.execute(which.values(first_seen_ns=first_ns), execution_options={"synchronize_session": False})
