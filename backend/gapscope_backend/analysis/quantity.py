"""Figures as people read them: a value with its unit, scaled, in three digits."""

from __future__ import annotations

from gapscope_backend.analysis.language import Text

_SCALED: dict[str, tuple[float, str]] = {
    "ratio": (100.0, "%"),
    "hertz": (1e-6, "MHz"),
    "watts": (1.0, "W"),
    "celsius": (1.0, "°C"),
    "seconds": (1.0, "s"),
}
WORDS = {
    "cores": Text("cores"),
    "processes": Text("processes"),
    "watts": Text("watts"),
    "celsius": Text("celsius"),
    "seconds": Text("seconds"),
    "switches/s": Text("switches/s"),
}
"""Units that are words of a language."""
_PREFIXES = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, ""))


def quantity(value: float | None, unit: str) -> Text:
    """``value`` in ``unit`` of the catalogue; a dash where it is not known."""
    if value is None:
        return Text("-")
    if unit in ("bytes", "bytes/s"):
        scale, prefix = next((p for p in _PREFIXES if abs(value) >= p[0]), (1.0, ""))
        return _with_unit(value / scale, f"{prefix}B{'/s' if unit == 'bytes/s' else ''}")
    factor, suffix = _SCALED.get(unit, (1.0, WORDS.get(unit, unit)))
    return _with_unit(value * factor, suffix)


def _with_unit(value: float, unit: str) -> Text:
    digits = _digits(value)
    return Text("{digits} {unit}", digits=digits, unit=unit) if unit else Text("{digits}", digits=digits)


def _digits(value: float) -> str:
    """Three digits, and no exponent for what people count."""
    if value == 0:
        return "0"
    if abs(value) >= 100:
        return f"{value:.0f}"
    return f"{value:.1f}" if abs(value) >= 10 else f"{value:.2g}"
