"""Exports over HTTP: access, parameters, and what happens when it breaks half-way."""

from __future__ import annotations

import pyarrow as pa
import pytest
from aiohttp import ClientError
from sqlalchemy import update

from gapscope_backend.api import streaming
from gapscope_backend.services.export_formats import MEDIA_TYPES
from gapscope_backend.store.models import Chunk
from gapscope_backend.store.tiers import SECOND_NS
from tests.backend.batches import NOW, BatchMaker
from tests.backend.conftest import analyse, backend, clock
from tests.backend.running import Backend
from tests.export.stored import batches
from tests.store.storing import compact_all

__all__ = ["analyse", "backend", "clock"]

PATH = "/api/v1/hosts/node-1/export"
BEGIN = NOW - 1800 * SECOND_NS
SPAN = f"from={BEGIN // 10**6}&to={NOW // 10**6}"


@pytest.fixture
async def filled(backend: Backend, maker: BatchMaker) -> Backend:
    await backend.store(*batches(maker, 900, BEGIN))
    return backend


@pytest.mark.parametrize("name", MEDIA_TYPES)
async def test_each_format_comes_as_a_file(filled: Backend, name: str) -> None:
    response = await filled.client.get(f"{PATH}?{SPAN}&format={name}", headers=filled.read)
    assert response.status == 200
    assert response.content_type == MEDIA_TYPES[name]
    assert response.headers["Content-Disposition"] == f'attachment; filename="node-1.{name}"'
    body = await response.read()
    if name == "csv":
        assert body.count(b"\n") == 1 + 180 * (3 * 50 + 5)
    if name == "arrow":
        with pa.ipc.open_stream(body) as reader:
            assert reader.read_all().num_rows == 180 * (3 * 50 + 5)


async def test_a_head_request_has_no_body(filled: Backend) -> None:
    response = await filled.client.head(f"{PATH}?{SPAN}", headers=filled.read)
    assert (response.status, await response.read()) == (200, b"")


@pytest.mark.parametrize(
    ("query", "status", "where"),
    [
        ("format=xlsx", 400, "format"),
        ("tier=1s", 400, "tier"),
        ("metric=gpu_power_wats", 400, "metric"),
        ("from=now&to=now-5m", 400, "from"),
        ("from=yesterday", 400, "from"),
        ("colour=red", 400, "colour"),
        ("format=csv&format=csv", 400, "format"),
    ],
)
async def test_bad_parameters_say_what_is_wrong(filled: Backend, query: str, status: int, where: str) -> None:
    response = await filled.client.get(f"{PATH}?{query}", headers=filled.read)
    problem = await response.json()
    assert (response.status, problem["where"]) == (status, where), problem


async def test_an_unknown_host_and_a_stranger_get_nothing(filled: Backend) -> None:
    missing = await filled.client.get("/api/v1/hosts/node-9/export", headers=filled.read)
    assert missing.status == 404
    assert (await filled.client.get(PATH)).status == 401
    ingest = {"Authorization": f"Bearer {filled.ingest_token}"}
    assert (await filled.client.get(PATH, headers=ingest)).status == 403


async def test_a_file_that_breaks_half_way_does_not_end_like_a_whole_one(filled: Backend) -> None:
    await compact_all(filled.database, NOW + 3600 * SECOND_NS)
    damage = update(Chunk).where(Chunk.tier == 0, Chunk.t0_ns > BEGIN + 300 * SECOND_NS).values(data=b"\xff" * 9)
    async with filled.database.write() as session:
        await session.execute(damage)
    with pytest.raises(ClientError):
        await (await filled.client.get(f"{PATH}?{SPAN}", headers=filled.read)).read()


async def test_too_many_at_once_are_told_to_come_back(filled: Backend, monkeypatch: pytest.MonkeyPatch) -> None:
    streams = filled.client.app[streaming.STREAMS]
    for _ in range(streaming.STREAMS_AT_ONCE):
        await streams.acquire()
    response = await filled.client.get(f"{PATH}?{SPAN}", headers=filled.read)
    assert (response.status, response.headers["Retry-After"]) == (503, "1")
