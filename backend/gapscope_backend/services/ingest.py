"""Taking in a batch: checked to the last value before anything is stored, stored whole and once, then acknowledged.

The check decodes every column, one group at a time and off the event loop, so its memory is the payload plus one
group. At most ``CHECKS_AT_ONCE`` run at a time; the transaction begins only after the check.
"""

from __future__ import annotations

import asyncio
import zlib
from collections.abc import Sequence
from fnmatch import fnmatchcase

from gapscope_agent.wire import (
    MAX_BATCH_BYTES,
    Acknowledgement,
    Batch,
    WireError,
    WireVersionError,
    decode_batch,
    decode_batch_matrix,
)
from gapscope_backend.errors import (
    ForbiddenError,
    MalformedError,
    TooLargeError,
    UnprocessableError,
    UpgradeRequiredError,
)
from gapscope_backend.store.database import Database
from gapscope_backend.store.disk import DiskGuard
from gapscope_backend.store.hot import CheckedBatch, digest_of, pack, store_batches
from gapscope_backend.store.latest import collect_latest

MAX_FUTURE_NS = 60_000_000_000
CHECKS_AT_ONCE = 2
BATCHES_AT_ONCE = 64
"""In one transaction; each more makes the first of them wait longer."""


class Ingest:
    """The one door for batches."""

    def __init__(self, database: Database, guard: DiskGuard | None = None) -> None:
        self._guard = guard
        self._slots = asyncio.Semaphore(CHECKS_AT_ONCE)
        self._commits = _Commits(database)

    async def take(self, body: bytes, encoding: str, host_pattern: str, now_ns: int) -> Acknowledgement:
        """Check and store a request's body. Raises a RequestError that says why, having stored nothing."""
        if self._guard is not None:
            await self._guard.check()
        async with self._slots:
            checked = await asyncio.to_thread(check, body, encoding, host_pattern, now_ns)
        stored = await self._commits.store(checked)
        return Acknowledgement(stored=True, duplicate=not stored)


class _Commits:
    """Batches that come in while one transaction waits for the disk share the next one."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._waiting: list[tuple[CheckedBatch, asyncio.Future[bool]]] = []
        self._running: asyncio.Task[None] | None = None

    async def store(self, checked: CheckedBatch) -> bool:
        """Store a batch; whether it was new. Raises what its transaction raised."""
        done: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        self._waiting.append((checked, done))
        if self._running is None:
            self._running = asyncio.create_task(self._run())
        return await done

    async def _run(self) -> None:
        try:
            while self._waiting:
                some, self._waiting = self._waiting[:BATCHES_AT_ONCE], self._waiting[BATCHES_AT_ONCE:]
                await self._commit(some)
        finally:
            self._running = None

    async def _commit(self, some: Sequence[tuple[CheckedBatch, asyncio.Future[bool]]]) -> None:
        try:
            stored = await store_batches(self._database, [checked for checked, _ in some])
        except Exception as error:
            # Whatever it was belongs to the requests that wait; of several each learns its own fate.
            if len(some) > 1:
                for one in some:
                    await self._commit([one])
                return
            _settle(some[0][1], error)
            return
        for (_, done), new in zip(some, stored, strict=True):
            _settle(done, new)


def _settle(done: asyncio.Future[bool], outcome: bool | Exception) -> None:
    if done.done():  # the request was cancelled meanwhile; the batch is stored all the same
        return
    if isinstance(outcome, Exception):
        done.set_exception(outcome)
    else:
        done.set_result(outcome)


def check(body: bytes, encoding: str, host_pattern: str, now_ns: int) -> CheckedBatch:
    """Decode and validate everything in a body. ``encoding`` is that of the request: ``gzip`` or ``identity``."""
    payload = gunzip(body) if encoding == "gzip" else body
    try:
        batch = decode_batch(payload)
        _check_sender(batch, host_pattern, now_ns)
        latest = collect_latest(decode_batch_matrix(batch, group) for group in batch.groups)
    except WireVersionError as error:
        raise UpgradeRequiredError(str(error), "version") from error
    except WireError as error:
        raise MalformedError(str(error), "body") from error
    packed_as, packed = pack(payload)
    return CheckedBatch(batch, packed_as, packed, latest, digest_of(batch), now_ns)


def gunzip(body: bytes) -> bytes:
    """Inflate one gzip member of at most MAX_BATCH_BYTES; never holds more than one byte beyond it."""
    inflate = zlib.decompressobj(wbits=31)
    try:
        payload = inflate.decompress(body, MAX_BATCH_BYTES + 1)
    except zlib.error as error:
        raise MalformedError(f"the body is not gzip: {error}", "Content-Encoding") from error
    if len(payload) > MAX_BATCH_BYTES:
        raise TooLargeError(f"the body inflates to more than the {MAX_BATCH_BYTES} bytes that are taken", "body")
    if not inflate.eof or inflate.unused_data:
        raise MalformedError("the body is not one whole gzip member: cut short, or followed by other bytes", "body")
    return payload


def _check_sender(batch: Batch, host_pattern: str, now_ns: int) -> None:
    if not fnmatchcase(batch.host, host_pattern):
        raise ForbiddenError(
            f"this token writes for hosts that match {host_pattern!r}, not for {batch.host!r}; "
            "create one with `gapscope token create`",
            "host",
        )
    if batch.end_ns > now_ns + MAX_FUTURE_NS:
        ahead = (batch.end_ns - now_ns) / 1e9
        raise UnprocessableError(
            f"the batch ends {ahead:.1f} s in the future of the server's clock; at most 60 s are taken. "
            "Set the clocks of both machines (NTP)",
            "end_ns",
        )
