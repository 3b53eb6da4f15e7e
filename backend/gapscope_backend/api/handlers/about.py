"""The server and its agents: versions, what the agents cost, what they dropped."""

from __future__ import annotations

from aiohttp import web

from gapscope_agent.version import __version__
from gapscope_agent.wire import WIRE_VERSION
from gapscope_backend.api.answers import json_answer
from gapscope_backend.api.context import CONTEXT
from gapscope_backend.api.overview_schema import About, AgentInfo, DatabaseInfo
from gapscope_backend.services.agents import Agent, list_agents
from gapscope_backend.services.hosts import host_state
from gapscope_backend.store.usage import engine_facts


async def get_about(request: web.Request) -> web.Response:
    """Versions, database, agents."""
    context = request.app[CONTEXT]
    version, size = await engine_facts(context.database)
    now_ns = context.clock()
    agents = [_agent_info(agent, now_ns) for agent in await list_agents(context.database)]
    database = DatabaseInfo(context.database.dialect, version, size)
    return json_answer(About(__version__, WIRE_VERSION, database, agents))


def _agent_info(agent: Agent, now_ns: int) -> AgentInfo:
    host = agent.host
    return AgentInfo(
        host=host.name,
        state=host_state(host, now_ns),
        recorded=host.recorded,
        version=host.agent_version,
        same_version=host.agent_version == __version__,
        logical_cpus=agent.logical_cpus,
        cpu_cores=agent.cpu_cores,
        stacks_cpu_cores=agent.stacks_cpu_cores,
        resident_bytes=agent.resident_bytes,
        sampled=agent.sampled,
        delivered=agent.delivered,
        waiting=agent.waiting,
        dropped=agent.dropped,
        unaccounted=agent.unaccounted,
    )
