"""What watching one process costs, and when it has to be done less often, or no more. Pure: costs and times come in.

Three signs of harm are looked at: the CPU that a look takes (many threads, large stacks), looks that come late
(the target's memory map is locked, or the host has no CPU to spare), and a target that is found stopped.
"""

from __future__ import annotations

from dataclasses import dataclass

from gapscope_agent.stacks import states
from gapscope_agent.stacks.messages import Cost, Refused

NS = 1_000_000_000
STRIKES = 3
"""So many signs in a row end the watching of a process; one alone may be chance."""
LATE_SECONDS = 1.0
"""A snapshot takes 10 to 60 ms; one that takes so long has held somebody up."""
LONGEST_PAUSE_SECONDS = 30.0
SLOWED_FACTOR = 1.5


@dataclass(frozen=True)
class Standing:
    """State of a target and its reason, as the stream tells it."""

    state: str
    reason: str


class Guard:
    """One target. ``share_cores`` is what its watching may cost, averaged; ``period_seconds`` the wish."""

    def __init__(self, pid: int, period_seconds: float) -> None:
        self.pid = pid
        self._wish_seconds = period_seconds
        self._cpu_seconds: float | None = None
        self._strikes = 0
        self._final: Standing | None = None
        self._standing: Standing | None = None
        self._pause_seconds = 0.0

    @property
    def ended(self) -> bool:
        """Whether this process is not to be looked at again."""
        return self._final is not None

    @property
    def standing(self) -> Standing | None:
        """The state as of the last look; None before the first."""
        return self._final or self._standing

    def pause_seconds(self, share_cores: float) -> float:
        """From the begin of one look to the begin of the next, so that its CPU stays within ``share_cores``."""
        by_cost = 0.0 if self._cpu_seconds is None else self._cpu_seconds / max(share_cores, 1e-4)
        pause = min(max(self._wish_seconds, by_cost), LONGEST_PAUSE_SECONDS)
        return max(pause, self._pause_seconds)

    def looked(self, cost: Cost, looks: int, share_cores: float) -> Standing:
        """A look (or a trace of several) went well; ``looks`` shares its cost."""
        per_look = cost.cpu_seconds / max(1, looks)
        self._cpu_seconds = per_look if self._cpu_seconds is None else 0.7 * self._cpu_seconds + 0.3 * per_look
        late_seconds = max(cost.behind_seconds, cost.wall_seconds if looks == 1 else 0.0)
        if late_seconds > LATE_SECONDS:
            text = f"a look at process {self.pid} came {late_seconds:.1f} s late ({cost.threads} threads)"
            return self._strike(states.TOO_SLOW, text)
        self._strikes, self._pause_seconds = 0, 0.0
        pause = self.pause_seconds(share_cores)
        if pause > SLOWED_FACTOR * self._wish_seconds:
            text = (
                f"process {self.pid} is looked at every {pause:.1f} s instead of {self._wish_seconds:g} s: a look at "
                f"its {cost.threads} threads takes {1e3 * self._cpu_seconds:.0f} ms of CPU"
            )
            if self._standing is None or self._standing.state != states.SLOWED:
                self._standing = Standing(states.SLOWED, text)
        else:
            self._standing = Standing(states.SAMPLING, "")
        return self._standing

    def refused(self, refusal: Refused) -> Standing:
        """A look gave nothing."""
        if refusal.final:
            self._final = Standing(refusal.state, refusal.reason)
            return self._final
        if refusal.state in (states.STOPPED, states.TOO_SLOW, states.TOO_MANY_THREADS):
            return self._strike(refusal.state, refusal.reason)
        self._back_off()
        self._standing = Standing(refusal.state, refusal.reason)
        return self._standing

    def _strike(self, state: str, reason: str) -> Standing:
        self._strikes += 1
        self._back_off()
        if self._strikes >= STRIKES:
            self._final = Standing(state, f"{reason}; no more looks at it, after {self._strikes} such in a row")
            return self._final
        self._standing = Standing(state, reason)
        return self._standing

    def _back_off(self) -> None:
        self._pause_seconds = min(max(2 * self._pause_seconds, 1.0), LONGEST_PAUSE_SECONDS)
