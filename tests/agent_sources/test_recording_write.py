"""Writing recordings: what is written reads back the same, also after an interruption."""

from __future__ import annotations

import gzip
import json
import shutil
import threading
from collections import Counter
from pathlib import Path

import pytest

from gapscope_agent.errors import RecordingError
from gapscope_agent.reading import (
    Cpu,
    Frame,
    Gpu,
    GpuFacts,
    GpuPowerBuffer,
    GpuProcess,
    GpuProcesses,
    GpuProcessUtilization,
    Host,
    HostFacts,
    Origin,
    PowerSample,
    Pressure,
    Process,
    Processes,
    Reading,
    SourceState,
    Stacks,
    ThreadCpu,
    ThreadStack,
)
from gapscope_agent.recording.read import open_recording
from gapscope_agent.recording.write import RecordingWriter, record
from tests.agent_sources.fakes import FakeClock

T = 1_700_000_000_000_000_000


def origin() -> Origin:
    return Origin(
        format=1,
        start_ns=T,
        host=HostFacts(name="h", logical_cpus=2),
        gpus=[GpuFacts(index=0, name="NVIDIA H200", uuid="GPU-1", gpm_supported=True)],
        notes=["a note"],
    )


def readings() -> list[Reading]:
    thread = ThreadCpu(tid=8, name="main", state="R", user_jiffies=1, system_jiffies=2, last_cpu=3, run_ns=4)
    process = Process(
        pid=8,
        parent_pid=1,
        state="R",
        user_jiffies=1,
        system_jiffies=2,
        threads=1,
        rss_pages=5,
        thread_cpu=[thread],
        missing={"io": "refused"},
    )
    frames = [Frame("decode", "app.py", 12, "image.load()")]
    return [
        Gpu(t=T + 1, mono=1, gpu=0, gpm={"sm_util_pct": 1.5, "fp64_util_pct": None}, gpm_span_ns=7, missing={"x": "y"}),
        GpuPowerBuffer(t=T + 2, mono=2, gpu=0, samples=[PowerSample(3, 4)]),
        GpuProcesses(
            t=T + 3, gpu=0, processes=[GpuProcess(8, 9)], utilization=[GpuProcessUtilization(8, 50.0, 10.0, 77)]
        ),
        Cpu(t=T + 4, mono=4, jiffies=[[1, 2, 3, 4, 5, 6, 7, 8]]),
        Stacks(t=T + 5, mono=5, pid=8, threads=[ThreadStack(8, frames, "main", active=True, owns_gil=False)]),
        Host(t=T + 6, memory_total_bytes=1, pressure=[Pressure("cpu", 5)]),
        Processes(t=T + 7, processes=[process]),
        SourceState(t=T + 8, source="gpu", state="unavailable", reason="why"),
    ]


def test_what_is_written_reads_back_the_same(tmp_path: Path, clock: FakeClock) -> None:
    with RecordingWriter(tmp_path / "new" / "r", origin(), clock) as writer:
        for reading in readings():
            writer.write(reading)
    recording = open_recording(writer.path)
    assert list(recording.readings()) == readings()
    assert recording.origin.format == 2
    assert recording.origin.gpus[0].uuid == "GPU-1"
    assert recording.origin.notes == ["a note"]
    assert recording.origin.end_ns == clock.wall
    assert not recording.interrupted
    assert writer.count == 8


def test_stacks_have_a_file_of_their_own_only_when_they_come(tmp_path: Path, clock: FakeClock) -> None:
    with RecordingWriter(tmp_path / "r", origin(), clock) as writer:
        writer.write(readings()[0])
    assert {path.name for path in writer.path.iterdir()} == {"recording.json", "readings.jsonl.gz"}
    with RecordingWriter(tmp_path / "s", origin(), clock) as writer:
        for reading in readings():
            writer.write(reading)
    (line,) = gzip.decompress((writer.path / "stacks.jsonl.gz").read_bytes()).splitlines()
    assert json.loads(line)["pid"] == 8


def test_an_interrupted_recording_reads_up_to_its_last_second(tmp_path: Path, clock: FakeClock) -> None:
    writer = RecordingWriter(tmp_path / "r", origin(), clock)
    for second in range(5):
        clock.advance(1.0)
        writer.write(Cpu(t=T + second * 10**9, jiffies=[[second]]))
    writer.write(Cpu(t=T + 10**10, jiffies=[[99]]))
    killed = tmp_path / "killed"
    shutil.copytree(writer.path, killed)
    writer.close()
    recording = open_recording(killed)
    assert recording.interrupted
    assert [reading.t for reading in recording.readings()] == [T + second * 10**9 for second in range(5)]


def test_a_folder_in_use_is_refused(tmp_path: Path, clock: FakeClock) -> None:
    (tmp_path / "note.txt").write_text("mine")
    with pytest.raises(RecordingError, match="the folder is not empty"):
        RecordingWriter(tmp_path, origin(), clock)
    with pytest.raises(RecordingError, match="is a file"):
        RecordingWriter(tmp_path / "note.txt", origin(), clock)
    assert (tmp_path / "note.txt").read_text() == "mine"


def test_after_close_nothing_is_added(tmp_path: Path, clock: FakeClock) -> None:
    writer = RecordingWriter(tmp_path / "r", origin(), clock)
    writer.write(readings()[0])
    writer.close()
    writer.close()
    writer.write(readings()[1])
    assert len(list(open_recording(writer.path).readings())) == 1


def test_writing_from_many_threads_tears_no_line(tmp_path: Path, clock: FakeClock) -> None:
    with RecordingWriter(tmp_path / "r", origin(), clock) as writer:

        def write(lane: int) -> None:
            for number in range(200):
                writer.write(Cpu(t=T + number, jiffies=[[lane, number]]))

        threads = [threading.Thread(target=write, args=(lane,)) for lane in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert len(list(open_recording(writer.path).readings())) == 800


def test_a_full_disk_ends_the_recording_with_a_clear_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(self: RecordingWriter, reading: Reading) -> None:
        raise RecordingError(self.path, "cannot be written (No space left on device)", "Free the disk")

    monkeypatch.setattr(RecordingWriter, "write", refuse)
    with pytest.raises(RecordingError, match="No space left on device"):
        record(tmp_path / "r", 60.0)


def test_this_host_is_recorded(tmp_path: Path) -> None:
    writer = record(tmp_path / "r", 1.3)
    recording = open_recording(writer.path)
    kinds = Counter(type(reading).__name__ for reading in recording.readings())
    assert kinds["Cpu"] >= 3
    assert kinds["Processes"] >= 2
    assert kinds["Host"] >= 1
    assert kinds["SourceState"] >= 10
    assert recording.origin.host.logical_cpus >= 1
    assert sum(kinds.values()) == writer.count
