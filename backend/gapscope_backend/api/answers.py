"""JSON answers, and the schema's types made of what the services give."""

from __future__ import annotations

import asyncio
import gzip
from collections.abc import Iterable
from typing import Any, cast
from weakref import WeakKeyDictionary

import msgspec
from aiohttp import web

from gapscope_agent.catalog import BY_NAME
from gapscope_backend.analysis.language import Language, spoken
from gapscope_backend.analysis.verdict import NONE
from gapscope_backend.api.schema import (
    DeviceInfo,
    EventInfo,
    FleetGpu,
    HostSummary,
    MissingSpan,
    ProcessInfo,
    RibbonAnswer,
    RibbonBucket,
    RibbonFunction,
    SeriesData,
)
from gapscope_backend.services.buckets import Floats
from gapscope_backend.services.fleet import Board, HostGlance
from gapscope_backend.services.gaps import ACTIVE_METRIC
from gapscope_backend.services.hosts import host_state, number_label, whole_label
from gapscope_backend.services.ribbon import Ribbon
from gapscope_backend.services.series import SeriesResult
from gapscope_backend.services.times import iso, milliseconds
from gapscope_backend.store.latest import Point
from gapscope_backend.store.models import Entity, Event

_COMPRESS_FROM_BYTES = 1024
_devices: WeakKeyDictionary[Entity, DeviceInfo] = WeakKeyDictionary()
_written: WeakKeyDictionary[Board, msgspec.Raw] = WeakKeyDictionary()


def json_answer(value: Any, status: int = 200) -> web.Response:
    """``value`` as JSON; NaN becomes null. It holds no texts: see ``spoken_answer``."""
    return json_bytes(msgspec.json.encode(value), status)


def spoken_answer(value: Any, language: Language) -> web.Response:
    """``value`` as JSON, its texts in a language."""
    response = json_bytes(msgspec.json.encode(value, enc_hook=spoken(language)))
    response.headers["Content-Language"] = language
    response.headers["Vary"] = "Accept-Language"
    return response


async def large_spoken_answer(request: web.Request, value: Any, language: Language) -> web.Response:
    """Like ``spoken_answer`` for megabytes: compressed fast, and off the event loop."""
    body = msgspec.json.encode(value, enc_hook=spoken(language))
    if "gzip" not in request.headers.get("Accept-Encoding", ""):
        response = web.Response(body=body, content_type="application/json")
    else:
        response = web.Response(body=await asyncio.to_thread(gzip.compress, body, 1), content_type="application/json")
        response.headers["Content-Encoding"] = "gzip"
    response.headers["Content-Language"] = language
    response.headers["Vary"] = "Accept-Language, Accept-Encoding"
    return response


def json_bytes(body: bytes, status: int = 200) -> web.Response:
    """Encoded JSON, compressed where it pays and the client takes it."""
    response = web.Response(status=status, body=body, content_type="application/json")
    if len(body) >= _COMPRESS_FROM_BYTES:
        response.enable_compression()
    return response


def series_data(results: Iterable[SeriesResult]) -> list[SeriesData]:
    """The series of an answer. Arrays that are alike, as times of series that share them are, are written once."""
    written: dict[bytes, list[float | None]] = {}

    def write(values: Floats) -> list[Any]:
        key = values.tobytes()
        if key not in written:
            # The encoder puts raw JSON in as it is.
            written[key] = cast("list[float | None]", msgspec.Raw(msgspec.json.encode(values.tolist())))
        return written[key]

    return [
        SeriesData(
            entity=result.entity,
            metric=result.metric,
            unit=BY_NAME[result.metric].unit,
            time_ms=write(result.time_ms),
            mean=write(result.mean),
            min=write(result.minimum),
            max=write(result.maximum),
            idle_share=None if result.idle_share is None else write(result.idle_share),
            missing=[
                MissingSpan(milliseconds(span.start_ns), milliseconds(span.end_ns), span.reason)
                for span in result.missing
            ],
        )
        for result in results
    ]


def device_info(entity: Entity, position: int) -> DeviceInfo:
    """A GPU from its labels; ``position`` stands in where no index was told."""
    index = whole_label(entity.labels, "index")
    return DeviceInfo(
        entity=entity.key,
        index=position if index is None else index,
        name=entity.labels.get("name", "GPU"),
        uuid=entity.labels.get("uuid"),
        memory_total_bytes=whole_label(entity.labels, "memory_total_bytes"),
        power_limit_watts=number_label(entity.labels, "power_limit_watts"),
    )


def process_info(entity: Entity, owner_of: list[str]) -> ProcessInfo:
    """A process from its key and labels."""
    return ProcessInfo(
        entity=entity.key,
        pid=int(entity.key.removeprefix("process:")),
        parent_pid=whole_label(entity.labels, "parent_pid"),
        command=entity.labels.get("command", ""),
        user=entity.labels.get("user"),
        owner_of=owner_of,
        first_seen=iso(entity.first_seen_ns),
        last_seen=iso(entity.last_seen_ns),
    )


def event_info(event: Event) -> EventInfo:
    """An event."""
    return EventInfo(iso(event.t_ns), event.kind, event.text, event.entity)


def host_summary(glance: HostGlance, now_ns: int) -> HostSummary:
    """A host on the fleet page."""
    host, board = glance.host, glance.board
    verdict = board.minute.verdict if board.minute else None
    return HostSummary(
        host=host.name,
        state=host_state(host, now_ns),
        recorded=host.recorded,
        last_seen=iso(host.last_seen_ns),
        seconds_since_last_seen=max(0.0, (now_ns - host.last_seen_ns) / 1e9),
        logical_cpus=board.logical_cpus,
        cpu_busy_cores=_value(board.latest.get("host", {}), "cpu_busy_cores"),
        gpus=_fleet_gpus(board),
        verdict=verdict.verdict if verdict else "",
        sentence=verdict.sentence if verdict else NONE,
        lost_gpu_seconds=verdict.lost_gpu_seconds if verdict else 0.0,
        open_incidents=glance.open_incidents,
    )


def ribbon_answer(host: str, ribbon: Ribbon) -> RibbonAnswer:
    """The ribbon of a host."""
    return RibbonAnswer(
        host=host,
        bucket_ms=milliseconds(ribbon.bucket_ns),
        functions=[RibbonFunction(frame.function, frame.file, frame.line) for frame in ribbon.functions],
        buckets=[
            RibbonBucket(milliseconds(step.start_ns), step.function, step.share, step.samples, step.on_cpu_share)
            for step in ribbon.steps
        ],
        reason=ribbon.reason,
    )


def _fleet_gpus(board: Board) -> list[FleetGpu]:
    """The GPUs of a board, written once for all who ask until the board changes."""
    written = _written.get(board)
    if written is None:
        gpus = [_fleet_gpu(board, entity, position) for position, entity in enumerate(board.gpus)]
        written = _written[board] = msgspec.Raw(msgspec.json.encode(gpus))
    # The encoder puts raw JSON in as it is.
    return cast("list[FleetGpu]", written)


def _fleet_gpu(board: Board, entity: Entity, position: int) -> FleetGpu:
    points = board.latest.get(entity.key, {})
    device = _devices.get(entity)
    if device is None:
        device = _devices[entity] = device_info(entity, position)
    used = _value(points, "gpu_memory_used_bytes")
    active: list[float | None] = []
    if board.minute:
        active += board.minute.active.get(entity.key, [])
    return FleetGpu(
        entity=entity.key,
        index=device.index,
        name=device.name,
        graphics_active_ratio=_value(points, ACTIVE_METRIC),
        utilization_ratio=_value(points, "gpu_utilization_ratio"),
        power_watts=_value(points, "gpu_power_watts"),
        memory_used_bytes=None if used is None else int(used),
        memory_total_bytes=device.memory_total_bytes,
        active_last_minute=active or [None] * 60,
    )


def _value(points: dict[str, Point], metric: str) -> float | None:
    return points[metric][1] if metric in points else None
