"""``agent_silent``: a host that reported has stopped. Not for recordings, and not for hosts long gone."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from gapscope_backend.alerts.rules.kind import CONTACT, SECOND_NS, Finding, Kind, Question
from gapscope_backend.alerts.states import Truth
from gapscope_backend.analysis.language import Text

LATE_SECONDS = 15.0
"""Three batches: up to then a host counts as live."""


class Settings(msgspec.Struct, frozen=True):
    """None: how long it must last is the rule's ``for``."""


def find(question: Question) -> Iterator[Finding]:
    """The host. Its time goes by receipt, and the silence by a clock that is never set."""
    look = question.look
    if look.silent_seconds is None:
        return
    silent_ns = round(look.silent_seconds * SECOND_NS)
    at_ns = look.last_seen_ns + silent_ns
    if look.host.recorded or look.host.retired or look.silent_seconds < LATE_SECONDS:
        yield Finding("", at_ns, Truth.CLEARS, in_order=False)
        return
    sentence = Text("{host} has sent nothing for {seconds:.0f} s.", host=look.host.name, seconds=look.silent_seconds)
    yield Finding(
        subject="",
        at_ns=at_ns,
        truth=Truth.HOLDS,
        sentence=sentence,
        value=look.silent_seconds,
        threshold=LATE_SECONDS,
        since_ns=look.last_seen_ns,
        held_ns=silent_ns,
        in_order=False,
    )


KIND = Kind(
    name="agent_silent",
    about="a host that reported has stopped",
    settings=Settings,
    needs=CONTACT,
    unit="seconds",
    find=find,
    gap_seconds=30.0,
    covers_seconds=1.0,
)
