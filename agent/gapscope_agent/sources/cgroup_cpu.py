"""CPU quota and throttling of the control group that holds a process back. Versions 1 and 2 of cgroups.

A quota is often set above the process's own group (on the pod, not on the container), so the nearest group upward that
has one is reported; with none anywhere, the process's own.
"""

from __future__ import annotations

from pathlib import Path, PurePosixPath
from typing import NamedTuple

from gapscope_agent.reading import CgroupCpu
from gapscope_agent.sources.proc_files import read_bytes

RESOLVE_LOOKS = 10
"""Where the quota stands is looked up anew this often; the counters are read at every look."""


class _Group(NamedTuple):
    """Where the counters of a group stand. ``usage_file`` is version 1's; version 2 has it in ``stat_file``."""

    path: str
    quota_cores: float | None
    stat_file: str
    usage_file: str | None


class CgroupReader:
    """Reads each group once a look, however many processes it holds. ``root`` is the mount, /sys/fs/cgroup."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._looks = 0
        self._groups: dict[bytes, _Group | None] = {}
        self._this_look: dict[bytes, CgroupCpu | None] = {}

    def begin_look(self) -> None:
        """Forget the figures of the last look."""
        self._this_look.clear()
        if self._looks % RESOLVE_LOOKS == 0:
            self._groups.clear()
        self._looks += 1

    def read(self, membership: bytes) -> CgroupCpu | None:
        """The group of a process, from the content of its ``cgroup`` file. Raises OSError, ValueError, KeyError."""
        if membership not in self._this_look:
            if membership not in self._groups:
                self._groups[membership] = self._find(membership.decode("utf-8", "replace"))
            group = self._groups[membership]
            self._this_look[membership] = _figures(group) if group is not None else None
        return self._this_look[membership]

    def _find(self, membership: str) -> _Group | None:
        version_2: str | None = None
        for line in membership.splitlines():
            _, controllers, path = line.split(":", 2)
            if "cpu" in controllers.split(","):
                return self._version_1(controllers, path)
            if not controllers:
                version_2 = path
        return self._version_2(version_2) if version_2 is not None else None

    def _version_2(self, path: str) -> _Group:
        groups = _upward(path)
        quotas = ((group, _quota_2(self._root / group)) for group in groups)
        group, quota = next((pair for pair in quotas if pair[1] is not None), (groups[0], None))
        return _Group("/" + group, quota, f"{self._root / group}/cpu.stat", None)

    def _version_1(self, controllers: str, path: str) -> _Group | None:
        mount = next((name for name in (controllers, "cpu,cpuacct", "cpu") if (self._root / name).is_dir()), None)
        if mount is None:
            return None
        cpu, groups = self._root / mount, _upward(path)
        quotas = ((group, _quota_1(cpu / group)) for group in groups)
        group, quota = next((pair for pair in quotas if pair[1] is not None), (groups[0], None))
        accounting = cpu if (cpu / group / "cpuacct.usage").exists() else self._root / "cpuacct"
        return _Group("/" + group, quota, f"{cpu / group}/cpu.stat", f"{accounting / group}/cpuacct.usage")


def _figures(group: _Group) -> CgroupCpu:
    pairs = (line.split() for line in read_bytes(group.stat_file).splitlines())
    stat = {name: int(value) for name, value in pairs}
    if group.usage_file is None:
        usage_us, throttled_us = stat[b"usage_usec"], stat.get(b"throttled_usec", 0)
    else:
        usage_us, throttled_us = int(read_bytes(group.usage_file)) // 1000, stat[b"throttled_time"] // 1000
    return CgroupCpu(
        path=group.path,
        usage_us=usage_us,
        periods=stat.get(b"nr_periods", 0),
        throttled_periods=stat.get(b"nr_throttled", 0),
        throttled_us=throttled_us,
        quota_cores=group.quota_cores,
    )


def _quota_2(folder: Path) -> float | None:
    try:
        quota, period = read_bytes(folder / "cpu.max").split()
    except (OSError, ValueError):
        return None  # the root group has no such file
    return None if quota == b"max" else int(quota) / int(period)


def _quota_1(folder: Path) -> float | None:
    try:
        quota = int(read_bytes(folder / "cpu.cfs_quota_us"))
        period = int(read_bytes(folder / "cpu.cfs_period_us"))
    except (OSError, ValueError):
        return None
    return quota / period if quota > 0 else None


def _upward(path: str) -> list[str]:
    """The group and its parents, relative to the mount; a path outside this namespace (``/../``) is the root's."""
    pure = PurePosixPath(path.strip("/"))
    if ".." in pure.parts:
        return [""]
    return ["" if str(group) == "." else str(group) for group in (pure, *pure.parents)]
