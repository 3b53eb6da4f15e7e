"""Flame graphs: stacks of a window folded into a tree, all of them or those of the GPU's gaps, and differences."""

from gapscope_backend.analysis.flame.build import build_flame
from gapscope_backend.analysis.flame.formats import collapsed, speedscope
from gapscope_backend.analysis.flame.model import Choice, Flame, FlameFrame, FlameNodes, Where

__all__ = ["Choice", "Flame", "FlameFrame", "FlameNodes", "Where", "build_flame", "collapsed", "speedscope"]
