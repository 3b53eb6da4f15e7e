"""Rows of annotations: what a person noted at a time on a host."""

from __future__ import annotations

from sqlalchemy import delete, select

from gapscope_backend.store.database import Database
from gapscope_backend.store.models import Annotation


async def add_annotation(database: Database, annotation: Annotation) -> None:
    """Keep a new annotation."""
    async with database.write() as session:
        session.add(annotation)


async def annotations_in(database: Database, host_id: int, start_ns: int, end_ns: int, limit: int) -> list[Annotation]:
    """The newest annotations of a host that touch [start, end), oldest first."""
    query = (
        select(Annotation)
        .where(Annotation.host_id == host_id, Annotation.start_ns < end_ns, Annotation.end_ns >= start_ns)
        .order_by(Annotation.start_ns.desc(), Annotation.id)
        .limit(limit)
    )
    async with database.read() as session:
        return list(await session.scalars(query))[::-1]


async def delete_annotation(database: Database, host_id: int, annotation_id: str) -> bool:
    """Forget an annotation; False where there is none."""
    async with database.write() as session:
        statement = delete(Annotation).where(Annotation.host_id == host_id, Annotation.id == annotation_id)
        gone = await session.execute(statement.returning(Annotation.id))
        return gone.first() is not None
