"""Record the bundled demo on a machine with an NVIDIA GPU: the image service of this folder, with its stacks.

``python tests/gpu/record_demo.py DIR [--phase-seconds N]``. Readings come from the agent's own sources; Python stacks
from ``py-spy dump --nonblocking``, ten times a second, as one more source. Names of the machine are left out. Needs
torch, torchvision, Pillow and py-spy.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
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

SERVICE = Path(__file__).with_name("image_service.py")


class PySpyDump(Source):
    """Snapshots of one process's Python stacks."""

    name = "stacks"
    lane = "stacks"
    period_seconds = 0.1
    deadline_seconds = 2.0

    def __init__(self, context: Context, pid: int) -> None:
        super().__init__(context)
        self.pid = pid

    def open(self) -> None:
        """Nothing to get ready."""

    def sample(self, now_ns: int, mono_ns: int) -> Sequence[Reading]:
        """One snapshot; none when the process is just ending or could not be read without stopping it."""
        words = ["py-spy", "dump", "--json", "--nonblocking", "--pid", str(self.pid)]
        answer = subprocess.run(words, capture_output=True, text=True, check=False)
        if answer.returncode:
            return []
        threads = [self._thread(entry) for entry in json.loads(answer.stdout)]
        return [Stacks(t=now_ns, mono=mono_ns, pid=self.pid, threads=threads)]

    def _thread(self, entry: dict[str, Any]) -> ThreadStack:
        return ThreadStack(
            tid=entry["os_thread_id"],
            name=entry["thread_name"],
            active=entry["active"],
            owns_gil=entry["owns_gil"],
            frames=[self._frame(frame) for frame in entry["frames"]],
        )

    def _frame(self, frame: dict[str, Any]) -> Frame:
        path = Path(frame["filename"])
        short = frame["filename"].split("site-packages/")[-1] if "site-packages/" in frame["filename"] else path.name
        try:
            source = path.read_text().splitlines()[frame["line"] - 1].strip() if short == SERVICE.name else None
        except (OSError, IndexError):
            source = None
        return Frame(function=frame["name"], file=short, line=frame["line"], source=source)


def of_service(reading: Reading, pid: int) -> Reading:
    """A reading as it is published: of the processes only the service, its control group without a name."""
    if not isinstance(reading, Processes):
        return reading
    kept = [process for process in reading.processes if process.pid == pid]
    for process in kept:
        if process.cgroup is not None:
            process.cgroup.path = "/service"
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
                writer.write(of_service(reading, pid))
    written = target / ORIGIN_FILE
    facts = json.loads(written.read_text())
    written.write_text(json.dumps({**facts, "end_ns": snapshots[-1]}, indent=1) + "\n")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("directory", type=Path)
    parser.add_argument("--phase-seconds", type=float, default=20.0)
    arguments = parser.parse_args()
    words = [sys.executable, str(SERVICE), "--phase-seconds", str(arguments.phase_seconds)]
    service = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
    assert service.stdout is not None
    print(service.stdout.readline().strip())
    context, over = Context(), threading.Event()

    def end_with_service() -> None:
        service.wait()
        over.set()

    threading.Thread(target=end_with_service, daemon=True).start()
    sources = [*build_sources(context), PySpyDump(context, service.pid)]
    with tempfile.TemporaryDirectory() as scratch:
        record(Path(scratch) / "draft", 600.0, sources=sources, context=context, stop=over)
        print(service.stdout.read().strip())
        publish(Path(scratch) / "draft", arguments.directory, service.pid)
    return 0


if __name__ == "__main__":
    sys.exit(main())
