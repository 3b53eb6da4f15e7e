"""Messages of the alerts: what is due, with everything that a reader wants to know, into the outbox."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import msgspec
import numpy as np

from gapscope_agent.catalog import BY_NAME
from gapscope_backend.alerts.compose import SPARK_STEP_NS, Around, compose, leading, message_id
from gapscope_backend.alerts.grouping import Due, SilenceSpan, due_messages
from gapscope_backend.alerts.look import HostFacts, LedgerShare, read_ledgers
from gapscope_backend.alerts.matching import fits, matchers_of
from gapscope_backend.alerts.message import RESOLVED, SPARKLINE_LENGTH, LedgerLine, to_plain
from gapscope_backend.alerts.rule import Rule
from gapscope_backend.alerts.rules import KINDS
from gapscope_backend.alerts.rules.kind import title_of
from gapscope_backend.services.incident_verdict import sentence_of
from gapscope_backend.services.incidents import Fence, no_fence
from gapscope_backend.store.alert_models import Alert, Channel, Delivery
from gapscope_backend.store.alerts import alerts_to_tell, change_alert, list_silences, verdicts_of
from gapscope_backend.store.channels import list_channels, takes_alerts
from gapscope_backend.store.database import Database
from gapscope_backend.store.deliveries import PENDING, add_delivery
from gapscope_backend.store.incidents import incident_of
from gapscope_backend.store.models import Incident
from gapscope_backend.store.reader import Selection, read_tier
from gapscope_backend.store.tiers import TIERS

ALL_HOSTS = 0
ACTIVE = ("gpu_graphics_active_ratio", "gpu_utilization_ratio")
"""The first of them that has values."""


class _Spot(msgspec.Struct):
    function: str
    file: str
    line: int


class _Row(msgspec.Struct):
    cause: str
    hotspots: list[_Spot] = []


class _Told(msgspec.Struct):
    ledger: list[_Row]


@dataclass
class Messenger:
    """Finds what is due to be told and writes it down. ``clock`` gives ns since the epoch."""

    database: Database
    clock: Callable[[], int]
    public_url: str = ""
    fence: Fence = no_fence

    async def tell(self, rules: Mapping[str, Rule]) -> None:
        """Everything that is due, a message a group and channel."""
        listed = await alerts_to_tell(self.database)
        if not listed:
            return
        rows, names = [alert for alert, _ in listed], {alert.host_id: name for alert, name in listed}
        known = {row.rule_id: rules.get(row.rule_id) or _gone(row) for row in rows}
        now_ns = self.clock()
        silences = [
            SilenceSpan(matchers_of(row.matchers), row.start_ns, row.end_ns)
            for row in await list_silences(self.database, now_ns)
        ]
        dues = due_messages(rows, known, silences, now_ns)
        if not dues:
            return
        channels = [channel for channel in await list_channels(self.database) if takes_alerts(channel)]
        for due in dues:
            await self._tell_one(due, names, _chosen(channels, due.rule), now_ns)

    async def _tell_one(self, due: Due, names: dict[int, str], channels: Sequence[Channel], now_ns: int) -> None:
        """With nobody to tell, what fires waits for a channel, and what is over is laid aside."""
        rows: list[Alert] = due.rows if channels else [row for row in due.rows if row.state == RESOLVED]
        if not rows:
            return
        # The outbox goes by the time of writing: a clock that was set back must not make the newest the oldest.
        made_ns = max([now_ns, *(row.told_ns + 1 for row in due.rows if row.told_ns is not None)])
        deliveries = await self._deliveries(due, names, channels, made_ns) if channels else []
        async with self.database.write() as session:
            await self.fence(session)
            for delivery in deliveries:
                await add_delivery(session, self.database.dialect, delivery)
            for row in rows:
                told = {"told_state": row.state, "told_ns": made_ns, "told_count": due.sequence}
                await change_alert(session, row.host_id, row.id, told)

    async def _deliveries(
        self, due: Due, names: dict[int, str], channels: Sequence[Channel], made_ns: int
    ) -> list[Delivery]:
        around = await self._around(leading(due), names)
        hosts = {row.host_id for row in due.rows}
        made = []
        for channel in channels:
            language = str(channel.settings.get("language", "en"))
            message = compose(due, names, around, self.public_url, language)
            made.append(
                Delivery(
                    host_id=hosts.copy().pop() if len(hosts) == 1 else ALL_HOSTS,
                    id=message_id(channel.id, due),
                    channel_id=channel.id,
                    group_key=due.group_key,
                    kind=due.state,
                    state=PENDING,
                    message=to_plain(message),
                    alerts=[row.id for row in due.rows],
                    created_ns=made_ns,
                    due_ns=made_ns,
                    attempts=0,
                    log=[],
                    resend_of="",
                    done_ns=None,
                )
            )
        return made

    async def _around(self, lead: Alert, names: Mapping[int, str]) -> Around:
        """Its incident's ledger and stacks, else its host's last minute; and how active its GPU was."""
        host = HostFacts(lead.host_id, names[lead.host_id])
        found = await incident_of(self.database, lead.incident) if lead.incident else None
        active = await self._active(lead) if lead.subject.startswith("gpu:") else []
        if found is None:
            verdict = (await verdicts_of(self.database, [lead.host_id])).get(lead.host_id)
            ledgers = read_ledgers(verdict) if verdict else None
            rows = next((gpu.ledger for gpu in ledgers.gpus if gpu.gpu == lead.subject), []) if ledgers else []
            confidence = next((row.confidence for row in rows if row.cause == lead.cause), None)
            return Around(host, _lines(rows), confidence, active=active)
        incident = found[0]
        rows = msgspec.convert(incident.ledger, list[LedgerShare])
        stack = _top_stack(incident)
        return Around(host, _lines(rows), incident.confidence, stack, active, sentence_of(incident))

    async def _active(self, lead: Alert) -> list[float | None]:
        """Its GPU's activity in steps of 10 s up to where the alert reaches; None where nothing was measured."""
        end_ns = -(-lead.end_ns // SPARK_STEP_NS) * SPARK_STEP_NS
        start_ns = end_ns - SPARKLINE_LENGTH * SPARK_STEP_NS
        wanted = Selection((lead.subject,), frozenset(ACTIVE))
        found: dict[str, list[float | None]] = {}
        for part in await read_tier(self.database, lead.host_id, start_ns, end_ns, wanted, TIERS[0]):
            for number, (_, metric) in enumerate(part.rows):
                values = found.setdefault(metric, [None] * SPARKLINE_LENGTH)
                counts, totals = part.counts[number], part.total[number] * BY_NAME[metric].quantum
                for at in np.flatnonzero(counts > 0).tolist():
                    step = (int(part.times[at]) - start_ns) // SPARK_STEP_NS
                    if 0 <= step < SPARKLINE_LENGTH:
                        values[step] = min(1.0, float(totals[at] / counts[at]))
        return next((found[metric] for metric in ACTIVE if metric in found), [])


def _gone(row: Alert) -> Rule:
    """Of a rule that is no more: its alerts' end is told all the same."""
    return Rule(row.rule_id, KINDS[0], None, severity=row.severity)


def _chosen(channels: Sequence[Channel], rule: Rule) -> list[Channel]:
    wanting = [channel for channel in channels if channel.settings.get("alerts", True)]
    return [channel for channel in wanting if any(fits(channel.id, pattern) for pattern in rule.channels)]


def _lines(rows: Sequence[LedgerShare]) -> list[LedgerLine]:
    ordered = sorted(rows, key=lambda row: -row.gpu_seconds)
    return [
        LedgerLine(
            cause=row.cause,
            title=title_of(row.cause),
            row_class=row.row_class,
            gpu_seconds=row.gpu_seconds,
            share=row.share,
        )
        for row in ordered
        if row.row_class != "good"
    ]


def _top_stack(incident: Incident) -> list[str]:
    """Functions under which its cause's time fell, most first."""
    try:
        rows = msgspec.json.decode(incident.verdict, type=_Told).ledger if incident.verdict else []
    except msgspec.ValidationError:
        return []
    spots = next((row.hotspots for row in rows if row.cause == incident.cause), [])
    return [f"{spot.function} ({spot.file}:{spot.line})" for spot in spots]
