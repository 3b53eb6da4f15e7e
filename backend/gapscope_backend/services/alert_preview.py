"""Preview: how often a rule would have fired over what is stored, by the same code that evaluates it live."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, replace

from gapscope_backend.alerts.evaluate import Memory, Transition, evaluate
from gapscope_backend.alerts.look import DropLook, DropsLook, HostFacts, Ledgers, Look, read_ledgers
from gapscope_backend.alerts.rule import Rule
from gapscope_backend.alerts.rules.kind import CONTACT, DROPS, EVENTS, LEDGERS, SECOND_NS
from gapscope_backend.alerts.rules.xid import EVENT
from gapscope_backend.alerts.states import Change
from gapscope_backend.analysis.language import Text
from gapscope_backend.analysis.verdict import NONE
from gapscope_backend.services.alert_looks import (
    GPUS_KNOWN_NS,
    current_drops,
    event_look,
    explained,
    facts_of,
    over_drops,
    values_between,
)
from gapscope_backend.services.watch import Watch, advance_watch, cell_floor
from gapscope_backend.store.alerts import events_between, incidents_of, minutes_between
from gapscope_backend.store.database import Database
from gapscope_backend.store.hosts import entities_near_end, list_hosts
from gapscope_backend.store.models import Host, Incident

STEP_NS = 60 * SECOND_NS
WARM_NS = 600 * SECOND_NS
"""The drop detector learns a GPU's level from so much before the span."""
MOST_DROP_NS = 24 * 3600 * SECOND_NS
"""Time of all hosts together that the detector goes through again; of more, the newest part."""
MOST_HOSTS = 200
MOST_FOUND = 500


@dataclass(frozen=True)
class Fired:
    """One time that a rule would have fired; ns of data time, ``ended_ns`` None where it would still."""

    host: str
    subject: str
    cause: str
    sentence: Text
    began_ns: int
    fired_ns: int
    ended_ns: int | None


@dataclass(frozen=True)
class Preview:
    """``fired``, oldest first. ``start_ns`` is from when on was looked, later than asked where that was too much.

    ``known`` is False for a rule whose past is not stored.
    """

    fired: list[Fired]
    hosts: int
    start_ns: int
    end_ns: int
    known: bool = True


async def preview(database: Database, rule: Rule, start_ns: int, end_ns: int) -> Preview:
    """What a rule would have told over [start, end)."""
    if rule.kind.needs == CONTACT:
        return Preview([], 0, start_ns, end_ns, known=False)
    hosts = [host for host in await list_hosts(database) if rule.scope.takes_host(facts_of(host, []))]
    hosts = [host for host in hosts if host.last_data_ns > start_ns and host.first_data_ns < end_ns][:MOST_HOSTS]
    if rule.kind.needs == DROPS and hosts:
        start_ns = max(start_ns, end_ns - MOST_DROP_NS // len(hosts))
    gpus = await entities_near_end(database, [host.id for host in hosts], GPUS_KNOWN_NS, ("gpu",))
    fired: list[Fired] = []
    for host in hosts:
        facts = facts_of(host, gpus.get(host.id, []))
        fired += await _of_host(database, host, facts, replace(rule, enabled=True), (start_ns, end_ns))
    return Preview(sorted(fired, key=lambda one: one.began_ns)[:MOST_FOUND], len(hosts), start_ns, end_ns)


async def _of_host(database: Database, host: Host, facts: HostFacts, rule: Rule, span: tuple[int, int]) -> list[Fired]:
    memory = Memory(resumed_ns=host.first_data_ns)
    open_: dict[tuple[str, str], Fired] = {}
    fired: list[Fired] = []
    async for look in _looks(database, host, facts, rule, *span):
        for told in evaluate(memory, look, [rule]):
            key = (told.subject, told.facet)
            if told.passed:
                fired.append(replace(_fired(facts, rule, told), ended_ns=_end_ns(told)))
            elif told.change is Change.FIRED:
                open_[key] = _fired(facts, rule, told)
            elif told.change is Change.RESOLVED and key in open_:
                fired.append(replace(open_.pop(key), ended_ns=_end_ns(told)))
    return [*fired, *open_.values()]


def _fired(facts: HostFacts, rule: Rule, told: Transition) -> Fired:
    finding, track = told.finding, told.track
    sentence, cause = (finding.sentence, finding.cause) if finding else (NONE, "")
    fired_ns = track.began_ns + round(rule.for_seconds * SECOND_NS)
    return Fired(facts.name, told.subject, cause, sentence, track.began_ns, fired_ns, None)


def _end_ns(told: Transition) -> int:
    if told.finding is None:
        return told.track.last_ns
    return told.finding.at_ns if told.finding.end_ns is None else told.finding.end_ns


async def _looks(
    database: Database, host: Host, facts: HostFacts, rule: Rule, start_ns: int, end_ns: int
) -> AsyncIterator[Look]:
    if rule.kind.needs == DROPS:
        async for drops in _drops(database, host, start_ns, end_ns):
            yield Look(facts, drops=drops)
    elif rule.kind.needs == LEDGERS:
        for ledgers in await _minutes(database, host, start_ns, end_ns):
            yield Look(facts, ledgers=ledgers)
    elif rule.kind.needs == EVENTS:
        for event in await events_between(database, host.id, start_ns, end_ns, (EVENT,)):
            yield Look(facts, events=[event_look(event)], last_seen_ns=event.t_ns)
        yield Look(facts, events=[], last_seen_ns=end_ns)
    else:
        for values in await values_between(database, host.id, start_ns, end_ns, rule.kind.metrics):
            yield Look(facts, values=values)


async def _minutes(database: Database, host: Host, start_ns: int, end_ns: int) -> list[Ledgers]:
    told = map(read_ledgers, await minutes_between(database, host.id, start_ns, end_ns))
    return [ledgers for ledgers in told if ledgers is not None]


async def _drops(database: Database, host: Host, start_ns: int, end_ns: int) -> AsyncIterator[DropsLook]:
    """The detector once more over the stored samples, with the causes that were found then."""
    incidents = (await incidents_of(database, [host.id], start_ns - WARM_NS, end_ns))[host.id]
    minutes = await _minutes(database, host, start_ns - WARM_NS, end_ns + STEP_NS)
    watch = Watch(cell_floor(max(start_ns - WARM_NS, host.first_data_ns)))
    end_ns = min(end_ns, host.last_data_ns)
    while watch.watermark_ns < cell_floor(end_ns):
        known = len(watch.over)
        await advance_watch(database, host, watch, min(watch.watermark_ns + STEP_NS, end_ns))
        over, watch.over = watch.over[known:], []
        if watch.watermark_ns > start_ns:
            current, measured = current_drops(watch)
            look = DropsLook(watch.watermark_ns, current, over_drops(over), measured)
            yield _explained(look, incidents, minutes)


def _explained(look: DropsLook, incidents: Sequence[Incident], minutes: Sequence[Ledgers]) -> DropsLook:
    def ledgers_of(drop: DropLook) -> Ledgers | None:
        """The newest minute that touches a drop."""
        return next(
            (one for one in reversed(minutes) if one.start_ns < drop.end_ns and drop.start_ns < one.end_ns), None
        )

    drops = [*look.current.values(), *look.over]
    return explained(look, incidents, ledgers_of(drops[0])) if drops else look
