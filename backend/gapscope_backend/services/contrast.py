"""What differs between the gaps of a host's GPUs and the rest of a span."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from gapscope_backend.analysis.contrast import Contrast, contrast
from gapscope_backend.analysis.verdict import Span
from gapscope_backend.analysis.window import Window
from gapscope_backend.errors import MalformedError, NotFoundError
from gapscope_backend.services.times import parse_time


def parse_span_text(text: str, now_ns: int, where: str) -> Span:
    """``FROM..TO`` with moments in the forms that ``from`` and ``to`` take."""
    start, dots, end = text.partition("..")
    if not (dots and start and end):
        raise MalformedError(f"{text[:80]!r} is no span; write FROM..TO", where)
    span = Span(parse_time(start, now_ns, where), parse_time(end, now_ns, where))
    if span.start_ns >= span.end_ns:
        raise MalformedError(f"{text[:80]!r} ends before it begins", where)
    return span


def contrasts_of(index: int | None, spans: Sequence[Span]) -> Callable[[Window], list[Contrast]]:
    """From a window to the contrast of its GPU ``index``, or of each GPU."""

    def analyse(window: Window) -> list[Contrast]:
        chosen = [gpu for gpu in window.gpus if index is None or gpu.index == index]
        if index is not None and not chosen:
            there = ", ".join(str(gpu.index) for gpu in window.gpus) or "none"
            raise NotFoundError(f"there is no GPU {index} in this span; there is: {there}", "gpu")
        return [contrast(window, gpu, spans or None) for gpu in chosen]

    return analyse
