"""Runs it all: decides ten times a second what is to be done, and keeps a worker for each target that does it.

A worker takes snapshots (bursts) or traces of one process, one after another, as often as its guard allows. Workers
end by themselves when nothing is to be done any more, when the process is gone, or when the guard says so.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable

from gapscope_agent.clock import Clock, SystemClock
from gapscope_agent.reading import Reading
from gapscope_agent.sources.drop_watch import DropWatch
from gapscope_agent.stacks import states
from gapscope_agent.stacks.access import Access
from gapscope_agent.stacks.guard import Guard, Standing
from gapscope_agent.stacks.messages import Refused, Sampled, Snapshot, Trace
from gapscope_agent.stacks.outlet import SOURCE, Outlet
from gapscope_agent.stacks.paths import FrameRedactor
from gapscope_agent.stacks.plan import Activity, Mode, Plan
from gapscope_agent.stacks.settings import StackSettings
from gapscope_agent.stacks.targets import MAX_TARGETS, Targets

TICK_SECONDS = 0.1
CHOOSE_NS = 1_000_000_000
TRACE_SECONDS = 10.0
NS = 1_000_000_000

log = logging.getLogger(__name__)


class StackSampling:
    """``emit`` takes readings from several threads, one at a time, and must not block for long."""

    def __init__(
        self,
        settings: StackSettings,
        access: Access,
        owners: Callable[[], frozenset[int]],
        drops: DropWatch,
        emit: Callable[[Reading], None],
        *,
        clock: Clock | None = None,
        targets: Targets | None = None,
    ) -> None:
        self._settings = settings
        self._access = access
        self._owners = owners
        self._drops = drops
        self._clock = clock or SystemClock()
        self._targets = targets or Targets(access)
        self.plan = Plan(Mode(settings.mode), settings.burst_seconds, settings.again_seconds)
        redactor = FrameRedactor(settings.strip_prefixes, sources=settings.source_lines)
        self._outlet = Outlet(emit, redactor, hold=settings.keep == "around_drops")
        self._guards: dict[tuple[int, Activity], Guard] = {}
        self._workers: dict[tuple[int, Activity], threading.Thread] = {}
        self._chosen: list[int] = []
        self._chosen_ns: int | None = None
        self._activity = Activity.NOTHING
        self._flows_until_ns = 0
        self._left_out = False
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Begin to watch for drops and requests; with ``off`` nothing is started, and that is told."""
        if self.plan.mode is Mode.OFF:
            self._outlet.state(self._clock.wall_ns(), SOURCE, Standing("off", "mode is off in the [stacks] settings"))
        else:
            self._thread = threading.Thread(target=self._run, name=SOURCE, daemon=True)
            self._thread.start()

    def stop(self, timeout_seconds: float = 3.0) -> None:
        """End everything; a look that still runs in the helper ends there by itself, and its answer is dropped."""
        self._stopping.set()
        self._access.stop()
        until = time.monotonic() + timeout_seconds
        for thread in [*([self._thread] if self._thread else []), *self._workers.values()]:
            thread.join(max(0.0, until - time.monotonic()))

    def ask(self, seconds: float) -> None:
        """Somebody wants stacks for the next ``seconds``."""
        self.plan.ask(self._clock.mono_ns(), seconds)

    def cpu_seconds(self) -> float:
        """CPU that sampling took since the start, py-spy's included."""
        return self._outlet.cpu_seconds

    def tick(self) -> None:
        """Decide what is to be done now, and see to it that it is done."""
        mono_ns = self._clock.mono_ns()
        before, self._activity = self._activity, self.plan.now(mono_ns, bool(self._drops.dropped(mono_ns)))
        if self._activity is Activity.BURST:
            self._flows_until_ns = mono_ns + round(TRACE_SECONDS * NS)
            if before is not Activity.BURST:
                self._outlet.release()
        if self._activity is Activity.NOTHING:
            self._chosen_ns = None
            return
        due = self._chosen_ns is None or mono_ns - self._chosen_ns >= CHOOSE_NS
        if due or before is not self._activity:
            self._choose(mono_ns)
        self._employ()

    def _run(self) -> None:
        self._tell_readiness()
        while not self._clock.wait(self._stopping, TICK_SECONDS):
            self._guarded(self.tick)

    def _guarded(self, step: Callable[[], None]) -> bool:
        """Whether the step went well; a fault of ours must end neither the agent nor the other targets."""
        try:
            step()
        except Exception:
            log.exception("stacks: a step failed")
            return False
        return True

    def _tell_readiness(self) -> None:
        reason = self._access.why_not()
        standing = Standing("ok", "") if reason is None else Standing("unavailable", reason)
        self._outlet.state(self._clock.wall_ns(), SOURCE, standing)

    def _choose(self, mono_ns: int) -> None:
        first = self._chosen_ns is None
        self._chosen_ns = 0 if first else mono_ns  # owners at once, who feeds them with the next tick
        found = self._targets.choose(self._owners(), mono_ns, look_for_peers=not first)
        self._chosen = found[:MAX_TARGETS]
        self._tell_left_out(len(found) - MAX_TARGETS)
        for key in [key for key in self._guards if key[0] not in self._chosen]:
            del self._guards[key]
            self._outlet.forget(f"{SOURCE}:{key[0]}")

    def _tell_left_out(self, count: int) -> None:
        if count > 0:
            text = f"{count} processes more are left out; at most {MAX_TARGETS} are sampled"
            self._outlet.state(self._clock.wall_ns(), SOURCE, Standing(states.TOO_MANY_PROCESSES, text))
        elif self._left_out:
            self._outlet.state(self._clock.wall_ns(), SOURCE, Standing("ok", ""))
        self._left_out = count > 0

    def _employ(self) -> None:
        kinds = [Activity.BURST] if self._activity is Activity.BURST else []
        kinds += [Activity.TRACE] if self.plan.mode is Mode.CONTINUOUS else []
        for key in [(pid, kind) for kind in kinds for pid in self._chosen]:
            worker = self._workers.get(key)
            if (worker is not None and worker.is_alive()) or self._guard(key).ended:
                continue
            self._workers[key] = threading.Thread(target=self._work, args=key, name=f"stacks-{key[0]}", daemon=True)
            self._workers[key].start()
        self._workers = {key: worker for key, worker in self._workers.items() if worker.is_alive()}

    def _guard(self, key: tuple[int, Activity]) -> Guard:
        if key not in self._guards:
            rate = self._settings.burst_rate_hertz if key[1] is Activity.BURST else self._settings.rate_hertz
            self._guards[key] = Guard(key[0], 1.0 / rate)
        return self._guards[key]

    def _wanted(self, pid: int, kind: Activity) -> bool:
        if self._stopping.is_set() or pid not in self._chosen:
            return False
        return self._activity is Activity.BURST if kind is Activity.BURST else self._activity is not Activity.NOTHING

    def _work(self, pid: int, kind: Activity) -> None:
        """One target, until it is not wanted any more."""
        guard = self._guard((pid, kind))
        due_ns = self._clock.mono_ns()
        while self._wanted(pid, kind) and not guard.ended:
            if not self._guarded(lambda: self._look(pid, kind, guard)):
                guard.refused(Refused(states.UNREADABLE, "a fault of the sampler; see the agent's log", final=True))
            due_ns += round(guard.pause_seconds(self._share()) * NS)
            due_ns = max(due_ns, self._clock.mono_ns()) if kind is Activity.BURST else self._clock.mono_ns()
            self._clock.wait(self._stopping, max(0.0, (due_ns - self._clock.mono_ns()) / NS))

    def _look(self, pid: int, kind: Activity, guard: Guard) -> None:
        if kind is Activity.BURST:
            looks = 1
            answer = self._access.answer(Snapshot(pid))
        else:
            rate = max(1, round(1.0 / guard.pause_seconds(self._share())))
            looks = round(rate * TRACE_SECONDS)
            answer = self._access.answer(Trace(pid, rate, TRACE_SECONDS))
        if isinstance(answer, Sampled):
            standing = guard.looked(answer.cost, looks, self._share())
            self._outlet.spent(answer.cost.cpu_seconds)
            flowing = self._clock.mono_ns() < self._flows_until_ns
            if not self._stopping.is_set():
                self._outlet.stacks(pid, answer.moments, flowing=flowing)
        elif isinstance(answer, Refused):
            standing = guard.refused(answer)
            self._outlet.spent(answer.cost.cpu_seconds if answer.cost else 0.0)
        else:
            standing = guard.refused(Refused(states.UNREADABLE, "an answer to another question", final=True))
        self._outlet.state(self._clock.wall_ns(), f"{SOURCE}:{pid}", standing)

    def _share(self) -> float:
        """Cores that the watching of one target may cost now."""
        return self._settings.max_cpu_cores / max(1, len(self._workers))
