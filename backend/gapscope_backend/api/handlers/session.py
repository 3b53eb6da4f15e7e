"""Logging in and out."""

from __future__ import annotations

import msgspec
from aiohttp import web

from gapscope_backend.api.answers import json_answer
from gapscope_backend.api.context import CONTEXT
from gapscope_backend.api.schema import LoginRequest, SessionInfo
from gapscope_backend.api.security import caller_of
from gapscope_backend.errors import MalformedError, UnauthenticatedError
from gapscope_backend.services.access import SESSION_SECONDS, end_session, verify_login
from gapscope_backend.services.times import iso

_LOGIN = msgspec.json.Decoder(LoginRequest)


async def post_login(request: web.Request) -> web.Response:
    """Exchange a one-time token for a session cookie."""
    context = request.app[CONTEXT]
    try:
        asked = _LOGIN.decode(await request.read())
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise MalformedError(f'the body must be {{"token": "..."}}: {error}', "body") from error
    secret, session = await verify_login(context.database, asked.token, context.clock())
    response = json_answer(SessionInfo(session.user, iso(session.expires_ns)))
    # Not Secure and no __Host- prefix: the server speaks plain HTTP on localhost only (see ServerConfig).
    response.set_cookie(
        context.cookie_name, secret, max_age=SESSION_SECONDS, httponly=True, samesite="Strict", path="/"
    )
    return response


async def post_logout(request: web.Request) -> web.Response:
    """End the session."""
    context = request.app[CONTEXT]
    await end_session(context.database, request.cookies[context.cookie_name])
    response = web.Response(status=204)
    response.del_cookie(context.cookie_name, path="/", httponly=True, samesite="Strict")
    return response


async def get_session(request: web.Request) -> web.Response:
    """Who is logged in."""
    session = caller_of(request).session
    if session is None:
        raise UnauthenticatedError("a token has no session", "Cookie")
    return json_answer(SessionInfo(session.user, iso(session.expires_ns)))
