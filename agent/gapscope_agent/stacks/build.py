"""Puts the sampling of stacks together from the settings."""

from __future__ import annotations

from collections.abc import Callable, Collection

from gapscope_agent.reading import Reading
from gapscope_agent.sources.base import Context
from gapscope_agent.stacks.access import Access, HelperAccess
from gapscope_agent.stacks.messages import Facts, FactsFound, ProcessFacts
from gapscope_agent.stacks.sampling import StackSampling
from gapscope_agent.stacks.service import StackService
from gapscope_agent.stacks.settings import StackSettings


def build_access(settings: StackSettings) -> Access:
    """The helper where a socket is set, else this process with its own rights."""
    return HelperAccess(settings.helper_socket) if settings.helper_socket is not None else StackService()


def build_sampling(
    settings: StackSettings,
    access: Access,
    context: Context,
    emit: Callable[[Reading], None],
    pids: Collection[int] = (),
) -> StackSampling:
    """Sampling of the owners that ``context`` knows, and of ``pids``, at the drops that it sees."""
    named = frozenset(pids)
    return StackSampling(settings, access, lambda: context.owners.pids() | named, context.drops, emit)


def facts_from(access: Access) -> Callable[[list[int]], list[ProcessFacts]]:
    """Asks for what the kernel tells only a process's own user; nothing where there is no answer."""

    def ask(pids: list[int]) -> list[ProcessFacts]:
        answer = access.answer(Facts(pids))
        return answer.processes if isinstance(answer, FactsFound) else []

    return ask
