"""The checklist as a user asks for it: on a recording, live, and over the API."""

from __future__ import annotations

import json
import threading
from collections.abc import Sequence

import pytest

from gapscope_agent.clock import SystemClock
from gapscope_agent.reading import Cpu, Reading
from gapscope_agent.sources.base import Context, Source
from gapscope_backend.analysis.window import Window
from gapscope_backend.cli import live_window
from gapscope_backend.cli.live_window import sample_window
from gapscope_backend.cli.main import main
from tests.backend.batches import BatchMaker
from tests.backend.running import Backend
from tests.backend.test_hosts import SPAN, get, store
from tests.contrast.recordings import DEMO, case_folder


def _check(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    code = main(["check", *words])
    out = capsys.readouterr()
    return code, out.out, out.err


@pytest.mark.cases
@pytest.mark.parametrize(("name", "code"), [("image-service-pil", 1), ("gemm-bf16", 0)])
def test_the_exit_code_tells_a_failing_line(name: str, code: int, capsys: pytest.CaptureFixture[str]) -> None:
    found, out, _ = _check(capsys, str(case_folder(name)))
    assert found == code
    assert ("  FAIL  Preprocessing" in out) == (code == 1)
    assert "nsys profile" in out
    assert "\x1b" not in out


def test_json_of_a_part_of_the_bundled_recording(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = _check(capsys, f"{DEMO}@+22s..+38s", "--json")
    found = json.loads(out)
    assert (code, found["status"], found["end_ns"] - found["start_ns"]) == (1, "fail", 16 * 10**9)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["/no/such/folder"], "is no folder"),
        ([str(DEMO), "--seconds", "10"], "--seconds is for this host live"),
        (["node-1@+1s..+2s", "--server", "http://127.0.0.1:1"], "counts from a recording's start"),
    ],
)
def test_wrong_use_is_explained(capsys: pytest.CaptureFixture[str], words: list[str], told: str) -> None:
    code, _, err = _check(capsys, *words)
    assert code == 2
    assert told in err


@pytest.mark.parametrize("seconds", ["1", "601", "nan", "soon"])
def test_a_length_that_makes_no_sense_is_refused(seconds: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        _check(capsys, "--seconds", seconds)
    assert stopped.value.code == 2


class _Cores(Source):
    """Two cores, the first busy all the time."""

    name = "cpu"
    lane = "host"
    period_seconds = 0.1
    deadline_seconds = 1.0

    def open(self) -> None:
        self.closed = False

    def sample(self, now_ns: int, mono_ns: int) -> Sequence[Reading]:
        ticks = mono_ns // 10_000_000
        return [Cpu(t=now_ns, mono=mono_ns, jiffies=[[ticks, 0, 0, 0, 0, 0, 0, 0], [0, 0, 0, ticks, 0, 0, 0, 0]])]

    def close(self) -> None:
        self.closed = True


class _Scaled(SystemClock):
    """Runs 20 times as fast as the machine's."""

    def __init__(self) -> None:
        self._wall, self._mono = super().wall_ns(), super().mono_ns()

    def wall_ns(self) -> int:
        return self._wall + self.mono_ns() - self._mono

    def mono_ns(self) -> int:
        return self._mono + 20 * (super().mono_ns() - self._mono)

    def wait(self, event: threading.Event, seconds: float) -> bool:
        return event.wait(seconds / 20)


def test_this_host_is_sampled_in_memory() -> None:
    context = Context()
    source = _Cores(context)
    window = sample_window(6.0, sources=[source], context=context, clock=_Scaled())
    assert window.seconds == 6.0
    busy = window.cells("host", "cpu_busy_cores")
    known = busy[~(busy != busy)]
    assert known.size > 0
    assert known == pytest.approx([1.0] * known.size, abs=0.35)
    assert source.closed


def test_live_is_what_a_check_without_target_means(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked: list[float] = []

    def sample(seconds: float) -> Window:
        asked.append(seconds)
        return Window("here", 0, 10**9, 4, (), (), {})

    monkeypatch.setattr(live_window, "sample_window", sample)
    code, out, err = _check(capsys)
    assert (code, asked) == (0, [30.0])
    assert "not measurable" in out
    assert "sampling this host for 30 s" in err


async def test_the_api_gives_the_checklist(backend: Backend, maker: BatchMaker) -> None:
    await store(backend, maker)
    found = await get(backend, f"/hosts/node-1/check?{SPAN}")
    statuses = {line["check"]: line["status"] for line in found["lines"]}
    assert (statuses["subsecond"], statuses["cpu"], statuses["evenness"]) == ("pass", "pass", "not_measurable")
    assert found["host"] == "node-1"
    await get(backend, "/hosts/node-1/check?from=now-2h", status=422)
