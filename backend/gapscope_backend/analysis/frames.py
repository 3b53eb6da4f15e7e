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


_LIBRARY_ROOT = re.compile(r"^.*(?:site-packages|dist-packages)/|^.*/lib(?:64)?/python3\.\d+(?:/lib-dynload)?/")


def library_path(file: str) -> str:
    """Path below the folder of installed packages or of the standard library; other paths come back as they are."""
    return _LIBRARY_ROOT.sub("", file.replace("\\", "/"))


def _matches(rule: Rule, path: str, function: str) -> bool:
    return path.startswith(rule.path) and (rule.function is None or re.search(rule.function, function) is not None)


@lru_cache(maxsize=8192)
def frame_kind(frame: Frame) -> FrameKind:
    """Kind of one frame: the first rule that matches, then the standard library, then ``APP``."""
    path = library_path(frame.file)
    if path.startswith("<frozen importlib"):
        return FrameKind.IMPORT
    for rule in RULES:
        if _matches(rule, path, frame.function):
            return FrameKind(rule.kind)
    top = path.split("/", 1)[0].removesuffix(".py")
    return FrameKind.STDLIB if top in sys.stdlib_module_names else FrameKind.APP
