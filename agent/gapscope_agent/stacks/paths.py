"""What leaves the host of a file's path: home directories become ``~``, prefixes that the operator names go."""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec

from gapscope_agent.reading import Frame, ThreadStack
from gapscope_agent.sources.redact import redact_line

_HOME = re.compile(r"^/(?:home/[^/]+|root|Users/[^/]+|var/home/[^/]+)(?=/)")


class FrameRedactor:
    """Rewrites frames; each distinct one once. The longest matching prefix is stripped."""

    def __init__(self, strip_prefixes: Sequence[str], *, sources: bool) -> None:
        self._prefixes = sorted((prefix.rstrip("/") + "/" for prefix in strip_prefixes), key=len, reverse=True)
        self._sources = sources
        self._known: dict[tuple[str, str, int, str | None], Frame] = {}

    def threads(self, threads: Sequence[ThreadStack]) -> list[ThreadStack]:
        """The same threads with frames that may leave the host."""
        return [
            msgspec.structs.replace(thread, frames=[self._frame(frame) for frame in thread.frames])
            for thread in threads
        ]

    def path(self, file: str) -> str:
        """A path as it is shown."""
        for prefix in self._prefixes:
            if file.startswith(prefix):
                return file[len(prefix) :]
        return _HOME.sub("~", file)

    def _frame(self, frame: Frame) -> Frame:
        key = (frame.function, frame.file, frame.line, frame.source)
        known = self._known.get(key)
        if known is None:
            if len(self._known) > 20_000:
                self._known.clear()
            source = redact_line(frame.source) if frame.source and self._sources else None
            known = self._known[key] = Frame(frame.function, self.path(frame.file), frame.line, source)
        return known
