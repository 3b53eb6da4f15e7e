"""Kinds of channels. A new one is a file here and an entry in ``KINDS``."""

from __future__ import annotations

from gapscope_backend.alerts.channels.alertmanager import ALERTMANAGER
from gapscope_backend.alerts.channels.dingtalk import DINGTALK
from gapscope_backend.alerts.channels.feishu import FEISHU
from gapscope_backend.alerts.channels.kind import ChannelKind, Envelope, Outgoing, SecretUse, Settings
from gapscope_backend.alerts.channels.pagerduty import PAGERDUTY
from gapscope_backend.alerts.channels.slack import SLACK
from gapscope_backend.alerts.channels.webhook import WEBHOOK

__all__ = ["KINDS", "ChannelKind", "Envelope", "Outgoing", "SecretUse", "Settings"]

KINDS: dict[str, ChannelKind] = {
    kind.name: kind for kind in (WEBHOOK, SLACK, FEISHU, DINGTALK, PAGERDUTY, ALERTMANAGER)
}
