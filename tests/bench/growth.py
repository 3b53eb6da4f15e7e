"""The page's questions on databases of 10, 100 and 1,000 hosts and 1, 7 and 30 days.

``python -m tests.bench.growth``. The hosts that are asked hold 24 h in full; the others, and the days before, are keys
with next to nothing behind them: what is measured is whether finding the rows costs more in a larger database.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import time
from collections.abc import Sequence
from contextlib import closing
from typing import Any

import psutil

from gapscope_backend.services import admin
from gapscope_backend.store.database import open_database
from tests.bench.engines import ENGINES, place
from tests.bench.filling import crowd, fill
from tests.bench.machine import save
from tests.bench.queries import Asker
from tests.bench.serving import serving_api
from tests.bench.watching import cpu_seconds

HOSTS, DAYS = (10, 100, 1000), (1, 7, 30)
ROUNDS = 12


def measure(engine: str, hosts: int, days: int, rounds: int = ROUNDS) -> dict[str, Any]:
    """Durations on one such database."""
    with place(engine) as where:
        token = asyncio.run(_filled(where.url))
        crowd(where, hosts, days, time.time_ns())
        rows = where.ask("SELECT count(*) FROM chunk")
        with (
            serving_api(where.folder, where.option) as served,
            closing(Asker(served.address, token, hosts=1)) as asker,
        ):
            figures = _asked(asker, psutil.Process(served.process.pid), rounds)
        return {"engine": engine, "hosts": hosts, "days": days, "chunks": rows, "queries_ms": figures}


def _asked(asker: Asker, api: psutil.Process, rounds: int) -> dict[str, Any]:
    """Durations of each question, and the CPU time of the server a question."""
    cpu = []
    for ask in (asker.samples, asker.day):
        ask()
        before = cpu_seconds(api)
        for _ in range(rounds):
            ask()
        cpu.append(round(1e3 * (cpu_seconds(api) - before) / rounds, 1))
    return {name: told | {"cpu": spent} for (name, told), spent in zip(asker.figures().items(), cpu, strict=True)}


async def _filled(url: str) -> str:
    database = await open_database(url)
    await fill(database, time.time_ns(), hosts=1)
    await database.close()
    return await admin.create_token(url, "read", "*", "queries")


def main() -> None:
    """Measure, print, and keep the figures with ``--save``."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--engine", choices=ENGINES, nargs="+", default=list(ENGINES))
    parser.add_argument("--hosts", type=int, nargs="+", default=list(HOSTS))
    parser.add_argument("--days", type=int, nargs="+", default=list(DAYS))
    parser.add_argument("--save", metavar="NAME")
    asked = parser.parse_args()
    runs = [measure(*one) for one in _all(asked.engine, asked.hosts, asked.days)]
    print(json.dumps(runs, indent=1))
    if asked.save:
        save(asked.save, {"runs": runs})


def _all(engines: Sequence[str], hosts: Sequence[int], days: Sequence[int]) -> list[tuple[str, int, int]]:
    """Every number of hosts at the fewest days, every number of days at the most hosts."""
    pairs = dict.fromkeys([*((count, days[0]) for count in hosts), *((hosts[-1], length) for length in days)])
    return [(engine, *pair) for engine in engines for pair in pairs]


if __name__ == "__main__":
    main()
