"""Who may call what: the router is walked, logins and cookies, other sites, foreign names."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from gapscope_backend.api.openapi import describe
from gapscope_backend.api.route import Access
from gapscope_backend.api.routes import ROUTES
from gapscope_backend.api.security import ACCESS
from gapscope_backend.errors import NotFoundError, UnauthenticatedError
from gapscope_backend.services import access, admin
from gapscope_backend.store import credentials
from gapscope_backend.store.database import Database
from tests.backend.batches import NOW
from tests.backend.running import Backend

API = "/api/v1"
DOCS = Path(__file__).parents[2] / "docs" / "api.md"


def address(resource: web.AbstractResource | None) -> str:
    assert resource is not None
    path = re.sub(r"\{name:\[.*", "favicon.svg", resource.canonical)
    names = {"{host}": "node-1", "{name}": "favicon.svg", "{incident}": "0123456789abcdef", "{annotation}": "0"}
    names |= {"{link}": "0" * 40, "{share}": "0", "{job}": "node-1:1"}
    names |= {"{channel}": "ops", "{delivery}": "msg_0", "{rule}": "gpu-drop", "{alert}": "0", "{silence}": "0"}
    for name, value in names.items():
        path = path.replace(name, value)
    return path


async def test_every_route_declares_its_access_and_private_ones_refuse(backend: Backend) -> None:
    app = backend.client.app
    assert app is not None
    routes = list(app.router.routes())
    assert {(route.method, route.handler) for route in routes} >= {(route.method, route.handler) for route in ROUTES}
    for route in routes:
        declared = app[ACCESS][route]
        response = await backend.client.request(route.method, address(route.resource))
        if declared is Access.PUBLIC:
            assert response.status not in (401, 403), route
        elif declared is Access.SHARE:
            assert response.status == 404, route
        else:
            assert response.status == 401, route
            assert response.headers["WWW-Authenticate"] == "Bearer"
            assert route.method == "HEAD" or (await response.json())["error"] == "unauthenticated"


async def test_a_route_outside_the_table_lets_nobody_in(backend: Backend) -> None:
    app = backend.client.app
    assert app is not None
    app[ACCESS].clear()
    assert (await backend.client.get(f"{API}/health")).status == 403


@pytest.mark.both_engines
@pytest.mark.parametrize(
    ("kind", "path", "status"),
    [
        ("ingest", "/hosts", 403),
        ("read", "/hosts", 200),
        ("read", "/session", 401),
        ("ingest", "/session", 401),
        ("ingest", "/live?host=node-1", 403),
    ],
)
async def test_a_token_does_what_its_kind_says(backend: Backend, kind: str, path: str, status: int) -> None:
    token = backend.ingest_token if kind == "ingest" else backend.read_token
    response = await backend.client.get(API + path, headers={"Authorization": f"Bearer {token}"})
    assert response.status == status


async def test_a_read_token_writes_nothing(backend: Backend) -> None:
    assert (await backend.post(b"", token=backend.read_token)).status == 403


@pytest.mark.parametrize("text", ["Bearer gsi_", "Bearer x", "Basic abc", "Bearer ", "gsi_123"])
async def test_what_is_no_token_is_refused(backend: Backend, text: str) -> None:
    assert (await backend.client.get(f"{API}/hosts", headers={"Authorization": text})).status == 401


async def test_a_mistyped_token_is_told_from_an_unknown_one(database: Database) -> None:
    token = await access.create_token(database, "read", "*", "", NOW)
    wrong = token[:20] + ("0" if token[20] != "0" else "1") + token[21:]
    with pytest.raises(UnauthenticatedError, match="mistyped"):
        await access.verify_token(database, wrong, NOW)
    assert (await access.verify_token(database, token, NOW)).kind == "read"
    (row,) = await credentials.list_tokens(database)
    assert token not in (row.hash, row.prefix, row.name)


@pytest.mark.both_engines
async def test_last_use_is_kept_to_the_minute(database: Database) -> None:
    token = await access.create_token(database, "read", "*", "", NOW)
    await access.verify_token(database, token, NOW + 1)
    await access.verify_token(database, token, NOW + 2)
    assert [row.last_used_ns for row in await credentials.list_tokens(database)] == [NOW + 1]


async def test_login_gives_a_cookie_that_opens_the_api(backend: Backend) -> None:
    token = await access.create_login(backend.database, NOW)
    response = await backend.client.post(f"{API}/login", json={"token": token})
    assert response.status == 200
    assert (await response.json())["user"] == "owner"
    (cookie,) = response.cookies.values()
    assert (cookie["httponly"], cookie["samesite"], cookie["path"]) == (True, "Strict", "/")
    backend.client.session.cookie_jar.clear()
    headers = {"Cookie": f"{cookie.key}={cookie.value}"}
    assert (await backend.client.get(f"{API}/session", headers=headers)).status == 200
    assert (await backend.client.get(f"{API}/hosts", headers=headers)).status == 200


@pytest.mark.both_engines
async def test_a_login_works_once(backend: Backend) -> None:
    token = await access.create_login(backend.database, NOW)
    assert (await backend.client.post(f"{API}/login", json={"token": token})).status == 200
    response = await backend.client.post(f"{API}/login", json={"token": token})
    assert response.status == 401
    assert "used already" in (await response.json())["detail"]


async def test_a_login_is_good_for_an_hour(backend: Backend) -> None:
    token = await access.create_login(backend.database, NOW)
    backend.clock.advance(3600)
    response = await backend.client.post(f"{API}/login", json={"token": token})
    assert response.status == 401
    assert "expired" in (await response.json())["detail"]


@pytest.mark.parametrize("body", [b"", b"{", b'{"token": 5}', b'{"token": "x", "more": 1}', b"[" * 10_000])
async def test_a_bad_login_body_is_refused(backend: Backend, body: bytes) -> None:
    assert (await backend.client.post(f"{API}/login", data=body)).status == 400


async def test_a_huge_login_body_is_refused(backend: Backend) -> None:
    assert (await backend.client.post(f"{API}/login", data=b" " * 100_000)).status == 413


@pytest.mark.both_engines
async def test_a_session_ends_by_logout_and_by_time(backend: Backend) -> None:
    origin = {"Sec-Fetch-Site": "same-origin"}
    first, second = await backend.login(), await backend.login()
    assert (await backend.client.post(f"{API}/logout", headers={**first, **origin})).status == 204
    assert (await backend.client.get(f"{API}/session", headers=first)).status == 401
    assert (await backend.client.get(f"{API}/session", headers=second)).status == 200
    backend.clock.advance(8 * 24 * 3600)
    assert (await backend.client.get(f"{API}/session", headers=second)).status == 401


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 403),
        ({"Origin": "http://evil.example"}, 403),
        ({"Sec-Fetch-Site": "cross-site"}, 403),
        ({"Sec-Fetch-Site": "same-site"}, 403),
        ({"Sec-Fetch-Site": "same-origin", "Origin": "null"}, 403),
        ({"Sec-Fetch-Site": "same-origin"}, 204),
        ({"Sec-Fetch-Site": "none"}, 204),
    ],
)
async def test_a_cookie_counts_only_from_our_own_page(backend: Backend, headers: dict[str, str], status: int) -> None:
    cookie = await backend.login()
    assert (await backend.client.post(f"{API}/logout", headers={**cookie, **headers})).status == status


async def test_our_own_origin_counts(backend: Backend) -> None:
    cookie = await backend.login()
    origin = str(backend.client.make_url("/")).rstrip("/")
    assert (await backend.client.post(f"{API}/logout", headers={**cookie, "Origin": origin})).status == 204


async def test_another_site_cannot_log_a_browser_in(backend: Backend) -> None:
    token = await access.create_login(backend.database, NOW)
    headers = {"Origin": "http://evil.example", "Sec-Fetch-Site": "cross-site"}
    assert (await backend.client.post(f"{API}/login", json={"token": token}, headers=headers)).status == 403


@pytest.mark.parametrize(
    ("name", "status"),
    [
        ("localhost", 200),
        ("localhost:8080", 200),
        ("127.0.0.1", 200),
        ("[::1]:8080", 200),
        ("evil.example", 421),
        ("localhost.evil.example:80", 421),
        ("127.0.0.1.evil.example", 421),
    ],
)
async def test_only_names_of_localhost_are_answered(backend: Backend, name: str, status: int) -> None:
    assert (await backend.client.get(f"{API}/health", headers={"Host": name})).status == status


async def test_pages_are_public_files_with_strict_headers(backend: Backend) -> None:
    for path in ("/", "/login", "/host/node-1", "/incidents", "/incident/0a", "/compare"):
        page = await backend.client.get(path)
        assert page.status == 200
        assert page.content_type == "text/html"
        assert page.headers["Cache-Control"] == "no-cache"
        assert "script-src 'self'" in page.headers["Content-Security-Policy"]
        assert page.headers["X-Content-Type-Options"] == "nosniff"
    asset = await backend.client.get("/assets/app-1a2b.js")
    assert (asset.status, asset.headers["Cache-Control"]) == (200, "public, max-age=31536000, immutable")
    assert (await backend.client.get("/favicon.svg")).status == 200


@pytest.mark.parametrize("path", ["/assets/../gapscope.db", "/assets/%2e%2e/%2e%2e/gapscope.db", "/assets/no.js", "/x"])
async def test_nothing_beside_the_page_is_served(backend: Backend, path: str) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", backend.client.port)
    writer.write(f"GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode())
    answer = await reader.read()
    writer.close()
    await writer.wait_closed()
    assert answer.startswith(b"HTTP/1.1 404")
    assert b"not_found" in answer


async def test_a_missing_build_says_so(backend: Backend, tmp_path: Path) -> None:
    (tmp_path / "static" / "index.html").unlink()
    response = await backend.client.get("/")
    assert response.status == 503
    assert "make up" in await response.text()


async def test_the_wrong_method_is_a_problem(backend: Backend) -> None:
    response = await backend.client.post(f"{API}/health")
    assert (response.status, response.headers["Allow"]) == (405, "GET,HEAD")
    assert (await response.json())["error"] == "method_not_allowed"


async def test_a_failure_shows_no_internals(backend: Backend, monkeypatch: pytest.MonkeyPatch) -> None:
    async def broken(*_: Any) -> None:
        raise RuntimeError("secret detail")

    monkeypatch.setattr("gapscope_backend.api.handlers.hosts.find_host", broken)
    response = await backend.client.get(f"{API}/hosts/node-1", headers=backend.read)
    assert response.status == 500
    assert "secret" not in await response.text()


def resolve_references(node: Any, schemas: dict[str, Any]) -> int:
    """Number of references under a node; all must exist."""
    if isinstance(node, list):
        return sum(resolve_references(item, schemas) for item in node)
    if not isinstance(node, dict):
        return 0
    name = node.get("$ref", "").removeprefix("#/components/schemas/")
    assert not name or name in schemas, name
    return bool(name) + sum(resolve_references(value, schemas) for value in node.values())


async def test_the_openapi_describes_every_operation(backend: Backend) -> None:
    document = await (await backend.client.get(f"{API}/openapi.json")).json()
    assert document["openapi"] == "3.1.0"
    described = {(m.upper(), path) for path, operations in document["paths"].items() for m in operations}
    assert described == {(route.method, route.path) for route in ROUTES if not route.page}
    assert resolve_references(document, document["components"]["schemas"]) > 10
    ids = [operation["operationId"] for operations in document["paths"].values() for operation in operations.values()]
    assert len(ids) == len(set(ids))
    for route in ROUTES:
        if not route.page:
            operation = document["paths"][route.path][route.method.lower()]
            assert (operation["security"] == []) == (route.access is Access.PUBLIC)
            assert all(response["description"] for response in operation["responses"].values())
            names = {parameter["name"] for parameter in operation.get("parameters", []) if parameter["in"] == "path"}
            assert names == set(re.findall(r"\{(\w+)\}", route.path))


def test_query_parameters_stand_in_the_openapi() -> None:
    document = describe(ROUTES, "cookie")
    parameters = document["paths"]["/api/v1/hosts/{host}/series"]["get"]["parameters"]
    assert {p["name"] for p in parameters} == {"host", "from", "to", "buckets", "entity", "metric"}
    assert all(p["required"] == (p["name"] == "host") for p in parameters)


def test_every_operation_stands_in_the_docs() -> None:
    text = DOCS.read_text()
    for route in ROUTES:
        assert route.page or f"{route.path.removeprefix(API)}" in text, route.path


async def test_the_command_line_manages_tokens(tmp_path: Path) -> None:
    data = tmp_path / "data"
    url = admin.database_url(data)
    token = await admin.create_token(url, "ingest", "gpu-*", "farm")
    assert await admin.token_is_valid(url, token)
    (info,) = await admin.list_tokens(url)
    assert (info.kind, info.host_pattern, info.name, info.revoked) == ("ingest", "gpu-*", "farm", False)
    with pytest.raises(NotFoundError):
        await admin.revoke_token(url, "gsi_nothing")
    await admin.revoke_token(url, info.prefix)
    assert not await admin.token_is_valid(url, token)
    assert len(await admin.create_login(url)) > 40
    assert (data.stat().st_mode & 0o777) == 0o700
