"""From readings to series: counters to rates, names and units from the catalogue."""

from gapscope_agent.derive.deriver import Derived, Deriver
from gapscope_agent.derive.table import DerivedGroup

__all__ = ["Derived", "DerivedGroup", "Deriver"]
