"""The go-live checklist: what to mind before a service or a training goes live, each line with its figure."""

from gapscope_backend.analysis.checklist.model import Beyond, Checklist, Line
from gapscope_backend.analysis.checklist.run import CHECKS, run_checklist

__all__ = ["CHECKS", "Beyond", "Checklist", "Line", "run_checklist"]
