"""``gapscope alerts``: rules, alerts, silences, and who is told of what, whether or not the server runs."""

from __future__ import annotations

import argparse
from typing import Any

from gapscope_backend.cli import alerts_delivery, alerts_rules


def add_parser(commands: Any) -> None:
    """Actions of ``gapscope alerts``."""
    parser = commands.add_parser("alerts", help="rules, alerts, silences, channels, and what was sent")
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    alerts_rules.add_actions(actions)
    alerts_delivery.add_actions(actions)


def run(arguments: argparse.Namespace) -> int:
    """Do the chosen action."""
    if arguments.action in alerts_rules.ACTIONS:
        return alerts_rules.run(arguments)
    return alerts_delivery.run(arguments)
