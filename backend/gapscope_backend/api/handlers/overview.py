"""About the whole server: the fleet in a past minute, what opens incidents and how often, settings."""

from __future__ import annotations

import math
from dataclasses import asdict

from aiohttp import web

from gapscope_backend.analysis.causes import BY_ID
from gapscope_backend.analysis.causes.cause import FAULT
from gapscope_backend.analysis.drops import DEFAULTS
from gapscope_backend.analysis.language import Text
from gapscope_backend.analysis.verdict import NONE
from gapscope_backend.api import overview_schema as schema
from gapscope_backend.api.answers import device_info, json_answer, large_spoken_answer, spoken_answer
from gapscope_backend.api.context import CONTEXT
from gapscope_backend.api.queries import LanguageQuery, language_of, read_query
from gapscope_backend.services import incidents
from gapscope_backend.services.capacity import SETTINGS
from gapscope_backend.services.incident_verdict import CRITICAL_GPU_SECONDS, MAJOR_GPU_SECONDS, sentence_of
from gapscope_backend.services.past import PastHost, fleet_at
from gapscope_backend.services.times import iso, milliseconds, parse_time
from gapscope_backend.services.watch import CostSettings
from gapscope_backend.store.fired import fired_between, opened_per_step, pinned_incidents
from gapscope_backend.store.models import DeviceMinute, Entity
from gapscope_backend.store.past import minute_bounds

FIRED_STEPS = 24
SHOWN_PINS = 100


async def get_fleet(request: web.Request) -> web.Response:
    """All hosts in the minute that holds ``at``."""
    context = request.app[CONTEXT]
    asked, language = read_query(request, schema.FleetQuery), language_of(request)
    at_ns = None if asked.at is None else parse_time(asked.at, context.clock(), "at")
    fleet = await fleet_at(context.database, at_ns)
    if fleet is None:
        return spoken_answer(schema.FleetMinute(None, []), language)
    hosts = [_past_host(host) for host in fleet.hosts]
    return await large_spoken_answer(request, schema.FleetMinute(milliseconds(fleet.minute_ns), hosts), language)


async def get_fleet_bounds(request: web.Request) -> web.Response:
    """How far back the fleet can be shown."""
    bounds = await minute_bounds(request.app[CONTEXT].database)
    oldest, newest = (None, None) if bounds is None else (milliseconds(bounds[0]), milliseconds(bounds[1]))
    return json_answer(schema.FleetBounds(oldest, newest))


async def get_incident_rules(request: web.Request) -> web.Response:
    """The thresholds in force."""
    return json_answer(
        schema.IncidentRules(
            drop=DEFAULTS,
            cost=CostSettings(),
            opens_for=[FAULT],
            opens_unexplained=True,
            merge_seconds=incidents.MERGE_NS / 1e9,
            silent_seconds=incidents.SILENT_NS / 1e9,
            silent_recording_seconds=incidents.SILENT_RECORDING_NS / 1e9,
            major_gpu_seconds=MAJOR_GPU_SECONDS,
            critical_gpu_seconds=CRITICAL_GPU_SECONDS,
        )
    )


async def get_incident_counts(request: web.Request) -> web.Response:
    """How many opened, by host and cause."""
    context = request.app[CONTEXT]
    asked, language = read_query(request, schema.FiredQuery), language_of(request)
    start_ns, end_ns = asked.span_ns(context.clock())
    step_ns = math.ceil((end_ns - start_ns) / FIRED_STEPS)
    rows = await fired_between(context.database, start_ns, end_ns)
    answer = schema.FiredAnswer(
        from_ms=milliseconds(start_ns),
        to_ms=milliseconds(end_ns),
        step_ms=milliseconds(step_ns),
        per_step=await opened_per_step(context.database, start_ns, step_ns, FIRED_STEPS),
        rows=[schema.FiredRow(title=_title(row.cause), **asdict(row)) for row in rows],
    )
    return spoken_answer(answer, language)


async def get_pins(request: web.Request) -> web.Response:
    """What is kept for incidents beyond the retention."""
    read_query(request, LanguageQuery)
    total, pins = await pinned_incidents(request.app[CONTEXT].database, SHOWN_PINS)
    told = [
        schema.PinInfo(
            incident=incident.id,
            host=host,
            cause=incident.cause,
            title=_title(incident.cause),
            row_class=incident.row_class,
            sentence=sentence_of(incident),
            from_ms=milliseconds(pin.start_ns),
            to_ms=milliseconds(pin.end_ns),
            until=None if pin.until_ns is None else iso(pin.until_ns),
        )
        for pin, incident, host in pins
    ]
    return spoken_answer(schema.PinsAnswer(total, told), language_of(request))


async def get_settings(request: web.Request) -> web.Response:
    """What the server was started with."""
    config = request.app[CONTEXT].config
    kept = [
        schema.KeptSetting(SETTINGS[name][0], value, name.rpartition("_")[2], list(SETTINGS[name][1]))
        for name, value in asdict(config.retention).items()
    ]
    return json_answer(schema.ServerSettings(kept, config.gap_threshold, list(config.allowed_hosts), config.read_only))


def _past_host(past: PastHost) -> schema.PastHostSummary:
    return schema.PastHostSummary(
        host=past.host.name,
        recorded=past.host.recorded,
        waiting=past.waiting,
        gpus=[_past_gpu(gpu, row, position) for position, (gpu, row) in enumerate(past.gpus)],
        idle_gpu_seconds=past.idle_gpu_seconds,
        incidents=[
            schema.PastIncident(
                incident.id,
                incident.cause,
                _title(incident.cause),
                incident.row_class,
                incident.severity,
                sentence_of(incident),
            )
            for incident in past.incidents
        ],
    )


def _past_gpu(gpu: Entity, row: DeviceMinute | None, position: int) -> schema.PastGpu:
    device = device_info(gpu, position)
    return schema.PastGpu(
        entity=gpu.key,
        index=device.index,
        name=device.name,
        active_mean_ratio=row.active_mean_ratio if row else None,
        idle_ratio=row.idle_ratio if row else None,
        utilization_mean_ratio=row.utilization_mean_ratio if row else None,
        power_mean_watts=row.power_mean_watts if row else None,
    )


def _title(cause: str) -> Text:
    """A cause's title; empty where another version found it."""
    known = BY_ID.get(cause)
    return known.title if known else NONE
