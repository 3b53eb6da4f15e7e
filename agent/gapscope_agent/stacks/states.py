"""Why a process is not sampled, precisely: what is missing, and who could grant it.

Reads only; every path goes through ``proc``, so that tests imitate kernels and containers with a folder.
"""

from __future__ import annotations

import contextlib
import os
import re
from dataclasses import dataclass
from pathlib import Path

from gapscope_agent.sources.proc_files import read_bytes, stat_if_alive
from gapscope_agent.stacks.messages import Refused

SAMPLING = "sampling"
SLOWED = "slowed"
ENDED = "ended"
INVISIBLE = "invisible"
NOT_PYTHON = "not_python"
UNSUPPORTED = "unsupported_version"
NO_PERMISSION = "no_permission"
STOPPED = "stopped"
TOO_MANY_THREADS = "too_many_threads"
TOO_SLOW = "too_slow"
TOO_MANY_PROCESSES = "too_many_processes"
UNREADABLE = "unreadable"
NO_SAMPLER = "no_sampler"
NO_HELPER = "no_helper"

OLDEST, NEWEST = (3, 8), (3, 14)
HOST_PID_NAMESPACE = 0xEFFFFFFC
"""Inode of the first PID namespace (PROC_PID_INIT_INO)."""
CAP_SYS_PTRACE = 19
SCOPES = {
    1: "only a parent may look into its child",
    2: "only CAP_SYS_PTRACE may look into a process",
    3: "nobody may look into a process until the machine is booted anew",
}
_VERSION = re.compile(r"/(?:lib)?python(\d)\.(\d{1,2})(?=[./tm\n])")


@dataclass(frozen=True)
class SystemView:
    """The files of /proc that decide who may look into whom."""

    proc: Path = Path("/proc")

    def yama_scope(self) -> int | None:
        """``kernel.yama.ptrace_scope``; None where the kernel has no Yama."""
        try:
            return int(read_bytes(self.proc / "sys/kernel/yama/ptrace_scope"))
        except (OSError, ValueError):
            return None

    def namespace(self, who: int | str, kind: str) -> str | None:
        """Identity of a namespace of a process; None where the kernel does not tell."""
        try:
            return os.readlink(self.proc / str(who) / "ns" / kind)
        except OSError:
            return None

    def effective_capabilities(self) -> int:
        """Capabilities of this process, as bits."""
        return int(self._status("self").get("CapEff", "0"), 16)

    def user(self, pid: int) -> int | None:
        """Effective user of a process; None when it is gone."""
        words = self._status(pid).get("Uid", "").split()
        return int(words[1]) if len(words) > 1 else None

    def program(self, pid: int) -> str:
        """Name of the program that a process runs, as well as it can be known."""
        try:
            return os.path.basename(os.readlink(self.proc / str(pid) / "exe"))
        except OSError:
            stat = stat_if_alive(self.proc, pid)
            return stat.name if stat else "?"

    def python_version(self, pid: int) -> tuple[int, int] | None:
        """Version of the interpreter by the names of program and libraries; None where they do not tell."""
        text = f"/{self.program(pid)}\n"
        with contextlib.suppress(OSError):
            text += (self.proc / str(pid) / "maps").read_text(errors="replace")
        found = _VERSION.search(text)
        return (int(found[1]), int(found[2])) if found else None

    def _status(self, who: int | str) -> dict[str, str]:
        try:
            lines = read_bytes(self.proc / str(who) / "status").decode("ascii", "replace").splitlines()
        except OSError:
            return {}
        return {name: value.strip() for name, _, value in (line.partition(":") for line in lines)}


def before_sampling(view: SystemView, pid: int) -> Refused | None:
    """What can be told without touching the process."""
    stat = stat_if_alive(view.proc, pid)
    if stat is None:
        return not_there(view, pid)
    if stat.state in "ZXx":
        return Refused(ENDED, f"process {pid} has ended", final=True)
    if stat.state in "Tt":
        return Refused(STOPPED, f"process {pid} is stopped (state {stat.state}); it is left alone", final=False)
    return None


def not_there(view: SystemView, pid: int) -> Refused:
    """A process that /proc does not show: it ended, or this side cannot see it."""
    namespace = view.namespace("self", "pid")
    if namespace is not None and f"[{HOST_PID_NAMESPACE}]" not in namespace:
        reason = (
            f"process {pid} is not visible here: it ended, or it runs outside this PID namespace; the driver tells "
            "the host's PIDs, so run the agent with the host's PID namespace (--pid=host, hostPID: true)"
        )
        return Refused(INVISIBLE, reason, final=False)
    return Refused(ENDED, f"process {pid} has ended", final=True)


def after_failure(view: SystemView, pid: int, said: str) -> Refused:
    """Why py-spy gave nothing; ``said`` is what it wrote."""
    gone = before_sampling(view, pid)
    if gone is not None:
        return gone
    if "Permission Denied" in said or "Operation not permitted" in said or "os error 13" in said:
        return Refused(NO_PERMISSION, why_refused(view, pid), final=False)
    version = view.python_version(pid)
    if version is None:
        return Refused(NOT_PYTHON, f"process {pid} ({view.program(pid)}) is no CPython process", final=True)
    unsupported = check_version(version)
    if unsupported is not None:
        return unsupported
    first = next((line.strip() for line in said.splitlines() if line.strip()), "no answer")
    return Refused(UNREADABLE, f"py-spy could not read process {pid}: {first[:200]}", final=False)


def check_version(version: tuple[int, int]) -> Refused | None:
    """Refuse interpreters that were not tried."""
    if OLDEST <= version <= NEWEST:
        return None
    text = f"Python {version[0]}.{version[1]} is not supported: 3.{OLDEST[1]} to 3.{NEWEST[1]} are"
    return Refused(UNSUPPORTED, text, final=True)


def why_refused(view: SystemView, pid: int) -> str:
    """What the kernel wants before this side may look into ``pid``."""
    mine, theirs = view.namespace("self", "user"), view.namespace(pid, "user")
    scope = view.yama_scope()
    if scope == 3:
        return f"kernel.yama.ptrace_scope is 3: {SCOPES[3]}; set it to 2 or less at boot"
    if mine is not None and theirs is not None and mine != theirs:
        return f"process {pid} is in another user namespace, where this side's CAP_SYS_PTRACE does not count"
    if view.effective_capabilities() >> CAP_SYS_PTRACE & 1:
        return f"the kernel refuses process {pid} although CAP_SYS_PTRACE is held: a security module or seccomp forbids"
    owner = view.user(pid)
    help_text = "run `gapscope stack-helper` with CAP_SYS_PTRACE"
    if owner is not None and owner != os.geteuid():
        return f"process {pid} belongs to user {owner} and CAP_SYS_PTRACE is missing; {help_text}"
    if scope in SCOPES:
        return f"kernel.yama.ptrace_scope is {scope}: {SCOPES[scope]}, and CAP_SYS_PTRACE is missing; {help_text}"
    return f"process {pid} does not let others look into it (not dumpable) and CAP_SYS_PTRACE is missing; {help_text}"
