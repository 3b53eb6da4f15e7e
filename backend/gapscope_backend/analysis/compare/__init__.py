"""Two or more spans or recordings side by side: what changed, and what is the next limit."""

from gapscope_backend.analysis.compare.assemble import compare, compare_subjects
from gapscope_backend.analysis.compare.model import Comparison, FunctionRow, LedgerChange, MetricRow, Side
from gapscope_backend.analysis.compare.subject import Subject, read_subject

__all__ = [
    "Comparison",
    "FunctionRow",
    "LedgerChange",
    "MetricRow",
    "Side",
    "Subject",
    "compare",
    "compare_subjects",
    "read_subject",
]
