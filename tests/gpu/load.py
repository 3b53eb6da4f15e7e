"""A closed-loop client in a process of its own: so many requests in flight, each answered before the next is sent."""

from __future__ import annotations

import multiprocessing
import statistics
import time
from collections.abc import Callable, Sequence
from multiprocessing.queues import SimpleQueue
from typing import Any

Request = tuple[int, Any]


def _drive(bodies: Sequence[Any], flight: int, requests: SimpleQueue[Request], answers: SimpleQueue[int]) -> None:
    for number in range(flight):
        requests.put((number, bodies[number % len(bodies)]))
    number = flight
    while True:
        answers.get()
        requests.put((number, bodies[number % len(bodies)]))
        number += 1


class Load:
    """Starts the client. ``requests`` is the queue that ``take`` reads, each entry a number and a body."""

    def __init__(self, bodies: Sequence[Any], flight: int) -> None:
        context = multiprocessing.get_context("fork")
        self.requests: SimpleQueue[Request] = context.SimpleQueue()
        self._answers: SimpleQueue[int] = context.SimpleQueue()
        self._came: dict[int, float] = {}
        self.latencies: list[float] = []
        drive = context.Process(target=_drive, args=(bodies, flight, self.requests, self._answers), daemon=True)
        drive.start()

    def take(self, most: int = 1, window_seconds: float = 0.0) -> list[Request]:
        """The next requests; waits for the first as long as it takes."""
        taken = [self.requests.get()]
        end = time.monotonic() + window_seconds
        while len(taken) < most and (not self.requests.empty() or time.monotonic() < end):
            if not self.requests.empty():
                taken.append(self.requests.get())
        now = time.monotonic()
        self._came.update((number, now) for number, _ in taken)
        return taken

    def answer(self, taken: Sequence[Request]) -> None:
        """Answer requests; their time since they were taken is their latency in the service."""
        now = time.monotonic()
        for number, _ in taken:
            self.latencies.append(now - self._came.pop(number))
            self._answers.put(number)


def serve(load: Load, step: Callable[[], int], seconds: float) -> dict[str, float]:
    """Call ``step`` (which answers so many requests) for ``seconds``; requests a second and latencies in ms."""
    load.latencies.clear()
    served, began = 0, time.monotonic()
    while time.monotonic() - began < seconds:
        served += step()
    ordered = sorted(load.latencies)
    return {
        "requests_per_s": served / (time.monotonic() - began),
        "p50_ms": 1e3 * statistics.median(ordered),
        "p99_ms": 1e3 * ordered[int(len(ordered) * 0.99)],
    }
