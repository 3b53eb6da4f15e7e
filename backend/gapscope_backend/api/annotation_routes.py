"""Routes of annotations."""

from __future__ import annotations

from gapscope_backend.api import annotation_schema as schema
from gapscope_backend.api.handlers import annotations as handlers
from gapscope_backend.api.route import API, Access, Route

ANNOTATIONS = API + "/hosts/{host}/annotations"

ANNOTATION_ROUTES: tuple[Route, ...] = (
    Route(
        "GET",
        ANNOTATIONS,
        Access.READ,
        handlers.get_annotations,
        "What people noted on a host",
        query=schema.AnnotationsQuery,
        answer=list[schema.AnnotationInfo],
        problems=(400, 404),
    ),
    Route(
        "POST",
        ANNOTATIONS,
        Access.SESSION,
        handlers.post_annotation,
        "Note something on a host, at a moment or over a span",
        body=schema.AnnotationRequest,
        answer=schema.AnnotationInfo,
        problems=(400, 403, 404, 413),
    ),
    Route(
        "DELETE",
        ANNOTATIONS + "/{annotation}",
        Access.SESSION,
        handlers.delete_one,
        "Forget an annotation",
        problems=(403, 404),
    ),
)
