"""A database with a channel to a real listener, and a clock that tests move."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass

import pytest

from gapscope_backend.alerts.addresses import read_allow_list
from gapscope_backend.alerts.delivery import Deliveries
from gapscope_backend.alerts.egress import Egress
from gapscope_backend.alerts.signing import new_secret
from gapscope_backend.store.alert_models import Delivery
from gapscope_backend.store.database import Database
from gapscope_backend.store.deliveries import add_delivery, delivery_of
from tests.backend.batches import Clock
from tests.delivery.listening import Listener, listening
from tests.delivery.messages import NOW, channel

EGRESS = Egress(read_allow_list(["127.0.0.1"]))


@dataclass
class Outbox:
    """Deliveries to a listener, on a clock that is moved by hand."""

    database: Database
    listener: Listener
    clock: Clock
    deliveries: Deliveries
    secret: str

    async def put(self, *rows: Delivery) -> None:
        """Write rows as the alerts do."""
        async with self.database.write() as session:
            for row in rows:
                await add_delivery(session, self.database.dialect, row)

    async def tick(self, seconds: float = 0.0) -> None:
        """Let time go by, then do what is due to its end."""
        self.clock.advance(seconds)
        await self.deliveries.tick()
        await self.deliveries.settle()

    async def row(self, row: Delivery) -> Delivery:
        """What the database holds of a row now."""
        found = await delivery_of(self.database, row.id)
        assert found is not None
        return found

    def another(self) -> Deliveries:
        """What another process has."""
        return Deliveries(self.database, EGRESS, self.clock, self.clock.monotonic)


@pytest.fixture
async def listener() -> AsyncIterator[Listener]:
    async with listening() as one:
        yield one


@pytest.fixture
async def outbox(database: Database, listener: Listener) -> AsyncIterator[Outbox]:
    clock, secret = Clock(NOW), new_secret()
    async with database.write() as session:
        session.add(channel("webhook", listener.url, secrets=[secret]))
    deliveries = Deliveries(database, EGRESS, clock, clock.monotonic)
    yield Outbox(database, listener, clock, deliveries, secret)
    await deliveries.close()
