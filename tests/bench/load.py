"""An open-loop load: batches of a made-up fleet at fixed moments, whether or not the server keeps up.

``python -m tests.bench.load --address URL --token-file FILE --rate 200 --seconds 60 --out FILE`` runs as a process of
its own and writes what came of it as JSON. Each host sends every 5 s. A batch that cannot be stored now (503, a
connection that broke) is sent again until it is acknowledged, as an agent would; its latency counts from the moment at
which it should have been sent.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from gapscope_agent.wire import MEDIA_TYPE
from tests.bench.fleet import Template, run_name, templates
from tests.bench.machine import spread_ms

TEMPLATES = 16
PERIOD_SECONDS = 5
CONNECTIONS = 200
"""As many hosts may wait for an answer at once; the server must bear it, and the rate must not hang on its latency."""
AGAIN_SECONDS = 0.2
ANSWER_SECONDS = 60.0


@dataclass
class Outcome:
    """What came of a load. ``acknowledged`` holds (seconds since the begin, latency in seconds)."""

    acknowledged: list[tuple[float, float]] = field(default_factory=list)
    failures: Counter[str] = field(default_factory=Counter)
    duplicates: int = 0
    values: int = 0
    late: float = 0.0
    unacknowledged: list[tuple[int, int]] = field(default_factory=list)


@dataclass(frozen=True)
class Due:
    """A batch to send: its host, its number in the host's run, and when, in seconds since the begin."""

    host: int
    sequence: int
    at: float


class Connection:
    """One keep-alive connection; opened again after a failure."""

    def __init__(self, address: str, token: str) -> None:
        parts = urlsplit(address)
        assert parts.hostname is not None
        self._where = (parts.hostname, parts.port or 80)
        self._head = (
            f"POST /api/v1/ingest HTTP/1.1\r\nHost: {parts.netloc}\r\nAuthorization: Bearer {token}\r\n"
            f"Content-Type: {MEDIA_TYPE}\r\nContent-Encoding: gzip\r\nContent-Length: "
        ).encode()
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def post(self, body: bytes) -> tuple[int, bytes]:
        """Status and body of the answer. OSError or EOFError where there is none."""
        if self._streams is None:
            self._streams = await asyncio.open_connection(*self._where)
        reader, writer = self._streams
        try:
            writer.writelines((self._head, str(len(body)).encode(), b"\r\n\r\n", body))
            head = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), ANSWER_SECONDS)
            length = int(head.lower().split(b"content-length: ")[1].split(b"\r\n")[0])
            answer = await reader.readexactly(length)
        except (OSError, EOFError, asyncio.TimeoutError):
            self.close()
            raise
        if b"connection: close" in head.lower():
            self.close()
        return int(head[9:12]), answer

    def close(self) -> None:
        """Close it; the next request opens it again."""
        if self._streams is not None:
            self._streams[1].close()
            self._streams = None


class Load:
    """Sends for ``seconds`` and then waits for what is on its way."""

    def __init__(self, made: Sequence[Template], rate: float, seconds: float, start: int) -> None:
        self._made, self._rate, self._seconds, self._start = made, rate, seconds, start
        self._hosts = max(1, round(rate * PERIOD_SECONDS))
        self.outcome = Outcome()
        self._waiting: asyncio.Queue[Due | None] = asyncio.Queue()

    async def run(self, address: str, token: str) -> None:
        """Send all; returns when each is acknowledged or given up."""
        began, began_ns = time.monotonic(), time.time_ns()
        senders = [
            asyncio.create_task(self._send(Connection(address, token), began, began_ns)) for _ in range(CONNECTIONS)
        ]
        for number in range(int(self._rate * self._seconds)):
            at = number / self._rate
            wait = began + at - time.monotonic()
            if wait > 0.001:
                await asyncio.sleep(wait)
            self.outcome.late = max(self.outcome.late, time.monotonic() - began - at)
            self._waiting.put_nowait(Due(number % self._hosts, number // self._hosts, at))
        for _ in senders:
            self._waiting.put_nowait(None)
        await asyncio.gather(*senders)

    async def _send(self, connection: Connection, began: float, began_ns: int) -> None:
        while (due := await self._waiting.get()) is not None:
            template = self._made[(due.host * 7 + due.sequence) % len(self._made)]
            run = run_name(due.host, self._start)
            body = template.gzipped(due.host, run, due.sequence, began_ns + int(due.at * 1e9))
            deadline = time.monotonic() + 4 * ANSWER_SECONDS
            while not await self._sent(connection, body, due, began):
                if time.monotonic() > deadline:
                    self.outcome.unacknowledged.append((due.host, due.sequence))
                    break
                await asyncio.sleep(AGAIN_SECONDS)
            else:
                self.outcome.values += template.values
        connection.close()

    async def _sent(self, connection: Connection, body: bytes, due: Due, began: float) -> bool:
        try:
            status, answer = await connection.post(body)
        except (OSError, EOFError, asyncio.TimeoutError) as error:
            self.outcome.failures[type(error).__name__] += 1
            return False
        if status == 200:
            self.outcome.acknowledged.append((due.at, time.monotonic() - began - due.at))
            self.outcome.duplicates += b'"duplicate":true' in answer
            return True
        assert status in {429, 503}, (status, answer)
        self.outcome.failures[str(status)] += 1
        return False


def told(load: Load, rate: float, seconds: float, warm_seconds: float, wall_seconds: float) -> dict[str, object]:
    """The figures; latencies without those of the first ``warm_seconds``."""
    outcome = load.outcome
    timed = [latency for at, latency in outcome.acknowledged if at >= warm_seconds]
    return {
        "rate": rate,
        "seconds": seconds,
        "hosts": round(rate * PERIOD_SECONDS),
        "acknowledged": len(outcome.acknowledged),
        "acknowledged_per_second": round(len(outcome.acknowledged) / wall_seconds, 1),
        "values": outcome.values,
        "latency_ms": spread_ms(timed),
        "warm_seconds": warm_seconds,
        "failures": dict(outcome.failures),
        "answered_as_duplicate": outcome.duplicates,
        "unacknowledged": outcome.unacknowledged,
        "generator_cpu_share": round(time.process_time() / wall_seconds, 3),
        "generator_late_ms": round(outcome.late * 1e3, 1),
    }


def main() -> None:
    """Run a load and write its figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--address", required=True)
    parser.add_argument("--token-file", type=Path, required=True)
    parser.add_argument("--rate", type=float, required=True, help="batches a second")
    parser.add_argument("--seconds", type=float, required=True)
    parser.add_argument("--warm-seconds", type=float, default=10.0, help="their latencies do not count")
    parser.add_argument("--start", type=int, default=1, help="number of this start of the agents: gives their run ids")
    parser.add_argument("--out", type=Path, required=True)
    asked = parser.parse_args()
    load = Load(templates(TEMPLATES), asked.rate, asked.seconds, asked.start)
    before, began = time.process_time(), time.monotonic()
    asyncio.run(load.run(asked.address, asked.token_file.read_text().strip()))
    wall = time.monotonic() - began
    figures = told(load, asked.rate, asked.seconds, asked.warm_seconds, wall)
    figures["generator_cpu_share"] = round((time.process_time() - before) / wall, 3)
    asked.out.write_text(json.dumps(figures))


if __name__ == "__main__":
    main()
