"""The evaluator: hosts of which something new is stored against the rules, states into rows, rows into messages.

``tick`` is the loop's body. It asks the store for a few numbers of every host, looks at those alone that changed, and
writes the states, the alerts and what it remembers of a host in one transaction. So an evaluator that is killed at any
moment leaves either all of a step or nothing, and the next one takes it from there: it goes through the minutes, the
drops and the values that came in while nobody looked. Messages are rows too, written with the note that they were.

Conditions go by the data's time, silences and quiet hours by the server's, and how long a host has been silent by a
clock that nobody sets.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from gapscope_backend.alerts.evaluate import Memory, Transition, end_unknown, evaluate, lose_all
from gapscope_backend.alerts.look import DropsLook, EventLook, HostFacts, Ledgers, Look, ValuesLook
from gapscope_backend.alerts.rule import Rule
from gapscope_backend.alerts.rules.agent_silent import LATE_SECONDS
from gapscope_backend.alerts.rules.kind import CONTACT, DROPS, EVENTS, LEDGERS, VALUES
from gapscope_backend.alerts.rules.xid import EVENT
from gapscope_backend.services.alert_looks import (
    Facts,
    drops_of,
    event_look,
    ledgers_since,
    values_between,
    values_of,
)
from gapscope_backend.services.alert_messages import Messenger
from gapscope_backend.services.alert_rows import write_transition
from gapscope_backend.services.alert_rules import load_rules
from gapscope_backend.services.hosts import RETIRED_NS
from gapscope_backend.services.incidents import Fence, no_fence
from gapscope_backend.store.alerts import Stand, events_since, read_memories, rules_revision, stands, store_memories
from gapscope_backend.store.database import Database
from gapscope_backend.store.slices import slices

SECOND_NS = 1_000_000_000
HOSTS_AT_ONCE = 100
SAVE_SECONDS = 60.0
"""A host of which nothing is pending or firing is written down so often: a restart then has little to go through."""
SILENT_SAVE_SECONDS = 5.0
LOOK_SECONDS = 2.0
OVERLAP_NS = 30 * SECOND_NS
"""A row may be committed this long after its time of receipt, and after others that were received later."""
EVENTS_BACK_NS = 24 * 3600 * SECOND_NS
BEHIND_NS = 60 * SECOND_NS
"""Values between two looks further apart than this are read from the store."""
LONGEST_BACK_NS = 24 * 3600 * SECOND_NS
RESUMED_NS = 300 * SECOND_NS
"""After so long without data a host warms up anew."""
NO_DATA_SECONDS = 30.0
NO_VERDICT_SECONDS = 600.0
LONGEST_TICK_SECONDS = 30.0
"""Of a longer pause between two ticks only so much counts as a host's silence: nobody could have heard it."""

log = logging.getLogger(__name__)


@dataclass
class _Watched:
    """A host under evaluation; times in seconds are of the clock that is never set."""

    memory: Memory
    stand: Stand | None = None
    moved_at: dict[str, float] = field(default_factory=dict)
    saved_at: float = -math.inf
    looked_at: float = -math.inf


@dataclass
class Alerting:
    """The evaluator over all hosts. ``clock`` gives ns since the epoch, ``monotonic`` seconds.

    ``fence`` is called in each transaction before anything is written; it raises where that is another's task by now.
    """

    database: Database
    clock: Callable[[], int]
    monotonic: Callable[[], float]
    public_url: str = ""
    fence: Fence = no_fence
    _watched: dict[int, _Watched] = field(default_factory=dict)
    _rules: list[Rule] = field(default_factory=list)
    _revision: tuple[int, ...] | None = None
    _facts: Facts = field(init=False)
    _messenger: Messenger = field(init=False)
    _events: dict[int, list[EventLook]] = field(default_factory=dict)
    _events_ns: int | None = None
    _seen_events: dict[tuple[int, str, int, int], int] = field(default_factory=dict)
    _ticked_at: float | None = None

    def __post_init__(self) -> None:
        self._facts = Facts(self.database)
        self._messenger = Messenger(self.database, self.clock, self.public_url, self.fence)

    async def tick(self) -> None:
        """Take in what is new, and put what is due to be told into the outbox."""
        first = self._revision is None
        renewed = await self._renew_rules()
        if first:
            memories = await read_memories(self.database)
            self._watched = {host_id: _Watched(Memory.from_plain(state)) for host_id, state in memories.items()}
        found = await stands(self.database)
        await self._take_events()
        self._count_silence(found)
        due = [stand for stand in found if renewed or self._is_due(stand)]
        for some in slices(due, HOSTS_AT_ONCE):
            await self._evaluate(some)
        await self._messenger.tell({rule.id: rule for rule in self._rules})

    async def _renew_rules(self) -> bool:
        revision = await rules_revision(self.database)
        if revision == self._revision:
            return False
        self._rules, self._revision = await load_rules(self.database), revision
        return True

    def _needs(self, part: str) -> bool:
        return any(rule.enabled and rule.kind.needs == part for rule in self._rules)

    async def _take_events(self) -> None:
        """Events of the kinds that rules read, each once; they wait for their host's next step."""
        if not self._needs(EVENTS):
            return
        since_ns = self.clock() - EVENTS_BACK_NS if self._events_ns is None else self._events_ns - OVERLAP_NS
        for row in await events_since(self.database, since_ns, (EVENT,)):
            key = (row.host_id, row.run_id, row.sequence, row.position)
            if key not in self._seen_events and row.t_ns > self._seen_ns(row.host_id, EVENTS, self._events_ns is None):
                self._events.setdefault(row.host_id, []).append(event_look(row))
            self._seen_events[key] = row.received_ns
            self._events_ns = max(self._events_ns or 0, row.received_ns)
        if self._events_ns is None:
            self._events_ns = self.clock()
        oldest_ns = self._events_ns - OVERLAP_NS
        self._seen_events = {key: at for key, at in self._seen_events.items() if at >= oldest_ns}

    def _seen_ns(self, host_id: int, part: str, restarted: bool) -> int:
        """After a restart: the newest event that was taken in before."""
        watched = self._watched.get(host_id)
        return watched.memory.seen.get(part, -1) if watched and restarted else -1

    def _count_silence(self, found: Sequence[Stand]) -> None:
        now, now_ns = self.monotonic(), self.clock()
        passed = None if self._ticked_at is None else now - self._ticked_at
        self._ticked_at = now
        for stand in found:
            watched = self._watched.get(stand.host_id)
            if watched is None:
                watched = self._watched[stand.host_id] = _Watched(Memory())
                if now_ns - stand.last_seen_ns > RETIRED_NS:
                    watched.memory.silent_seconds = (now_ns - stand.last_seen_ns) / 1e9
            contact = stand.last_seen_ns + stand.last_data_ns
            if watched.memory.seen.get(CONTACT) != contact:
                watched.memory.seen[CONTACT] = contact
                watched.memory.silent_seconds = 0.0
            else:
                # After a restart all that is left of the time before is what the wall clock says.
                told = (now_ns - (watched.memory.counted_ns or now_ns)) / 1e9 if passed is None else passed
                watched.memory.silent_seconds += min(max(0.0, told), LONGEST_TICK_SECONDS)
            watched.memory.counted_ns = now_ns

    def _is_due(self, stand: Stand) -> bool:
        watched = self._watched[stand.host_id]
        if watched.stand != stand or stand.host_id in self._events:
            return True
        # Of the others time alone can change anything, and not so soon.
        silent = watched.memory.silent_seconds >= LATE_SECONDS and self._needs(CONTACT)
        return (silent or watched.memory.active) and self.monotonic() - watched.looked_at >= LOOK_SECONDS

    async def _evaluate(self, some: Sequence[Stand]) -> None:
        looks = await self._looks(some)
        now_ns, now = self.clock(), self.monotonic()
        steps: list[tuple[Stand, HostFacts, Memory, list[Transition]]] = []
        for stand in some:
            watched = self._watched[stand.host_id]
            if stand.host_id not in looks:
                continue
            # What is not stored was not taken in: the memory is replaced once it is.
            memory = Memory.from_plain(watched.memory.to_plain())
            told = self._step(memory, looks[stand.host_id], watched, now)
            if told or self._is_save_due(watched, now):
                steps.append((stand, looks[stand.host_id][0].host, memory, told))
            else:
                self._taken(stand, memory)
        await self._write(steps, now_ns)

    def _is_save_due(self, watched: _Watched, now: float) -> bool:
        silent = watched.memory.silent_seconds >= LATE_SECONDS and watched.memory.silent_seconds < RETIRED_NS / 1e9
        quick = silent or watched.memory.active
        return now - watched.saved_at >= (SILENT_SAVE_SECONDS if quick else SAVE_SECONDS)

    def _taken(self, stand: Stand, memory: Memory) -> None:
        watched = self._watched[stand.host_id]
        watched.memory, watched.stand, watched.looked_at = memory, stand, self.monotonic()
        self._events.pop(stand.host_id, None)

    def _step(self, memory: Memory, looks: Sequence[Look], watched: _Watched, now: float) -> list[Transition]:
        """Take all looks at a host in, in the order of time."""
        told = end_unknown(memory, looks[0].host, self._rules)
        for look in looks:
            told += evaluate(memory, look, self._rules)
            self._note_seen(memory, look, watched, now)
        for part, longest in ((DROPS, NO_DATA_SECONDS), (LEDGERS, NO_VERDICT_SECONDS), (VALUES, NO_DATA_SECONDS)):
            if now - watched.moved_at.setdefault(part, now) >= longest or memory.silent_seconds >= NO_DATA_SECONDS:
                told += lose_all(memory, self._rules, part)
        return told

    def _note_seen(self, memory: Memory, look: Look, watched: _Watched, now: float) -> None:
        at = {
            DROPS: look.drops.at_ns if look.drops else None,
            LEDGERS: look.ledgers.end_ns if look.ledgers else None,
            VALUES: look.values.at_ns if look.values else None,
            EVENTS: max((event.t_ns for event in look.events), default=None) if look.events else None,
        }
        for part, at_ns in at.items():
            if at_ns is not None and at_ns > memory.seen.get(part, -1):
                memory.seen[part] = at_ns
                watched.moved_at[part] = now

    async def _looks(self, some: Sequence[Stand]) -> dict[int, list[Look]]:
        """Everything that is new of these hosts: first what was missed, then the present."""
        facts = await self._facts.of(some, self.clock())
        ids = [stand.host_id for stand in some if stand.host_id in facts]
        ledgers = await self._new_ledgers(some)
        newest = {host_id: told[-1] if told else None for host_id, told in ledgers.items()}
        drops = await self._new_drops(some, newest)
        values = await self._new_values(some)
        by_id = {stand.host_id: stand for stand in some}
        looks: dict[int, list[Look]] = {}
        for host_id in ids:
            host, memory = facts[host_id], self._watched[host_id].memory
            # Silence, not age: a clock that was set by a day retires nobody.
            host = replace(host, retired=memory.silent_seconds * 1e9 > RETIRED_NS)
            self._note_resumed(memory, by_id[host_id], host)
            missed_ledgers = [Look(host, ledgers=told) for told in ledgers.get(host_id, [])[:-1]]
            missed_values = [Look(host, values=told) for told in values.get(host_id, [])[:-1]]
            looks[host_id] = [
                *missed_ledgers,
                *missed_values,
                Look(
                    host,
                    drops=drops.get(host_id),
                    ledgers=newest.get(host_id),
                    values=values[host_id][-1] if values.get(host_id) else None,
                    events=self._events.get(host_id, [] if memory.active else None),
                    last_seen_ns=by_id[host_id].last_seen_ns,
                    silent_seconds=memory.silent_seconds,
                ),
            ]
        return looks

    def _note_resumed(self, memory: Memory, stand: Stand, host: HostFacts) -> None:
        """Where the data begins, or begins again, the rules' warm-up does."""
        before_ns = memory.seen.get("data", 0)
        if not memory.resumed_ns:
            memory.resumed_ns = host.first_data_ns
        elif before_ns and stand.last_data_ns - before_ns > RESUMED_NS and self._watched[host.id].stand is not None:
            memory.resumed_ns = stand.last_data_ns
        memory.seen["data"] = max(before_ns, stand.last_data_ns)

    def _moved(self, some: Sequence[Stand], figure: Callable[[Stand], int]) -> list[Stand]:
        moved = []
        for stand in some:
            before = self._watched[stand.host_id].stand
            if figure(stand) and (before is None or figure(before) != figure(stand)):
                moved.append(stand)
        return moved

    def _seen(self, some: Sequence[Stand], part: str) -> dict[int, int]:
        return {stand.host_id: self._watched[stand.host_id].memory.seen.get(part, 0) for stand in some}

    async def _new_ledgers(self, some: Sequence[Stand]) -> dict[int, list[Ledgers]]:
        moved = self._moved(some, lambda stand: stand.verdict_made_ns) if self._needs(LEDGERS) else []
        ids = [stand.host_id for stand in moved]
        return await ledgers_since(self.database, ids, self._seen(moved, LEDGERS)) if moved else {}

    async def _new_drops(self, some: Sequence[Stand], ledgers: dict[int, Ledgers | None]) -> dict[int, DropsLook]:
        moved = self._moved(some, lambda stand: stand.watch_saved_ns) if self._needs(DROPS) else []
        ids = [stand.host_id for stand in moved]
        return await drops_of(self.database, ids, self._seen(moved, DROPS), ledgers) if moved else {}

    async def _new_values(self, some: Sequence[Stand]) -> dict[int, list[ValuesLook]]:
        moved = self._moved(some, lambda stand: stand.latest_ns) if self._needs(VALUES) else []
        if not moved:
            return {}
        metrics = {metric for rule in self._rules if rule.enabled for metric in rule.kind.metrics}
        found = {host_id: [look] for host_id, look in (await values_of(self.database, moved, metrics)).items()}
        for stand in moved:
            seen_ns = self._watched[stand.host_id].memory.seen.get(VALUES, 0)
            if seen_ns and stand.latest_ns - seen_ns > BEHIND_NS:
                start_ns = max(seen_ns, stand.latest_ns - LONGEST_BACK_NS)
                missed = await values_between(self.database, stand.host_id, start_ns, stand.latest_ns, metrics)
                found[stand.host_id] = [*missed, *found[stand.host_id]]
        return found

    async def _write(self, steps: Sequence[tuple[Stand, HostFacts, Memory, list[Transition]]], now_ns: int) -> None:
        if not steps:
            return
        dialect = self.database.dialect
        async with self.database.write() as session:
            await self.fence(session)
            for stand, host, _memory, told in steps:
                for transition in told:
                    await write_transition(session, dialect, host, transition, now_ns, stand.last_data_ns)
            memories = {stand.host_id: (stand.last_data_ns, memory.to_plain()) for stand, _, memory, _ in steps}
            await store_memories(session, dialect, memories)
        for stand, _, memory, _ in steps:
            self._taken(stand, memory)
            self._watched[stand.host_id].saved_at = self.monotonic()
