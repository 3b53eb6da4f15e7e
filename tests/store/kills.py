"""kill -9 of API, worker and database at random moments while agents send; nothing acknowledged is lost or doubled.

``python -m tests.store.kills --kills 100`` is the long run. The agents are threads that send each batch until it is
acknowledged, as the real one does, in a time of their own that runs a hundred times as fast: slots are over after some
seconds, and the worker (a real one, with shorter pauses) compacts and merges all the while. After each kill the part
is started again, and the database is looked at in one snapshot: each batch is hot or in chunks.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil

from gapscope_backend.services import admin
from gapscope_backend.store.database import Database, connect
from gapscope_backend.store.integrity import check_database
from tests.bench import serving
from tests.bench.readback import compare, read_held
from tests.postgres import PostgresServer, postgres_server
from tests.store.sending import VALUES, Agent, expected, same_samples
from tests.store.storing import compact_all

AGENTS = 5
PAUSE_SECONDS = (0.1, 1.0)
"""Between the start of what was killed and the next kill."""
END_SECONDS = 60.0
LATER_NS = 3600 * 1_000_000_000


class Parts:
    """API, worker and, with PostgreSQL, the database, each killed and started by itself."""

    def __init__(self, folder: Path, database: PostgresServer | None, url: str | None) -> None:
        self.folder, self.database, self._url = folder, database, url
        self.url = url or admin.database_url(folder)
        self.port = _free_port()
        self._running: dict[str, subprocess.Popen[bytes]] = {}
        self.names = ("api", "worker", *(["database"] if database else []))

    def start(self, name: str) -> None:
        """Start a part and wait until it works."""
        if name == "database":
            assert self.database is not None
            self.database.start()
            return
        log = self.folder / f"{name}.log"
        log.touch()
        begin = log.stat().st_size
        if name == "api":
            words = ("--role", "api", "--port", str(self.port))
            process = serving.start(self.folder, *words, database=self._url, log=log.name)
            self._running[name] = process
            serving.await_text(log, "listening on ", process, begin)
            return
        with log.open("ab") as out:
            command = [sys.executable, "-m", "tests.store.quick_worker", self.url]
            self._running[name] = subprocess.Popen(command, stdout=out, stderr=out)
        serving.await_text(log, "working", self._running[name], begin)

    def kill(self, name: str) -> None:
        """SIGKILL, for a database all its processes: as if the power had gone for it."""
        if name == "database":
            assert self.database is not None
            self.database.crash()
            return
        self._running[name].kill()
        self._running[name].wait()

    def end(self) -> None:
        """End what runs."""
        for process in self._running.values():
            process.terminate()
        for process in self._running.values():
            process.wait(30)


def _free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port: int = one.getsockname()[1]
        return port


def run(parts: Parts, kills: int, seed: int, say: Callable[[str], None]) -> dict[str, int]:
    """Start all, kill ``kills`` times, end all; what came of it. AssertionError for anything lost or doubled."""
    chance = random.Random(seed)
    parts.start("api")
    token = asyncio.run(admin.create_token(parts.url, "ingest", "*", "kills"))
    parts.start("worker")
    agents = [Agent(number, parts.port, token) for number in range(AGENTS)]
    for agent in agents:
        agent.start()
    counts = dict.fromkeys(parts.names, 0)
    try:
        for number in range(kills):
            time.sleep(chance.uniform(*PAUSE_SECONDS))
            name = parts.names[number % len(parts.names)] if number < len(parts.names) else chance.choice(parts.names)
            parts.kill(name)
            counts[name] += 1
            time.sleep(chance.uniform(0, 0.3))
            parts.start(name)
            asyncio.run(_look(parts.url, agents))
            say(f"{number + 1:3d}: {name}; {sum(len(agent.acknowledged) for agent in agents)} acknowledged")
    finally:
        for agent in agents:
            agent.finish()
        for agent in agents:
            agent.join(END_SECONDS)
        parts.end()
    assert not any(agent.is_alive() for agent in agents), "an agent could not deliver its last batch"
    told = asyncio.run(_judge(parts.url, agents))
    return {**{f"kills_of_{name}": count for name, count in counts.items()}, **told}


async def _look(url: str, agents: list[Agent]) -> None:
    """In one snapshot: all that was acknowledged before is there, hot or in chunks, not both, with all its values."""
    sent = {agent.key: set(agent.acknowledged) for agent in agents}
    database = connect(url)
    try:
        held = await read_held(database)
    finally:
        await database.close()
    stored = held.batches
    assert held.both == 0
    assert {key: numbers - stored.get(key, set()) for key, numbers in sent.items()} == {key: set() for key in sent}
    for (host, run_id), numbers in stored.items():
        assert held.values[host] == VALUES * len(numbers), (host, run_id)


async def _judge(url: str, agents: list[Agent]) -> dict[str, int]:
    """At the end, before and after all is compacted; each sample by its time and value."""
    database = connect(url)
    try:
        told = await _compared(database, agents)
        hot = sum(len(numbers) for numbers in (await read_held(database)).hot.values())
        await compact_all(database, time.time_ns() + LATER_NS)
        assert await _compared(database, agents) == told
        for agent in agents:
            assert await same_samples(database, agent)
        assert await check_database(database) == []
    finally:
        await database.close()
    sent_again = sum(agent.sent_again for agent in agents)
    batches = sum(len(agent.acknowledged) for agent in agents)
    return {"batches": batches, "hot_at_end": hot, "sent_again": sent_again, "values": told["values"]}


async def _compared(database: Database, agents: list[Agent]) -> dict[str, int]:
    held = await read_held(database)
    sent = {agent.key: set(agent.acknowledged) for agent in agents}
    told = compare(held, sent, {agent.key[0]: expected(agent) for agent in agents})
    values = told.pop("values")
    assert told == dict.fromkeys(told, 0), told
    return {"values": values}


@contextmanager
def parts(engine: str) -> Iterator[Parts]:
    """All that can be killed, on an empty database."""
    folder = Path(tempfile.mkdtemp(prefix="gapscope-kills-"))
    try:
        if engine == "sqlite":
            yield Parts(folder, None, None)
            return
        with postgres_server(fast=False) as server:
            yield Parts(folder, server, server.create("kills"))
    finally:
        for process in psutil.Process().children(recursive=True):
            if str(folder) in " ".join(process.cmdline()):
                process.kill()
        shutil.rmtree(folder, ignore_errors=True)


def main() -> None:
    """Kill and tell."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=100, help="of each engine")
    parser.add_argument("--engine", choices=("sqlite", "postgresql"), nargs="+", default=["sqlite", "postgresql"])
    parser.add_argument("--seed", type=int, default=time.time_ns() % 1_000_000)
    asked = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # what was started ends too
    for engine in asked.engine:
        print(f"{engine}, seed {asked.seed}", flush=True)
        with parts(engine) as all_parts:
            print(run(all_parts, asked.kills, asked.seed, lambda line: print(line, flush=True)), flush=True)


if __name__ == "__main__":
    main()
