"""One process that is being watched: its open files, and what is read of it five times and once a second.

``stat`` and ``status`` stay open and are read again with pread. An open file is tied to the process and not to its
number, so that a PID that is used anew is never mistaken for the old process.
"""

from __future__ import annotations

import functools
import os
import pwd
from pathlib import Path

from gapscope_agent.reading import Process, ProcessIo
from gapscope_agent.sources.cgroup_cpu import CgroupReader
from gapscope_agent.sources.proc_files import (
    Stat,
    parse_command,
    parse_io,
    parse_stat,
    parse_switches,
    read_bytes,
)
from gapscope_agent.sources.redact import redact
from gapscope_agent.sources.thread_cpu import ThreadReader

MAX_COMMAND_CHARACTERS = 1000
_STAT_BYTES = 4096


class TrackedProcess:
    """Raises OSError from any method when the process is gone."""

    def __init__(self, proc: Path, pid: int, *, redact_command: bool) -> None:
        self.pid = pid
        self._folder = proc / str(pid)
        self._redact = redact_command
        self._threads = ThreadReader(self._folder)
        self._raw_command: bytes | None = None
        self._shown_command = ""
        self._user = _user_name(os.stat(self._folder).st_uid)
        self._stat_file = os.open(self._folder / "stat", os.O_RDONLY | os.O_CLOEXEC)
        try:
            self._status_file = os.open(self._folder / "status", os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            os.close(self._stat_file)
            raise

    def look(self) -> Process:
        """What changes quickly: state, CPU time, switches, memory."""
        stat = self.stat()
        switches = parse_switches(os.pread(self._status_file, _STAT_BYTES, 0))
        return Process(
            pid=self.pid,
            parent_pid=stat.parent_pid,
            state=stat.state,
            user_jiffies=stat.user_jiffies,
            system_jiffies=stat.system_jiffies,
            threads=stat.threads,
            rss_pages=stat.rss_pages,
            block_io_delay_jiffies=stat.block_io_delay_jiffies,
            voluntary_switches=switches.voluntary if switches else None,
            involuntary_switches=switches.involuntary if switches else None,
            start_jiffies=stat.start_jiffies,
        )

    def stat(self) -> Stat:
        """The ``stat`` file alone."""
        data = os.pread(self._stat_file, _STAT_BYTES, 0)
        if not data:
            raise ProcessLookupError(f"process {self.pid} is gone")
        return parse_stat(data)

    def add_details(self, process: Process, cgroups: CgroupReader) -> None:
        """What is read once a second. What is refused or absent stands in ``missing``."""
        missing: dict[str, str] = {}
        process.command = self._command()
        process.user = self._user
        process.io = self._io(missing)
        try:
            process.cgroup = cgroups.read(read_bytes(f"{self._folder}/cgroup"))
            if process.cgroup is None:
                missing["cgroup"] = "the process is in no group that accounts CPU"
        except (OSError, ValueError, KeyError) as error:
            missing["cgroup"] = _reason(error)
        process.thread_cpu = self._threads.read(missing)
        process.missing = missing

    def close(self) -> None:
        """Let go of the open files."""
        os.close(self._stat_file)
        os.close(self._status_file)

    def _command(self) -> str:
        raw = read_bytes(f"{self._folder}/cmdline")
        if raw != self._raw_command:  # redaction costs ten times the reading, and exec is rare
            self._raw_command = raw
            self._shown_command = self._show(parse_command(raw))
        return self._shown_command

    def _show(self, words: list[str]) -> str:
        if not words:
            return f"[{self.stat().name}]"  # a kernel thread, written as ps does
        return " ".join(redact(words) if self._redact else words)[:MAX_COMMAND_CHARACTERS]

    def _io(self, missing: dict[str, str]) -> ProcessIo | None:
        try:
            io = parse_io(read_bytes(f"{self._folder}/io"))
            return ProcessIo(io["rchar"], io["wchar"], io["read_bytes"], io["write_bytes"])
        except PermissionError:
            missing["io"] = "the process belongs to another user, and the kernel tells its I/O only to that user"
        except (FileNotFoundError, KeyError, ValueError) as error:
            missing["io"] = _reason(error)
        return None


@functools.lru_cache(maxsize=1024)
def _user_name(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)


def _reason(error: Exception) -> str:
    return f"the kernel does not tell: {getattr(error, 'strerror', None) or error}"
