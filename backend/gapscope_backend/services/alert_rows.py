"""From what became of a condition to the rows of alerts."""

from __future__ import annotations

from typing import Any

from sqlalchemy.ext.asyncio import AsyncSession

from gapscope_backend.alerts.evaluate import Transition, alert_id
from gapscope_backend.alerts.grouping import UNSEEN, group_key
from gapscope_backend.alerts.look import HostFacts
from gapscope_backend.alerts.rule import Rule
from gapscope_backend.alerts.rules.kind import DROPS, Finding
from gapscope_backend.alerts.states import FIRING, PENDING, RESOLVED, Change, Truth
from gapscope_backend.analysis.causes import BY_ID
from gapscope_backend.store.alerts import add_alert, change_alert, delete_alert, store_alert

TOLD_LATE_NS = 3600 * 1_000_000_000
"""What began and ended before anybody looked is told if its end lies no further back than this in the host's data."""


async def write_transition(
    session: AsyncSession, dialect: str, host: HostFacts, told: Transition, now_ns: int, data_ns: int
) -> None:
    """Write down what became of a condition. ``data_ns`` is how far the host's data reaches."""
    name = alert_id(host.name, told.rule_id, told.subject, told.facet, told.track.began_ns)
    if told.passed:
        await add_alert(session, dialect, _passed_row(host, told, name, now_ns, data_ns))
    elif told.change is Change.BEGAN:
        await store_alert(session, dialect, _new_row(host, told, name, now_ns))
    elif told.change is Change.ENDED:
        await delete_alert(session, host.id, name)
    else:
        values = _changed(host, told, now_ns)
        if values:
            await change_alert(session, host.id, name, values)


def _changed(host: HostFacts, told: Transition, now_ns: int) -> dict[str, Any]:
    """The columns that a change sets."""
    if told.change is Change.LOST:
        return {"no_data_since_ns": told.track.last_ns}
    if told.change is Change.FOUND:
        return {"no_data_since_ns": None}
    finding = told.finding
    values: dict[str, Any] = {}
    if told.rule is not None and finding is not None and finding.truth is Truth.HOLDS:
        values = _content(host, told.rule, finding)
    if told.change is Change.FIRED:
        values |= {"state": FIRING, "firing_ns": now_ns, "updated_ns": now_ns}
    elif told.change is Change.RESOLVED:
        values |= {"state": RESOLVED, "resolved_ns": now_ns, "updated_ns": now_ns, "no_data_since_ns": None}
        if finding is not None and (finding.end_ns is not None or not told.rule or told.rule.kind.needs != DROPS):
            values["end_ns"] = finding.at_ns if finding.end_ns is None else finding.end_ns
    return values


def _new_row(host: HostFacts, told: Transition, name: str, now_ns: int) -> dict[str, Any]:
    assert told.rule is not None
    assert told.finding is not None
    return {
        "host_id": host.id,
        "id": name,
        "rule_id": told.rule_id,
        "subject": told.subject,
        "state": PENDING,
        "no_data_since_ns": None,
        "severity": told.rule.severity,
        "began_ns": told.track.began_ns,
        "firing_ns": None,
        "resolved_ns": None,
        "updated_ns": now_ns,
        "start_ns": told.track.began_ns,
        "acknowledged_ns": None,
        "acknowledged_by": "",
        "told_state": "",
        "told_ns": None,
        "told_count": 0,
        **_content(host, told.rule, told.finding),
    }


def _passed_row(host: HostFacts, told: Transition, name: str, now_ns: int, data_ns: int) -> dict[str, Any]:
    assert told.finding is not None
    end_ns = told.finding.at_ns if told.finding.end_ns is None else told.finding.end_ns
    recent = data_ns - end_ns <= TOLD_LATE_NS
    return {
        **_new_row(host, told, name, now_ns),
        "state": RESOLVED,
        "firing_ns": now_ns,
        "resolved_ns": now_ns,
        "end_ns": end_ns,
        "told_state": UNSEEN if recent else "",
    }


def _content(host: HostFacts, rule: Rule, finding: Finding) -> dict[str, Any]:
    labels = labels_of(host, rule, finding)
    known = BY_ID.get(finding.cause)
    return {
        "incident": finding.incident,
        "cause": finding.cause,
        "row_class": known.row_class if known else "",
        "summary": finding.sentence.message(),
        "value": finding.value,
        "threshold": finding.threshold,
        "end_ns": finding.at_ns if finding.end_ns is None else finding.end_ns,
        "group_key": group_key(rule, labels),
        "labels": labels,
    }


def labels_of(host: HostFacts, rule: Rule, finding: Finding) -> dict[str, str]:
    """What silences and groups go by. A host's and a rule's own labels stand below those that are always there."""
    gpu = host.gpus.get(finding.subject)
    told = {
        "rule": rule.id,
        "severity": rule.severity,
        "host": host.name,
        "gpu": "" if gpu is None else (gpu.key.removeprefix("gpu:") if gpu.index is None else str(gpu.index)),
        "gpu_name": gpu.name if gpu else "",
        "job": finding.job,
        "cause": finding.cause,
    }
    return {**host.labels, **rule.labels, **{name: value for name, value in told.items() if value}}
