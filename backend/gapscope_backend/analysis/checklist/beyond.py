"""What counters that are always on cannot tell, with the ready command for the very process.

Nsight Systems and Nsight Compute see only what they start, so their commands start the process's own command line
again; the profiler inside PyTorch can be asked from outside where the process runs with ``KINETO_USE_DAEMON=1``.
"""

from __future__ import annotations

import re

from gapscope_backend.analysis.checklist.facts import Facts
from gapscope_backend.analysis.checklist.model import Beyond
from gapscope_backend.analysis.language import Text

OWN_COMMAND = "COMMAND"
PLAIN = re.compile(r"[\w@%+=:,./ -]+", re.ASCII)


def _command_of(facts: Facts, pid: int) -> str:
    """The process's command line; a stand-in where it is unknown, would need quotes, or had a secret taken out."""
    command = next((p.command for p in facts.window.processes if p.pid == pid), "")
    return command if PLAIN.fullmatch(command) else OWN_COMMAND


def _of_process(facts: Facts, pid: int) -> tuple[Beyond, ...]:
    command = _command_of(facts, pid)
    stem = f"gapscope-{pid}"
    return (
        Beyond(
            Text("Which kernels and copies overlap, on which streams, and what lies between them?"),
            pid,
            "nsys",
            f"nsys profile --trace=cuda,nvtx,osrt --delay=30 --duration=10 --kill=none -o {stem} {command}",
        ),
        Beyond(
            Text("Why do the warps of a kernel stall, and how near is it to its own roofs?"),
            pid,
            "ncu",
            f"ncu --target-processes all --launch-skip 1000 --launch-count 20 --set full -o {stem} {command}",
        ),
        Beyond(
            Text(
                "Which operators and modules take the time (PyTorch, started with KINETO_USE_DAEMON=1 beside dynolog)?"
            ),
            pid,
            "torch.profiler",
            f"dyno gputrace --pids {pid} --duration-ms 2000 --log-file /tmp/{stem}.json",
        ),
    )


def read_beyond(facts: Facts) -> tuple[Beyond, ...]:
    """Questions and commands for each process that holds a GPU."""
    owners = sorted({pid for gpu in facts.window.gpus for pid in gpu.owners})
    return tuple(hint for pid in owners for hint in _of_process(facts, pid))
