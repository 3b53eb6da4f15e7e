"""The tables of alerts: rules, alerts, what their evaluator remembers, silences, channels, and what is to be sent.

The rules of ``models`` hold here too. Times named ``began_ns``, ``start_ns`` and ``end_ns`` of an alert and
``evaluated_ns`` are data time, all others are the server's clock.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import Double, ForeignKey, Index, Integer, LargeBinary, String
from sqlalchemy.orm import Mapped, mapped_column

from gapscope_backend.store.models import Base


class AlertRule(Base):
    """A rule by its short name: ``spec`` is what its file says of it. ``origin``: ``default``, ``file`` or ``api``."""

    __tablename__ = "alert_rule"

    id: Mapped[str] = mapped_column(String(64), primary_key=True)
    spec: Mapped[dict[str, Any]]
    origin: Mapped[str] = mapped_column(String(16))
    enabled: Mapped[bool]
    revision: Mapped[int]
    updated_ns: Mapped[int]
    updated_by: Mapped[str] = mapped_column(String(255))


class Alert(Base):
    """A rule's condition that held on a host, about a ``subject`` (a GPU's key, a job, or empty: the host itself).

    ``id`` is made of the host, the rule, the subject and the first moment, so that the same finding is the same alert.
    ``state`` is ``pending``, ``firing`` or ``resolved``; while ``no_data_since_ns`` stands, nobody knows whether the
    condition still holds. ``summary`` is a message of ``analysis.language``. [start, end) is the time to look at.
    ``told_state`` is the state that the newest message about it told (empty: none did), ``told_ns`` when it was
    written, ``told_count`` how many there were.
    """

    __tablename__ = "alert"

    host_id: Mapped[int] = mapped_column(ForeignKey("host.id"), primary_key=True)
    id: Mapped[str] = mapped_column(String(32), primary_key=True)
    rule_id: Mapped[str] = mapped_column(String(64))
    subject: Mapped[str] = mapped_column(String(512))
    state: Mapped[str] = mapped_column(String(16))
    no_data_since_ns: Mapped[int | None]
    incident: Mapped[str] = mapped_column(String(32))
    cause: Mapped[str] = mapped_column(String(64))
    row_class: Mapped[str] = mapped_column(String(16))
    severity: Mapped[str] = mapped_column(String(16))
    summary: Mapped[dict[str, Any]]
    value: Mapped[float | None] = mapped_column(Double)
    threshold: Mapped[float | None] = mapped_column(Double)
    began_ns: Mapped[int]
    firing_ns: Mapped[int | None]
    resolved_ns: Mapped[int | None]
    updated_ns: Mapped[int]
    start_ns: Mapped[int]
    end_ns: Mapped[int]
    group_key: Mapped[str] = mapped_column(String(512))
    labels: Mapped[dict[str, str]]
    acknowledged_ns: Mapped[int | None]
    acknowledged_by: Mapped[str] = mapped_column(String(255))
    told_state: Mapped[str] = mapped_column(String(16))
    told_ns: Mapped[int | None]
    told_count: Mapped[int]

    __table_args__ = (
        Index(None, "id"),
        Index(None, "host_id", "state"),
        Index(None, "state", "updated_ns"),
        Index(None, "told_state", "state"),
    )


class AlertWatch(Base):
    """What the evaluator remembers of a host up to ``evaluated_ns``; written with the transitions that follow."""

    __tablename__ = "alert_watch"

    host_id: Mapped[int] = mapped_column(ForeignKey("host.id"), primary_key=True)
    evaluated_ns: Mapped[int]
    state: Mapped[dict[str, Any]]


class VerdictMinute(Base):
    """The ledgers of a host over a minute, out of a rolling verdict: JSON of ``alerts.look.Ledgers``.

    Minutes do not overlap; where verdicts come less often there are fewer.
    """

    __tablename__ = "verdict_minute"

    host_id: Mapped[int] = mapped_column(ForeignKey("host.id"), primary_key=True)
    end_ns: Mapped[int] = mapped_column(primary_key=True)
    stored_ns: Mapped[int]
    ledgers: Mapped[bytes] = mapped_column(LargeBinary)

    __table_args__ = (Index(None, "stored_ns"),)


class Silence(Base):
    """Nobody is told of alerts whose labels match all ``matchers`` from ``start_ns`` to ``end_ns``.

    ``ended_ns`` is when a person ended it early.
    """

    __tablename__ = "silence"

    id: Mapped[str] = mapped_column(String(32), primary_key=True)
    matchers: Mapped[list[dict[str, Any]]]
    start_ns: Mapped[int]
    end_ns: Mapped[int]
    reason: Mapped[str]
    made_ns: Mapped[int]
    made_by: Mapped[str] = mapped_column(String(255))
    ended_ns: Mapped[int | None]

    __table_args__ = (Index(None, "end_ns"),)


class Channel(Base):
    """A way by which people are told.

    ``kind``: ``webhook``, ``slack``, ``feishu``, ``dingtalk``, ``pagerduty`` or ``alertmanager``. ``secrets`` holds the
    newest first; two while they are being changed.
    """

    __tablename__ = "channel"

    id: Mapped[str] = mapped_column(String(64), primary_key=True)
    kind: Mapped[str] = mapped_column(String(16))
    name: Mapped[str] = mapped_column(String(255))
    settings: Mapped[dict[str, Any]]
    secrets: Mapped[list[str]]
    enabled: Mapped[bool]
    origin: Mapped[str] = mapped_column(String(16))
    revision: Mapped[int]
    updated_ns: Mapped[int]


class Delivery(Base):
    """A message for one channel: written with the transitions that it tells of, sent when ``due_ns`` has come.

    ``host_id`` is 0 for a message about no single host. ``id`` is sent along and stays the same over retries. ``kind``:
    ``firing``, ``resolved``, ``test`` or ``heartbeat``; ``state``: ``pending``, ``delivered``, ``failed`` or
    ``superseded``. ``message`` is ``alerts.message`` as it was when this was written; ``log`` has one entry an attempt.
    """

    __tablename__ = "delivery"

    host_id: Mapped[int] = mapped_column(Integer, primary_key=True)
    id: Mapped[str] = mapped_column(String(64), primary_key=True)
    channel_id: Mapped[str] = mapped_column(String(64))
    group_key: Mapped[str] = mapped_column(String(512))
    kind: Mapped[str] = mapped_column(String(16))
    state: Mapped[str] = mapped_column(String(16))
    message: Mapped[dict[str, Any]]
    alerts: Mapped[list[str]]
    created_ns: Mapped[int]
    due_ns: Mapped[int]
    attempts: Mapped[int] = mapped_column(Integer)
    log: Mapped[list[dict[str, Any]]]
    resend_of: Mapped[str] = mapped_column(String(64))
    done_ns: Mapped[int | None]

    __table_args__ = (
        Index(None, "state", "due_ns"),
        Index(None, "created_ns"),
        Index(None, "channel_id", "group_key", "created_ns"),
    )
