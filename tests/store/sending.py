"""Agents that send known values until each batch is acknowledged."""

from __future__ import annotations

import http.client
import threading
import time

import numpy as np

from gapscope_agent.wire import MEDIA_TYPE, encode
from gapscope_backend.store.database import Database
from tests.backend.batches import GPU, SECOND, TICK, BatchMaker, Floats, group
from tests.store.storing import host_id_of, samples_of

BATCH_SECONDS = 5
POINTS = 50
METRICS = ("gpu_graphics_active_ratio", "gpu_power_watts")
VALUES = POINTS * len(METRICS)
BEGIN = 1_796_000_000 * SECOND
EVERY_SECONDS = 0.05
ANSWER_SECONDS = 15.0


class Agent(threading.Thread):
    """A host that sends a batch of 5 s of its own time every 50 ms, in order, each until it is acknowledged."""

    def __init__(self, number: int, port: int, token: str) -> None:
        super().__init__(daemon=True)
        self.key = (f"node-{number}", f"run-of-node-{number}")
        self.number = number
        self.acknowledged: list[int] = []
        self.sent_again = 0
        self._port = port
        self._headers = {"Authorization": f"Bearer {token}", "Content-Type": MEDIA_TYPE}
        self._finish = threading.Event()
        self._connection: http.client.HTTPConnection | None = None

    def finish(self) -> None:
        """Deliver what is on its way, then end."""
        self._finish.set()

    def run(self) -> None:
        """Send."""
        maker = BatchMaker(*self.key)
        while not self._finish.is_set():
            sequence = len(self.acknowledged) + 1
            body = encode(self._batch(maker, sequence))
            while not self._sent(body):
                self.sent_again += 1
                time.sleep(EVERY_SECONDS)
            self.acknowledged.append(sequence)
            time.sleep(EVERY_SECONDS)
        self._close()

    def _close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _batch(self, maker: BatchMaker, sequence: int) -> object:
        start = batch_start(sequence)
        values = values_of(self.number, sequence)
        made = group(GPU, start, TICK, **dict(zip(METRICS, values, strict=True)))
        return maker.make(start, start + BATCH_SECONDS * SECOND, [made], sequence=sequence)

    def _sent(self, body: bytes) -> bool:
        try:
            if self._connection is None:
                self._connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=ANSWER_SECONDS)
            self._connection.request("POST", "/api/v1/ingest", body, self._headers)
            answer = self._connection.getresponse()
            text = answer.read()
        except (OSError, http.client.HTTPException):
            self._close()
            return False
        assert answer.status in {200, 500, 503}, (answer.status, text)
        return answer.status == 200


def batch_start(sequence: int) -> int:
    """Start of a batch in ns."""
    return BEGIN + (sequence - 1) * BATCH_SECONDS * SECOND


def values_of(number: int, sequence: int) -> list[Floats]:
    """The values of a batch, by metric."""
    seen = np.arange(POINTS) + number * 7 + sequence * 13
    active = (seen * 37 % 1000 / 1000).astype(np.float64)
    power = (seen * 11 % 700 + 0.5).astype(np.float64)
    return [active, power]


def expected(agent: Agent) -> int:
    """Values that must be there of an agent."""
    return VALUES * len(agent.acknowledged)


async def same_samples(database: Database, agent: Agent) -> bool:
    """Whether the store holds each sample of an agent, with its value, and no other."""
    found = await samples_of(database, await host_id_of(database, agent.key[0]))
    wanted = {}
    for sequence in agent.acknowledged:
        for metric, values in zip(METRICS, values_of(agent.number, sequence), strict=True):
            for at, value in enumerate(values.tolist()):
                wanted[GPU, metric, batch_start(sequence) + at * TICK] = value
    return found.keys() == wanted.keys() and all(abs(float(found[key]) - wanted[key]) < 1e-6 for key in wanted)
