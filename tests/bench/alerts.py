"""``python -m tests.bench.alerts --save alerts``: how soon people are told of a drop, and what the evaluator costs.

Replays of the package's recording run in real time against a real server, on several hosts whose beginnings are spread
over a copy; each copy holds one drop of 21 s. A drop is due once it has lasted its ``for``; measured is from there to
the row in the outbox, and to the end of the request that a webhook on this machine answered. The agents send as by
default: every 5 s, and every second in a drop.

``--tick`` times one look at many hosts instead: rows of hosts that a fleet would have, a share of which has changed.
"""

from __future__ import annotations

import argparse
import asyncio
import http.server
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import msgspec
from sqlalchemy import select

from gapscope_backend.alerts.files import default_specs
from gapscope_backend.services.alert_rules import sync_rules
from gapscope_backend.services.alerting import Alerting
from gapscope_backend.store.alert_models import Alert, Delivery
from gapscope_backend.store.database import connect, open_database, sqlite_url
from gapscope_backend.store.latest import LatestGroup, encode_latest
from gapscope_backend.store.models import Entity, Host, HostLatest, HostVerdict, HostWatch
from tests.bench.machine import save, spread_ms
from tests.bench.serving import await_text, start

ROOT = Path(__file__).parents[2]
DEMO = ROOT / "backend" / "gapscope_backend" / "demo" / "image-service-demo"
COPY_SECONDS = 62.0
FOR_SECONDS = 15
RULES = f"""
[rules.gpu-drop]
for = "{FOR_SECONDS}s"
clear_for = "1s"
warm_up = "0s"
group_interval = "1s"
"""
GAPSCOPE = (sys.executable, "-m", "gapscope_backend.cli.main")


class _Hook(http.server.BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length", "0")))
        self.send_response(204)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        return


def measure_drops(hosts: int, seconds: float) -> dict[str, Any]:
    """Replay drops for some time; seconds from the moment that each was due."""
    with ExitStack() as stack:
        data = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="gapscope-bench-alerts-")))
        hook = http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Hook)
        threading.Thread(target=hook.serve_forever, daemon=True).start()
        stack.callback(hook.shutdown)
        target = f"127.0.0.1:{hook.server_port}"
        (data / "rules.toml").write_text(RULES)
        (data / "server.toml").write_text(f'[server]\nwebhook_allow = ["{target}"]\nalerts = "{data}/rules.toml"\n')
        server = start(data, "--port", "0", "--config", str(data / "server.toml"))
        stack.callback(_stop, server)
        await_text(data / "server.log", "listening on ", server)
        address = (data / "server.log").read_text().split("listening on ")[1].split()[0]
        _run("alerts", "channels", "put", "bench", "--kind", "webhook", "--url", f"http://{target}/hook", data=data,
             config=data / "server.toml")  # fmt: skip
        token = data / "token"
        token.write_text(_run("token", "create", "--kind", "ingest", "--host", "*", data=data))
        for number in range(hosts):
            words = ["replay", str(DEMO), "--server", address, "--token-file", str(token), "--loop"]
            environment = {**os.environ, "GAPSCOPE_HOST": f"bench-{number}"}
            process = subprocess.Popen([*GAPSCOPE, *words, "--host", f"bench-{number}"], env=environment)
            stack.callback(_stop, process)
            time.sleep(COPY_SECONDS / hosts)
        time.sleep(seconds)
        return asyncio.run(_figures(data))


def _stop(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    process.wait(60)


def _run(*words: str, data: Path, config: Path | None = None) -> str:
    more = ("--config", str(config)) if config else ()
    done = subprocess.run([*GAPSCOPE, *words, "--data", str(data), *more], check=True, capture_output=True, text=True)
    return done.stdout.strip().splitlines()[-1]


async def _figures(data: Path) -> dict[str, Any]:
    database = connect(sqlite_url(data / "gapscope.db"))
    async with database.read() as session:
        alerts = {alert.id: alert for alert in await session.scalars(select(Alert))}
        rows = list(await session.scalars(select(Delivery).where(Delivery.kind == "firing")))
    await database.close()
    written, received = [], []
    for row in rows:
        due_ns = min(alerts[name].began_ns for name in row.alerts) + FOR_SECONDS * 10**9
        written.append((row.created_ns - due_ns) / 1e9)
        if row.state == "delivered" and row.done_ns is not None:
            received.append((row.done_ns - due_ns) / 1e9)
    return {"for_seconds": FOR_SECONDS, "to_the_outbox": spread_ms(written), "to_the_webhook": spread_ms(received)}


async def measure_tick(hosts: int, gpus: int) -> dict[str, Any]:
    """Milliseconds of CPU of one tick: nothing new, and 200 hosts with a new batch and 100 with a new verdict."""
    with tempfile.TemporaryDirectory(prefix="gapscope-bench-alerts-") as folder:
        database = await open_database(sqlite_url(Path(folder) / "gapscope.db"))
        now_ns = time.time_ns()
        await sync_rules(database, default_specs(), now_ns)
        async with database.write() as session:
            session.add_all(_host(number, now_ns) for number in range(1, hosts + 1))
            await session.flush()
            for number in range(1, hosts + 1):
                session.add_all(_rows(number, gpus, now_ns))
        alerting = Alerting(database, time.time_ns, lambda: 0.0)  # no host falls silent meanwhile
        first = await _timed(alerting)
        idle = [await _timed(alerting) for _ in range(20)]
        busy = []
        for step in range(1, 11):
            async with database.write() as session:
                for number in range(1, min(hosts, 200) + 1):
                    row, host = await session.get(HostLatest, number), await session.get(Host, number)
                    assert row is not None
                    assert host is not None
                    row.t_ns, host.last_seen_ns = now_ns + step * 5 * 10**9, now_ns + step
                    row.latest = _latest(gpus, row.t_ns)
                    if number <= 100:
                        verdict = await session.get(HostVerdict, number)
                        assert verdict is not None
                        verdict.made_ns += 1
            busy.append(await _timed(alerting))
        await database.close()
    return {"hosts": hosts, "gpus": gpus, "first_tick_ms": first * 1e3, "nothing_new": spread_ms(idle),
            "batches_of_200_hosts": spread_ms(busy)}  # fmt: skip


async def _timed(alerting: Alerting) -> float:
    began = time.process_time()
    await alerting.tick()
    return time.process_time() - began


def _host(number: int, now_ns: int) -> Host:
    return Host(id=number, name=f"node-{number}", recorded=False, agent_version="0", labels={}, accounting={},
                has_stacks=False, first_seen_ns=now_ns, last_seen_ns=now_ns, first_data_ns=now_ns - 10**12,
                last_data_ns=now_ns, facts_digest=b"", facts_until_ns=0, raw_from_ns=0)  # fmt: skip


def _rows(number: int, gpus: int, now_ns: int) -> list[Any]:
    ledger = [{"cause": "healthy", "row_class": "good", "gpu_seconds": 58.0, "share": 0.97},
              {"cause": "cpu_preprocess", "row_class": "fault", "gpu_seconds": 2.0, "share": 0.03}]  # fmt: skip
    told = [{"gpu": f"gpu:{gpu}", "index": gpu, "ledger": ledger} for gpu in range(gpus)]
    verdict = {"start_ns": now_ns - 60 * 10**9, "end_ns": now_ns, "gpus": told}
    facts = {"name": "NVIDIA H200", "memory_total_bytes": "150754820096"}
    entities = [
        Entity(
            host_id=number,
            key=f"gpu:{gpu}",
            kind="gpu",
            labels={**facts, "index": str(gpu)},
            first_seen_ns=now_ns - 10**12,
            last_seen_ns=now_ns,
        )
        for gpu in range(gpus)
    ]
    return [
        *entities,
        HostLatest(host_id=number, t_ns=now_ns, latest=_latest(gpus, now_ns)),
        HostWatch(host_id=number, watermark_ns=now_ns, saved_ns=now_ns, state={"gpus": {}, "costly": {}}),
        HostVerdict(
            host_id=number,
            start_ns=now_ns - 60 * 10**9,
            end_ns=now_ns,
            made_ns=now_ns,
            verdict=msgspec.json.encode(verdict),
            active=b"{}",
        ),
    ]


def _latest(gpus: int, t_ns: int) -> bytes:
    metrics = ["gpu_graphics_active_ratio", "gpu_utilization_ratio", "gpu_memory_used_bytes", "gpu_power_watts"]
    keys = [f"gpu:{gpu}" for gpu in range(gpus)]
    return encode_latest([LatestGroup(keys, metrics, t_ns, [0.9, 0.95, 9e10, 600.0] * gpus)])


def main() -> None:
    """Measure, print, and keep the figures where asked."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.alerts", description=__doc__)
    parser.add_argument("--hosts", type=int, default=4)
    parser.add_argument("--seconds", type=float, default=250.0)
    parser.add_argument("--tick", type=int, metavar="HOSTS", help="time a tick over so many hosts instead")
    parser.add_argument("--save", metavar="NAME")
    arguments = parser.parse_args()
    figures = (
        asyncio.run(measure_tick(arguments.tick, 8))
        if arguments.tick
        else measure_drops(arguments.hosts, arguments.seconds)
    )
    print(json.dumps(figures, indent=1))
    if arguments.save:
        save(arguments.save, figures)


if __name__ == "__main__":
    main()
