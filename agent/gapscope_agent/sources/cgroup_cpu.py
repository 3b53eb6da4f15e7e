"""CPU quota and throttling of the control group that holds a process back. Versions 1 and 2 of cgroups.

A quota is often set above the process's own group (on the pod, not on the container), so the nearest group upward that
has one is reported; with none anywhere, the process's own.
"""

from __future__ import annotations

from pathlib import Path, PurePosixPath

from gapscope_agent.reading import CgroupCpu
from gapscope_agent.sources.proc_files import read_bytes


class CgroupReader:
    """Reads each group once a look, however many processes it holds. ``root`` is the mount, /sys/fs/cgroup."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._this_look: dict[bytes, CgroupCpu | None] = {}

    def begin_look(self) -> None:
        """Forget the figures of the last look."""
        self._this_look.clear()

    def read(self, membership: bytes) -> CgroupCpu | None:
        """The group of a process, from the content of its ``cgroup`` file. Raises OSError, ValueError, KeyError."""
        if membership not in self._this_look:
            self._this_look[membership] = self._find(membership.decode("utf-8", "replace"))
        return self._this_look[membership]

    def _find(self, membership: str) -> CgroupCpu | None:
        version_2: str | None = None
        for line in membership.splitlines():
            _, controllers, path = line.split(":", 2)
            if "cpu" in controllers.split(","):
                return self._version_1(controllers, path)
            if not controllers:
                version_2 = path
        return self._version_2(version_2) if version_2 is not None else None

    def _version_2(self, path: str) -> CgroupCpu | None:
        groups = _upward(path)
        quotas = [(group, self._quota_2(group)) for group in groups]
        group, quota = next((pair for pair in quotas if pair[1] is not None), (groups[0], None))
        stat = _pairs(self._root / group / "cpu.stat")
        return CgroupCpu(
            path="/" + group,
            usage_us=stat["usage_usec"],
            periods=stat.get("nr_periods", 0),
            throttled_periods=stat.get("nr_throttled", 0),
            throttled_us=stat.get("throttled_usec", 0),
            quota_cores=quota,
        )

    def _quota_2(self, group: str) -> float | None:
        try:
            quota, period = read_bytes(self._root / group / "cpu.max").split()
        except (OSError, ValueError):
            return None  # the root group has no such file
        return None if quota == b"max" else int(quota) / int(period)

    def _version_1(self, controllers: str, path: str) -> CgroupCpu | None:
        mount = next((name for name in (controllers, "cpu,cpuacct", "cpu") if (self._root / name).is_dir()), None)
        if mount is None:
            return None
        groups = [f"{mount}/{group}" for group in _upward(path)]
        quotas = [(group, self._quota_1(group)) for group in groups]
        group, quota = next((pair for pair in quotas if pair[1] is not None), (groups[0], None))
        stat = _pairs(self._root / group / "cpu.stat")
        usage_file = self._root / group.replace(mount, "cpuacct", 1) / "cpuacct.usage"
        if not usage_file.exists():
            usage_file = self._root / group / "cpuacct.usage"
        return CgroupCpu(
            path="/" + group.partition("/")[2],
            usage_us=int(read_bytes(usage_file)) // 1000,
            periods=stat["nr_periods"],
            throttled_periods=stat["nr_throttled"],
            throttled_us=stat["throttled_time"] // 1000,
            quota_cores=quota,
        )

    def _quota_1(self, group: str) -> float | None:
        try:
            quota = int(read_bytes(self._root / group / "cpu.cfs_quota_us"))
            period = int(read_bytes(self._root / group / "cpu.cfs_period_us"))
        except (OSError, ValueError):
            return None
        return quota / period if quota > 0 else None


def _upward(path: str) -> list[str]:
    """The group and its parents, relative to the mount; a path outside this namespace (``/../``) is the root's."""
    pure = PurePosixPath(path.strip("/"))
    if ".." in pure.parts:
        return [""]
    return ["" if str(group) == "." else str(group) for group in (pure, *pure.parents)]


def _pairs(path: Path) -> dict[str, int]:
    pairs = (line.split() for line in read_bytes(path).decode().splitlines())
    return {name: int(value) for name, value in pairs}
