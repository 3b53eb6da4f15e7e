"""OpenAPI 3.1 made of the table of routes and the types that validate the requests."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import msgspec

from gapscope_agent.version import __version__
from gapscope_agent.wire import HOST_PATTERN
from gapscope_backend.analysis.language import schema_of_text
from gapscope_backend.api.problems import DESCRIPTIONS
from gapscope_backend.api.route import Access, Route
from gapscope_backend.api.schema import Problem

_SECURITY: dict[Access, list[dict[str, list[str]]]] = {
    Access.PUBLIC: [],
    Access.SESSION: [{"session": []}],
    Access.READ: [{"session": []}, {"bearer": []}],
    Access.SHARE: [{}, {"session": []}, {"bearer": []}],
    Access.INGEST: [{"bearer": []}],
}
_REFERENCE = "#/components/schemas/{name}"


def describe(routes: Iterable[Route], cookie_name: str) -> dict[str, Any]:
    """The OpenAPI of all routes that are no pages."""
    operations = [route for route in routes if not route.page]
    types = _types(operations)
    schemas, components = msgspec.json.schema_components(types, ref_template=_REFERENCE, schema_hook=schema_of_text)
    of_type = {id(given): schema for given, schema in zip(types, schemas, strict=True)}
    paths: dict[str, dict[str, Any]] = {}
    for route in operations:
        operation = _operation(route, of_type, components)
        paths.setdefault(route.path, {})[route.method.lower()] = operation
    return {
        "openapi": "3.1.0",
        "info": {"title": "Gapscope", "version": __version__, "license": {"name": "Apache-2.0"}},
        "paths": paths,
        "components": {
            "schemas": components,
            "securitySchemes": {
                "session": {"type": "apiKey", "in": "cookie", "name": cookie_name},
                "bearer": {"type": "http", "scheme": "bearer"},
            },
        },
        "security": [{"session": []}, {"bearer": []}],
    }


def _types(routes: list[Route]) -> list[Any]:
    given = [Problem]
    for route in routes:
        given += [kind for kind in (route.query, route.answer) if kind is not None]
        if route.body is not None and route.media_type is None:
            given.append(route.body)
    return list({id(kind): kind for kind in given}.values())


def _operation(route: Route, of_type: dict[int, Any], components: dict[str, Any]) -> dict[str, Any]:
    parameters = [_path_parameter(name) for name in re.findall(r"\{(\w+)\}", route.path)]
    if route.query is not None:
        parameters += _query_parameters(components[route.query.__name__])
    operation: dict[str, Any] = {
        "operationId": route.name or route.handler.__name__,
        "summary": route.summary,
        "description": (route.handler.__doc__ or "").strip(),
        "security": _SECURITY[route.access],
        "responses": _responses(route, of_type),
    }
    if parameters:
        operation["parameters"] = parameters
    if route.body is not None:
        operation["requestBody"] = _body(route, of_type)
    return operation


def _path_parameter(name: str) -> dict[str, Any]:
    pattern = HOST_PATTERN.replace(r"\A", "^").replace(r"\Z", ":[0-9]+$" if name == "job" else "$")
    return {"name": name, "in": "path", "required": True, "schema": {"type": "string", "pattern": pattern}}


def _query_parameters(component: dict[str, Any]) -> list[dict[str, Any]]:
    required = component.get("required", [])
    return [
        {"name": name, "in": "query", "required": name in required, "schema": schema}
        for name, schema in component["properties"].items()
    ]


def _body(route: Route, of_type: dict[int, Any]) -> dict[str, Any]:
    if route.media_type is not None:
        return {"required": True, "content": {route.media_type: {"schema": {"type": "string", "format": "binary"}}}}
    return {"required": True, "content": {"application/json": {"schema": of_type[id(route.body)]}}}


def _responses(route: Route, of_type: dict[int, Any]) -> dict[str, Any]:
    problem = {"content": {"application/problem+json": {"schema": of_type[id(Problem)]}}}
    statuses = {421, *route.problems} | (set() if route.access is Access.PUBLIC else {401, 403})
    responses = {
        str(status): {"description": DESCRIPTIONS.get(status, "problem"), **problem} for status in sorted(statuses)
    }
    if route.websocket:
        return {"101": {"description": "upgraded to a WebSocket"}, **responses}
    if route.answer_types:
        binary = {"schema": {"type": "string", "format": "binary"}}
        good = ("200", {"description": "a file", "content": dict.fromkeys(route.answer_types, binary)})
    elif route.answer is None:
        good = ("204", {"description": "done"}) if route.method in ("POST", "DELETE") else ("200", _any_json())
    else:
        content = {"application/json": {"schema": of_type[id(route.answer)]}}
        good = ("200", {"description": "done", "content": content})
    return {good[0]: good[1], **responses}


def _any_json() -> dict[str, Any]:
    return {"description": "done", "content": {"application/json": {"schema": {"type": "object"}}}}
