"""Whose stacks are taken: the GPU's owners, their descendants, and processes that feed them; owners first."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterable
from pathlib import Path

from gapscope_agent.sources.proc_files import parse_command, read_bytes
from gapscope_agent.sources.process_table import ProcessTable
from gapscope_agent.stacks.access import Access
from gapscope_agent.stacks.messages import Facts, FactsFound
from gapscope_agent.stacks.peers import peers, unix_socket_pairs

MAX_TARGETS = 16
MAX_CANDIDATES = 256
BOOKKEEPER = "from multiprocessing.resource_tracker"
"""Of multiprocessing: it waits for the end of its parent and feeds nobody."""
PEERS_EVERY_NS = 30_000_000_000


class Targets:
    """Chooses once a second; who feeds whom is looked up every 30 s, and when the owners change."""

    def __init__(
        self,
        access: Access,
        proc: Path = Path("/proc"),
        socket_pairs: Callable[[], dict[int, int]] = unix_socket_pairs,
    ) -> None:
        self._access = access
        self._proc = proc
        self._table = ProcessTable(proc)
        self._socket_pairs = socket_pairs
        self._peers: list[int] = []
        self._peers_of: frozenset[int] = frozenset()
        self._peers_ns: int | None = None

    def choose(self, owners: frozenset[int], mono_ns: int, *, look_for_peers: bool = True) -> list[int]:
        """The processes, most important first; more than ``MAX_TARGETS`` may be named, the first of them count.

        An owner that /proc does not show is among them, so that the reason can be told. Without ``look_for_peers``
        the answer comes at once, with the feeding processes of the last time.
        """
        if not owners:
            return []
        self._table.refresh()
        family = self._table.family(owners, MAX_CANDIDATES)
        stale = self._peers_ns is None or owners != self._peers_of or mono_ns - self._peers_ns >= PEERS_EVERY_NS
        if stale and look_for_peers:
            self._peers, self._peers_of, self._peers_ns = self._find_peers(owners, family), owners, mono_ns
        others = [pid for pid in [*family, *self._peers] if pid not in owners and self._is_python(pid)]
        others = [pid for pid in others if pid != os.getpid()]
        return list(dict.fromkeys([*sorted(owners), *others]))

    def _find_peers(self, owners: frozenset[int], family: Iterable[int]) -> list[int]:
        candidates = [*owners, *(pid for pid in self._table.pids() if pid not in owners and self._is_python(pid))]
        answer = self._access.answer(Facts(candidates[:MAX_CANDIDATES], files=True))
        if not isinstance(answer, FactsFound):
            return []
        known = set(family)
        return [pid for pid in peers(owners, answer.processes, self._socket_pairs()) if pid not in known]

    def _is_python(self, pid: int) -> bool:
        """By its program, or its command where the program is not told; owners are tried whatever they are called."""
        names: list[str] = []
        with contextlib.suppress(OSError):
            names.append(os.readlink(self._proc / str(pid) / "exe"))
        with contextlib.suppress(OSError):
            words = parse_command(read_bytes(self._proc / str(pid) / "cmdline"))
            names += words[:1]
            if any(word.startswith(BOOKKEEPER) for word in words):
                return False
        return any("python" in name.rpartition("/")[2] for name in names)
