"""Processes that one process keeps running: started in order, restarted with back-off, ended together."""

from __future__ import annotations

import asyncio
import ctypes
import os
import signal
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

START_SECONDS = 60.0
STOP_SECONDS = 10.0
RESTART_SECONDS = (1.0, 2.0, 5.0, 15.0, 30.0)
SETTLED_SECONDS = 60.0
WRONG_USE = 2
PR_SET_PDEATHSIG = 1


@dataclass(frozen=True)
class Child:
    """One ``gapscope`` subcommand; ``finishes`` when its end with 0 is no failure.

    Its output goes to ``log``, or without one to where the parent's goes. ``environment`` is laid over the parent's:
    what must not stand in a process list.
    """

    name: str
    words: tuple[str, ...]
    log: Path | None = None
    finishes: bool = False
    environment: Mapping[str, str] = field(default_factory=dict)


def _end_with_parent() -> None:
    """In the child: be asked to end when the parent is gone, however it went (prctl(2), Linux)."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)


async def _start(child: Child) -> asyncio.subprocess.Process:
    """With a log, in a session of its own: a Ctrl-C is for the parent, which ends its children in order."""
    command = (sys.executable, "-m", "gapscope_backend.cli.main", *child.words)
    environment = {**os.environ, **child.environment}
    if child.log is None:
        return await asyncio.create_subprocess_exec(*command, env=environment, preexec_fn=_end_with_parent)
    with child.log.open("ab") as log:
        return await asyncio.create_subprocess_exec(
            *command, stdout=log, stderr=log, env=environment, start_new_session=True, preexec_fn=_end_with_parent
        )


async def _end(process: asyncio.subprocess.Process) -> None:
    if process.returncode is not None:
        return
    process.terminate()
    try:
        await asyncio.wait_for(process.wait(), STOP_SECONDS)
    except asyncio.TimeoutError:
        process.kill()
        await process.wait()


def _size(log: Path | None) -> int:
    return log.stat().st_size if log and log.exists() else 0


def _last_words(log: Path | None, begin: int, lines: int = 5) -> str:
    """The last lines that were written after ``begin`` bytes."""
    if log is None:
        return ""
    with log.open("rb") as file:
        file.seek(begin)
        return "\n".join(file.read().decode(errors="replace").strip().splitlines()[-lines:])


async def _healthy(url: str, keeper: asyncio.Task[int]) -> bool:
    import aiohttp

    deadline = time.monotonic() + START_SECONDS
    async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=2)) as session:
        while not keeper.done() and time.monotonic() < deadline:
            try:
                async with session.get(url) as answer:
                    if answer.status == 200:
                        return True
            except (aiohttp.ClientError, asyncio.TimeoutError):
                pass
            await asyncio.sleep(0.1)
    return False


async def _keep(child: Child, started: asyncio.Event | None = None) -> int:
    """Run one child for ever; a failure is told once and tried again, later each time.

    Its exit code where trying again makes no sense: it ended before ``started`` was set or, without that, its first
    run said that it was used wrongly.
    """
    failures, first = 0, True
    while True:
        began, written = time.monotonic(), _size(child.log)
        process = await _start(child)
        try:
            code = await process.wait()
        finally:
            await _end(process)
        if code == 0 and child.finishes:
            return code
        if (first and code == WRONG_USE) if started is None else not started.is_set():
            return code
        first = False
        failures = 0 if time.monotonic() - began > SETTLED_SECONDS else failures + 1
        pause = RESTART_SECONDS[min(failures, len(RESTART_SECONDS) - 1)]
        sys.stderr.write(f"{child.name} ended with {code}; again in {pause:g} s. {_last_words(child.log, written)}\n")
        await asyncio.sleep(pause)


async def _cancel(tasks: Sequence[asyncio.Task[int]]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def run_together(children: Sequence[Child], stop: asyncio.Event) -> int:
    """Keep all children running until ``stop`` is set; 0 then, or the code of one that cannot run at all."""
    keepers = [asyncio.create_task(_keep(child)) for child in children]
    stopped = asyncio.create_task(_waited(stop))
    try:
        done, _ = await asyncio.wait((*keepers, stopped), return_when=asyncio.FIRST_COMPLETED)
        return max(task.result() for task in done)
    finally:
        await _cancel([*keepers, stopped])


async def supervise(
    server: Child, others: Sequence[Child], health: str, ready: Callable[[], None], stop: asyncio.Event
) -> int:
    """Start the server, wait for its health, start the others; 0 when stopped, 1 when the server did not start."""
    written, started = _size(server.log), asyncio.Event()
    tasks = [asyncio.create_task(_keep(server, started))]
    try:
        if not await _healthy(health, tasks[0]):
            sys.stderr.write(f"the server did not start:\n{_last_words(server.log, written)}\n")
            return 1
        started.set()
        tasks += [asyncio.create_task(_keep(child)) for child in others]
        ready()
        await stop.wait()
        return 0
    finally:
        await _cancel(tasks)


async def _waited(stop: asyncio.Event) -> int:
    await stop.wait()
    return 0
