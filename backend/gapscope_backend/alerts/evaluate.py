"""A host's rules against one look at it: what changed, pure. What is remembered of the host is ``Memory``."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from gapscope_backend.alerts.look import GpuFacts, HostFacts, Look
from gapscope_backend.alerts.rule import Rule
from gapscope_backend.alerts.rules.kind import SECOND_NS, Finding, Question
from gapscope_backend.alerts.states import FIRING, Change, Observation, Track, Truth, advance, lose

_SEPARATOR = "\x1f"


@dataclass
class Memory:
    """``tracks``: by rule, subject and facet. ``notes``: what kinds note, by rule. ``seen``: data time up to which
    each part of a look was taken in. ``resumed_ns``: since when the host's data goes on without a long gap.
    ``silent_seconds``: for how long it has sent nothing, counted up to ``counted_ns`` of the server's clock."""

    tracks: dict[str, dict[tuple[str, str], Track]] = field(default_factory=dict)
    notes: dict[str, dict[str, Any]] = field(default_factory=dict)
    seen: dict[str, int] = field(default_factory=dict)
    resumed_ns: int = 0
    silent_seconds: float = 0.0
    counted_ns: int = 0

    def to_plain(self) -> dict[str, Any]:
        """As plain data."""
        tracks = {
            rule: {_SEPARATOR.join(key): track.to_plain() for key, track in of.items()}
            for rule, of in self.tracks.items()
            if of
        }
        notes = {rule: note for rule, note in self.notes.items() if note}
        return {
            "tracks": tracks,
            "notes": notes,
            "seen": self.seen,
            "resumed_ns": self.resumed_ns,
            "silent_seconds": round(self.silent_seconds, 1),
            "counted_ns": self.counted_ns,
        }

    @staticmethod
    def from_plain(data: Mapping[str, Any]) -> Memory:
        """From plain data, sharing nothing with it."""
        tracks = {
            rule: {_key(told): Track.from_plain(list(track)) for told, track in of.items()}
            for rule, of in data.get("tracks", {}).items()
        }
        notes = {
            rule: {name: _copied(value) for name, value in of.items()} for rule, of in data.get("notes", {}).items()
        }
        seen, resumed_ns = dict(data.get("seen", {})), data.get("resumed_ns", 0)
        silent_seconds, counted_ns = data.get("silent_seconds", 0.0), data.get("counted_ns", 0)
        return Memory(tracks, notes, seen, resumed_ns, silent_seconds, counted_ns)

    @property
    def active(self) -> bool:
        """Whether anything is pending or firing."""
        return any(self.tracks.values())


@dataclass(frozen=True)
class Transition:
    """What became of a rule's condition on a subject. ``finding`` is None where no look told (a rule that is gone).

    ``passed`` marks a condition that was over before anybody looked: it fired and is resolved at once.
    """

    rule: Rule | None
    rule_id: str
    subject: str
    facet: str
    change: Change
    track: Track
    finding: Finding | None = None
    passed: bool = False


def alert_id(host: str, rule_id: str, subject: str, facet: str, began_ns: int) -> str:
    """The same finding is the same alert, whoever finds it and however often."""
    name = "\0".join((host, rule_id, subject, facet, str(began_ns)))
    return hashlib.sha256(name.encode()).hexdigest()[:24]


def evaluate(memory: Memory, look: Look, rules: Iterable[Rule]) -> list[Transition]:
    """Take a look in; changes ``memory``. Rules that do not take this host are as good as none."""
    found: list[Transition] = []
    for rule in rules:
        if rule.enabled and rule.scope.takes_host(look.host):
            found += _evaluate_rule(memory, look, rule)
    return found


def end_unknown(memory: Memory, host: HostFacts, rules: Sequence[Rule]) -> list[Transition]:
    """End what belongs to rules that are gone, switched off, or look elsewhere by now."""
    standing = {rule.id for rule in rules if rule.enabled and rule.scope.takes_host(host)}
    ended: list[Transition] = []
    for rule_id in [known for known in memory.tracks if known not in standing]:
        for (subject, facet), track in memory.tracks.pop(rule_id).items():
            change = Change.RESOLVED if track.state == FIRING else Change.ENDED
            ended.append(Transition(None, rule_id, subject, facet, change, track))
        memory.notes.pop(rule_id, None)
    return ended


def lose_all(memory: Memory, rules: Sequence[Rule], part: str) -> list[Transition]:
    """The data of a part of the look stays away: nothing is known of its conditions."""
    lost: list[Transition] = []
    for rule in rules:
        if rule.kind.needs != part:
            continue
        tracks = memory.tracks.get(rule.id, {})
        for key, track in list(tracks.items()):
            tracks[key], changes = lose(track)
            lost += [Transition(rule, rule.id, *key, change, tracks[key]) for change in changes]
    return lost


def _evaluate_rule(memory: Memory, look: Look, rule: Rule) -> Iterator[Transition]:
    tracks = memory.tracks.setdefault(rule.id, {})

    def takes(gpu: GpuFacts | None, job: str) -> bool:
        return rule.scope.takes(gpu, job)

    notes = memory.notes.setdefault(rule.id, {})
    question = Question(look, rule.settings, dict(tracks), notes, takes)
    for finding in rule.kind.find(question):
        if finding.alone:
            yield from _passed(rule, finding, tracks)
            continue
        yield from _take(memory, rule, tracks, finding)


def _take(memory: Memory, rule: Rule, tracks: dict[tuple[str, str], Track], finding: Finding) -> Iterator[Transition]:
    key = (finding.subject, finding.facet)
    before = tracks.get(key)
    if before is None and finding.truth is not Truth.HOLDS:
        return
    if before is None and finding.at_ns - memory.resumed_ns < rule.warm_up_seconds * SECOND_NS:
        return
    track, changes = advance(before, _observation(finding), rule.timing)
    if track is None:
        tracks.pop(key, None)
    else:
        tracks[key] = track
    told = track or before
    if told is not None:
        for change in changes:
            yield Transition(rule, rule.id, *key, change, told, finding)


def _passed(rule: Rule, finding: Finding, tracks: Mapping[tuple[str, str], Track]) -> Iterator[Transition]:
    """A condition that is over: if it lasted long enough it fired, whether or not anybody looked meanwhile.

    The one that is being tracked ends by the looks that follow.
    """
    since_ns = finding.since_ns or finding.at_ns
    tracked = tracks.get((finding.subject, finding.facet))
    covered = tracked is not None and tracked.began_ns <= since_ns <= tracked.last_ns
    if covered or (finding.held_ns or 0) < rule.for_seconds * SECOND_NS:
        return
    track = Track(FIRING, since_ns, finding.at_ns, finding.held_ns or 0)
    yield Transition(rule, rule.id, finding.subject, finding.facet, Change.RESOLVED, track, finding, passed=True)


def _observation(finding: Finding) -> Observation:
    since_ns, held_ns, clear_ns = finding.since_ns, finding.held_ns, finding.clear_ns
    return Observation(finding.at_ns, finding.truth, since_ns, held_ns, finding.in_order, clear_ns)


def _key(told: str) -> tuple[str, str]:
    subject, _, facet = told.partition(_SEPARATOR)
    return subject, facet


def _copied(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _copied(one) for name, one in value.items()}
    return [_copied(one) for one in value] if isinstance(value, list) else value
