"""Reading recordings: both formats, time order, and every way in which a folder can be broken."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from gapscope_agent.errors import RecordingError
from gapscope_agent.reading import Cpu, Gpu, Stacks
from gapscope_agent.recording import read
from gapscope_agent.recording.read import in_time_order, open_recording

CASES = Path(__file__).parents[3] / "shared" / "cases"
T = 1_700_000_000_000_000_000

ORIGIN: dict[str, Any] = {
    "format": 1,
    "start_ns": T,
    "end_ns": T + 10**9,
    "host": {"name": "h", "logical_cpus": 2},
    "gpus": [{"index": 0, "name": "NVIDIA H200"}],
}


def cpu_line(t: int) -> bytes:
    return json.dumps({"t": t, "kind": "cpu", "jiffies": [[1, 2, 3, 4, 5, 6, 7, 8]]}).encode() + b"\n"


def make(folder: Path, lines: bytes, origin: dict[str, Any] | None = None, stacks: bytes | None = None) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "recording.json").write_text(json.dumps(origin or ORIGIN))
    (folder / "readings.jsonl.gz").write_bytes(gzip.compress(lines))
    if stacks is not None:
        (folder / "stacks.jsonl.gz").write_bytes(gzip.compress(stacks))
    return folder


def times(folder: Path) -> list[int]:
    return [reading.t for reading in open_recording(folder).readings()]


def fault(folder: Path) -> RecordingError:
    with pytest.raises(RecordingError) as caught:
        times(folder)
    return caught.value


def test_readings_and_stacks_come_in_one_time_order(tmp_path: Path) -> None:
    stack = json.dumps({"t": T + 150, "pid": 7, "threads": []}).encode() + b"\n"
    folder = make(tmp_path / "r", cpu_line(T + 200) + cpu_line(T + 100), stacks=stack)
    found = list(open_recording(folder).readings())
    assert [reading.t - T for reading in found] == [100, 150, 200]
    assert isinstance(found[1], Stacks)
    assert found[1].pid == 7


def test_fields_of_a_newer_version_are_ignored(tmp_path: Path) -> None:
    line = b'{"t": 5, "kind": "gpu", "gpu": 0, "power_milliwatts": 1, "from_the_future": {"a": 1}}\n'
    folder = make(tmp_path / "r", line, {**ORIGIN, "format": 2, "moon_phase": 3})
    (reading,) = open_recording(folder).readings()
    assert isinstance(reading, Gpu)
    assert reading.power_milliwatts == 1


def test_a_clock_set_back_keeps_the_order_of_arrival() -> None:
    hour = 3600 * 10**9
    readings = [Cpu(t=T + hour, jiffies=[]), Cpu(t=T + hour + 6 * 10**9, jiffies=[]), Cpu(t=T, jiffies=[])]
    assert [reading.t for reading in in_time_order(iter(readings))] == [T + hour, T, T + hour + 6 * 10**9]


def test_truncated_gzip_names_file_and_line(tmp_path: Path) -> None:
    folder = make(tmp_path / "r", b"".join(cpu_line(T + i) for i in range(5000)))
    file = folder / "readings.jsonl.gz"
    file.write_bytes(file.read_bytes()[:-400])
    error = fault(folder)
    assert error.path == file
    assert error.line is not None
    assert error.line > 100
    assert f"line {error.line}: the file is cut off here" in str(error)


def test_truncation_is_the_end_of_a_recording_that_was_interrupted(tmp_path: Path) -> None:
    origin = {key: value for key, value in ORIGIN.items() if key != "end_ns"}
    folder = make(tmp_path / "r", b"".join(cpu_line(T + i) for i in range(5000)), origin)
    file = folder / "readings.jsonl.gz"
    file.write_bytes(file.read_bytes()[:-400])
    recording = open_recording(folder)
    assert recording.interrupted
    assert 100 < len(list(recording.readings())) < 5000


def test_flipped_bits_are_noticed(tmp_path: Path) -> None:
    folder = make(tmp_path / "r", b"".join(cpu_line(T + i) for i in range(5000)))
    file = folder / "readings.jsonl.gz"
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 0xFF
    file.write_bytes(bytes(data))
    assert fault(folder).path == file


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (b'{"t": 1, "kind": "cpu", "jiffies": [[1]\n', "is not valid JSON"),
        (b"\xff\xfe\n", "is not valid JSON"),
        (b"[" * 100_000 + b"\n", "line 2"),
        (b'{"t": 1, "kind": "lava_lamp"}\n', "lava_lamp"),
        (b'{"kind": "cpu", "jiffies": []}\n', "missing required field `t`"),
        (b'{"t": "now", "kind": "cpu", "jiffies": []}\n', "$.t"),
        (b'{"t": 123456789012345678901234567890, "kind": "cpu", "jiffies": []}\n', "nanoseconds since 1970"),
        (b'{"t": -5, "kind": "cpu", "jiffies": []}\n', "nanoseconds since 1970"),
        (b'{"t": 1, "kind": "gpu", "gpu": 4}\n', "GPU 4 is not listed"),
        (b'{"t": 1, "kind": "gpu", "gpu": 0, "power_milliwatts": NaN}\n', "is not valid JSON"),
    ],
)
def test_a_bad_line_is_named(tmp_path: Path, line: bytes, words: str) -> None:
    error = fault(make(tmp_path / "r", cpu_line(T) + line))
    assert error.line == 2
    assert words in str(error)
    assert "readings.jsonl.gz, line 2" in str(error)


def test_a_bad_line_of_stacks_is_named(tmp_path: Path) -> None:
    error = fault(make(tmp_path / "r", cpu_line(T), stacks=b'{"t": 1, "pid": "x", "threads": []}\n'))
    assert error.path.name == "stacks.jsonl.gz"
    assert error.line == 1


def test_long_lines_and_many_lines_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = make(tmp_path / "r", cpu_line(T) * 3 + b" " * 2000 + b"\n")
    monkeypatch.setattr(read, "MAX_LINE_BYTES", 1000)
    assert fault(folder).line == 4
    monkeypatch.setattr(read, "MAX_LINES", 2)
    assert fault(folder).line == 3


@pytest.mark.parametrize(
    ("origin", "words"),
    [
        ({**ORIGIN, "format": 3}, "has format 3; this version reads 1 and 2"),
        ({"format": 1}, "missing required field"),
        ({**ORIGIN, "jiffies_per_second": 0}, "above 0"),
        ({**ORIGIN, "end_ns": T - 1}, "before start_ns"),
        ({**ORIGIN, "gpus": [*ORIGIN["gpus"], *ORIGIN["gpus"]]}, "twice"),
        ({**ORIGIN, "notes": ["x" * 2_000_000]}, "larger than"),
    ],
)
def test_a_bad_origin_is_named(tmp_path: Path, origin: dict[str, Any], words: str) -> None:
    error = fault(make(tmp_path / "r", cpu_line(T), origin))
    assert error.path.name == "recording.json"
    assert words in str(error)


def test_missing_parts_are_named(tmp_path: Path) -> None:
    assert "no such folder" in str(fault(tmp_path / "nowhere"))
    folder = make(tmp_path / "r", cpu_line(T))
    (folder / "readings.jsonl.gz").unlink()
    assert "readings.jsonl.gz: this file of the recording is missing" in str(fault(folder))
    (folder / "recording.json").unlink()
    assert "no recording" in str(fault(folder))


def test_an_empty_recording_says_so(tmp_path: Path) -> None:
    folder = make(tmp_path / "r", b"")
    assert "holds no reading" in str(fault(folder))
    (folder / "readings.jsonl.gz").write_bytes(b"plain text")
    assert "cannot be decompressed" in str(fault(folder))


@pytest.mark.cases
@pytest.mark.skipif(not CASES.is_dir(), reason="the folder of recorded cases is not here")
def test_every_recorded_case_reads() -> None:
    folders = sorted(path.parent for path in CASES.glob("*/recording.json"))
    assert len(folders) >= 23
    for folder in folders:
        recording = open_recording(folder)
        readings = list(recording.readings())
        kinds = Counter(type(reading).__name__ for reading in readings)
        assert {"Gpu", "Cpu", "Processes", "Stacks", "GpuPowerBuffer", "GpuProcesses"} <= set(kinds), folder.name
        assert kinds["Cpu"] >= 160
        assert [reading.t for reading in readings] == sorted(reading.t for reading in readings)
        assert not recording.interrupted
