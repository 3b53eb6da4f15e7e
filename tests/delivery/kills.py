"""kill -9 of the backend around delivery: no message is lost, and each is repeated once at most, under its id.

``python -m tests.delivery.kills --kills 200`` is the long run. Messages are written into the outbox all the while, as
the alerts write them; the backend (``gapscope server`` with its real API and worker, real pauses and claims) delivers
them to a listener, which counts. A kill comes at a random moment, when a connection is opened, when a message has
arrived and is not answered, or when it is just answered; every tenth message is refused at first. Before it is killed
the backend is stopped and looked at: a message whose repeat is on its way is let through, so that no message is hit
twice and "once at most" is exact.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from sqlalchemy import func, select

from gapscope_backend.alerts.signing import new_secret
from gapscope_backend.services.admin import database_url
from gapscope_backend.store.alert_models import Delivery
from gapscope_backend.store.database import Database, open_database
from gapscope_backend.store.deliveries import PENDING, add_delivery
from tests.bench import serving
from tests.delivery.listening import Listener, Request, answer
from tests.delivery.messages import channel, delivery, message
from tests.postgres import postgres_server

MOMENTS = ("random", "connected", "arrived", "answered")
WRITE_SECONDS = 0.2
PAUSE_SECONDS = (0.0, 1.0)
MOMENT_SECONDS = 20.0
"""When no such moment comes, any moment will do."""
MOST_WAITING = 60
"""Messages in the outbox: a backend that is killed all the time gets through few."""
DRAIN_SECONDS = 300.0
STEP_SECONDS = 0.2


class Backend:
    """``gapscope server`` in a process group of its own."""

    def __init__(self, folder: Path, database: str | None) -> None:
        self.folder, self._database = folder, database
        self._process: subprocess.Popen[bytes] | None = None
        self.url = database or database_url(folder)
        config = folder / "config.toml"
        config.write_text('[server]\nwebhook_allow = ["127.0.0.1"]\n')
        self._words = ("--port", "0", "--config", str(config))

    async def start(self) -> None:
        """Start it and wait until its worker works."""
        log = self.folder / "server.log"
        log.touch()
        begin = log.stat().st_size
        self._process = serving.start(self.folder, *self._words, database=self._database)
        await asyncio.to_thread(serving.await_text, log, "working as", self._process, begin)

    def signal(self, number: signal.Signals) -> None:
        """To all of its processes at once."""
        if self._process is not None:
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, number)

    def kill(self) -> None:
        """End them all, in the middle of whatever they do."""
        self.signal(signal.SIGKILL)
        if self._process is not None:
            self._process.wait()


@dataclass
class Receiver(Listener):
    """Counts messages by id and, at the moment that it is set for, stops the backend."""

    backend: Backend | None = None
    moment: str = ""
    reached: asyncio.Event = field(default_factory=asyncio.Event)
    arrived: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        self._reach("connected")
        try:
            request = await self._read(reader)
            if request is not None:
                writer.write(self._answer(request))
                await writer.drain()
                self._reach("answered")
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()
            with suppress(ConnectionError):
                await writer.wait_closed()

    def _answer(self, request: Request) -> bytes:
        message_id = request.headers["webhook-id"]
        self.arrived[message_id] += 1
        self._reach("arrived")
        if int(message_id.removeprefix("msg_"), 16) % 10 == 0 and not self.refused[message_id]:
            self.refused[message_id] += 1
            return answer(503)
        return answer(204)

    def _reach(self, moment: str) -> None:
        if self.moment == moment and self.backend is not None:
            self.moment = ""
            self.backend.signal(signal.SIGSTOP)
            self.reached.set()

    @property
    def repeats(self) -> Counter[str]:
        """How often each message came without need."""
        return Counter({one: count - 1 - self.refused[one] for one, count in self.arrived.items()})


@dataclass
class Run:
    """One run against one database."""

    backend: Backend
    receiver: Receiver
    database: Database
    chance: random.Random
    written: int = 0
    hit: dict[str, int] = field(default_factory=dict)
    """Messages that were on their way at a kill, with the number of the attempt."""

    async def write(self) -> None:
        """Write messages, each of a group of its own, until cancelled."""
        while True:
            if self.written - len(self.receiver.arrived) < MOST_WAITING:
                await self._write_one(self.written + 1)
            await asyncio.sleep(WRITE_SECONDS)

    async def _write_one(self, number: int) -> None:
        now_ns = time.time_ns()
        row = delivery(number, message(group_key=f"group-{number}"), created_ns=now_ns, due_ns=now_ns)
        async with self.database.write() as session:
            await add_delivery(session, self.database.dialect, row)
        self.written = number

    async def on_the_way(self) -> dict[str, int]:
        """Messages whose attempt has begun and is not written down, with its number; one that a kill ended is none."""
        query = select(Delivery.id, Delivery.attempts, Delivery.log).where(
            Delivery.state == PENDING, Delivery.due_ns > time.time_ns(), Delivery.attempts > 0
        )
        async with self.database.read() as session:
            begun = {row.id: row.attempts for row in await session.execute(query) if row.attempts > len(row.log)}
        return {one: number for one, number in begun.items() if number != self.hit.get(one)}

    async def kill_at(self, moment: str) -> None:
        """Stop at the moment, see that nothing is hit twice, kill, start."""
        while True:
            await asyncio.sleep(self.chance.uniform(*PAUSE_SECONDS))
            await self._stop_at(moment)
            hit = await self.on_the_way()
            if not hit.keys() & self.hit.keys():
                break
            self.backend.signal(signal.SIGCONT)
        self.hit |= hit
        self.backend.kill()
        await self.backend.start()

    async def _stop_at(self, moment: str) -> None:
        self.receiver.reached.clear()
        self.receiver.moment = moment
        with suppress(asyncio.TimeoutError):
            if moment != "random":
                await asyncio.wait_for(self.receiver.reached.wait(), MOMENT_SECONDS)
        self.receiver.moment = ""
        self.backend.signal(signal.SIGSTOP)

    async def drained(self) -> None:
        """Wait until nothing is left to send."""
        query = select(func.count()).select_from(Delivery).where(Delivery.state == PENDING)
        deadline = time.monotonic() + DRAIN_SECONDS
        while True:
            async with self.database.read() as session:
                left = await session.scalar(query)
            if not left:
                return
            assert time.monotonic() < deadline, f"{left} messages are left"
            await asyncio.sleep(STEP_SECONDS)

    async def judge(self) -> dict[str, int]:
        """What came of it. AssertionError for anything lost, or repeated more than once."""
        query = select(Delivery.id, Delivery.state)
        async with self.database.read() as session:
            states = {row.id: row.state for row in await session.execute(query)}
        assert len(states) == self.written
        assert set(states.values()) == {"delivered"}
        assert self.receiver.arrived.keys() == states.keys()
        repeats = self.receiver.repeats
        assert max(repeats.values()) <= 1, repeats.most_common(3)
        assert {one for one, count in repeats.items() if count} <= self.hit.keys()
        return {
            "messages": len(states),
            "lost": len(states.keys() - self.receiver.arrived.keys()),
            "repeated": sum(repeats.values()),
            "hit": len(self.hit),
        }


async def run(
    folder: Path, database_address: str | None, kills: int, seed: int, say: Callable[[str], None]
) -> dict[str, int]:
    """Kill the backend ``kills`` times while it delivers; what came of it."""
    backend = Backend(folder, database_address)
    database = await open_database(backend.url)
    receiver = Receiver(backend=backend)
    server = await asyncio.start_server(receiver.serve, "127.0.0.1", 0)
    receiver.port = server.sockets[0].getsockname()[1]
    async with database.write() as session:
        session.add(channel("webhook", receiver.url, secrets=[new_secret()]))
    one = Run(backend, receiver, database, random.Random(seed))
    try:
        await backend.start()
        writing = asyncio.create_task(one.write())
        for number in range(kills):
            moment = MOMENTS[number % len(MOMENTS)]
            await one.kill_at(moment)
            say(f"{number + 1:3d}: {moment}; {one.written} written, {len(receiver.arrived)} arrived")
        writing.cancel()
        await asyncio.gather(writing, return_exceptions=True)
        await one.drained()
        return await one.judge()
    finally:
        backend.kill()
        server.close()
        await database.close()


def main() -> None:
    """Kill and tell."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=200, help="of each engine")
    parser.add_argument("--engine", choices=("sqlite", "postgresql"), nargs="+", default=["sqlite", "postgresql"])
    parser.add_argument("--seed", type=int, default=time.time_ns() % 1_000_000)
    asked = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # what was started ends too
    for engine in asked.engine:
        print(f"{engine}, seed {asked.seed}", flush=True)
        with tempfile.TemporaryDirectory(prefix="gapscope-kills-") as folder:
            told = run_on(engine, Path(folder), asked.kills, asked.seed, lambda line: print(line, flush=True))
            print(told, flush=True)


def run_on(engine: str, folder: Path, kills: int, seed: int, say: Callable[[str], None]) -> dict[str, int]:
    """A run on an empty database of an engine."""
    if engine == "sqlite":
        return asyncio.run(run(folder, None, kills, seed, say))
    with postgres_server() as postgres:
        return asyncio.run(run(folder, postgres.create("kills"), kills, seed, say))


if __name__ == "__main__":
    main()
