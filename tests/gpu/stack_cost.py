"""What taking stacks costs the watched: alternating windows with and without, judged by the interval's upper bound.

``python -m tests.gpu.stack_cost --output FILE`` with the project's roots on the path and py-spy on PATH. Uses a GPU
through torch where there is one, else numpy stands in and the figures are a CPU's. A round is one window without and
one of each arm, in random order; an arm's slowdown is the mean over the rounds of the log ratio to the window without,
with a bootstrap interval of 95 %. In ``continuous`` each window is a trace of its own, so that attaching is paid every
window instead of every 10 s: the figure is an upper bound. ``nothing`` compares windows in which nothing differs, and
shows what this measurement can tell. On a machine that others use too, ``by_cpu`` (steps per second of the program's
own CPU) tells more than ``by_time``. 160 rounds with two arms take 8 minutes a program.
"""

from __future__ import annotations

import argparse
import json
import random
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from gapscope_agent.sources.drop_watch import DropWatch
from gapscope_agent.stacks.messages import Sampled
from gapscope_agent.stacks.sampler import PySpySampler
from gapscope_agent.stacks.sampling import TRACE_SECONDS, StackSampling
from gapscope_agent.stacks.service import StackService
from gapscope_agent.stacks.settings import StackSettings
from tests.gpu.stack_alignment import alignment
from tests.gpu.stack_spike import spike
from tests.gpu.stack_watched import Speed, Watched, watched

Arm = Callable[[Watched, float], Speed]
"""Speed of the program over a window in which something is done."""
RATE_HERTZ = StackSettings().rate_hertz
BOOTSTRAPS = 10_000


def continuous(target: Watched, seconds: float) -> Speed:
    """A trace of this window alone."""
    tracing = threading.Thread(target=PySpySampler().trace, args=(target.pid, RATE_HERTZ, seconds))
    tracing.start()
    speed = target.speed(seconds)
    tracing.join()
    return speed


def on_drop_idle(target: Watched, seconds: float) -> Speed:
    """The default mode while nothing drops: ten looks a second at a GPU that is busy."""
    drops = DropWatch()
    sampling = StackSampling(
        StackSettings(), StackService(), lambda: frozenset({target.pid}), drops, lambda reading: None
    )
    over = threading.Event()

    def look() -> None:
        while not over.wait(0.1):
            drops.look(0, "utilization", time.monotonic_ns(), 0.95)

    looking = threading.Thread(target=look)
    looking.start()
    sampling.start()
    speed = target.speed(seconds)
    sampling.stop()
    over.set()
    looking.join()
    return speed


def nothing(target: Watched, seconds: float) -> Speed:
    """As the other window of the pair."""
    return target.speed(seconds)


ARMS: dict[str, Arm] = {"continuous": continuous, "on_drop idle": on_drop_idle, "nothing": nothing}


def slowdown(pairs: list[tuple[float, float]], seed: int = 1) -> dict[str, float]:
    """From (with, without) speeds: by which share the program is slower, its interval's ends, and pairs used."""
    logs = np.log([on / off for on, off in pairs if on > 0 and off > 0])
    chosen = np.random.default_rng(seed).integers(0, logs.size, size=(BOOTSTRAPS, logs.size))
    means = logs[chosen].mean(axis=1)
    low, high = np.quantile(means, [0.025, 0.975])
    return {
        "slowdown_percent": round(100 * float(1 - np.exp(logs.mean())), 3),
        "lower_percent": round(100 * float(1 - np.exp(high)), 3),
        "upper_percent": round(100 * float(1 - np.exp(low)), 3),
        "median_percent": round(100 * float(1 - np.exp(np.median(logs))), 3),
        "pairs": int(logs.size),
    }


def measure(target: Watched, arms: list[str], rounds: int, seconds: float) -> dict[str, dict[str, dict[str, float]]]:
    """Windows of all arms turn by turn; judged by time, and by the program's own CPU time beside it."""
    order = random.Random(1)
    found: dict[str, list[tuple[Speed, Speed]]] = {name: [] for name in arms}
    for _ in range(rounds):
        windows: list[str | None] = [None, *arms]
        order.shuffle(windows)
        speeds = {name: ARMS[name](target, seconds) if name else target.speed(seconds) for name in windows}
        for name in arms:
            found[name].append((speeds[name], speeds[None]))
    return {
        name: {
            "by_time": slowdown([(on.by_time, off.by_time) for on, off in pairs]),
            "by_cpu": slowdown([(on.by_cpu, off.by_cpu) for on, off in pairs]),
        }
        for name, pairs in found.items()
    }


def sampler_cpu(target: Watched, traces: int) -> dict[str, float]:
    """CPU of traces as they are taken in ``continuous``, one after another."""
    sampler, began, used = PySpySampler(), time.monotonic(), 0.0
    for _ in range(traces):
        answer = sampler.trace(target.pid, RATE_HERTZ, TRACE_SECONDS)
        used += answer.cost.cpu_seconds if isinstance(answer, Sampled) else float("nan")
    return {"sampler_cpu_percent": round(100 * used / (time.monotonic() - began), 3)}


def costs(kinds: list[str], arms: list[str], rounds: int, seconds: float) -> dict[str, Any]:
    """Each program under each arm."""
    result: dict[str, Any] = {}
    for kind in kinds:
        with watched(kind) as target:
            cost = {"cuda": target.cuda, **sampler_cpu(target, 3)}
            result[kind] = {**cost, **measure(target, arms, rounds, seconds)}
            print(kind, json.dumps(result[kind]), flush=True)
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--parts", nargs="+", default=["cost", "alignment", "spike"])
    parser.add_argument("--kinds", nargs="+", default=["image", "tiny"])
    parser.add_argument("--arms", nargs="+", choices=list(ARMS), default=list(ARMS))
    parser.add_argument("--rounds", type=int, default=160)
    parser.add_argument("--window-seconds", type=float, default=1.0)
    parser.add_argument("--alignment-seconds", type=float, default=40.0)
    parser.add_argument("--spike-rounds", type=int, default=3)
    chosen = parser.parse_args()
    found: dict[str, Any] = {}
    if "cost" in chosen.parts:
        found["cost"] = costs(chosen.kinds, chosen.arms, chosen.rounds, chosen.window_seconds)
    if "alignment" in chosen.parts:
        found["alignment"] = alignment(chosen.alignment_seconds)
        print(found["alignment"], flush=True)
    if "spike" in chosen.parts:
        found["spike"] = spike(chosen.spike_rounds)
    chosen.output.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
