"""The server as a whole: it listens on localhost only, tells its address, stops when told; data outlive a kill."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest
from aiohttp import ClientSession

from gapscope_agent.wire import MEDIA_TYPE, encode
from gapscope_backend.api.server import ServerConfig, loop_factory, run_server
from gapscope_backend.errors import ConfigurationError
from gapscope_backend.services import admin
from gapscope_backend.services.hosts import find_host
from gapscope_backend.services.windows import load_window
from tests.backend.batches import GPU, NOW, SECOND, TICK, BatchMaker, group


async def test_it_serves_until_stopped(tmp_path: Path) -> None:
    ready: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    stop = asyncio.Event()
    running = asyncio.create_task(run_server(ServerConfig(data_dir=tmp_path / "data"), ready.set_result, stop))
    address = await asyncio.wait_for(ready, 20)
    async with ClientSession() as session, session.get(f"{address}/api/v1/health") as response:
        assert (await response.json())["status"] == "ok"
    stop.set()
    await asyncio.wait_for(running, 20)


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"host": "0.0.0.0"}, "localhost only"),
        ({"host": "192.168.1.5"}, "localhost only"),
        ({"host": "example.com"}, "localhost only"),
        ({"port": 70000}, "port 70000"),
        ({"gap_threshold": 1.5}, "gap threshold"),
    ],
)
def test_settings_that_cannot_be_used_are_named(tmp_path: Path, settings: dict[str, object], says: str) -> None:
    with pytest.raises(ConfigurationError, match=says):
        ServerConfig(data_dir=tmp_path, **settings).check()  # type: ignore[arg-type]


async def test_a_taken_port_is_named(tmp_path: Path) -> None:
    server = await asyncio.start_server(lambda r, w: None, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    with pytest.raises(ConfigurationError, match=f"port {port}"):
        await run_server(ServerConfig(data_dir=tmp_path, port=port), None, asyncio.Event())
    server.close()
    await server.wait_closed()


def test_the_loop_is_made_by_a_factory() -> None:
    loop = loop_factory()()
    loop.close()


SERVE = textwrap.dedent("""
    import asyncio, sys
    from pathlib import Path
    from gapscope_backend.api.server import ServerConfig, run_server
    asyncio.run(run_server(ServerConfig(data_dir=Path(sys.argv[1])), lambda a: print(a, flush=True), asyncio.Event()))
""")


async def test_acknowledged_batches_outlive_a_kill(tmp_path: Path) -> None:
    token = await admin.create_token(admin.database_url(tmp_path), "ingest", "*", "")
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", SERVE, str(tmp_path), stdout=asyncio.subprocess.PIPE
    )
    assert process.stdout is not None
    address = (await asyncio.wait_for(process.stdout.readline(), 30)).decode().strip()
    headers = {"Authorization": f"Bearer {token}", "Content-Type": MEDIA_TYPE}
    maker = BatchMaker()
    acknowledged = 0
    async with ClientSession(headers=headers) as session:
        for at in range(10):
            start = NOW + at * SECOND
            batch = maker.make(start, start + SECOND, [group(GPU, start, TICK, gpu_power_watts=np.ones(10))])
            async with session.post(f"{address}/api/v1/ingest", data=encode(batch)) as response:
                acknowledged += response.status == 200
    os.kill(process.pid, signal.SIGKILL)
    await process.wait()
    async with admin.open_admin(admin.database_url(tmp_path)) as database:
        host = await find_host(database, "node-1")
        window = await load_window(database, host, NOW, NOW + 60 * SECOND)
    assert acknowledged == 10
    assert window.series[GPU, "gpu_power_watts"].times.size == 100
