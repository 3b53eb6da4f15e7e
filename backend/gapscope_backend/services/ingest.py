"""Taking in a batch: checked to the last value before anything is stored, stored whole and once, then acknowledged.

The check decodes every column, one group at a time and off the event loop, so its memory is the payload plus one
group. At most ``CHECKS_AT_ONCE`` run at a time; the transaction begins only after the check.
"""

from __future__ import annotations

import asyncio
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
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
    UnauthenticatedError,
    UnprocessableError,
    UpgradeRequiredError,
)
from gapscope_backend.store.credentials import revoked_of
from gapscope_backend.store.database import Database
from gapscope_backend.store.disk import DiskGuard
from gapscope_backend.store.hot import CheckedBatch, digest_of, pack, store_batches
from gapscope_backend.store.latest import collect_latest

MAX_FUTURE_NS = 60_000_000_000
CHECKS_AT_ONCE = 1
"""More would only wait for each other: the check is mostly Python."""
GATHER_SECONDS = 0.1
BATCHES_AT_ONCE = 64
"""In one transaction; each more makes the first of them wait longer."""


class Ingest:
    """The one door for batches."""

    def __init__(self, database: Database, guard: DiskGuard | None = None) -> None:
        self._guard = guard
        self._slots = asyncio.Semaphore(CHECKS_AT_ONCE)
        self._commits = _Commits(database)

    async def take(
        self, body: bytes, encoding: str, host_pattern: str, now_ns: int, token_id: int | None = None
    ) -> Acknowledgement:
        """Check and store a request's body. Raises a RequestError that says why, having stored nothing.

        A token that was revoked since it let the request in stores nothing either.
        """
        if self._guard is not None:
            await self._guard.check()
        async with self._slots:
            checked = await asyncio.to_thread(check, body, encoding, host_pattern, now_ns)
        stored = await self._commits.store(checked, token_id)
        return Acknowledgement(stored=True, duplicate=not stored)


@dataclass(frozen=True)
class _Waiting:
    checked: CheckedBatch
    token_id: int | None
    done: asyncio.Future[bool]


class _Commits:
    """Batches that come in while one transaction waits for the disk share the next one.

    A transaction costs as much as thirty batches in it. So where several came at once the time before, the next
    begins GATHER_SECONDS after that one did.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._waiting: list[_Waiting] = []
        self._running: asyncio.Task[None] | None = None
        self._shared = False
        self._begun = 0.0

    async def store(self, checked: CheckedBatch, token_id: int | None) -> bool:
        """Store a batch; whether it was new. Raises what its transaction raised."""
        one = _Waiting(checked, token_id, asyncio.get_running_loop().create_future())
        self._waiting.append(one)
        if self._running is None:
            self._running = asyncio.create_task(self._run())
        return await one.done

    async def _run(self) -> None:
        loop = asyncio.get_running_loop()
        try:
            while self._waiting:
                if self._shared and len(self._waiting) < BATCHES_AT_ONCE:
                    await asyncio.sleep(self._begun + GATHER_SECONDS - loop.time())
                self._begun = loop.time()
                some, self._waiting = self._waiting[:BATCHES_AT_ONCE], self._waiting[BATCHES_AT_ONCE:]
                self._shared = len(some) > 1
                await self._commit(some)
        finally:
            self._running = None

    async def _commit(self, some: Sequence[_Waiting]) -> None:
        try:
            revoked = await revoked_of(self._database, {one.token_id for one in some if one.token_id is not None})
            for one in some:
                if one.token_id in revoked:
                    _settle(one.done, UnauthenticatedError("the token was revoked", "Authorization"))
            some = [one for one in some if one.token_id not in revoked]
            stored = await store_batches(self._database, [one.checked for one in some]) if some else []
        except Exception as error:
            # Whatever it was belongs to the requests that wait; of several each learns its own fate.
            if len(some) > 1:
                for one in some:
                    await self._commit([one])
            else:
                _settle(some[0].done, error)
            return
        for one, new in zip(some, stored, strict=True):
            _settle(one.done, new)


def _settle(done: asyncio.Future[bool], outcome: bool | Exception) -> None:
    if done.done():  # the request was cancelled meanwhile; the batch is stored all the same
        return
    if isinstance(outcome, Exception):
        done.set_exception(outcome)
    else:
        done.set_result(outcome)


def check(body: bytes, encoding: str, host_pattern: str, now_ns: int) -> CheckedBatch:
    """Decode and validate everything in a body. ``encoding`` is that of the request: ``gzip`` or ``identity``."""
    gzipped = body if encoding == "gzip" else None
    payload = body if gzipped is None else gunzip(gzipped)
    try:
        batch = decode_batch(payload)
        _check_sender(batch, host_pattern, now_ns)
        latest = collect_latest(decode_batch_matrix(batch, group) for group in batch.groups)
    except WireVersionError as error:
        raise UpgradeRequiredError(str(error), "version") from error
    except WireError as error:
        raise MalformedError(str(error), "body") from error
    packed_as, packed = pack(payload, gzipped)
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
