"""The answer: verdict, ledger and evidence as plain data. The shape that ``explain --json`` and the API give out.

Invariants: the ledger's ``gpu_seconds`` sum to GPUs x window and its ``share`` to 1; ``row_class`` is one of
``fault``, ``limit``, ``unused``, ``missing``, ``good``; lost time counts ``fault`` only.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from gapscope_backend.analysis.language import Text

NONE = Text("")
"""Nothing to say."""


def silence() -> Text:
    """NONE, as the default of a field: a schema is made of plain defaults only, and a factory is none."""
    return NONE


@dataclass(frozen=True)
class Span:
    """A stretch of time to look at, ns since the epoch, half-open."""

    start_ns: int
    end_ns: int


@dataclass(frozen=True)
class Evidence:
    """One fact: ``text`` is the sentence, ``value`` against ``threshold`` in ``unit``, ``spans`` where to look."""

    signal: str
    text: Text
    value: float | None = None
    threshold: float | None = None
    unit: str = ""
    spans: tuple[Span, ...] = ()


@dataclass(frozen=True)
class Hotspot:
    """A function under which idle GPU time fell. ``share`` of that row's idle time, ``samples`` behind it."""

    function: str
    file: str
    line: int
    source: str | None
    share: float
    samples: int
    thread: str = ""
    pid: int = 0


@dataclass(frozen=True)
class LedgerRow:
    """GPU-seconds that went to one cause. ``confidence`` is 0..1; ``priority`` is P0..P4 or empty.

    ``expected_gain_gpu_seconds`` is what following the advice gives back where it can be estimated, ``expected_gain``
    says how that was reckoned; ``source`` where thresholds and formula come from; ``cost`` is in the price's currency.
    ``busy_gpu_seconds`` is the part in which the GPU was at work, the rest of the row is idle time.
    """

    cause: str
    title: Text
    row_class: str
    gpu_seconds: float
    share: float
    confidence: float = 0.0
    evidence_for: tuple[Evidence, ...] = ()
    evidence_against: tuple[Evidence, ...] = ()
    would_change: Text = field(default_factory=silence)
    advice: Text = field(default_factory=silence)
    priority: str = ""
    hotspots: tuple[Hotspot, ...] = ()
    expected_gain: Text = field(default_factory=silence)
    expected_gain_gpu_seconds: float | None = None
    source: Text = field(default_factory=silence)
    cost: float | None = None
    busy_gpu_seconds: float = 0.0


@dataclass(frozen=True)
class Level:
    """One figure of the three levels (``time``, ``pipelines``, ``throughput``): mean over the window.

    Level ``roofs``: while the GPU works, the share of the peak of memory bandwidth, tensor pipes and FP32 pipe;
    ``nearest`` marks the roof that the work comes nearest to.
    """

    level: str
    name: str
    label: Text
    value: float | None
    unit: str
    nearest: bool = False


@dataclass(frozen=True)
class GpuVerdict:
    """Ledger of one GPU; same invariants as the whole, over window seconds.

    ``counter_lag_seconds`` is None where the hardware counters' lag could not be estimated.
    """

    gpu: str
    index: int
    name: str
    verdict: str
    ledger: tuple[LedgerRow, ...]
    levels: tuple[Level, ...]
    gap_count: int
    gap_seconds: float
    gaps: tuple[Span, ...]
    counter_lag_seconds: float | None


@dataclass(frozen=True)
class JobVerdict:
    """Ledger of one job: the processes below one launcher that hold GPUs. ``job`` names its topmost process.

    A GPU that several jobs hold is shared out by their SM utilization, so that jobs and unowned GPUs sum to the whole.
    """

    job: str
    command: str
    pids: tuple[int, ...]
    gpus: tuple[str, ...]
    verdict: str
    title: Text
    gpu_seconds: float
    lost_gpu_seconds: float
    unused_gpu_seconds: float
    ledger: tuple[LedgerRow, ...]
    lost_cost: float | None = None
    unused_cost: float | None = None


@dataclass(frozen=True)
class Verdict:
    """What the GPUs of one host waited for between two times. Lost is ``fault``, unused is ``unused``; hours are
    GPU-hours, costs are in the currency of ``price_per_gpu_hour`` and None without one.
    """

    host: str
    start_ns: int
    end_ns: int
    gpu_count: int
    verdict: str
    title: Text
    sentence: Text
    confidence: float
    lost_gpu_seconds: float
    ledger: tuple[LedgerRow, ...]
    gpus: tuple[GpuVerdict, ...]
    notes: tuple[Text, ...] = field(default=())
    jobs: tuple[JobVerdict, ...] = ()
    unused_gpu_seconds: float = 0.0
    lost_gpu_hours: float = 0.0
    unused_gpu_hours: float = 0.0
    price_per_gpu_hour: float | None = None
    lost_cost: float | None = None
    unused_cost: float | None = None
