"""What /proc tells of a process only to its own user: I/O, open files, and a few named environment variables."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Callable
from pathlib import Path

from gapscope_agent.reading import ProcessIo
from gapscope_agent.sources.proc_files import parse_io, read_bytes
from gapscope_agent.stacks.messages import ENVIRONMENT_KEYS, ProcessFacts

MAX_FILES = 4096
MAX_LINKS = 1024
MAX_ENVIRONMENT_BYTES = 256 * 1024
MAX_VALUE_CHARACTERS = 200
_LINK = re.compile(r"(pipe|socket):\[(\d+)\]\Z")
_OUTPUTS = ("1", "2")
_KEYS = {key.encode(): key for key in ENVIRONMENT_KEYS}


def read_facts(proc: Path, pid: int, *, files: bool) -> ProcessFacts | None:
    """The facts of a process; what is refused stands in ``missing``. None when the process is gone."""
    folder = proc / str(pid)
    if not folder.is_dir():
        return None
    facts = ProcessFacts(pid)
    for name, read in READERS if files else READERS[:2]:
        missing = _why_not(read, folder, facts)
        if missing is not None:
            facts.missing[name] = missing
    return facts


def _why_not(read: Callable[[Path, ProcessFacts], None], folder: Path, facts: ProcessFacts) -> str | None:
    try:
        read(folder, facts)
    except PermissionError:
        return "the process belongs to another user, and the kernel tells this only to that user"
    except (OSError, ValueError, KeyError) as error:
        return f"the kernel does not tell: {getattr(error, 'strerror', None) or error}"
    return None


def _read_io(folder: Path, facts: ProcessFacts) -> None:
    io = parse_io(read_bytes(folder / "io"))
    facts.io = ProcessIo(io["rchar"], io["wchar"], io["read_bytes"], io["write_bytes"])


def _read_files(folder: Path, facts: ProcessFacts) -> None:
    names = os.listdir(folder / "fd")
    facts.open_files = len(names)
    pipes: dict[int, bool] = {}
    sockets: set[int] = set()
    for name in names[:MAX_FILES]:
        with contextlib.suppress(FileNotFoundError):  # closed since the listing
            link = _LINK.match(os.readlink(folder / "fd" / name))
            if link is not None and link[1] == "pipe":
                pipes[int(link[2])] = pipes.get(int(link[2]), False) or name not in _OUTPUTS
            elif link is not None:
                sockets.add(int(link[2]))
    facts.pipes = [inode for inode, used in sorted(pipes.items()) if used][:MAX_LINKS]
    facts.outputs = [inode for inode, used in sorted(pipes.items()) if not used][:MAX_LINKS]
    facts.sockets = sorted(sockets)[:MAX_LINKS]


def _read_environment(folder: Path, facts: ProcessFacts) -> None:
    with (folder / "environ").open("rb") as file:
        pairs = (entry.partition(b"=") for entry in file.read(MAX_ENVIRONMENT_BYTES).split(b"\0"))
        facts.environment = {
            _KEYS[name]: value.decode("utf-8", "replace")[:MAX_VALUE_CHARACTERS]
            for name, _, value in pairs
            if name in _KEYS
        }


Reader = Callable[[Path, ProcessFacts], None]
READERS: tuple[tuple[str, Reader], ...] = (
    ("io", _read_io),
    ("environment", _read_environment),
    ("open_files", _read_files),
)
"""The last one lists every open file, which takes longest."""
