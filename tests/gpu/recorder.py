"""Records a workload on a machine with an NVIDIA GPU: the agent's own sources, and stacks by ``py-spy dump``.

Stacks come ten times a second, as one more source, never stopping the workload (``--nonblocking``). The machine's
name, its kernel and all other processes are left out of what is kept. Needs py-spy.
"""

from __future__ import annotations

import json
import re
import subprocess
import tempfile
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from gapscope_agent.reading import Frame, Processes, Reading, Stacks, ThreadStack
from gapscope_agent.recording.layout import ORIGIN_FILE
from gapscope_agent.recording.read import open_recording
from gapscope_agent.recording.write import RecordingWriter, record
from gapscope_agent.sources import build_sources
from gapscope_agent.sources.base import Context, Source


class PySpyDump(Source):
    """Snapshots of the Python stacks of a process and its children."""

    name = "stacks"
    lane = "stacks"
    period_seconds = 0.1
    deadline_seconds = 2.0

    def __init__(self, context: Context, pid: int) -> None:
        super().__init__(context)
        self.pid = pid
        self._lines: dict[str, list[str]] = {}

    def open(self) -> None:
        """Nothing to get ready."""

    def sample(self, now_ns: int, mono_ns: int) -> Sequence[Reading]:
        """One snapshot a process; none of those that end just now or could not be read without stopping them."""
        words = ["py-spy", "dump", "--json", "--nonblocking", "--subprocesses", "--full-filenames"]
        answer = subprocess.run([*words, "--pid", str(self.pid)], capture_output=True, text=True, check=False)
        if answer.returncode:
            return []
        threads: dict[int, list[ThreadStack]] = {}
        for entry in json.loads(answer.stdout):
            threads.setdefault(entry["pid"], []).append(self._thread(entry))
        return [Stacks(t=now_ns, mono=mono_ns, pid=pid, threads=found) for pid, found in threads.items()]

    def _thread(self, entry: dict[str, Any]) -> ThreadStack:
        return ThreadStack(
            tid=entry["os_thread_id"],
            name=entry["thread_name"],
            active=entry["active"],
            owns_gil=entry["owns_gil"],
            frames=[self._frame(frame) for frame in entry["frames"]],
        )

    def _frame(self, frame: dict[str, Any]) -> Frame:
        """Files of packages by their path in the package; of own files the name and the text of the line."""
        path, line = frame["filename"], frame["line"]
        library = re.split(r"(?:site|dist)-packages/|/python3\.\d+/", path)
        if len(library) > 1 or not path.startswith("/"):
            return Frame(function=frame["name"], file=library[-1], line=line)
        if path not in self._lines:
            self._lines[path] = Path(path).read_text().splitlines() if Path(path).is_file() else []
        text = self._lines[path]
        source = text[line - 1].strip() if 0 < line <= len(text) else None
        return Frame(function=frame["name"], file=Path(path).name, line=line, source=source)


def of_workload(reading: Reading, pid: int) -> Reading:
    """A reading as it is published: of the processes only the workload's, their control group without a name."""
    if not isinstance(reading, Processes):
        return reading
    family = {pid}
    for process in sorted(reading.processes, key=lambda process: process.pid):
        if process.parent_pid in family:
            family.add(process.pid)
    kept = [p for p in reading.processes if p.pid in family and not (p.command or "").startswith("py-spy")]
    for process in kept:
        if process.cgroup is not None:
            process.cgroup.path = "/workload"
    return msgspec.structs.replace(reading, processes=kept)


def publish(draft: Path, target: Path, pid: int) -> None:
    """Copy a recording from its first to its last stack, without the machine's name, kernel and other processes."""
    recording = open_recording(draft)
    snapshots = [reading.t for reading in recording.readings() if isinstance(reading, Stacks)]
    recording.origin.host.name, recording.origin.host.kernel = "gpu-host", None
    recording.origin.start_ns = snapshots[0]
    with RecordingWriter(target, recording.origin) as writer:
        for reading in recording.readings():
            if snapshots[0] <= reading.t <= snapshots[-1]:
                writer.write(of_workload(reading, pid))
    written = target / ORIGIN_FILE
    facts = json.loads(written.read_text())
    written.write_text(json.dumps({**facts, "end_ns": snapshots[-1]}, indent=1) + "\n")


def record_workload(words: Sequence[str], directory: Path) -> list[dict[str, Any]]:
    """Run a workload to its end and record it from its first line of output on; gives the JSON lines it printed."""
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as workload:
        assert workload.stdout is not None
        said = [json.loads(workload.stdout.readline())]
        context, over = Context(), threading.Event()

        def end_with_workload() -> None:
            workload.wait()
            over.set()

        threading.Thread(target=end_with_workload, daemon=True).start()
        sources = [*build_sources(context), PySpyDump(context, workload.pid)]
        with tempfile.TemporaryDirectory() as scratch:
            record(Path(scratch) / "draft", 600.0, sources=sources, context=context, stop=over)
            publish(Path(scratch) / "draft", directory, workload.pid)
        return said + [json.loads(line) for line in workload.stdout.read().splitlines()]
