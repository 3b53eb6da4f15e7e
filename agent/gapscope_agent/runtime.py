"""The running agent: sources -> pipeline -> shipper, and the live view beside them."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time

import psutil

from gapscope_agent.accounting import Ledger
from gapscope_agent.batch import BatchBuilder
from gapscope_agent.config import AgentConfig
from gapscope_agent.delivery import delivering
from gapscope_agent.pace import BatchPace
from gapscope_agent.pipeline import Pipeline
from gapscope_agent.sampler import Sampler, probe
from gapscope_agent.shipper import Shipper
from gapscope_agent.sources import Context, build_sources
from gapscope_agent.sources.drop_watch import DropWatch
from gapscope_agent.stacks.build import build_access, build_sampling, facts_from
from gapscope_agent.stacks.sampling import StackSampling

log = logging.getLogger(__name__)


class OwnCost:
    """What this process costs, from one batch to the next."""

    def __init__(self, stacks: StackSampling) -> None:
        self._process = psutil.Process()
        self._stacks = stacks
        self._stacks_cpu = stacks.cpu_seconds()
        self._cpu, self._at = self._cpu_seconds(), time.monotonic()

    def _cpu_seconds(self) -> float:
        times = self._process.cpu_times()
        return float(times.user + times.system)

    def read(self) -> dict[str, float]:
        """Cores used since the last call, and resident memory now."""
        cpu, at = self._cpu_seconds(), time.monotonic()
        seconds = max(at - self._at, 1e-3)
        cores, stacks_cpu = (cpu - self._cpu) / seconds, self._stacks.cpu_seconds()
        stack_cores = (stacks_cpu - self._stacks_cpu) / seconds
        self._cpu, self._at, self._stacks_cpu = cpu, at, stacks_cpu
        return {
            "agent_cpu_cores": cores,
            "agent_resident_bytes": float(self._process.memory_info().rss),
            "stack_sampler_cpu_cores": stack_cores,
        }


async def run_agent(config: AgentConfig, stop: asyncio.Event) -> None:
    """Sample this host and send what it tells, until ``stop``."""
    access = build_access(config.stacks)
    context = Context(facts=facts_from(access))
    origin = await asyncio.to_thread(probe, context)
    ledger = Ledger()
    shipper = Shipper(config, ledger)
    builder = BatchBuilder(config.host, config.labels, ledger)
    pipeline = Pipeline(origin, builder, shipper, time.time_ns)
    sampler = Sampler(build_sources(context), pipeline.put)
    stacks = build_sampling(config.stacks, access, context, pipeline.put)
    log.info("host %s, %d GPUs, server %s", config.host, len(origin.gpus), config.server)
    sampler.start()
    stacks.start()
    try:
        async with delivering(
            config, shipper, lambda: pipeline.live_frame(config.host), context.attention, stop, stacks.ask
        ):
            await _turn(config, pipeline, stop, OwnCost(stacks), context.drops)
            await asyncio.to_thread(stacks.stop)
            await asyncio.to_thread(sampler.stop)
            pipeline.close_batch()
    finally:
        await asyncio.to_thread(stacks.stop)
        await asyncio.to_thread(sampler.stop)
        for cost in sampler.costs():
            log.info("source %s: %d calls, %.1f ms CPU", cost.name, cost.calls, cost.cpu_ns / 1e6)


async def _turn(config: AgentConfig, pipeline: Pipeline, stop: asyncio.Event, cost: OwnCost, drops: DropWatch) -> None:
    """Close a batch each ``batch_seconds``, on the monotonic clock, and each second of a drop; deriving in one go costs
    half of doing it often."""
    pace = BatchPace(config.batch_seconds, time.monotonic_ns())
    costed_ns = time.monotonic_ns()
    while not stop.is_set():
        with contextlib.suppress(asyncio.TimeoutError):
            await asyncio.wait_for(stop.wait(), pace.wait_ns(time.monotonic_ns()) / 1e9)
        now_ns = time.monotonic_ns()
        if pace.due(now_ns, bool(drops.dropped(now_ns))):
            if now_ns - costed_ns >= config.batch_seconds * 0.9e9:
                pipeline.deriver.add(time.time_ns(), "host", "agent", cost.read())
                costed_ns = now_ns
            pipeline.close_batch()
