"""Parsers of the files of /proc/<pid>; field numbers are those of proc(5), counted from 1."""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

_READ_BYTES = 65536


class Stat(NamedTuple):
    """The fields of a ``stat`` file that are used."""

    name: str
    state: str
    parent_pid: int
    user_jiffies: int
    system_jiffies: int
    threads: int
    start_jiffies: int
    rss_pages: int
    last_cpu: int | None
    block_io_delay_jiffies: int | None


class Switches(NamedTuple):
    """Context switches of one task."""

    voluntary: int
    involuntary: int


def read_bytes(path: str | Path) -> bytes:
    """The content of a small file of /proc in one read. Raises OSError."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        return os.read(descriptor, _READ_BYTES)
    finally:
        os.close(descriptor)


def parse_stat(data: bytes) -> Stat:
    """A ``stat`` line of a process or thread. The name may hold spaces and parentheses, so it ends at the last one."""
    head, _, tail = data.rpartition(b")")
    fields = tail.split()
    return Stat(
        name=head.partition(b"(")[2].decode("utf-8", "replace"),
        state=chr(fields[0][0]),
        parent_pid=int(fields[1]),
        user_jiffies=int(fields[11]),
        system_jiffies=int(fields[12]),
        threads=int(fields[17]),
        start_jiffies=int(fields[19]),
        rss_pages=int(fields[21]),
        last_cpu=int(fields[36]) if len(fields) > 36 else None,
        block_io_delay_jiffies=int(fields[39]) if len(fields) > 39 else None,
    )


def stat_if_alive(proc: Path, pid: int) -> Stat | None:
    """The ``stat`` of a process; None when it is gone."""
    try:
        return parse_stat(read_bytes(f"{proc}/{pid}/stat"))
    except (OSError, IndexError, ValueError):
        return None


def parse_switches(data: bytes) -> Switches | None:
    """The context switches at the end of a ``status`` file."""
    start = data.find(b"\nvoluntary_ctxt_switches:")
    if start < 0:
        return None
    fields = data[start:].split()
    return Switches(int(fields[1]), int(fields[3]))


def parse_schedstat(data: bytes) -> tuple[int, int]:
    """Time on a CPU and time runnable but waiting for one, both ns."""
    run, delay, _ = data.split()
    return int(run), int(delay)


def parse_io(data: bytes) -> dict[str, int]:
    """The counters of an ``io`` file by name."""
    pairs = (line.split(b":") for line in data.splitlines())
    return {name.decode(): int(value) for name, value in pairs}


def parse_command(data: bytes) -> list[str]:
    """The words of a ``cmdline`` file."""
    return [word.decode("utf-8", "replace") for word in data.rstrip(b"\0").split(b"\0")] if data.strip(b"\0") else []
