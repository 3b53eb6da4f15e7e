"""Simplified Chinese: for each English template the Chinese one, with the same fields. A test asks for every template.

Names that are code (functions, files, metrics, causes, options) stay as they are. Facts of evidence and labels of
figures are noun phrases: a value stands behind them, where English puts it before.
"""

from gapscope_backend.analysis.language.zh_hans import (
    advice,
    alerts,
    checklist,
    checks,
    commands,
    comparisons,
    deliveries,
    evidence,
    sentences,
    sources,
)

CATALOGUE: dict[str, str] = {
    **sentences.TEXTS,
    **advice.TEXTS,
    **evidence.TEXTS,
    **sources.TEXTS,
    **comparisons.TEXTS,
    **checks.TEXTS,
    **checklist.TEXTS,
    **commands.TEXTS,
    **deliveries.TEXTS,
    **alerts.TEXTS,
}
