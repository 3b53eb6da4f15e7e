"""Hosts: the fleet, one host's facts, its newest values."""

from __future__ import annotations

import asyncio

from aiohttp import web

from gapscope_backend.api.answers import (
    device_info,
    event_info,
    host_summary,
    json_answer,
    large_spoken_answer,
    process_info,
)
from gapscope_backend.api.context import context_of
from gapscope_backend.api.queries import LanguageQuery, language_of, read_query
from gapscope_backend.api.schema import HostDetail, LatestAnswer
from gapscope_backend.services.hosts import find_host, gpu_order, host_state, owner_pids
from gapscope_backend.services.times import iso
from gapscope_backend.services.windows import logical_cpus
from gapscope_backend.store.hosts import list_entities, list_events, read_latest
from gapscope_backend.store.models import Entity

EVENTS = 200
PROCESSES_NS = 15 * 60 * 1_000_000_000


async def get_hosts(request: web.Request) -> web.Response:
    """All hosts at a glance."""
    context = context_of(request)
    read_query(request, LanguageQuery)
    language = language_of(request)
    glances = await context.fleet.glance()
    now_ns = context.clock()
    summaries = await asyncio.to_thread(lambda: [host_summary(glance, now_ns) for glance in glances])
    return await large_spoken_answer(request, summaries, language)


async def get_host(request: web.Request) -> web.Response:
    """One host's facts; processes are those of its last 15 minutes of data, devices those of its last day."""
    context = context_of(request)
    host = await find_host(context.database, request.match_info["host"])
    events = await list_events(context.database, host.id, EVENTS)
    newest_ns = host.last_data_ns
    lasting = await list_entities(context.database, host.id, host.first_data_ns, newest_ns, ("host", "gpu", "core"))
    processes = await list_entities(context.database, host.id, newest_ns - PROCESSES_NS, newest_ns, ("process",))
    gpus = sorted((entity for entity in lasting if entity.kind == "gpu"), key=gpu_order)
    return json_answer(
        HostDetail(
            host=host.name,
            state=host_state(host, context.clock()),
            recorded=host.recorded,
            first_data=iso(host.first_data_ns),
            last_data=iso(host.last_data_ns),
            logical_cpus=logical_cpus(host, lasting) or None,
            agent_version=host.agent_version,
            labels=_labels(host.labels, lasting),
            devices=[device_info(entity, position) for position, entity in enumerate(gpus)],
            cores=sorted((entity.key for entity in lasting if entity.kind == "core"), key=_number),
            processes=[
                process_info(entity, _owned(entity, gpus)) for entity in sorted(processes, key=lambda e: _number(e.key))
            ],
            events=[event_info(event) for event in events],
            has_stacks=host.has_stacks,
        )
    )


async def get_latest(request: web.Request) -> web.Response:
    """Newest value of each series."""
    context = context_of(request)
    host = await find_host(context.database, request.match_info["host"])
    time_ns, latest = await read_latest(context.database, host.id)
    values = {entity: {metric: point[1] for metric, point in points.items()} for entity, points in latest.items()}
    return json_answer(LatestAnswer(host.name, iso(time_ns), values))


def _labels(labels: dict[str, str], entities: list[Entity]) -> dict[str, str]:
    told = next((entity.labels for entity in entities if entity.kind == "host"), {})
    return {**told, **labels}


def _owned(process: Entity, gpus: list[Entity]) -> list[str]:
    pid = _number(process.key)
    return [gpu.key for gpu in gpus if pid in owner_pids(gpu.labels)]


def _number(key: str) -> int:
    """Number in a key such as ``core:12``; keys without one come last."""
    text = key.partition(":")[2]
    return int(text) if text.isdecimal() else 1 << 62
