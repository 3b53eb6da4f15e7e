"""The rolling diagnosis: watches every host's data as it comes in, judges its last minute, and feeds the incidents.

``tick`` is the loop's body. It asks the store what came in (so that several processes' batches count), feeds the
drop detectors of those hosts, and judges the last minute of each host with new data every ``RENEW_NS``. Both have a
budget, ``FOLLOW_SHARE`` and ``BUDGET_SHARE`` of one core, and hosts take turns, those that wait longest first. So a
fleet that is too large for one worker sees drops later and gets older verdicts, and the server is not kept busy.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Coroutine, Iterable
from dataclasses import dataclass, field
from typing import Any

from gapscope_backend.services.diagnosis import Diagnosis
from gapscope_backend.services.incidents import Fence, Incidents, no_fence, save_watch
from gapscope_backend.services.minutes import Minutes
from gapscope_backend.services.watch import LATENESS_NS, CostSettings, Watch, advance_watch, cell_floor, weigh_costs
from gapscope_backend.store.database import Database
from gapscope_backend.store.hosts import list_hosts
from gapscope_backend.store.models import Host
from gapscope_backend.store.watch import Arrival, arrivals_since, next_data_ns, read_watches
from gapscope_backend.store.work import LeaseLostError

_SECOND_NS = 1_000_000_000
RENEW_NS = 10 * _SECOND_NS
BUDGET_SHARE = 0.1
FOLLOW_SHARE = 0.2
LONGEST_REST_SECONDS = 30.0
"""Following a host that has much to catch up with takes the time of later ticks, but of no more than these."""
CHUNK_NS = 120 * _SECOND_NS
"""How much data a watch that is behind takes in one go."""
FIRST_LOOK_BACK_NS = 3600 * _SECOND_NS
"""How far back a host is watched that has data but was never watched."""
OVERLAP_NS = 30 * _SECOND_NS
"""A batch may be committed this long after its time of receipt, and after others that were received later."""
SWEEP_NS = 5 * _SECOND_NS
BRIEF_OVERLAP_NS = 2 * _SECOND_NS
"""All of OVERLAP_NS is gone through so often; between, only so much of it, where nearly everything is met."""
SAVE_NS = 60 * _SECOND_NS
CLOSE_NS = 10 * _SECOND_NS
"""How often incidents of silent hosts are looked for."""
LATE_SETTLE_NS = 5 * _SECOND_NS
LATE_LONGEST_NS = 30 * _SECOND_NS
LATE_CONTEXT_NS = 60 * _SECOND_NS

log = logging.getLogger(__name__)


@dataclass
class _Late:
    """A stretch of data that came after newer data, and when its first and newest batch did."""

    start_ns: int
    end_ns: int
    first_ns: int
    newest_ns: int


@dataclass
class _Watched:
    """A host under watch."""

    watch: Watch
    saved_ns: int
    late: _Late | None = None
    saved_drops: tuple[Any, ...] = field(init=False)

    def __post_init__(self) -> None:
        self.saved_drops = self.watch.drops

    def is_due(self, now_ns: int) -> bool:
        """Whether its state is to be written down."""
        return not 0 <= now_ns - self.saved_ns < SAVE_NS or self.watch.drops != self.saved_drops


@dataclass
class Rolling:
    """The watch over all hosts. ``clock`` gives ns since the epoch, ``monotonic`` seconds."""

    database: Database
    diagnosis: Diagnosis
    incidents: Incidents
    clock: Callable[[], int]
    monotonic: Callable[[], float]
    costs: CostSettings = field(default_factory=CostSettings)
    fence: Fence = no_fence
    minutes: Minutes = field(init=False)
    _watched: dict[int, _Watched] = field(default_factory=dict)
    _seen: dict[tuple[int, str, int], int] = field(default_factory=dict)
    _hosts: list[Host] = field(default_factory=list)
    _newest_ns: int | None = None
    _swept_ns: int = 0
    _close_at_ns: int = 0
    _rest_until: float = 0.0
    _allowance: float = FOLLOW_SHARE
    _allowed_at: float = 0.0

    def __post_init__(self) -> None:
        self.minutes = Minutes(self.database, self.diagnosis, self.clock)

    async def tick(self) -> None:
        """Take in what came since the last call; verdicts as far as the budget goes."""
        first = self._newest_ns is None
        arrivals = await self._arrivals()
        if arrivals or first:
            self._hosts = await list_hosts(self.database)
        for arrival in arrivals:
            self._note_late(arrival)
        await self._follow_all(self._hosts)
        await self._save_due()  # first: alerts wait for it
        await self._judge_due(self._hosts)
        if not 0 < self._close_at_ns - self.clock() <= CLOSE_NS:
            await self.incidents.close_silent()
            self._close_at_ns = self.clock() + CLOSE_NS

    async def close(self) -> None:
        """End what is still being computed."""
        await self.minutes.close()

    async def _arrivals(self) -> list[Arrival]:
        """Batches that were not seen before, in the order of receipt."""
        if self._newest_ns is None:
            self._newest_ns = await self._restore()
        # A clock that was set back must not hide what comes from now on.
        self._newest_ns = min(self._newest_ns, self.clock())
        sweeps = not 0 <= self.clock() - self._swept_ns < SWEEP_NS
        back_ns = OVERLAP_NS if sweeps else BRIEF_OVERLAP_NS
        found = await arrivals_since(self.database, self._newest_ns - back_ns)
        new = [one for one in found if (one.host_id, one.run_id, one.sequence) not in self._seen]
        self._newest_ns = max([self._newest_ns, *(one.received_ns for one in new)])
        self._seen.update({(one.host_id, one.run_id, one.sequence): one.received_ns for one in new})
        if sweeps:
            self._swept_ns, oldest_ns = self.clock(), self._newest_ns - OVERLAP_NS
            self._seen = {key: at for key, at in self._seen.items() if at >= oldest_ns}
        return new

    async def _restore(self) -> int:
        """Take up watches and verdicts where they were written down; the time up to which nothing new came in since."""
        await self.minutes.refresh()
        rows = await read_watches(self.database)
        for row in rows:
            self._watched[row.host_id] = _Watched(Watch.from_json(row.watermark_ns, row.state), row.saved_ns)
        return max((row.saved_ns for row in rows), default=self.clock()) - SAVE_NS

    def _note_late(self, arrival: Arrival) -> None:
        """A batch that lies behind the watermark as a whole is looked at apart, once no more of its like come."""
        watched = self._watched.get(arrival.host_id)
        if watched is None or arrival.end_ns > watched.watch.watermark_ns:
            return
        now_ns, late = self.clock(), watched.late or _Late(arrival.start_ns, arrival.end_ns, self.clock(), 0)
        late.start_ns, late.end_ns = min(late.start_ns, arrival.start_ns), max(late.end_ns, arrival.end_ns)
        late.newest_ns = now_ns
        watched.late = late
        self.minutes.forget(arrival.host_id)

    async def _follow_all(self, hosts: Iterable[Host]) -> None:
        """Follow the hosts, those that lag most first, as far as the budget goes: the others come next."""
        now = self.monotonic()
        self._allowance += min(now - self._allowed_at, LONGEST_REST_SECONDS) * FOLLOW_SHARE
        self._allowance = max(min(self._allowance, FOLLOW_SHARE), -LONGEST_REST_SECONDS * FOLLOW_SHARE)
        self._allowed_at = now
        for host in sorted(hosts, key=lambda host: self._lag_ns(host), reverse=True):
            if self._allowance < 0:
                break
            began = self.monotonic()
            await self._guarded(host, self._follow(host))
            self._allowance -= self.monotonic() - began

    def _lag_ns(self, host: Host) -> int:
        watched = self._watched.get(host.id)
        return host.last_data_ns - watched.watch.watermark_ns if watched else host.last_data_ns

    async def _follow(self, host: Host) -> None:
        """Feed a host's detectors with all complete data, in chunks; nothing counts as taken until it is stored."""
        watched = self._watched.get(host.id)
        if watched is None:
            start_ns = cell_floor(max(host.first_data_ns, host.last_data_ns - FIRST_LOOK_BACK_NS))
            watched = self._watched[host.id] = _Watched(Watch(start_ns), self.clock())
        until_ns = cell_floor(host.last_data_ns - LATENESS_NS)
        while watched.watch.watermark_ns < until_ns:
            trial = watched.watch.copy()
            after_ns = await next_data_ns(self.database, host.id, trial.watermark_ns)
            trial.watermark_ns = max(trial.watermark_ns, cell_floor(min(after_ns or until_ns, until_ns)))
            chunk_ns = min(trial.watermark_ns + CHUNK_NS, until_ns)
            episodes = await advance_watch(self.database, host, trial, chunk_ns)
            if await self.incidents.record(host, trial, episodes):
                watched.saved_ns = self.clock()
            watched.watch = trial
        await self._follow_late(host, watched)

    async def _follow_late(self, host: Host, watched: _Watched) -> None:
        late, now_ns = watched.late, self.clock()
        if late is None or (now_ns - late.newest_ns < LATE_SETTLE_NS and now_ns - late.first_ns < LATE_LONGEST_NS):
            return
        watched.late = None
        watch = Watch(cell_floor(late.start_ns - LATE_CONTEXT_NS))
        until_ns = min(late.end_ns + OVERLAP_NS, watched.watch.watermark_ns)
        while watch.watermark_ns < cell_floor(until_ns):
            episodes = await advance_watch(self.database, host, watch, min(watch.watermark_ns + CHUNK_NS, until_ns))
            await self.incidents.record(host, None, episodes, late=True)
        watched.watch.note_over({**drop, "noted_ns": watched.watch.watermark_ns} for drop in watch.over)

    async def _judge_due(self, hosts: Iterable[Host]) -> None:
        due = [host for host in hosts if host.id in self._watched and self._is_old(host)]
        fresh: list[Host] = []
        for host in sorted(due, key=lambda host: self._made_ns(host)):
            if self.monotonic() < self._rest_until:
                break
            began = self.monotonic()
            await self.minutes.renew(host)
            self._rest_until = self.monotonic() + (self.monotonic() - began) * (1 / BUDGET_SHARE - 1)
            fresh.append(host)
        for host in fresh:
            await self._guarded(host, self._weigh(host))
        await self.minutes.store(fresh)

    def _made_ns(self, host: Host) -> int:
        held = self.minutes.get(host.id)
        return held.made_ns if held else 0

    def _is_old(self, host: Host) -> bool:
        held = self.minutes.get(host.id)
        if held is None:
            return True
        return held.data_end_ns != host.last_data_ns and not 0 <= self.clock() - held.made_ns < RENEW_NS

    async def _weigh(self, host: Host) -> None:
        """Let a rolling verdict open, extend or end what costs steadily."""
        minute, watched = self.minutes.get(host.id), self._watched[host.id]
        if minute is None or minute.verdict is None:
            return
        trial = watched.watch.copy()
        episodes = weigh_costs(trial, minute.verdict, self.costs)
        if await self.incidents.record(host, trial, episodes):
            watched.saved_ns = self.clock()
        watched.watch = trial

    async def _save_due(self) -> None:
        """Write the watches down now and then: a restart then has little to go through again. Those in which a GPU
        is in a drop, or was just now, each time: the alerts read them."""
        now_ns = self.clock()
        due = {key: held for key, held in self._watched.items() if held.is_due(now_ns)}
        if not due:
            return
        async with self.database.write() as session:
            await self.fence(session)
            for host_id, watched in due.items():
                await save_watch(session, self.database.dialect, host_id, watched.watch, now_ns)
        for watched in due.values():
            watched.saved_ns, watched.saved_drops = now_ns, watched.watch.drops

    async def _guarded(self, host: Host, work: Coroutine[Any, Any, None]) -> None:
        try:
            await work
        except LeaseLostError:
            raise
        except Exception:
            # A loop runner: one host's bad data must not stop the watch over the others.
            log.exception("the watch over host %s failed; it is tried again", host.name)
