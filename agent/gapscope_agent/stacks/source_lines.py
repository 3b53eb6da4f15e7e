"""The text of a source line, where the file can be read: that one line, never more.

A process chooses the file names in its frames freely, and the side that reads here may have more rights than who
asks. So only regular files that really end in ``.py`` are read, through the target's own root (containers), and of
them only files that the target's user or root owns.
"""

from __future__ import annotations

import os
import stat
from collections import OrderedDict
from pathlib import Path

MAX_FILE_BYTES = 2 * 1024 * 1024
MAX_FILES = 64
MAX_LINE_CHARACTERS = 200

Key = tuple[int, str]


class SourceLines:
    """A cache of the newest files, each kept as long as its size and time stay."""

    def __init__(self, proc: Path = Path("/proc")) -> None:
        self._proc = proc
        self._files: OrderedDict[Key, list[str]] = OrderedDict()

    def line(self, pid: int, file: str, number: int) -> str | None:
        """Line ``number`` (from 1) of ``file`` as process ``pid`` sees it, without its indentation."""
        if number < 1 or not file.startswith("/") or not file.endswith(".py"):
            return None
        lines = self._lines(pid, file)
        if not 0 < number <= len(lines):
            return None
        return lines[number - 1].strip()[:MAX_LINE_CHARACTERS] or None

    def forget(self, pid: int) -> None:
        """Drop the files of a process; its code may have changed by the next look."""
        for key in [key for key in self._files if key[0] == pid]:
            del self._files[key]

    def _lines(self, pid: int, file: str) -> list[str]:
        key = (pid, file)
        if key in self._files:
            self._files.move_to_end(key)
            return self._files[key]
        lines = self._files[key] = self._read(pid, file)
        while len(self._files) > MAX_FILES:
            self._files.popitem(last=False)
        return lines

    def _read(self, pid: int, file: str) -> list[str]:
        try:
            user = os.stat(self._proc / str(pid)).st_uid
            descriptor = os.open(f"{self._proc}/{pid}/root{file}", os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        except OSError:
            return []
        with os.fdopen(descriptor, "rb") as opened:
            facts = os.fstat(descriptor)
            real = os.readlink(f"/proc/self/fd/{descriptor}")
            allowed = stat.S_ISREG(facts.st_mode) and facts.st_uid in (0, user) and real.endswith(".py")
            if not allowed or facts.st_size > MAX_FILE_BYTES:
                return []
            return opened.read(MAX_FILE_BYTES).decode("utf-8", "replace").splitlines()
