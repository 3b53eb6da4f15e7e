"""FrameKind: what a Python frame is about, by the library that it belongs to and never by an application's names."""

from __future__ import annotations

import re
import sys
from enum import Enum
from functools import lru_cache

from gapscope_backend.analysis.frame_rules import RULES, Rule
from gapscope_backend.analysis.window import Frame


class FrameKind(Enum):
    """Kinds of frames; ``APP`` is everything that no rule names."""

    APP = "app"
    NEUTRAL = "neutral"
    STDLIB = "stdlib"
    IMPORT = "import"
    MODULE_CALL = "module_call"
    LAUNCH = "launch"
    BACKWARD = "backward"
    SYNC = "sync"
    DEVICE_WAIT = "device_wait"
    COLLECTIVE = "collective"
    ALLOCATOR = "allocator"
    CHECKPOINT = "checkpoint"
    LOADER_WAIT = "loader_wait"
    LOADER_WORK = "loader_work"
    LOADER_HELPER = "loader_helper"
    CPU_WORK = "cpu_work"
    QUEUE_WAIT = "queue_wait"
    SERVER_WAIT = "server_wait"
    IO = "io"
    CARRIER = "carrier"


_LIBRARY_ROOT = re.compile(
    r"^.*(?:site-packages|dist-packages)/|^.*/lib(?:64)?/python3\.\d+t?(?:/lib-dynload)?/|^.*/python3\d+t?\.zip/"
)
_GENERATED = re.compile(r"^.*/torchinductor_[^/]+/")
"""Where ``torch.compile`` writes the code that launches its kernels."""


def library_path(file: str) -> str:
    """Path below the folder of installed packages or of the standard library; other paths come back as they are."""
    path = _LIBRARY_ROOT.sub("", file.replace("\\", "/"))
    return _GENERATED.sub("torchinductor/", path) if "torchinductor_" in path else path


@lru_cache(maxsize=1024)
def _rules_of(top: str) -> tuple[Rule, ...]:
    """The rules that can match below the top folder, or for the top file, ``top``."""
    return tuple(
        rule for rule in RULES if (rule.path.split("/", 1)[0] == top if "/" in rule.path else top.startswith(rule.path))
    )


def _matches(rule: Rule, path: str, function: str) -> bool:
    return path.startswith(rule.path) and (rule.function is None or re.search(rule.function, function) is not None)


def _is_standard(path: str) -> bool:
    """A module of the standard library; an absolute path left over is somebody's own file of the same name."""
    return path.split("/", 1)[0].removesuffix(".py") in sys.stdlib_module_names


@lru_cache(maxsize=8192)
def frame_kind(frame: Frame) -> FrameKind:
    """Kind of one frame: the first rule that matches, then the standard library, then ``APP``."""
    path = library_path(frame.file)
    if path.startswith("<frozen importlib"):
        return FrameKind.IMPORT
    for rule in _rules_of(path.split("/", 1)[0]):
        if _matches(rule, path, frame.function):
            return FrameKind(rule.kind)
    return FrameKind.STDLIB if _is_standard(path) else FrameKind.APP
