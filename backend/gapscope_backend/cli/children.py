"""Processes that ``gapscope up`` keeps running: started in order, restarted with back-off, ended together."""

from __future__ import annotations

import asyncio
import ctypes
import signal
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import aiohttp

START_SECONDS = 60.0
STOP_SECONDS = 10.0
RESTART_SECONDS = (1.0, 2.0, 5.0, 15.0, 30.0)
SETTLED_SECONDS = 60.0
PR_SET_PDEATHSIG = 1


@dataclass(frozen=True)
class Child:
    """One ``gapscope`` subcommand and where its output goes; ``finishes`` when its end with 0 is no failure."""

    name: str
    words: tuple[str, ...]
    log: Path
    finishes: bool = False


def _end_with_parent() -> None:
    """In the child: be asked to end when the parent is gone, however it went (prctl(2), Linux)."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)


async def _start(child: Child) -> asyncio.subprocess.Process:
    """In a session of its own: a Ctrl-C is for the parent, which ends its children in order."""
    with child.log.open("ab") as log:
        return await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "gapscope_backend.cli.main",
            *child.words,
            stdout=log,
            stderr=log,
            start_new_session=True,
            preexec_fn=_end_with_parent,
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


def _size(log: Path) -> int:
    return log.stat().st_size if log.exists() else 0


def _tail(log: Path, begin: int, lines: int = 5) -> str:
    """The last lines that were written after ``begin`` bytes."""
    with log.open("rb") as file:
        file.seek(begin)
        return "\n".join(file.read().decode(errors="replace").strip().splitlines()[-lines:])


async def _healthy(url: str, process: asyncio.subprocess.Process) -> bool:
    deadline = time.monotonic() + START_SECONDS
    async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=2)) as session:
        while process.returncode is None and time.monotonic() < deadline:
            try:
                async with session.get(url) as answer:
                    if answer.status == 200:
                        return True
            except (aiohttp.ClientError, asyncio.TimeoutError):
                pass
            await asyncio.sleep(0.1)
    return False


async def _keep(child: Child) -> None:
    """Run one child for ever; a failure is told once and tried again, later each time."""
    failures = 0
    while True:
        began, written = time.monotonic(), _size(child.log)
        process = await _start(child)
        try:
            code = await process.wait()
        finally:
            await _end(process)
        if code == 0 and child.finishes:
            return
        failures = 0 if time.monotonic() - began > SETTLED_SECONDS else failures + 1
        pause = RESTART_SECONDS[min(failures, len(RESTART_SECONDS) - 1)]
        sys.stderr.write(
            f"{child.name} ended with {code}; again in {pause:g} s. Last words:\n{_tail(child.log, written)}\n"
        )
        await asyncio.sleep(pause)


async def supervise(
    server: Child, agents: Sequence[Child], health: str, ready: Callable[[], None], stop: asyncio.Event
) -> int:
    """Start the server, wait for its health, start the agents; 0 when stopped, 1 when the server ended."""
    written = _size(server.log)
    process = await _start(server)
    tasks: list[asyncio.Task[None]] = []
    try:
        if not await _healthy(health, process):
            sys.stderr.write(f"the server did not start:\n{_tail(server.log, written)}\n")
            return 1
        tasks = [asyncio.create_task(_keep(agent)) for agent in agents]
        ready()
        ended, stopped = asyncio.create_task(process.wait()), asyncio.create_task(stop.wait())
        await asyncio.wait((ended, stopped), return_when=asyncio.FIRST_COMPLETED)
        stopped.cancel()
        if ended.done():
            sys.stderr.write(f"the server ended with {process.returncode}:\n{_tail(server.log, written)}\n")
            return 1
        ended.cancel()
        return 0
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await _end(process)
