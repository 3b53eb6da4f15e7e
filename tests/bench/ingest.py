"""Ingest over HTTP by a real server, open loop, with compaction and queries beside it, read back at the end.

``python -m tests.bench.ingest --engine sqlite --rate 50 100 200`` runs 60 s each; ``--minutes 20 --rate 200`` is the
long form. ``--queries`` asks as a page would meanwhile; ``--profile`` tells what the server's processes do (py-spy).
"""

from __future__ import annotations

import argparse
import asyncio
import json
import signal
import sys
import time
from collections import defaultdict
from dataclasses import dataclass
from typing import Any

from gapscope_backend.services import admin
from gapscope_backend.store.database import open_database
from tests.bench import backlog, profiling
from tests.bench.engines import ENGINES, Place, place
from tests.bench.fleet import FIRST_SEQUENCE, host_name, run_name, templates
from tests.bench.load import PERIOD_SECONDS, TEMPLATES
from tests.bench.machine import save
from tests.bench.queries import Asker
from tests.bench.readback import Batches, compare, read_held
from tests.bench.serving import ending, serving
from tests.bench.watching import Watcher, per_batch, summary

START = 2
PROFILE_SECONDS = 20


@dataclass(frozen=True)
class Plan:
    """A run."""

    rate: float
    seconds: float
    warm_seconds: float = 10.0
    backlog: bool = True
    queries: bool = False
    profile: bool = False


def run(where: Place, plan: Plan) -> dict[str, Any]:
    """One load on an empty database; its figures."""
    laid, token, reader = asyncio.run(_prepare(where, plan))
    (where.folder / "token").write_text(token)
    out = where.folder / "load.json"
    with serving(where.folder, where.option) as served, Watcher(served, where) as watcher:
        words = ["--address", served.address, "--token-file", str(where.folder / "token"), "--start", str(START)]
        words += ["--rate", str(plan.rate), "--seconds", str(plan.seconds), "--warm-seconds", str(plan.warm_seconds)]
        asker = Asker(served.address, reader) if plan.queries else None
        with ending([sys.executable, "-m", "tests.bench.load", *words, "--out", str(out)]) as load:
            if plan.profile:
                time.sleep(plan.warm_seconds + 5)
                profiles = profiling.record(served.processes(), PROFILE_SECONDS, where.folder)
            while load.poll() is None:
                if asker is None:
                    time.sleep(0.5)
                else:
                    asker.round()
        assert load.returncode == 0
    figures: dict[str, Any] = json.loads(out.read_text())
    figures["cpu_ms_per_batch"] = per_batch(watcher.rows, figures["acknowledged"])
    figures |= {"engine": where.engine, "watched": summary(watcher.rows), "over_time": _thinned(watcher.rows)}
    figures["readback"] = asyncio.run(_read_back(where, figures, laid))
    if asker is not None:
        asker.close()
        figures["queries_ms"] = asker.figures()
    if plan.profile:
        figures["profile_percent"] = profiles
    return figures


async def _prepare(where: Place, plan: Plan) -> tuple[Batches, str, str]:
    database = await open_database(where.url)
    fleet = round(plan.rate * PERIOD_SECONDS)
    hosts = max(1, int(plan.rate * plan.seconds / backlog.BATCHES_A_SLOT)) if plan.backlog else 0
    hosts = min(hosts, fleet)
    laid: Batches = await backlog.introduce(database, templates(TEMPLATES), fleet, time.time_ns())
    if hosts:
        laid |= await backlog.lay(database, templates(TEMPLATES), hosts, time.time_ns())
        await backlog.spread(database, where, time.time_ns() + int(plan.warm_seconds * 5e8), plan.seconds, hosts)
    if plan.queries:
        from tests.bench.filling import fill

        await fill(database, time.time_ns())
    await database.close()
    write = await admin.create_token(where.url, "ingest", "*", "load")
    return laid, write, await admin.create_token(where.url, "read", "*", "queries")


async def _read_back(where: Place, figures: dict[str, Any], laid: Batches) -> dict[str, int]:
    """Each batch that was acknowledged is there once, each of its values too."""
    values_of_batch = figures["values"] // max(1, figures["acknowledged"])
    count, hosts = int(figures["rate"] * figures["seconds"]), int(figures["hosts"])
    given_up = {(host, number) for host, number in figures["unacknowledged"]}
    sent: Batches = defaultdict(set, {key: set(numbers) for key, numbers in laid.items()})
    values: dict[str, int] = defaultdict(int)
    for number in range(count):
        host, sequence = number % hosts, number // hosts
        if (host, sequence) not in given_up:
            sent[host_name(host), run_name(host, START)].add(FIRST_SEQUENCE + sequence)
    for (host_text, _), numbers in sent.items():
        values[host_text] += len(numbers) * values_of_batch
    database = await open_database(where.url)
    try:
        held = await read_held(database)
    finally:
        await database.close()
    return {"acknowledged_batches": sum(map(len, sent.values())), **compare(held, sent, values)}


def _thinned(rows: list[dict[str, float]], most: int = 25) -> list[dict[str, float]]:
    return rows[:: max(1, len(rows) // most)]


def main() -> None:
    """Run and print; keep the figures with ``--save NAME``."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--engine", choices=ENGINES, nargs="+", default=list(ENGINES))
    parser.add_argument("--rate", type=float, nargs="+", default=[50, 100, 200], help="host batches a second")
    parser.add_argument("--minutes", type=float, default=1.0)
    parser.add_argument("--no-backlog", action="store_true", help="begin with nothing to compact")
    parser.add_argument("--queries", action="store_true")
    parser.add_argument("--profile", action="store_true")
    parser.add_argument("--save", metavar="NAME", help="keep the figures as results/NAME.json")
    asked = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # what was started ends too
    runs = []
    for engine in asked.engine:
        for rate in asked.rate:
            plan = Plan(
                rate,
                asked.minutes * 60,
                backlog=not asked.no_backlog,
                queries=asked.queries,
                profile=asked.profile,
            )
            with place(engine) as where:
                runs.append(run(where, plan))
            print(json.dumps({k: v for k, v in runs[-1].items() if k != "over_time"}), flush=True)
    if asked.save:
        save(asked.save, {"runs": runs})


if __name__ == "__main__":
    main()
