"""A training job or service."""

from __future__ import annotations

from aiohttp import web

from gapscope_backend.analysis.causes import BY_ID
from gapscope_backend.api.answers import spoken_answer
from gapscope_backend.api.context import CONTEXT
from gapscope_backend.api.job_schema import JobDetail, JobGpu, JobPart, JobQuery, JobRank
from gapscope_backend.api.queries import language_of, read_query
from gapscope_backend.errors import MalformedError
from gapscope_backend.services import gpu_jobs
from gapscope_backend.services.times import iso, parse_span


async def get_job(request: web.Request) -> web.Response:
    """A job across its GPUs and hosts."""
    context = request.app[CONTEXT]
    asked, language = read_query(request, JobQuery), language_of(request)
    if (asked.start is None) != (asked.end is None):
        raise MalformedError("give both from and to, or neither", "from")
    span = None
    if asked.start is not None and asked.end is not None:
        span = parse_span(asked.start, asked.end, context.clock())
    found = await gpu_jobs.find_job(context.database, context.diagnosis, request.match_info["job"], span)
    return spoken_answer(_detail(found), language)


def _detail(found: gpu_jobs.GpuJob) -> JobDetail:
    first = found.parts[0]
    return JobDetail(
        job=f"{first.host.name}:{first.verdict.job.removeprefix('process:')}",
        command=first.verdict.command,
        start=iso(found.start_ns),
        end=iso(found.end_ns),
        verdict=found.verdict,
        title=BY_ID[found.verdict].title,
        gpu_seconds=sum(part.verdict.gpu_seconds for part in found.parts),
        lost_gpu_seconds=sum(part.verdict.lost_gpu_seconds for part in found.parts),
        ledger=found.ledger,
        parts=[_part(part) for part in found.parts],
        world_size=found.world_size,
        missing_ranks=found.missing,
        master=found.master,
        unsure_hosts=found.unsure,
        more_hosts=found.more_hosts,
    )


def _part(part: gpu_jobs.JobPart) -> JobPart:
    return JobPart(
        host=part.host.name,
        verdict=part.verdict,
        gpus=[
            JobGpu(gpu.gpu, gpu.index, gpu.name, gpu.verdict, gpu.gap_count, gpu.gap_seconds, gpu.gpu in part.shared)
            for gpu in part.gpus
        ],
        ranks=[JobRank(rank, started.rank, started.local_rank) for rank, started in part.ranks],
    )
