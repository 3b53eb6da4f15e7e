"""Gap against rest: what the host does while the GPU idles that it does not do while the GPU works."""

from gapscope_backend.analysis.contrast.assemble import contrast
from gapscope_backend.analysis.contrast.model import Contrast, Difference, IdleHotspot

__all__ = ["Contrast", "Difference", "IdleHotspot", "contrast"]
