"""What the agent asks the side that may look into other processes, and what it is told: one request, one answer.

The same structs serve both ways of asking: in this process, or over the socket of ``gapscope stack-helper`` (a length
of four bytes, then msgpack). The limits in the types are checked while decoding, on both sides.
"""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from gapscope_agent.reading import ProcessIo, ThreadStack

MAX_REQUEST_BYTES = 16 * 1024
MAX_ANSWER_BYTES = 32 * 1024 * 1024
MAX_TRACE_SECONDS = 30.0
MAX_RATE_HERTZ = 50
ENVIRONMENT_KEYS = (
    "CUDA_VISIBLE_DEVICES",
    "OMP_NUM_THREADS",
    "MKL_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "NUMEXPR_NUM_THREADS",
    "RANK",
    "LOCAL_RANK",
    "WORLD_SIZE",
    "LOCAL_WORLD_SIZE",
    "MASTER_ADDR",
)
"""The only variables of another process that are ever read; none of them can hold a secret."""

Pid = Annotated[int, Meta(ge=1, le=1 << 30)]


class Snapshot(msgspec.Struct, tag_field="ask", tag="snapshot"):
    """The stacks of all threads of one process, now, with the owner of the interpreter lock."""

    pid: Pid


class Trace(msgspec.Struct, tag_field="ask", tag="trace"):
    """Stacks of one process for ``seconds``; cheap, and without the owner of the lock. The answer comes at the end."""

    pid: Pid
    rate_hertz: Annotated[int, Meta(ge=1, le=MAX_RATE_HERTZ)]
    seconds: Annotated[float, Meta(ge=0.5, le=MAX_TRACE_SECONDS)]


class Facts(msgspec.Struct, tag_field="ask", tag="facts"):
    """What /proc tells only a process's own user: I/O, a short list of environment variables, and open ``files``."""

    pids: Annotated[list[Pid], Meta(max_length=256)]
    files: bool = False


Request = Snapshot | Trace | Facts


class Cost(msgspec.Struct):
    """What one answer took: CPU of the sampler and of reading /proc, time on the wall, and the threads it saw.

    ``behind_seconds`` is how far a trace fell behind its own rhythm, as py-spy told.
    """

    cpu_seconds: float
    wall_seconds: float
    threads: int
    behind_seconds: float = 0.0


class Moment(msgspec.Struct):
    """Stacks of a process at ``t``, ns since the epoch, with their source lines, paths as the target has them."""

    t: int
    threads: list[ThreadStack]


class Sampled(msgspec.Struct, tag_field="answer", tag="sampled"):
    """Moments in order of time; a trace of a process in which nothing ran gives a few, a snapshot one."""

    moments: list[Moment]
    cost: Cost


class Refused(msgspec.Struct, tag_field="answer", tag="refused"):
    """No stacks. ``state`` is one of ``states``; ``final`` when asking again cannot help as long as it lives."""

    state: str
    reason: str
    final: bool
    cost: Cost | None = None


class ProcessFacts(msgspec.Struct, omit_defaults=True):
    """One process; inode numbers of its ``pipes`` (both ends have the same) and ``sockets``.

    ``outputs`` are pipes that are only its standard output or error.
    """

    pid: int
    io: ProcessIo | None = None
    open_files: int | None = None
    pipes: list[int] = []
    outputs: list[int] = []
    sockets: list[int] = []
    environment: dict[str, str] = {}
    missing: dict[str, str] = {}


class FactsFound(msgspec.Struct, tag_field="answer", tag="facts"):
    """Of the processes that were asked about, those that exist."""

    processes: list[ProcessFacts]


Answer = Sampled | Refused | FactsFound

decode_request = msgspec.msgpack.Decoder(Request).decode
decode_answer = msgspec.msgpack.Decoder(Answer).decode
encode_message = msgspec.msgpack.Encoder().encode
