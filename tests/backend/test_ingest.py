"""Batches: stored whole and once, or refused with a reason and nothing of them stored."""

from __future__ import annotations

import gzip
import re
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import msgspec
import numpy as np
import pytest
from pcodec import ChunkConfig, standalone
from sqlalchemy import func, select
from sqlalchemy.exc import OperationalError

from gapscope_agent.wire import MAX_BATCH_BYTES, MEDIA_TYPE, WIRE_VERSION, Batch, Event, encode
from gapscope_backend.services import access
from gapscope_backend.store.models import Entity, Host, HostLatest, IngestHot
from gapscope_backend.store.models import Event as EventRow
from tests.backend.batches import GPU, NOW, SECOND, TICK, BatchMaker, group, standard_entities
from tests.backend.running import Backend

TABLES = (Host, Entity, EventRow, HostLatest, IngestHot)
START = NOW - 5 * SECOND
Damage = Callable[[Batch], bytes]


async def count_rows(backend: Backend) -> dict[str, int]:
    async with backend.database.read() as session:
        return {
            model.__tablename__: await session.scalar(select(func.count()).select_from(model)) or 0 for model in TABLES
        }


def five_seconds(maker: BatchMaker) -> Batch:
    ratios = np.linspace(0, 1, 50)
    return maker.make(
        START,
        NOW,
        [group(GPU, START, TICK, gpu_graphics_active_ratio=ratios, gpu_power_watts=100 + ratios)],
        entities=standard_entities(),
        events=[Event(START, "source_state", "stacks: ok")],
    )


@pytest.mark.both_engines
async def test_a_batch_is_stored_and_acknowledged(backend: Backend, maker: BatchMaker) -> None:
    response = await backend.post(encode(five_seconds(maker)))
    assert response.status == 200
    assert await response.json() == {"stored": True, "duplicate": False}
    assert await count_rows(backend) == {"host": 1, "entity": 6, "event": 1, "host_latest": 1, "ingest_hot": 1}


@pytest.mark.both_engines
async def test_the_same_batch_again_stores_nothing(backend: Backend, maker: BatchMaker) -> None:
    body = encode(five_seconds(maker))
    await backend.post(body)
    before = await count_rows(backend)
    response = await backend.post(body)
    assert await response.json() == {"stored": True, "duplicate": True}
    assert await count_rows(backend) == before


@pytest.mark.both_engines
async def test_the_same_sequence_of_another_run_is_another_batch(backend: Backend, maker: BatchMaker) -> None:
    await backend.store(five_seconds(maker))
    again = five_seconds(BatchMaker(run_id="run-0000-0002"))
    assert (await (await backend.post(encode(again))).json())["duplicate"] is False
    assert (await count_rows(backend))["ingest_hot"] == 2


async def test_gzip_is_taken(backend: Backend, maker: BatchMaker) -> None:
    response = await backend.post(gzip.compress(encode(five_seconds(maker))), Content_Encoding="gzip")
    assert response.status == 200, await response.text()


def bomb_column(batch: Batch) -> bytes:
    """A few kB that claim 50 million values, announced as 50."""
    data = bytes(standalone.simple_compress(np.zeros(50_000_000, dtype=np.int64), ChunkConfig()))
    assert len(data) < 100_000
    batch.groups[0].data = data
    return encode(batch)


def huge_count(batch: Batch) -> bytes:
    batch.groups[0].count = 4_000_000_000
    return encode(batch)


def wrong_metric(batch: Batch) -> bytes:
    batch.groups[0].metrics[0] = "gpu_nonsense"
    return encode(batch)


def outside_span(batch: Batch) -> bytes:
    batch.end_ns -= SECOND
    return encode(batch)


def cut_column(batch: Batch) -> bytes:
    batch.groups[0].data = batch.groups[0].data[:-3]
    return encode(batch)


def wrong_version(batch: Batch) -> bytes:
    batch.version = 99
    return encode(batch)


def future(batch: Batch) -> bytes:
    batch.end_ns = NOW + 61 * SECOND
    return encode(batch)


@pytest.mark.parametrize(
    ("damage", "status", "says"),
    [
        (lambda batch: b"", 400, "not a batch"),
        (lambda batch: b"\xc1" * 100, 400, "not a batch"),
        (lambda batch: encode(batch)[:-20], 400, "not a batch"),
        (lambda batch: msgspec.msgpack.encode({"version": WIRE_VERSION, "host": "node-1"}), 400, "run_id"),
        (lambda batch: b"\x91" * 200_000, 400, "not a batch"),
        (bomb_column, 400, "are too many for 100 values"),
        (huge_count, 400, "count"),
        (wrong_metric, 400, "gpu_nonsense"),
        (outside_span, 400, "leave the batch's span"),
        (cut_column, 400, "not a whole pcodec"),
        (wrong_version, 426, "version 99"),
        (future, 422, "in the future"),
        (lambda batch: b"x" * (MAX_BATCH_BYTES + 1), 413, "at most"),
    ],
)
async def test_a_bad_batch_is_refused_with_its_reason(
    backend: Backend, maker: BatchMaker, damage: Damage, status: int, says: str
) -> None:
    response = await backend.post(damage(five_seconds(maker)))
    assert response.status == status, await response.text()
    problem = await response.json()
    assert says in problem["detail"]
    assert set(problem) == {"error", "detail", "where"}
    assert set((await count_rows(backend)).values()) == {0}


@pytest.mark.parametrize(
    ("body", "status", "says"),
    [
        (b"no gzip at all", 400, "not gzip"),
        (gzip.compress(b"x" * 1000, mtime=0)[:-10], 400, "cut short"),
        (gzip.compress(b"x", mtime=0) + b"more", 400, "followed by other bytes"),
        (gzip.compress(bytes(200 * 1024 * 1024), 9, mtime=0), 413, "inflates to more"),
    ],
)
async def test_bad_gzip_is_refused(backend: Backend, body: bytes, status: int, says: str) -> None:
    assert len(body) < MAX_BATCH_BYTES
    response = await backend.post(body, Content_Encoding="gzip")
    assert response.status == status
    assert says in (await response.json())["detail"]


async def test_a_stream_without_length_is_cut_at_the_limit(backend: Backend) -> None:
    sent = 0

    async def endless() -> AsyncIterator[bytes]:
        nonlocal sent
        while True:
            sent += 65536
            yield bytes(65536)

    headers = {"Authorization": f"Bearer {backend.ingest_token}", "Content-Type": MEDIA_TYPE}
    response = await backend.client.post("/api/v1/ingest", data=endless(), headers=headers)
    assert response.status == 413
    assert sent < 4 * MAX_BATCH_BYTES


async def test_other_media_and_encodings_are_refused(backend: Backend) -> None:
    assert (await backend.post(b"{}", Content_Type="application/json")).status == 415
    assert (await backend.post(b"", Content_Encoding="br")).status == 415


async def test_a_token_writes_only_as_its_hosts(backend: Backend) -> None:
    batch = five_seconds(BatchMaker(host="other-1"))
    response = await backend.post(encode(batch))
    assert response.status == 403
    assert "node-*" in (await response.json())["detail"]
    assert set((await count_rows(backend)).values()) == {0}


@pytest.mark.both_engines
async def test_a_token_that_is_revoked_while_it_is_in_use_writes_no_more(backend: Backend, maker: BatchMaker) -> None:
    await backend.store(five_seconds(maker))
    await access.revoke_token(backend.database, backend.ingest_token[:12], NOW)
    response = await backend.post(encode(five_seconds(maker)))
    assert response.status == 401
    assert "revoked" in (await response.json())["detail"]
    assert (await count_rows(backend))["ingest_hot"] == 1


@pytest.mark.both_engines
async def test_a_revoked_token_writes_nothing(backend: Backend, maker: BatchMaker) -> None:
    await access.revoke_token(backend.database, backend.ingest_token[:12], NOW)
    response = await backend.post(encode(five_seconds(maker)))
    assert response.status == 401
    assert "revoked" in (await response.json())["detail"]


@pytest.mark.both_engines
async def test_a_late_batch_does_not_replace_newer_facts(backend: Backend, maker: BatchMaker) -> None:
    newer = five_seconds(maker)
    older = maker.make(
        START - 5 * SECOND, START, [group(GPU, START - 5 * SECOND, TICK, gpu_power_watts=np.full(50, 10.0))]
    )
    await backend.store(newer, older)
    answer = await (await backend.client.get("/api/v1/hosts/node-1/latest", headers=backend.read)).json()
    assert answer["values"][GPU]["gpu_power_watts"] == pytest.approx(101.0)


def peak_bytes(reset: bool = False) -> int:
    """Peak resident memory of this process since the last reset."""
    if reset:
        Path("/proc/self/clear_refs").write_text("5")
    text = Path("/proc/self/status").read_text()
    return 1024 * int(re.search(r"VmHWM:\s+(\d+) kB", text)[1])  # type: ignore[index]


async def test_bombs_cost_no_memory(backend: Backend, maker: BatchMaker) -> None:
    batch = five_seconds(maker)
    column_bomb = bomb_column(batch)
    gzip_bomb = gzip.compress(bytes(400 * 1024 * 1024), 9)
    await backend.store(five_seconds(maker))
    before = peak_bytes(reset=True)
    assert (await backend.post(column_bomb)).status == 400
    assert (await backend.post(gzip_bomb, Content_Encoding="gzip")).status == 413
    assert peak_bytes() - before < 100 * 1024 * 1024


async def test_a_full_disk_asks_for_another_try(
    backend: Backend, maker: BatchMaker, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OperationalError("INSERT", {}, Exception("database or disk is full"))

    body = encode(five_seconds(maker))
    with monkeypatch.context() as patch:
        patch.setattr("gapscope_backend.store.hot.store_entities", full)
        response = await backend.post(body)
    assert (response.status, response.headers["Retry-After"]) == (503, "1")
    assert set((await count_rows(backend)).values()) == {0}
    assert (await (await backend.post(body)).json())["duplicate"] is False
