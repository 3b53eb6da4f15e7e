"""Flame graphs: every sample counts once and where it belongs."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gapscope_backend.analysis.flame import Choice, Flame, build_flame, collapsed, speedscope
from gapscope_backend.analysis.verdict import Span
from gapscope_backend.analysis.window import CELL_NS, Frame, Gpu, Process, Series, StackSamples, Window
from gapscope_backend.cli.main import main

DEMO = Path(__file__).parents[2] / "backend" / "gapscope_backend" / "demo" / "image-service-demo"
SECONDS = 20
FRAMES = (Frame("main", "/srv/app.py", 1), Frame("decode", "/srv/app.py", 10), Frame("step", "/srv/app.py", 20))


def window(lag_ns: int = 0) -> Window:
    """Seconds of decode while the GPU is idle, seconds of step while it works; a second thread always in main."""
    cells = SECONDS * 10
    times = np.arange(cells, dtype=np.int64) * CELL_NS + CELL_NS // 2
    working = (np.arange(cells) // 10) % 2 == 1
    active = Series(times + CELL_NS // 2 + lag_ns, np.where(working, 0.9, 0.02))
    moments = np.repeat(times, 2)
    stack = np.empty(moments.size, dtype=np.int64)
    stack[0::2] = np.where(working, 1, 0)
    stack[1::2] = 2
    tids = np.tile([100, 101], cells)
    stacks = StackSamples(
        times=moments,
        pids=np.full(moments.size, 100, dtype=np.int64),
        tids=tids,
        active=np.where(tids == 100, 1, 0).astype(np.int8),
        owns_gil=np.full(moments.size, -1, dtype=np.int8),
        stack=stack,
        stacks=((1, 0), (2, 0), (0,)),
        frames=FRAMES,
        thread_names={(100, 100): "MainThread"},
    )
    gpu = Gpu("gpu:a", 0, "GPU", (100,), counter_lag_ns=lag_ns)
    series = {("gpu:a", "gpu_graphics_active_ratio"): active}
    processes = (Process(100, 1, "python serve.py"),)
    return Window("one", 0, SECONDS * 10 * CELL_NS, 8, (gpu,), processes, series, stacks)


def weights(flame: Flame) -> dict[str, float]:
    """Own weight of each stack by its functions."""
    return {
        line.rsplit(" ", 1)[0]
        .replace(" (/srv/app.py:1)", "")
        .replace(" (/srv/app.py:10)", "")
        .replace(" (/srv/app.py:20)", ""): float(line.rsplit(" ", 1)[1])
        for line in collapsed(flame).splitlines()
    }


def test_all_samples_count_once() -> None:
    flame = build_flame(window(), Choice())
    assert weights(flame) == {"main;decode": 100, "main;step": 100, "main": 200}
    assert (flame.samples, flame.weight, flame.known_share) == (400, 400, 1)
    roots = [at for at, parent in enumerate(flame.nodes.parent) if parent < 0]
    assert sum(flame.nodes.total[at] for at in roots) == 400


@pytest.mark.parametrize("lag_ns", [0, 85_000_000])
def test_gaps_hold_what_ran_while_the_gpu_was_idle(lag_ns: int) -> None:
    gaps = weights(build_flame(window(lag_ns), Choice(where="gaps")))
    outside = weights(build_flame(window(lag_ns), Choice(where="outside")))
    assert gaps == {"main;decode": 100, "main": 100}
    assert outside == {"main;step": 100, "main": 100}


def test_idle_time_weighs_each_sample_by_its_cell() -> None:
    idle = weights(build_flame(window(), Choice(where="idle")))
    assert idle == pytest.approx({"main;decode": 98, "main;step": 10, "main": 108})


def test_a_difference_has_both_sides() -> None:
    flame = build_flame(window(), Choice(where="gaps", against="outside"))
    assert (flame.weight, flame.other_weight) == (200, 200)
    named = {flame.frames[frame].function: at for at, frame in enumerate(flame.nodes.frame)}
    assert (flame.nodes.total[named["decode"]], flame.nodes.other_total[named["decode"]]) == (100, 0)
    assert (flame.nodes.total[named["step"]], flame.nodes.other_total[named["step"]]) == (0, 100)
    assert "main (/srv/app.py:1);step (/srv/app.py:20) 100 0" in collapsed(flame).splitlines()


def test_choices_narrow_the_samples() -> None:
    spans = (Span(0, 5 * CELL_NS), Span(3 * CELL_NS, 15 * CELL_NS))
    assert weights(build_flame(window(), Choice(spans=spans))) == {"main;decode": 10, "main;step": 5, "main": 15}
    assert weights(build_flame(window(), Choice(on_cpu=True))) == {"main;decode": 100, "main;step": 100}
    assert weights(build_flame(window(), Choice(tids=(101,)))) == {"main": 200}
    assert build_flame(window(), Choice(pids=(7,))).weight == 0
    few = build_flame(window(), Choice(where="idle", min_share=0.1))
    assert [few.frames[frame].function for frame in few.nodes.frame] == ["main", "decode"]
    assert few.nodes.total[0] == pytest.approx(216)


def test_the_order_of_time_joins_only_what_follows_itself() -> None:
    flame = build_flame(window(), Choice(by="thread", order="time"))
    assert sum(flame.nodes.own) == 400
    names = [flame.frames[frame].function for frame in flame.nodes.frame]
    assert names[2:] == ["main", *["decode", "step"] * (SECONDS // 2), "thread 101", "main"]
    assert [flame.nodes.own[at] for at, name in enumerate(names) if name == "decode"] == [10.0] * (SECONDS // 2)
    gaps = build_flame(window(), Choice(where="gaps", tids=(100,), order="time"))
    assert [gaps.frames[frame].function for frame in gaps.nodes.frame] == ["main", "decode"]
    both = build_flame(window(), Choice(where="gaps", against="outside", tids=(100,), order="time"))
    assert (both.nodes.own[1:3], both.nodes.other_own[1:3]) == ([10.0, 0.0], [0.0, 10.0])


def test_threads_and_processes_stand_at_the_root() -> None:
    flame = build_flame(window(), Choice(by="thread"))
    assert set(weights(flame)) == {
        "process 100: python serve.py;thread 100: MainThread;main;decode",
        "process 100: python serve.py;thread 100: MainThread;main;step",
        "process 100: python serve.py;thread 101;main",
    }


def test_where_the_gpu_was_not_measured_a_sample_is_neither_in_a_gap_nor_outside() -> None:
    made = window()
    made.series["gpu:a", "gpu_graphics_active_ratio"].values[:50] = np.nan
    flame = build_flame(made, Choice(where="gaps", against="outside"))
    assert flame.known_share == pytest.approx(0.75)
    assert flame.weight + flame.other_weight == 300


def test_speedscope_files_hold_one_profile_a_side() -> None:
    made: dict[str, Any] = speedscope(build_flame(window(), Choice(where="gaps", against="outside")), "one")
    assert made["$schema"].startswith("https://www.speedscope.app/")
    for profile in made["profiles"]:
        assert profile["type"] == "sampled"
        assert len(profile["samples"]) == len(profile["weights"])
        assert profile["endValue"] == sum(profile["weights"])
        for stack in profile["samples"]:
            assert made["shared"]["frames"][stack[0]]["name"] == "main"


def test_the_command_folds_a_recording(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["flame", str(DEMO), "--where", "gaps"]) == 0
    folded = Counter(line.split(";", 1)[0] for line in capsys.readouterr().out.splitlines())
    assert folded
    assert main(["flame", str(DEMO), "--format", "speedscope", "-o", str(tmp_path / "demo.json")]) == 0
    assert json.loads((tmp_path / "demo.json").read_text())["profiles"][0]["weights"]
    assert main(["flame", str(DEMO), "--format", "json", "--against", "outside"]) == 0
    assert json.loads(capsys.readouterr().out)["nodes"]["other_total"]
