"""Answers requests: the one place that looks into other processes, whether in the helper or in the agent itself."""

from __future__ import annotations

from pathlib import Path

from gapscope_agent.stacks.messages import Answer, Facts, FactsFound, Request, Snapshot
from gapscope_agent.stacks.process_facts import read_facts
from gapscope_agent.stacks.pyspy import PySpyMissingError, find_pyspy
from gapscope_agent.stacks.sampler import PySpySampler, StackSampler


class StackService:
    """Thread-safe as its sampler is: one call a process at a time, any number of processes."""

    def __init__(self, sampler: StackSampler | None = None, proc: Path = Path("/proc")) -> None:
        self._sampler = sampler or PySpySampler()
        self._proc = proc

    def answer(self, request: Request) -> Answer:
        """Blocks for as long as the request asks to sample."""
        if isinstance(request, Snapshot):
            return self._sampler.snapshot(request.pid)
        if isinstance(request, Facts):
            found = (read_facts(self._proc, pid, files=request.files) for pid in request.pids)
            return FactsFound([facts for facts in found if facts is not None])
        return self._sampler.trace(request.pid, request.rate_hertz, request.seconds)

    def why_not(self) -> str | None:
        """Whether there is a sampler to run."""
        try:
            find_pyspy()
        except PySpyMissingError as error:
            return str(error)
        return None

    def stop(self) -> None:
        """Let traces that run end early."""
        self._sampler.stop()
