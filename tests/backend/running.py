"""A running application and ways to talk to it."""

from __future__ import annotations

import io
from dataclasses import dataclass

from aiohttp import ClientResponse, web
from aiohttp.test_utils import TestClient

from gapscope_agent.wire import MEDIA_TYPE, Batch, encode
from gapscope_backend.services import access
from gapscope_backend.store.database import Database
from tests.backend.batches import Clock


@dataclass
class Backend:
    """A running application and ways to talk to it."""

    client: TestClient[web.Request, web.Application]
    database: Database
    clock: Clock
    ingest_token: str
    read_token: str

    @property
    def read(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.read_token}"}

    async def post(self, body: bytes, *, token: str | None = None, **headers: str) -> ClientResponse:
        given = {"Authorization": f"Bearer {token or self.ingest_token}", "Content-Type": MEDIA_TYPE}
        given.update({name.replace("_", "-"): value for name, value in headers.items()})
        return await self.client.post("/api/v1/ingest", data=io.BytesIO(body), headers=given)

    async def store(self, *batches: Batch) -> None:
        for batch in batches:
            response = await self.post(encode(batch))
            assert response.status == 200, await response.text()

    async def login(self) -> dict[str, str]:
        """Headers of a logged-in page."""
        token = await access.create_login(self.database, self.clock())
        response = await self.client.post("/api/v1/login", json={"token": token})
        assert response.status == 200, await response.text()
        cookie = next(iter(response.cookies.values()))
        self.client.session.cookie_jar.clear()
        return {"Cookie": f"{cookie.key}={cookie.value}"}
