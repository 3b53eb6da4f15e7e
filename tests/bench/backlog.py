"""Batches of the slot before, waiting to be compacted, so that a short load meets compaction as a long one does."""

from __future__ import annotations

from collections.abc import Sequence

from gapscope_backend.services.ingest import check
from gapscope_backend.store.database import Database
from gapscope_backend.store.hot import store_batches
from gapscope_backend.store.tiers import SLOT_NS
from gapscope_backend.store.work import add_work
from tests.bench.engines import Place
from tests.bench.fleet import FIRST_SEQUENCE, SPAN_NS, Template, host_name, run_name
from tests.bench.readback import Batches

SECONDS_NS = 1_000_000_000
BEFORE, START = 0, 1
"""Numbers of the agents' starts whose runs these batches are; the load's are later ones."""
BATCHES_A_SLOT = SLOT_NS // SPAN_NS
TOGETHER = 20
AGE_NS = 60_000_000_000
"""Long enough for the slot to have settled."""
KIND = "compaction"


async def lay(database: Database, made: Sequence[Template], hosts: int, now_ns: int) -> Batches:
    """Store a full slot of batches of ``hosts`` hosts; what was stored."""
    slot_ns = (now_ns // SLOT_NS - 1) * SLOT_NS
    stored: Batches = {}
    for host in range(hosts):
        bodies = [
            made[(host + number) % len(made)].body(
                host, run_name(host, START), number, slot_ns + (number + 1) * SPAN_NS
            )
            for number in range(BATCHES_A_SLOT)
        ]
        await store_batches(database, [check(body, "identity", "*", now_ns - AGE_NS) for body in bodies])
        stored[host_name(host), run_name(host, START)] = set(range(FIRST_SEQUENCE, FIRST_SEQUENCE + BATCHES_A_SLOT))
    return stored


async def introduce(database: Database, made: Sequence[Template], hosts: int, now_ns: int) -> Batches:
    """A batch of each host in the minute before, so that hosts and entities are known as those of a running fleet."""
    stored: Batches = {}
    for first in range(0, hosts, TOGETHER):
        some = range(first, min(first + TOGETHER, hosts))
        ends = {host: now_ns - SECONDS_NS * 60 * host // hosts for host in some}
        bodies = [made[host % len(made)].body(host, run_name(host, BEFORE), 0, ends[host]) for host in some]
        await store_batches(database, [check(body, "identity", "*", now_ns) for body in bodies])
        stored |= {(host_name(host), run_name(host, BEFORE)): {FIRST_SEQUENCE} for host in some}
    return stored


async def spread(database: Database, where: Place, begin_ns: int, seconds: float, hosts: int) -> None:
    """Make the compaction of the hosts due one after another over a time, as it is in life."""
    await add_work(database, KIND, True, begin_ns)
    step_ns = int(seconds * 1e9 / max(hosts, 1))
    where.change(f"UPDATE work SET due_ns = {begin_ns} + CAST(host_id AS BIGINT) * {step_ns} WHERE kind = '{KIND}'")
