"""How much earlier than their timestamps the hardware counters' cells ended, estimated for each GPU while it runs.

Two clocks know when work really ran: the driver's 20 ms power samples and its 200 ms utilization samples. For each
candidate lag the counters' 100 ms cells are laid over them, and the differences from cell to cell are compared: power
by regression on three counters, utilization by correlation with the graphics counter. The candidate under which both
are explained best wins, if it wins clearly. Sums are kept for each candidate and forgotten slowly, so the estimate
is stable over a run and costs no memory; on a GPU whose load never changes there is no estimate.

The lag was 50 to 120 ms on the H200s measured, different in each run; a weak prior says so.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterable
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from gapscope_agent.reading import Gpu

CELL_NS = 100_000_000
UTILIZATION_BOX_NS = 200_000_000
CANDIDATES_NS = np.arange(0, 201, 10, dtype=np.int64) * 1_000_000
UPDATE_NS = 5_000_000_000
HALF_LIFE_SECONDS = 300.0
TEMPER = 5.0
"""Neighbouring cells are not independent: their evidence is divided by this."""
PRIOR_MEAN_NS, PRIOR_SIGMA_NS = 85e6, 25e6
MIN_LEAD = 10.0
"""By how much (log likelihood) the best candidate must lead all that are more than 30 ms away."""
NEIGHBOURHOOD_NS = 30_000_000
WITNESS_WEIGHT = 20.0
WITNESS_DISAGREEMENT_NS = 30_000_000
RATIO_NOISE, UTILIZATION_NOISE, WATTS_NOISE = 0.0005, 0.003, 0.5
"""Steps below these are rounding, not load: the counters' 0.01 %, the utilization's whole percents, the sensor."""
COUNTERS = ("graphics_util_pct", "sm_util_pct", "dram_bandwidth_util_pct")

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Sample = tuple[int, float]
T = TypeVar("T")


class _PowerEvidence:
    """Sums of the regression of power differences on counter differences, one set for each candidate."""

    def __init__(self) -> None:
        shifts = CANDIDATES_NS.size
        self._xx = np.zeros((3, 3))
        self._xy = np.zeros((shifts, 3))
        self._yy = np.zeros(shifts)
        self._count = 0.0

    def fade(self, factor: float) -> None:
        self._xx *= factor
        self._xy *= factor
        self._yy *= factor
        self._count *= factor

    def add(self, counters: Floats, watts: Floats) -> None:
        """``counters`` float64[n, 3] differences; ``watts`` float64[shifts, n] differences."""
        self._xx += counters.T @ counters
        self._xy += watts @ counters
        self._yy += (watts * watts).sum(axis=1)
        self._count += counters.shape[0]

    def log_likelihood(self) -> Floats:
        inverse = np.linalg.inv(self._xx + np.eye(3) * max(self._count, 1.0) * RATIO_NOISE**2)
        explained = np.einsum("si,ij,sj->s", self._xy, inverse, self._xy)
        return _log_likelihood(explained, self._yy + self._count * WATTS_NOISE**2, self._count)


class _UtilizationEvidence:
    """Sums of the correlation of utilization differences with counter differences, for each candidate."""

    def __init__(self) -> None:
        shifts = CANDIDATES_NS.size
        self._xx = np.zeros(shifts)
        self._xy = np.zeros(shifts)
        self._yy = 0.0
        self._count = 0.0

    def fade(self, factor: float) -> None:
        self._xx *= factor
        self._xy *= factor
        self._yy *= factor
        self._count *= factor

    def add(self, counters: Floats, ratios: Floats) -> None:
        """``counters`` float64[shifts, n] differences of boxes; ``ratios`` float64[n] differences."""
        self._xx += (counters * counters).sum(axis=1)
        self._xy += counters @ ratios
        self._yy += float(ratios @ ratios)
        self._count += ratios.size

    def log_likelihood(self) -> Floats:
        positive = np.maximum(self._xy, 0.0)
        explained = positive**2 / (self._xx + max(self._count, 1.0) * RATIO_NOISE**2)
        total = np.full_like(explained, self._yy + self._count * UTILIZATION_NOISE**2)
        return _log_likelihood(explained, total, self._count)


class LagEstimator:
    """Estimate for one GPU, fed with its counters and buffers in order of time."""

    def __init__(self) -> None:
        self._cells: deque[tuple[int, tuple[float, float, float]]] = deque(maxlen=600)
        self._power: deque[Sample] = deque(maxlen=1500)
        self._utilization: deque[Sample] = deque(maxlen=400)
        self._from_power = _PowerEvidence()
        self._from_utilization = _UtilizationEvidence()
        self._compared_cell_t = 0
        self._updated_t: int | None = None
        self._seconds: float | None = None

    def add_counters(self, reading: Gpu) -> None:
        """Take the counters of one 10 Hz reading; a reading without them is left out."""
        gpm = reading.gpm or {}
        values = [gpm.get(name) for name in COUNTERS]
        graphics, sm, dram = (math.nan if value is None else value / 100 for value in values)
        if math.isfinite(graphics + sm + dram):
            _push(self._cells, reading.t, (graphics, sm, dram))

    def add_power(self, samples: Iterable[Sample]) -> None:
        """Take new samples (ns, watts)."""
        for t, watts in samples:
            _push(self._power, t, watts)

    def add_utilization(self, samples: Iterable[Sample]) -> None:
        """Take new samples (ns, ratio)."""
        for t, ratio in samples:
            _push(self._utilization, t, ratio)

    def estimate(self, now_ns: int) -> float | None:
        """The lag in seconds, at most once in 5 s; None between, and as long as nothing was clear enough."""
        if self._updated_t is not None and 0 <= now_ns - self._updated_t < UPDATE_NS:
            return None
        since = 0 if self._updated_t is None else max(0, now_ns - self._updated_t)
        self._updated_t = now_ns
        fade = 0.5 ** (since / 1e9 / HALF_LIFE_SECONDS)
        self._from_power.fade(fade)
        self._from_utilization.fade(fade)
        self._compare_utilization()
        self._compare_power()
        best = _best(self._from_power.log_likelihood(), self._from_utilization.log_likelihood())
        if best is not None:
            self._seconds = best
        return self._seconds

    def _compare_power(self) -> None:
        """Compare the cells that the power samples cover under every candidate, then let go of both."""
        if len(self._power) < 2 or not self._cells:
            return
        start = self._power[0][0] + int(CANDIDATES_NS[-1]) + CELL_NS
        end = self._power[-1][0]
        covered = [cell for cell in self._cells if max(start, self._compared_cell_t) <= cell[0] <= end]
        if len(covered) < 2:
            return
        self._compared_cell_t = covered[-1][0]
        origin = covered[0][0]
        times = np.array([t - origin for t, _ in covered], dtype=np.float64)
        counters = np.array([values for _, values in covered])
        power_t, watts = _arrays(self._power, origin)
        boxes = _box_means(power_t, watts, times[None, :] - CANDIDATES_NS[:, None], CELL_NS)
        neighbours = np.abs(np.diff(times) - CELL_NS) < 0.3 * CELL_NS
        self._from_power.add(np.diff(counters, axis=0)[neighbours], np.diff(boxes, axis=1)[:, neighbours])
        _drop_before(self._power, self._compared_cell_t - int(CANDIDATES_NS[-1]) - 2 * CELL_NS)

    def _compare_utilization(self) -> None:
        """Compare the utilization samples that the cells cover under every candidate, then let go of them."""
        if len(self._cells) < 2 or len(self._utilization) < 2:
            return
        end = self._cells[-1][0] - int(CANDIDATES_NS[-1])
        start = self._cells[0][0] + UTILIZATION_BOX_NS
        covered = [sample for sample in self._utilization if start <= sample[0] <= end]
        if len(covered) < 2:
            return
        origin = covered[0][0]
        box_t, ratios = _arrays(covered, origin)
        cell_t = np.array([t - origin for t, _ in self._cells], dtype=np.float64)
        graphics = np.array([values[0] for _, values in self._cells])
        boxes = np.stack([_box_means(cell_t - lag, graphics, box_t, UTILIZATION_BOX_NS) for lag in CANDIDATES_NS])
        neighbours = np.abs(np.diff(box_t) - UTILIZATION_BOX_NS) < 0.3 * UTILIZATION_BOX_NS
        self._from_utilization.add(np.diff(boxes, axis=1)[:, neighbours], np.diff(ratios)[neighbours])
        _drop_before(self._utilization, covered[-1][0])
        oldest = min(self._compared_cell_t or self._cells[0][0], covered[-1][0] - 2 * UTILIZATION_BOX_NS)
        while self._cells and self._cells[0][0] < oldest:
            self._cells.popleft()


def _best(power: Floats, utilization: Floats) -> float | None:
    """The winning candidate in seconds, or None: no clear lead, at the edge, or the two witnesses contradict."""
    evidence = (power + utilization) / TEMPER - (CANDIDATES_NS - PRIOR_MEAN_NS) ** 2 / (2 * PRIOR_SIGMA_NS**2)
    winner = int(np.argmax(evidence))
    if winner in (0, CANDIDATES_NS.size - 1):
        return None
    apart = np.abs(CANDIDATES_NS - CANDIDATES_NS[winner]) > NEIGHBOURHOOD_NS
    if evidence[winner] - evidence[apart].max() < MIN_LEAD:
        return None
    if min(power.max(), utilization.max()) >= WITNESS_WEIGHT:
        difference = int(CANDIDATES_NS[int(np.argmax(power))] - CANDIDATES_NS[int(np.argmax(utilization))])
        if abs(difference) > WITNESS_DISAGREEMENT_NS:
            return None
    return float(CANDIDATES_NS[winner]) / 1e9


def _log_likelihood(explained: Floats, total: Floats, count: float) -> Floats:
    """Of a linear model with normal errors, against no relation at all: -n log(1 - R^2)."""
    share = np.divide(explained, total, out=np.zeros_like(explained), where=total > 0)
    return np.asarray(-count * np.log1p(-np.clip(share, 0.0, 0.9999)), dtype=np.float64)


def _box_means(times: Floats, values: Floats, ends: Floats, width: float) -> Floats:
    """Mean over ``[end - width, end]`` of a signal that held ``values[i]`` since the time before ``times[i]``."""
    area = np.concatenate(([0.0], np.cumsum(values[1:] * np.diff(times))))
    difference = np.interp(ends, times, area) - np.interp(ends - width, times, area)
    return np.asarray(difference / width, dtype=np.float64)


def _arrays(samples: Iterable[Sample], origin: int) -> tuple[Floats, Floats]:
    pairs = [(t - origin, value) for t, value in samples]
    columns = np.array(pairs, dtype=np.float64)
    return columns[:, 0], columns[:, 1]


def _push(samples: deque[tuple[int, T]], t: int, value: T) -> None:
    """Append in order of time; after a clock that was set back, start anew."""
    if samples and t <= samples[-1][0]:
        samples.clear()
    samples.append((t, value))


def _drop_before(samples: deque[Sample], t: int) -> None:
    while samples and samples[0][0] < t:
        samples.popleft()
