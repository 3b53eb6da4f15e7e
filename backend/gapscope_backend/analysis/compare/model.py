"""The answer to "what changed?" as plain data; ``compare --json`` and the API give it out.

Every row has one value a side, in the order of the sides; None where that side has no such figure.
"""

from __future__ import annotations

from dataclasses import dataclass

from gapscope_backend.analysis.language import Text


@dataclass(frozen=True)
class Side:
    """One of the things that are compared. ``lost_share`` is the part of its GPU time that went to faults."""

    label: str
    host: str
    start_ns: int
    end_ns: int
    gpu_count: int
    verdict: str
    title: Text
    sentence: Text
    lost_share: float


@dataclass(frozen=True)
class MetricRow:
    """A figure, mean over the span and its GPUs. ``level`` is time, pipelines, throughput,
    roofs, power, pcie or cpu."""

    level: str
    name: str
    label: Text
    unit: str
    values: tuple[float | None, ...]


@dataclass(frozen=True)
class LedgerChange:
    """Shares of GPU time that one cause took."""

    cause: str
    title: Text
    row_class: str
    shares: tuple[float, ...]

    @property
    def change(self) -> float:
        """Last side less first."""
        return self.shares[-1] - self.shares[0]


@dataclass(frozen=True)
class FunctionRow:
    """Shares of the feeding threads' stack samples with the function innermost, and the samples behind them."""

    function: str
    file: str
    shares: tuple[float | None, ...]
    samples: tuple[int, ...]


@dataclass(frozen=True)
class Comparison:
    """``better`` and ``worse`` name the causes whose share fell or rose by more than a small one, first to last side.

    ``next_limit`` is what costs most on the last side: a cause, ``roof`` where no fault or limit costs more than a
    small share, or the verdict where nothing was asked for or too little was measured.
    """

    sides: tuple[Side, ...]
    sentence: Text
    better: tuple[str, ...]
    worse: tuple[str, ...]
    next_limit: str
    metrics: tuple[MetricRow, ...]
    ledger: tuple[LedgerChange, ...]
    functions: tuple[FunctionRow, ...]
    notes: tuple[Text, ...]
