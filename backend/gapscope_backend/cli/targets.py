"""What a command is to look at: a recording's folder or a host of a server, and a span of it (``DIR@+5s..+20s``)."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from gapscope_backend.analysis.window import Window
from gapscope_backend.cli.errors import UsageError
from gapscope_backend.cli.moments import Moment, parse_moment

DEFAULT_FROM = "now-5m"


@dataclass(frozen=True)
class Span:
    """From one moment to another; None is the beginning or the end of what there is."""

    start: Moment | None = None
    end: Moment | None = None


@dataclass(frozen=True)
class Target:
    """``name`` is a folder where ``folder`` is set, else a host."""

    name: str
    span: Span
    folder: Path | None

    @property
    def label(self) -> str:
        """How tables name it: the folder's own name, with the span where only a part is meant."""
        name = self.name if self.folder is None else self.folder.resolve().name
        if self.span.start is None and self.span.end is None:
            return name
        start, end = ("" if moment is None else str(moment) for moment in (self.span.start, self.span.end))
        return f"{name}@{start}..{end}"

    def window(self) -> Window:
        """The window of a recording."""
        if self.folder is None:
            raise UsageError(f"{self.name} is no folder of a recording")
        from gapscope_agent.recording.read import open_recording
        from gapscope_backend.cli.windows import window_of_recording

        begin = open_recording(self.folder).origin.start_ns
        start, end = (None if m is None else m.after(begin) for m in (self.span.start, self.span.end))
        return window_of_recording(self.folder, start, end)

    def times(self) -> tuple[str, str]:
        """``from`` and ``to`` for the API; the last 5 minutes where no span is given."""
        start, end = self.span.start, self.span.end
        return DEFAULT_FROM if start is None else start.asked(), "now" if end is None else end.asked()


def parse_span(text: str) -> Span:
    """``FROM..TO``, either of which may be empty."""
    start, dots, end = text.partition("..")
    if not dots:
        raise UsageError(f"{text} is no span: write FROM..TO, such as +5s..+20s")
    try:
        return Span(*(parse_moment(part) if part else None for part in (start, end)))
    except ValueError as error:
        raise UsageError(str(error)) from None


def parse_target(text: str, span: Span | None = None) -> Target:
    """A folder or a host, with the span after its last ``@`` unless ``span`` gives one."""
    name, at, tail = text.rpartition("@")
    if not at or ".." not in tail or Path(text).is_dir():
        name, tail = text, ""
    chosen = span or (parse_span(tail) if tail else Span())
    folder = Path(name)
    if folder.is_dir():
        return Target(name, chosen, folder)
    if folder.exists() or "/" in name or not name:
        raise UsageError(f"{name or text} is no folder; name the folder of a recording, or a host")
    return Target(name, chosen, None)
