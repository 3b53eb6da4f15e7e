"""Delivering: messages that are due are claimed, sent, and tried again on a schedule until they are through.

At least once, and effectively once for a receiver that knows ``webhook-id``: an attempt that a crash cut off is made
again under the same id, once its claim has run out. No attempt lasts as long as a claim.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from gapscope_backend.alerts.egress import TOTAL_SECONDS, Egress
from gapscope_backend.alerts.heartbeat import Heartbeats
from gapscope_backend.alerts.sending import Answer, send
from gapscope_backend.errors import BusyError
from gapscope_backend.store.alert_models import Delivery
from gapscope_backend.store.channels import channel_of
from gapscope_backend.store.database import Database
from gapscope_backend.store.deliveries import (
    DELIVERED,
    FAILED,
    PENDING,
    Outcome,
    Room,
    any_due,
    claim_deliveries,
    finish_delivery,
)

log = logging.getLogger(__name__)

SECOND_NS = 10**9
SCHEDULE_SECONDS = (0, 5, 30, 120, 600, 1800, 3600)
"""Pauses before each attempt; the last one before all further ones."""
GIVE_UP_NS = 24 * 3600 * SECOND_NS
LEASE_NS = round(2 * TOTAL_SECONDS) * SECOND_NS
AT_ONCE = 16
AT_ONCE_PER_CHANNEL = 4
"""A channel that does not answer must not keep the others waiting."""
NOTE_PAUSES = (0.1, 0.5, 1.0, 2.0, 4.0)
"""Between the tries to write down an outcome: what is not written down is sent again."""
CLOSE_SECONDS = 4.0
CUT_OFF = "cut off: the process ended, and whether the message arrived is not known"


@dataclass
class Deliveries:
    """Sends what is due. ``clock`` gives ns since the epoch, ``monotonic`` seconds; ``freed``: there is room again."""

    database: Database
    egress: Egress
    clock: Callable[[], int]
    monotonic: Callable[[], float]
    lease_ns: int = LEASE_NS
    freed: asyncio.Event = field(default_factory=asyncio.Event)
    _running: dict[asyncio.Task[None], str] = field(default_factory=dict)
    _heartbeats: Heartbeats = field(default_factory=Heartbeats)

    async def tick(self) -> None:
        """Begin with what is due, as far as there is room."""
        now_ns = self.clock()
        await self._heartbeats.add(self.database, now_ns)
        while len(self._running) < AT_ONCE and await any_due(self.database, now_ns):
            room = Room(AT_ONCE - len(self._running), AT_ONCE_PER_CHANNEL, Counter(self._running.values()))
            found = await claim_deliveries(self.database, now_ns, now_ns + self.lease_ns, room)
            if not found:
                return
            for claimed in found:
                self._begin(claimed)

    def _begin(self, claimed: Delivery) -> None:
        task = asyncio.create_task(self._attempt_logged(claimed), name=f"delivery {claimed.id}")
        self._running[task] = claimed.channel_id
        task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._running.pop(task, None)
        self.freed.set()

    async def settle(self) -> None:
        """Wait for the attempts that are on their way."""
        await asyncio.gather(*self._running)

    async def close(self) -> None:
        """Let attempts end for some seconds; what is cut off is made again when its claim has run out."""
        running = list(self._running)
        if running:
            await asyncio.wait(running, timeout=CLOSE_SECONDS)
            for task in running:
                task.cancel()
            await asyncio.gather(*running, return_exceptions=True)

    async def attempt(self, claimed: Delivery) -> Outcome:
        """Make the attempt for which a row was claimed, and write down what came of it."""
        begun_ns, begun = self.clock(), self.monotonic()
        channel = await channel_of(self.database, claimed.channel_id)
        answer = await send(self.egress, channel, claimed, begun_ns)
        entry = {
            "t_ns": begun_ns,
            "status": answer.status,
            "error": answer.error,
            "milliseconds": round((self.monotonic() - begun) * 1000, 1),
        }
        outcome = _outcome(claimed, answer, [*_log_before(claimed, self.lease_ns), entry], self.clock())
        await self._note(claimed, outcome)
        return outcome

    async def _attempt_logged(self, claimed: Delivery) -> None:
        try:
            await self.attempt(claimed)
        except Exception:
            # The outermost loop of a task: the claim runs out, and the message is tried again.
            log.exception("message %s for the channel %s", claimed.id, claimed.channel_id)

    async def _note(self, claimed: Delivery, outcome: Outcome) -> None:
        for pause in NOTE_PAUSES:
            with suppress(BusyError):
                return await self._note_now(claimed, outcome)
            await asyncio.sleep(pause)
        return await self._note_now(claimed, outcome)

    async def _note_now(self, claimed: Delivery, outcome: Outcome) -> None:
        if not await finish_delivery(self.database, claimed, outcome):
            log.warning("message %s was taken over by another process meanwhile", claimed.id)


def _log_before(claimed: Delivery, lease_ns: int) -> list[dict[str, Any]]:
    """The log so far, with an entry for each attempt that nobody could write down."""
    known = list(claimed.log)
    lost = claimed.attempts - 1 - len(known)
    since_ns = max([claimed.created_ns, *(entry["t_ns"] for entry in known)])
    return known + [{"t_ns": since_ns, "status": None, "error": CUT_OFF, "milliseconds": None}] * max(0, lost)


def _outcome(claimed: Delivery, answer: Answer, entries: list[dict[str, Any]], now_ns: int) -> Outcome:
    if not answer.error:
        return Outcome(DELIVERED, entries, claimed.due_ns, now_ns)
    end_ns = claimed.created_ns + GIVE_UP_NS
    if answer.hopeless or claimed.kind == "test" or now_ns >= end_ns:
        return Outcome(FAILED, entries, claimed.due_ns, now_ns)
    pause_ns = SCHEDULE_SECONDS[min(claimed.attempts, len(SCHEDULE_SECONDS) - 1)] * SECOND_NS
    return Outcome(PENDING, entries, min(now_ns + max(pause_ns, answer.retry_after_ns), end_ns), None)
