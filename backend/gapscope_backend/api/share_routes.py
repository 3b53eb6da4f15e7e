"""Routes of shares: those that make and end links, and those by which a link shows what is frozen behind it.

The latter are the routes of a host and of an incident once more, under the link's address and with its access: the same
handlers find what the share shows where they find the database else. What is not in ``SHOWN`` no link opens.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from gapscope_backend.api import share_schema as schema
from gapscope_backend.api.handlers import shares
from gapscope_backend.api.route import API, Access, Route

SHARED = API + "/shared/{link}"
HOST = "/hosts/{host}"
SHOWN = (
    "/catalog",
    HOST,
    f"{HOST}/series",
    f"{HOST}/ribbon",
    f"{HOST}/gaps",
    f"{HOST}/diagnosis",
    f"{HOST}/flame",
    f"{HOST}/contrast",
    f"{HOST}/annotations",
    "/incidents/{incident}",
)

SHARE_ROUTES: tuple[Route, ...] = (
    Route(
        "GET",
        f"{API}/shares",
        Access.READ,
        shares.get_shares,
        "Links to frozen incidents and spans, newest first",
        query=schema.SharesQuery,
        answer=list[schema.ShareInfo],
        problems=(400, 404),
    ),
    Route(
        "POST",
        f"{API}/shares",
        Access.SESSION,
        shares.post_share,
        "Freeze an incident or a span behind a new link",
        body=schema.ShareRequest,
        answer=schema.ShareMade,
        problems=(400, 403, 404, 413, 422, 503),
    ),
    Route(
        "DELETE",
        API + "/shares/{share}",
        Access.SESSION,
        shares.delete_share,
        "Revoke a link",
        problems=(403, 404),
    ),
    Route(
        "GET",
        SHARED,
        Access.SHARE,
        shares.get_shared,
        "What a link shows",
        answer=schema.ShareView,
        problems=(404, 410, 503),
    ),
)


def behind_links(routes: Iterable[Route]) -> Iterator[Route]:
    """Of ``routes`` those that a link shows, under its address."""
    for route in routes:
        path = route.path.removeprefix(API)
        if route.method == "GET" and path in SHOWN:
            yield replace(
                route,
                path=SHARED + path,
                access=Access.SHARE,
                name=f"shared_{route.handler.__name__}",
                summary=f"{route.summary}, of what a link shows",
                problems=tuple(sorted({*route.problems, 404, 410, 503})),
            )
