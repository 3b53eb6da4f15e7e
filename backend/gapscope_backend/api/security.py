"""What every request passes: the Host header, credentials, and the browser's word on where a request came from."""

from __future__ import annotations

from dataclasses import dataclass, replace
from urllib.parse import SplitResult, urlsplit

from aiohttp import web

from gapscope_backend.api.context import CONTEXT, FROZEN
from gapscope_backend.api.problems import problem_response
from gapscope_backend.api.route import API, Access, Handler
from gapscope_backend.api.schema import Problem
from gapscope_backend.errors import ForbiddenError, UnauthenticatedError
from gapscope_backend.services.access import Session, verify_session, verify_token
from gapscope_backend.store.models import Share, Token

ACCESS = web.AppKey("ACCESS", dict[web.AbstractRoute, Access])
LOCAL_NAMES = frozenset({"localhost", "127.0.0.1", "::1"})
SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})

PAGE_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; font-src 'self'; "
    "connect-src 'self'; worker-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types vue app"
)
_HEADERS = {
    "Content-Security-Policy": PAGE_POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "Cache-Control": "no-store",
    "X-Robots-Tag": "noindex, nofollow",
    "Server": "gapscope",
}


@dataclass(frozen=True)
class Caller:
    """Who calls: a browser's session, or a token."""

    session: Session | None = None
    token: Token | None = None


_OF_SESSIONS = frozenset({f"{API}/login", f"{API}/logout"})
_CALLER = web.RequestKey("CALLER", Caller)
SHARE = web.RequestKey("SHARE", tuple[Share, str])
"""On routes of a share: the share and its host's name."""


def caller_of(request: web.Request) -> Caller:
    """Who calls; only on routes that are not public."""
    return request[_CALLER]


def user_of(request: web.Request) -> str:
    """The person who calls. Raises ForbiddenError for a program."""
    session = caller_of(request).session
    if session is None:
        raise ForbiddenError("only a logged-in person does this", "Cookie")
    return session.user


async def add_headers(_request: web.Request, response: web.StreamResponse) -> None:
    """Security headers on every answer; a handler's own value stays."""
    for name, value in _HEADERS.items():
        response.headers.setdefault(name, value)


@web.middleware
async def check_host(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Refuse names that are not ours: a foreign name that was made to resolve to localhost (DNS rebinding)."""
    name = _split(f"//{request.host}").hostname or ""
    if name not in LOCAL_NAMES and name not in request.app[CONTEXT].config.allowed_hosts:
        detail = f"this server does not answer to the name {name[:100]!r}; open it as localhost"
        return problem_response(421, Problem("misdirected_request", detail, "Host"))
    return await handler(request)


@web.middleware
async def check_access(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Let a request through only if its route's access allows the caller; a route without one lets nobody in."""
    if request.match_info.http_exception is not None:
        return await handler(request)
    access = request.app[ACCESS].get(request.match_info.route)
    if access is None:
        raise ForbiddenError("this route has no declared access", "path")
    if access is Access.SHARE:
        return await _through_share(request, handler)
    if access is Access.PUBLIC:
        _check_not_cross_site(request)
    else:
        request[_CALLER] = await _identify(request, access)
    _check_writable(request)
    return await handler(request)


async def _through_share(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Answer from what a share shows, at its own time; nothing else of the server can be reached through it."""
    context = request.app[CONTEXT]
    found = await context.shares.find(request.match_info["link"], context.clock())
    if not found[0].public:
        request[_CALLER] = await _identify(request, Access.READ)
    async with context.shares.opened(found[0]) as frozen:
        now_ns = frozen.now_ns
        request[SHARE] = found
        request[FROZEN] = replace(context, database=frozen.database, diagnosis=frozen.diagnosis, clock=lambda: now_ns)
        return await handler(request)


def _check_writable(request: web.Request) -> None:
    """On a database that is only shown, only logging in and out change anything."""
    read_only = request.app[CONTEXT].config.read_only
    if read_only and request.method not in SAFE_METHODS and request.path not in _OF_SESSIONS:
        raise ForbiddenError("this server only shows a file; nothing can be changed or sent here")


async def _identify(request: web.Request, access: Access) -> Caller:
    context = request.app[CONTEXT]
    header = request.headers.get("Authorization")
    if header is not None:
        scheme, _, text = header.partition(" ")
        if scheme.lower() != "bearer":
            raise UnauthenticatedError("only the Bearer scheme is known here", "Authorization")
        if access is Access.INGEST:
            token = await context.known_tokens.verify(text.strip(), context.clock())
        else:
            token = await verify_token(context.database, text.strip(), context.clock())
        _check_kind(token, access)
        return Caller(token=token)
    if access is Access.INGEST:
        raise UnauthenticatedError(
            "an ingest token is needed: Authorization: Bearer gsi_...; `gapscope token create` makes one",
            "Authorization",
        )
    secret = request.cookies.get(context.cookie_name)
    if not secret:
        raise UnauthenticatedError("log in first; `gapscope login` prints an address to log in with", "Cookie")
    session = await verify_session(context.database, secret, context.clock())
    _check_same_origin(request)
    return Caller(session=session)


def _check_kind(token: Token, access: Access) -> None:
    if access is Access.SESSION:
        raise UnauthenticatedError("this needs a browser's login, not a token", "Authorization")
    if token.kind != access.value:
        does = "writes and reads nothing" if token.kind == "ingest" else "reads and writes nothing"
        raise ForbiddenError(f"the token {token.prefix} is of the kind {token.kind}: it {does}", "Authorization")


def _check_same_origin(request: web.Request) -> None:
    """A cookie counts only for requests of our own page: those that change something, and WebSockets."""
    upgrades = request.headers.get("Upgrade", "").lower() == "websocket"
    if request.method in SAFE_METHODS and not upgrades:
        return
    if request.headers.get("Sec-Fetch-Site") is None and request.headers.get("Origin") is None:
        raise ForbiddenError("neither Origin nor Sec-Fetch-Site tells that this comes from our own page", "Origin")
    _check_not_cross_site(request, upgrades)


def _check_not_cross_site(request: web.Request, upgrades: bool = False) -> None:
    """Refuse what a browser says comes from another site; what is no browser says nothing."""
    if request.method in SAFE_METHODS and not upgrades:
        return
    site = request.headers.get("Sec-Fetch-Site")
    if site is not None and site not in ("same-origin", "none"):
        raise ForbiddenError(f"a request from another site ({site[:20]}) is not taken", "Sec-Fetch-Site")
    origin = request.headers.get("Origin")
    if origin is not None and _split(origin).netloc != request.host:
        raise ForbiddenError(f"a request from the origin {origin[:100]!r} is not taken", "Origin")


def _split(address: str) -> SplitResult:
    """Parts of an address; none of what is no address, such as one with an open bracket."""
    try:
        return urlsplit(address)
    except ValueError:
        return urlsplit("")
