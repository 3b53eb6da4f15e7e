"""Delivery of batches: one POST each, oldest first, at least once, from a bounded queue in memory.

Network faults, 5xx and 429 are retried with jittered exponential back-off; answers that a person has to fix hold the
queue; a batch that the server refuses for what it is, is set aside and counted. Every value that leaves the queue is
accounted for in the ledger.
"""

from __future__ import annotations

import asyncio
import contextlib
import gzip
import logging
import random
import ssl
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

import aiohttp
import msgspec

from gapscope_agent.accounting import Ledger
from gapscope_agent.answers import Answer, Fate, judge
from gapscope_agent.config import AgentConfig, ConfigError
from gapscope_agent.wire import MAX_BATCH_BYTES, MEDIA_TYPE, Batch, count_values, encode

INGEST_PATH = "/api/v1/ingest"
MAX_ANSWER_BYTES = 4096
STALE_NS = 2_000_000_000
"""A batch that waited longer gets a new ``sent_ns``: the server judges the host's clock by it."""

log = logging.getLogger(__name__)


@dataclass
class _Queued:
    payload: bytes
    values: int
    closed_ns: int


class Shipper:
    """Queue and sender. ``offer`` is called on the event loop; ``run`` sends until it is stopped, then flushes."""

    def __init__(self, config: AgentConfig, ledger: Ledger, clock: Callable[[], float] = time.time) -> None:
        self._config = config
        self._ledger = ledger
        self._clock = clock
        self._queue: deque[_Queued] = deque()
        self._in_flight: _Queued | None = None
        self._bytes = 0
        self._changed = asyncio.Event()
        self._failures = 0
        self._trouble = ""
        self.last_delivered: float | None = None

    @property
    def queued_bytes(self) -> int:
        """Bytes of all undelivered batches, the one being sent included."""
        return self._bytes

    @property
    def queued_values(self) -> int:
        """Values of all undelivered batches, the one being sent included; equals the ledger's ``buffered``."""
        sending = [self._in_flight] if self._in_flight else []
        return sum(item.values for item in [*self._queue, *sending])

    def offer(self, batch: Batch) -> None:
        """Queue a closed batch; the oldest ones make room, counted as dropped."""
        item = _Queued(encode(batch), count_values(batch), batch.sent_ns)
        self._bytes += len(item.payload)
        self._queue.append(item)
        if len(item.payload) > MAX_BATCH_BYTES:
            self._queue.pop()
            self._forget(item, "too_large")
        while self._bytes > self._config.queue_max_bytes and self._queue:
            self._forget(self._queue.popleft(), "queue_full")
        self._changed.set()

    async def room(self, stop: asyncio.Event) -> None:
        """Wait until less than half of the queue's bytes are taken, or the stop."""
        while self._bytes > self._config.queue_max_bytes // 2 and not stop.is_set():
            await _wait(stop, 0.05)

    async def run(self, stop: asyncio.Event) -> None:
        """Send until ``stop``, then give the rest ``flush_seconds``; what is left then is counted as dropped."""
        async with self._session() as session:
            while not stop.is_set():
                await self._next(stop)
                if self._queue and not stop.is_set():
                    await self._send_first(session, stop)
            await self._flush(session)

    async def _next(self, stop: asyncio.Event) -> None:
        """Wait for something to send, or the stop."""
        while not self._queue and not stop.is_set():
            self._changed.clear()
            waits = [asyncio.ensure_future(event.wait()) for event in (self._changed, stop)]
            try:
                await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
            finally:
                for wait in waits:
                    wait.cancel()

    async def _send_first(self, session: aiohttp.ClientSession, stop: asyncio.Event) -> None:
        answer = await self._attempt(session)
        if answer.fate in (Fate.RETRY, Fate.HOLD):
            await _wait(stop, self._pause(answer))

    async def _attempt(self, session: aiohttp.ClientSession) -> Answer:
        """Send the oldest batch once and settle it by the answer; an undelivered one goes back to the front."""
        item = self._in_flight = self._queue.popleft()
        settled = False
        try:
            answer = await self._post(session, item)
            settled = answer.fate in (Fate.DELIVERED, Fate.SET_ASIDE)
        finally:
            self._in_flight = None
            if not settled:
                self._put_back(item)
        if answer.fate is Fate.DELIVERED:
            self._bytes -= len(item.payload)
            self._ledger.deliver(item.values)
            self.last_delivered = self._clock()
            self._failures = 0
        elif answer.fate is Fate.SET_ASIDE:
            self._forget(item, answer.reason)
        else:
            self._failures += 1
        self._report(answer)
        return answer

    def _put_back(self, item: _Queued) -> None:
        self._queue.appendleft(item)
        while self._bytes > self._config.queue_max_bytes and len(self._queue) > 1:
            self._forget(self._queue.popleft(), "queue_full")

    async def _post(self, session: aiohttp.ClientSession, item: _Queued) -> Answer:
        now = self._clock()
        if abs(now * 1e9 - item.closed_ns) > STALE_NS:
            self._renew(item, int(now * 1e9))
        headers = {"Content-Type": MEDIA_TYPE, "Content-Encoding": "gzip"}
        try:
            token = self._config.bearer()
            if token:
                headers["Authorization"] = f"Bearer {token}"
            body = gzip.compress(item.payload, compresslevel=1)
            url = self._config.server.rstrip("/") + INGEST_PATH
            async with session.post(url, data=body, headers=headers, allow_redirects=False) as response:
                content = await _read_bounded(response)
                return judge(response.status, content, response.headers.get("Retry-After"), now)
        except ConfigError as error:
            return Answer(Fate.HOLD, str(error))
        except (aiohttp.ClientError, asyncio.TimeoutError, OSError) as error:
            return Answer(Fate.RETRY, f"{self._config.server}: {error or type(error).__name__}")

    def _renew(self, item: _Queued, now_ns: int) -> None:
        batch = msgspec.msgpack.decode(item.payload, type=Batch)
        batch.sent_ns = now_ns
        self._bytes -= len(item.payload)
        item.payload = encode(batch)
        item.closed_ns = now_ns
        self._bytes += len(item.payload)

    def _pause(self, answer: Answer) -> float:
        """Seconds to wait: exponential, of which a random half; a hold waits longer; Retry-After is the least."""
        config = self._config
        exponential = min(config.retry_max_seconds, config.retry_initial_seconds * 2.0 ** min(self._failures - 1, 20))
        if answer.fate is Fate.HOLD:
            exponential = max(exponential, config.hold_seconds)
        jittered = exponential * random.uniform(0.5, 1.0)  # noqa: S311 - spreads load, guards nothing
        return max(jittered, answer.wait_seconds or 0.0)

    async def _flush(self, session: aiohttp.ClientSession) -> None:
        with contextlib.suppress(asyncio.TimeoutError):
            await asyncio.wait_for(self._send_all(session), self._config.flush_seconds)
        while self._queue:
            self._forget(self._queue.popleft(), "stopped")

    async def _send_all(self, session: aiohttp.ClientSession) -> None:
        while self._queue:
            answer = await self._attempt(session)
            if answer.fate is Fate.HOLD:
                return
            if answer.fate is Fate.RETRY:
                await asyncio.sleep(min(self._pause(answer), self._config.flush_seconds / 4))

    def _forget(self, item: _Queued, reason: str) -> None:
        self._bytes -= len(item.payload)
        self._ledger.drop(item.values, reason)
        log.warning("dropped a batch of %d values: %s", item.values, reason)

    def _report(self, answer: Answer) -> None:
        """Log a change of state once, not every attempt."""
        trouble = "" if answer.fate is Fate.DELIVERED else answer.reason
        if trouble != self._trouble:
            self._trouble = trouble
            if trouble:
                log.warning("batches wait: %s", trouble)
            else:
                log.info("batches are delivered again")

    def _session(self) -> aiohttp.ClientSession:
        timeout = aiohttp.ClientTimeout(total=self._config.request_timeout_seconds, sock_connect=10)
        return aiohttp.ClientSession(timeout=timeout, connector=connector(self._config))


def connector(config: AgentConfig) -> aiohttp.TCPConnector:
    """Connections that trust ``ca_file`` where one is set."""
    if config.ca_file is None:
        return aiohttp.TCPConnector()
    return aiohttp.TCPConnector(ssl=ssl.create_default_context(cafile=str(config.ca_file)))


async def _read_bounded(response: aiohttp.ClientResponse) -> bytes:
    """At most ``MAX_ANSWER_BYTES`` of an answer; the rest of a longer one is not waited for."""
    body = b""
    while len(body) < MAX_ANSWER_BYTES:
        chunk = await response.content.read(MAX_ANSWER_BYTES - len(body))
        if not chunk:
            break
        body += chunk
    return body


async def _wait(stop: asyncio.Event, seconds: float) -> None:
    with contextlib.suppress(asyncio.TimeoutError):
        await asyncio.wait_for(stop.wait(), seconds)
