"""Heartbeats: a message at a steady pace to channels that ask for it, which stops when Gapscope does.

A dead man's switch at its other end tells people. So it must not come from a Gapscope that only half works: it is sent
while an evaluator of the alerts is at work, and gets through its rounds.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from gapscope_backend.alerts.own_messages import message_of_heartbeat
from gapscope_backend.store.alert_models import Channel
from gapscope_backend.store.channels import list_channels
from gapscope_backend.store.database import Database
from gapscope_backend.store.deliveries import add_delivery
from gapscope_backend.store.work import gets_through

EVALUATOR = "alerts"
"""The kind of work that evaluates."""
ROUND_NS = 60 * 10**9
"""An evaluator that got through no round for so long does not work."""


@dataclass
class Heartbeats:
    """Puts heartbeats into the outbox, one a channel and period, however many processes do so."""

    _made: dict[str, int] = field(default_factory=dict)

    async def add(self, database: Database, now_ns: int) -> None:
        """Add this time's heartbeat for each channel that wants one and has none yet; a missed one stays missed."""
        wanting = [channel for channel in await list_channels(database) if self._wants(channel, now_ns)]
        if not wanting or not await gets_through(database, EVALUATOR, now_ns, ROUND_NS):
            return
        made = [message_of_heartbeat(channel, _period(channel), now_ns) for channel in wanting]
        async with database.write() as session:
            for delivery in made:
                await add_delivery(session, database.dialect, delivery)
        self._made |= {channel.id: _slot(channel, now_ns) for channel in wanting}

    def _wants(self, channel: Channel, now_ns: int) -> bool:
        return channel.enabled and _period(channel) > 0 and self._made.get(channel.id) != _slot(channel, now_ns)


def _period(channel: Channel) -> int:
    return int(channel.settings.get("heartbeat_seconds", 0))


def _slot(channel: Channel, now_ns: int) -> int:
    return now_ns // (_period(channel) * 10**9)
