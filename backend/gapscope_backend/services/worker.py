"""A worker: claims due work, does it, renews its leases meanwhile, and gives everything back when it ends.

Any number of workers may run on one database. A job is lost by nobody: when its worker dies, its lease runs out and
another worker takes it. A worker that was held up past its lease may go on for a while without knowing; therefore a
job whose writes must not meet another worker's fences them with ``hold_lease`` in the same transaction.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field

from gapscope_backend.alerts.egress import Egress
from gapscope_backend.alerts.files import Spec
from gapscope_backend.analysis.verdict import Verdict
from gapscope_backend.analysis.window import Window
from gapscope_backend.errors import BusyError
from gapscope_backend.services.background import end, repeat
from gapscope_backend.store.database import Database
from gapscope_backend.store.retention import Retention
from gapscope_backend.store.work import (
    Lease,
    LeaseLostError,
    add_work,
    claim_work,
    finish_work,
    release_leases,
    renew_leases,
)

LEASE_SECONDS = 30.0
RENEW_SECONDS = LEASE_SECONDS / 3
CLAIM_SECONDS = 1.0
NEW_HOSTS_SECONDS = 10.0
AT_ONCE = 2
"""Jobs that a worker does side by side; they wait for the database and share its cores."""
LONGEST_PAUSE_SECONDS = 600.0
"""After failures a job is tried again at twice the pause each time, at most this."""

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class AlertSettings:
    """Rules (None: those of the package), and the address under which people reach the page."""

    rules: Mapping[str, Spec] | None = None
    public_url: str = ""


@dataclass(frozen=True)
class Tools:
    """What jobs work with. ``clock`` gives ns since the epoch, ``monotonic`` seconds."""

    database: Database
    clock: Callable[[], int]
    monotonic: Callable[[], float]
    analyse: Callable[[Window], Verdict]
    retention: Retention
    egress: Egress = field(default_factory=Egress)
    alerts: AlertSettings = field(default_factory=AlertSettings)


@dataclass(frozen=True)
class JobKind:
    """A kind of work: ``run`` does it once and is called again ``period_seconds`` later, for each host or for all.

    A run may tell by itself in how many seconds the next one is due.

    An ``endless`` job runs until its worker ends or loses the lease; it takes no place from the others.
    """

    name: str
    period_seconds: float
    run: Callable[[Tools, Lease], Awaitable[float | None]]
    per_host: bool = False
    endless: bool = False


@dataclass
class Worker:
    """Does work of some kinds under a ``name`` that no other living worker has."""

    tools: Tools
    kinds: Sequence[JobKind]
    name: str
    _running: dict[tuple[str, int], asyncio.Task[None]] = field(default_factory=dict)
    _freed: asyncio.Event = field(default_factory=asyncio.Event)
    _look_at_ns: int = 0

    async def run(self, stop: asyncio.Event) -> None:
        """Work until ``stop`` is set."""
        await release_leases(self.tools.database, self.name)
        log.info("working as %s", self.name)
        loops = [
            asyncio.create_task(repeat("claiming work", CLAIM_SECONDS, self.claim, wake=self._freed)),
            asyncio.create_task(repeat("renewing leases", RENEW_SECONDS, self.renew)),
        ]
        try:
            await stop.wait()
        finally:
            for loop in loops:
                loop.cancel()
            await asyncio.gather(*loops, return_exceptions=True)
            await self.close()

    async def claim(self) -> None:
        """Take what is due and begin with it."""
        now_ns, database = self.tools.clock(), self.tools.database
        if now_ns >= self._look_at_ns:
            for kind in self.kinds:
                await add_work(database, kind.name, kind.per_host, now_ns)
            self._look_at_ns = now_ns + _ns(NEW_HOSTS_SECONDS)
        for endless in (True, False):
            kinds = {kind.name: kind for kind in self.kinds if kind.endless == endless}
            busy = sum(name in kinds for name, _ in self._running)
            limit = len(kinds) if endless else AT_ONCE - busy
            if kinds and limit > 0:
                for lease in await claim_work(database, self.name, [*kinds], now_ns, _ns(LEASE_SECONDS), limit):
                    self._begin(kinds[lease.kind], lease)

    async def renew(self) -> None:
        """Hold on to what is being done; end what another worker has taken."""
        if self._running:
            until_ns = self.tools.clock() + _ns(LEASE_SECONDS)
            held = await renew_leases(self.tools.database, self.name, list(self._running), until_ns)
            for key in self._running.keys() - held:
                log.warning("%s belongs to another worker by now", _about(*key))
                self._running[key].cancel()

    async def settle(self) -> None:
        """Wait for all jobs that end by themselves."""
        endless = {kind.name for kind in self.kinds if kind.endless}
        await asyncio.gather(*(task for key, task in self._running.items() if key[0] not in endless))

    async def close(self) -> None:
        """End all jobs and give them back."""
        endless = {kind.name for kind in self.kinds if kind.endless}
        for key, task in self._running.items():
            if key[0] in endless:
                task.cancel()
        await end(self._running.values())
        try:
            await release_leases(self.tools.database, self.name)
        except BusyError:
            log.warning("the jobs of this worker cannot be given back now; they run out in %.0f s", LEASE_SECONDS)

    def _begin(self, kind: JobKind, lease: Lease) -> None:
        key = (lease.kind, lease.host_id)
        task = asyncio.create_task(self._work(kind, lease), name=_about(*key))
        self._running[key] = task
        task.add_done_callback(lambda _: self._ended(key))

    def _ended(self, key: tuple[str, int]) -> None:
        self._running.pop(key, None)
        self._freed.set()

    async def _work(self, kind: JobKind, lease: Lease) -> None:
        pause_seconds, done = kind.period_seconds, True
        try:
            told = await kind.run(self.tools, lease)
            pause_seconds = kind.period_seconds if told is None else told
        except LeaseLostError as error:
            log.warning("%s; what this worker had found is left to that one", error)
            return
        except Exception:
            # A loop runner: a bad run must not end the worker; the job comes again, later each time.
            log.exception("%s failed, %d times in a row", _about(lease.kind, lease.host_id), lease.failures + 1)
            pause_seconds = min(LONGEST_PAUSE_SECONDS, max(1.0, pause_seconds) * 2.0 ** min(lease.failures, 20))
            done = False
        now_ns = self.tools.clock()
        try:
            await finish_work(self.tools.database, lease, now_ns + _ns(pause_seconds), now_ns if done else None)
        except (BusyError, LeaseLostError) as error:
            log.warning(
                "the end of %s is not noted, it will be done again: %s", _about(lease.kind, lease.host_id), error
            )


def _about(kind: str, host_id: int) -> str:
    return f"{kind} of host {host_id}" if host_id else kind


def _ns(seconds: float) -> int:
    return round(seconds * 1e9)
