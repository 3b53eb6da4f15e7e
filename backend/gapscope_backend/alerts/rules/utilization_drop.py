"""``utilization_drop``: a GPU that was in use stopped being used, by the one drop detector."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from gapscope_backend.alerts.look import DropLook, DropsLook
from gapscope_backend.alerts.rules.kind import DROPS, FAULTS, Finding, Kind, Question, gpu_name, takes_cause, title_of
from gapscope_backend.alerts.states import Track, Truth
from gapscope_backend.analysis.language import Text


class Settings(msgspec.Struct, frozen=True):
    """``causes``: which drops count, by cause or class; a drop because no work arrives is told only where named."""

    causes: tuple[str, ...] = FAULTS
    except_causes: tuple[str, ...] = ()


def find(question: Question) -> Iterator[Finding]:
    """Each GPU's drop in progress, and those that are over. What is no drop of this rule is clear."""
    drops = question.look.drops
    if drops is None:
        return
    wanted = {gpu.key for gpu in question.gpus()}
    for drop in drops.over:
        if drop.gpu in wanted and _counts(question.settings, drop):
            yield _finding(question, drop, drop.end_ns, alone=True)
    for key in sorted(wanted):
        current, tracked = drops.current.get(key), question.tracked.get((key, ""))
        ended_ns = _ended_ns(drops, key, tracked)
        if tracked and current and ended_ns is not None and tracked.began_ns < ended_ns <= current.start_ns:
            yield _clear(key, current.start_ns, ended_ns)
        if current and (_counts(question.settings, current) or (tracked and not current.cause)):
            yield _finding(question, current, drops.at_ns)
        elif tracked and key not in drops.measured:
            yield Finding(key, drops.at_ns, Truth.UNKNOWN)
        elif tracked:
            yield _clear(key, drops.at_ns, ended_ns)


def _ended_ns(drops: DropsLook, key: str, tracked: Track | None) -> int | None:
    """When the drop that is tracked ended, as far as this look tells."""
    if tracked is None:
        return None
    return max((drop.end_ns for drop in drops.over if drop.gpu == key and drop.end_ns > tracked.began_ns), default=None)


def _clear(key: str, at_ns: int, ended_ns: int | None) -> Finding:
    """Clear since the drop ended, where that is known."""
    clear_ns = None if ended_ns is None else at_ns - ended_ns
    return Finding(key, at_ns, Truth.CLEARS, clear_ns=clear_ns, end_ns=ended_ns)


def _counts(settings: Settings, drop: DropLook) -> bool:
    """A drop that nobody has looked into yet has no cause and does not count."""
    named = takes_cause(settings.causes, drop.cause, drop.row_class)
    return named and not takes_cause(settings.except_causes, drop.cause, drop.row_class)


def _finding(question: Question, drop: DropLook, at_ns: int, alone: bool = False) -> Finding:
    sentence = Text(
        "{gpu!u} was active for {active:.0%} of the last {seconds:.0f} s, below {threshold:.0%}: {cause!l}.",
        gpu=gpu_name(question.look.host, drop.gpu),
        active=drop.active_ratio,
        seconds=(drop.end_ns - drop.start_ns) / 1e9,
        threshold=drop.threshold_ratio,
        cause=title_of(drop.cause) or Text("not explained yet"),
    )
    return Finding(
        subject=drop.gpu,
        at_ns=at_ns,
        truth=Truth.HOLDS,
        sentence=sentence,
        value=drop.active_ratio,
        threshold=drop.threshold_ratio,
        since_ns=drop.start_ns,
        held_ns=drop.held_ns,
        end_ns=drop.end_ns,
        cause=drop.cause,
        incident=drop.incident,
        alone=alone,
    )


KIND = Kind(
    name="utilization_drop",
    about="a GPU in use fell below a quarter, or below half of its own recent level",
    settings=Settings,
    needs=DROPS,
    unit="ratio",
    find=find,
    gap_seconds=120.0,
)
