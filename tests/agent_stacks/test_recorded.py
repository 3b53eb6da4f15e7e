"""``gapscope record`` with stacks: a folder that the analysis reads, and a line that says what was taken."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from gapscope_agent.reading import SourceState, Stacks
from gapscope_agent.recording.read import open_recording
from gapscope_backend.cli.main import main
from gapscope_backend.cli.windows import window_of_recording
from tests.agent_stacks.conftest import Starter

pytestmark = pytest.mark.alone


def test_a_recording_holds_the_stacks_of_a_process_that_was_named(
    start: Starter, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = start("alternate", "--seconds", "0.5")
    folder = tmp_path / "recording"
    assert main(["record", str(folder), "--seconds", "3", "--stacks-of", str(target.pid)]) == 0
    assert "snapshots of" in capsys.readouterr().out
    window = window_of_recording(folder)
    assert window.stacks is not None
    assert set(window.stacks.pids.tolist()) == {target.pid}
    functions = {window.stacks.frames[stack[0]].function for stack in window.stacks.stacks}
    assert functions & {"work_on_cpu", "wait_for_device"}
    assert {1, 0} >= set(window.stacks.active.tolist())
    states = {r.source: r.state for r in open_recording(folder).readings() if isinstance(r, SourceState)}
    assert states["stacks"] == "ok"
    assert f"stacks:{target.pid}" in states


def test_a_recording_without_stacks_takes_none(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "recording"
    words = ["record", str(folder), "--seconds", "0.5", "--no-stacks", "--stacks-of", str(os.getpid())]
    assert main(words) == 0
    assert "stacks" not in capsys.readouterr().out
    assert not any(isinstance(reading, Stacks) for reading in open_recording(folder).readings())


def test_what_is_no_process_of_python_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "recording"
    gone = 1 << 22
    assert main(["record", str(folder), "--seconds", "1", "--stacks-of", str(gone)]) == 0
    said = capsys.readouterr().out
    assert "stacks: 0 snapshots of 0 processes" in said
    assert f"process {gone}" in said
