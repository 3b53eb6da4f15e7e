"""Forecasts: what is there is counted, what came in is the growth, and too little history is said to be so."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from sqlalchemy import update

from gapscope_backend.cli.capacity import shown
from gapscope_backend.cli.main import main
from gapscope_backend.services.capacity import KindCapacity, forecast
from gapscope_backend.store.database import Database
from gapscope_backend.store.models import Chunk, Host, Pin
from gapscope_backend.store.retention import DAY_NS, HOUR_NS, Retention, delete_old
from gapscope_backend.store.sizes import read_sizes
from gapscope_backend.store.tiers import SLOT_NS
from gapscope_backend.store.usage import HostUsage, KindUsage, Usage, read_usage
from tests.backend.batches import NOW, BatchMaker
from tests.backend.running import Backend
from tests.export.stored import batches
from tests.store.storing import compact_all, store

both = pytest.mark.both_engines
MIB = 1 << 20
SLOTS = 6
"""Of data in ``filled``, the first 25 h old and the last 2 h."""


@pytest.fixture
async def filled(database: Database, maker: BatchMaker) -> Database:
    """A slot of chunks received at each of these ages in hours, and one hot batch."""
    for age in (25, 23, 20, 10, 5, 2):
        start = (NOW - age * HOUR_NS) // SLOT_NS * SLOT_NS
        await store(database, *batches(maker, 60, start), now_ns=NOW - age * HOUR_NS)
        await compact_all(database, NOW - age * HOUR_NS + 60 * 10**9)
    await store(database, *batches(maker, 5, NOW - 60 * 10**9), now_ns=NOW)
    return database


async def chunk_bytes(database: Database, tier: int, since_ns: int = 0) -> int:
    from sqlalchemy import func, select

    query = select(func.sum(func.length(Chunk.data))).where(Chunk.tier == tier, Chunk.received_ns > since_ns)
    async with database.read() as session:
        return int(await session.scalar(query) or 0)


def of(kinds: list[KindCapacity], name: str) -> KindCapacity:
    return next(kind for kind in kinds if kind.kind == name)


@both
async def test_what_is_there_is_counted_and_what_came_in_is_the_growth(filled: Database) -> None:
    usage = await read_usage(filled, Retention(), NOW)
    found = forecast(usage, Retention(), filled.dialect, 10**12)
    assert (found.state, found.measured_seconds) == ("measured", 86_400)
    [host] = (await read_sizes(filled)).hosts
    assert of(found.kinds, "hot").size_bytes == host.hot_bytes > 0
    since = NOW - 600 * 10**9 - DAY_NS
    for name, tier, days in (("raw", 0, 2), ("10s", 10, 30), ("5min", 300, 365)):
        kind = of(found.kinds, name)
        assert kind.size_bytes == await chunk_bytes(filled, tier)
        assert kind.growth_bytes_per_day == await chunk_bytes(filled, tier, since) < kind.size_bytes
        assert kind.kept_days == days
        assert kind.steady_bytes == pytest.approx(kind.growth_bytes_per_day * days)
    assert sum(kind.size_bytes for kind in found.kinds) == found.content_bytes == found.hosts[0].size_bytes
    assert found.hosts[0].growth_bytes_per_day == pytest.approx(found.growth_bytes_per_day)
    assert (found.fills, found.days_until_full, found.overhead_ratio) == (False, None, None)
    assert found.used_bytes > 0


@both
async def test_half_a_retention_frees_what_it_says(filled: Database) -> None:
    keep = Retention()
    async with filled.write() as session:
        start = (NOW - 25 * HOUR_NS) // SLOT_NS * SLOT_NS
        session.add(Pin(host_id=1, id="p", start_ns=start, end_ns=start + 1, until_ns=None))
    before = forecast(await read_usage(filled, keep, NOW), keep, filled.dialect, None)
    told = next(one for one in before.settings if one.setting == "retention_hours")
    assert (told.now, told.instead, told.frees_bytes) == (48, 24, 0)
    keep = Retention(raw_hours=12)
    before = forecast(await read_usage(filled, keep, NOW), keep, filled.dialect, None)
    told = next(one for one in before.settings if one.setting == "retention_hours")
    outlived = of(before.kinds, "raw").pinned_bytes
    await delete_old(filled, keep, NOW)
    raw = await chunk_bytes(filled, 0)
    await delete_old(filled, Retention(raw_hours=6), NOW)
    assert told.frees_bytes == raw - await chunk_bytes(filled, 0) > 0
    left = forecast(await read_usage(filled, keep, NOW), keep, filled.dialect, None)
    assert 0 < of(left.kinds, "raw").pinned_bytes < outlived


@both
async def test_a_young_database_says_that_it_knows_nothing_yet(filled: Database) -> None:
    async def known_since(since_ns: int) -> str:
        async with filled.write() as session:
            await session.execute(update(Host).values(first_seen_ns=since_ns))
        return forecast(await read_usage(filled, Retention(), NOW), Retention(), filled.dialect, 10**12).state

    assert await known_since(NOW - HOUR_NS) == "not_enough_history"
    young = forecast(await read_usage(filled, Retention(), NOW), Retention(), filled.dialect, 10**12)
    assert (young.growth_bytes_per_day, young.steady_bytes, young.fills, young.days_until_full) == (None,) * 4
    assert young.hosts[0].growth_bytes_per_day is None
    assert all(kind.growth_bytes_per_day is None for kind in young.kinds)
    assert young.content_bytes > 0
    assert await known_since(NOW - 6 * HOUR_NS) == "short_history"
    short = forecast(await read_usage(filled, Retention(), NOW), Retention(), filled.dialect, 10**12)
    assert short.measured_seconds == 6 * 3600 - 600


def usage(rate: int, used: int = 1000 * MIB, raw: int = 100 * MIB) -> Usage:
    """A host that adds ``rate`` bytes a day to raw and a tenth of it to 10 s, and holds ``raw`` and 100 MiB."""
    kinds = {"raw": KindUsage(raw, rate, DAY_NS), "10s": KindUsage(100 * MIB, rate // 10, DAY_NS)}
    return Usage(used, [HostUsage("a", 2 * DAY_NS, kinds)])


def test_the_day_on_which_the_disk_is_full_follows_from_growth_and_retention() -> None:
    keep = Retention(raw_hours=48, ten_seconds_days=30)
    overhead = 1000 / 200
    full = forecast(usage(100 * MIB), keep, "sqlite", 300 * MIB)
    assert full.overhead_ratio == overhead
    # Raw grows for one more day, 110 MiB of content in all, 550 on the disk: too much.
    assert full.fills
    assert full.days_until_full == pytest.approx(300 / 550)
    later = forecast(usage(100 * MIB), keep, "sqlite", 700 * MIB)
    # After that day only the tier grows, by 10 MiB of content a day.
    assert later.days_until_full == pytest.approx(1 + 150 / 50)
    assert later.steady_bytes == pytest.approx((200 + 300) * overhead * MIB)
    fits = forecast(usage(100 * MIB), keep, "sqlite", 1501 * MIB)
    assert (fits.fills, fits.days_until_full) == (False, None)
    unknown = forecast(usage(100 * MIB), keep, "postgresql", None)
    assert (unknown.fills, unknown.days_until_full, unknown.free_bytes) == (None, None, None)
    assert forecast(usage(0), keep, "sqlite", 0).fills is False


def test_a_short_retention_is_measured_over_what_is_kept() -> None:
    kinds = {"raw": KindUsage(10 * MIB, 6 * MIB, 6 * HOUR_NS)}
    found = forecast(Usage(0, [HostUsage("a", 2 * DAY_NS, kinds)]), Retention(raw_hours=7), "sqlite", None)
    assert of(found.kinds, "raw").growth_bytes_per_day == 24 * MIB
    assert of(found.kinds, "raw").steady_bytes == pytest.approx(7 * MIB)


async def test_over_http(backend: Backend, maker: BatchMaker) -> None:
    await backend.store(*batches(maker, 30, NOW - 60 * 10**9))
    answer = await backend.client.get("/api/v1/capacity", headers=backend.read)
    told = await answer.json()
    assert (answer.status, told["state"], told["database"]) == (200, "not_enough_history", "sqlite")
    assert told["free_bytes"] > 0
    limited = await backend.client.get("/api/v1/capacity?limit_bytes=1", headers=backend.read)
    assert (await limited.json())["free_bytes"] == 0
    assert (await backend.client.get("/api/v1/capacity?limit_bytes=0", headers=backend.read)).status == 400
    assert (await backend.client.get("/api/v1/capacity")).status == 401


@both
def test_the_command_tells_it(
    database_url: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], maker: BatchMaker
) -> None:
    import asyncio

    from gapscope_backend.store.database import connect

    async def fill() -> None:
        database = connect(database_url)
        await store(database, *batches(maker, 30), now_ns=NOW)
        await database.close()

    asyncio.run(fill())
    (tmp_path / "server.toml").write_text("[server]\nretention_hours = 24\n")
    words = ["db", "capacity", "--database", database_url, "--config", str(tmp_path / "server.toml")]
    assert main([*words, "--limit", "1T", "--json"]) == 0
    told = msgspec.json.decode(capsys.readouterr().out)
    assert next(one["kept_days"] for one in told["kinds"] if one["kind"] == "raw") == 1
    assert told["free_bytes"] == (1 << 40) - told["used_bytes"]
    assert main(words) == 0
    text = capsys.readouterr().out
    assert "retention_hours 24 -> 12" in text
    assert "node-1" in text
    with pytest.raises(SystemExit):
        main([*words, "--limit", "much"])
    assert "want bytes, or a number with K, M, G or T" in capsys.readouterr().err


@pytest.mark.parametrize(("size", "text"), [(0, "0 B"), (999, "999 B"), (1500, "1.46 KiB"), (5 << 40, "5 TiB")])
def test_sizes_are_short(size: int, text: str) -> None:
    assert shown(size) == text
