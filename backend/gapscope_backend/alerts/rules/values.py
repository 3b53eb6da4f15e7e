"""What rules over newest values share."""

from __future__ import annotations

from gapscope_backend.alerts.look import ValuesLook
from gapscope_backend.alerts.rules.kind import SECOND_NS

FRESH_NS = 15 * SECOND_NS
"""A value counts as the newest for three batches; slower series have ``slow``."""
SLOW_NS = 90 * SECOND_NS


def fresh(values: ValuesLook, entity: str, metric: str, slow: bool = False) -> float | None:
    """The newest value of a series; None where it is missing, or was last told too long before."""
    return values.value(entity, metric, values.at_ns - (SLOW_NS if slow else FRESH_NS))
