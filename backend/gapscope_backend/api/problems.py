"""Every error as Problem JSON: what was wrong, where, and what to do; never the server's internals."""

from __future__ import annotations

import logging

import msgspec
from aiohttp import web

from gapscope_backend.api.route import Handler
from gapscope_backend.api.schema import Problem
from gapscope_backend.errors import (
    BusyError,
    ForbiddenError,
    GoneError,
    MalformedError,
    NotFoundError,
    RequestError,
    StorageFullError,
    TooLargeError,
    UnauthenticatedError,
    UnprocessableError,
    UnsupportedMediaError,
    UpgradeRequiredError,
)

log = logging.getLogger(__name__)

STATUS: dict[type[RequestError], tuple[int, str]] = {
    MalformedError: (400, "malformed"),
    UnauthenticatedError: (401, "unauthenticated"),
    ForbiddenError: (403, "forbidden"),
    NotFoundError: (404, "not_found"),
    GoneError: (410, "gone"),
    TooLargeError: (413, "too_large"),
    UnsupportedMediaError: (415, "unsupported_media"),
    UnprocessableError: (422, "unprocessable"),
    UpgradeRequiredError: (426, "upgrade_required"),
    BusyError: (503, "busy"),
    StorageFullError: (507, "storage_full"),
}
DESCRIPTIONS = {status: name.replace("_", " ") for status, name in STATUS.values()}

_HEADERS = {
    401: {"WWW-Authenticate": "Bearer"},
    # RFC 9110 asks for what to upgrade to; the agent's package is what speaks the newer wire.
    426: {"Upgrade": "gapscope-wire/1"},
    503: {"Retry-After": "1"},
    507: {"Retry-After": "30"},
}


def problem_response(status: int, problem: Problem) -> web.Response:
    """A Problem with its status; what a request held that is no text is shown as question marks."""
    for name in ("detail", "where"):
        setattr(problem, name, getattr(problem, name).encode(errors="replace").decode())
    return web.Response(
        status=status,
        body=msgspec.json.encode(problem),
        content_type="application/problem+json",
        headers=_HEADERS.get(status),
    )


@web.middleware
async def problems(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Turn what a handler raises into an answer."""
    try:
        return await handler(request)
    except RequestError as error:
        status, name = STATUS[type(error)]
        return problem_response(status, Problem(name, error.detail, error.where))
    except web.HTTPException as error:
        if error.status < 400:
            raise
        response = problem_response(error.status, _of_http(error, request))
        if "Allow" in error.headers:
            response.headers["Allow"] = error.headers["Allow"]
        return response
    except ConnectionError:
        raise
    except Exception:
        # The outermost loop: whatever it was, this request fails, the log says why and the server goes on.
        log.exception("%s %s failed", request.method, request.path)
        return problem_response(500, Problem("internal", "the server failed on this request; its log says why"))


def _of_http(error: web.HTTPException, request: web.Request) -> Problem:
    name = error.reason.lower().replace(" ", "_")
    if error.status == 404:
        return Problem(name, f"there is nothing at {request.path[:200]}; docs/api.md lists what there is", "path")
    if error.status == 405:
        allowed = error.headers.get("Allow", "")
        return Problem(name, f"{request.method} is not possible here, only {allowed}", "method")
    return Problem(name, error.reason, "")
