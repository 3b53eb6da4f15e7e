"""The text of a source line, where the file can be read: that one line, never more.

A process chooses the file names in its frames freely, and the side that reads here may have more rights than who
asks. So only regular files that really end in ``.py`` are read, through the target's own root (containers), and of
them only files that the target's user or root owns.
"""

from __future__ import annotations

import os
import stat
import threading
from collections import OrderedDict
from pathlib import Path

MAX_FILE_BYTES = 2 * 1024 * 1024
MAX_FILES = 16
MAX_LINES = 20_000
MAX_LINE_CHARACTERS = 200


class SourceLines:
    """Keeps the lines that were asked for, and the newest files whole; any thread may ask."""

    def __init__(self, proc: Path = Path("/proc")) -> None:
        self._proc = proc
        self._lock = threading.Lock()
        self._lines: dict[tuple[int, str, int], str | None] = {}
        self._files: OrderedDict[tuple[int, str], list[str]] = OrderedDict()

    def line(self, pid: int, file: str, number: int) -> str | None:
        """Line ``number`` (from 1) of ``file`` as process ``pid`` sees it, without its indentation."""
        if number < 1 or not file.startswith("/") or not file.endswith(".py"):
            return None
        key = (pid, file, number)
        with self._lock:
            if key not in self._lines:
                if len(self._lines) >= MAX_LINES:
                    self._lines.clear()
                lines = self._file(pid, file)
                text = lines[number - 1].strip()[:MAX_LINE_CHARACTERS] if number <= len(lines) else ""
                self._lines[key] = text or None
            return self._lines[key]

    def forget(self, pid: int) -> None:
        """Drop what is known of a process that ended; its number may be used anew."""
        with self._lock:
            self._lines = {key: text for key, text in self._lines.items() if key[0] != pid}
            for file in [key for key in self._files if key[0] == pid]:
                del self._files[file]

    def _file(self, pid: int, file: str) -> list[str]:
        key = (pid, file)
        if key not in self._files:
            self._files[key] = self._read(pid, file)
            while len(self._files) > MAX_FILES:
                self._files.popitem(last=False)
        self._files.move_to_end(key)
        return self._files[key]

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
