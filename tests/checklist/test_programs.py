"""Command lines of known servers and trainers."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from gapscope_backend.analysis.checklist import Line, run_checklist
from gapscope_backend.analysis.checklist.checks.programs import READERS
from gapscope_backend.analysis.checklist.commands import PATTERNS, known_programs
from gapscope_backend.analysis.window import Process
from tests.contrast.windows import window


def _line(*commands: str) -> Line:
    processes = tuple(Process(10 + place, 1, command) for place, command in enumerate(commands))
    judged = replace(window(np.full(30, 0.9)), processes=processes)
    return next(line for line in run_checklist(judged).lines if line.check == "programs")


@pytest.mark.parametrize(
    ("command", "name"),
    [
        ("/usr/bin/python3 /usr/local/bin/vllm serve m --max-num-seqs 64", "vllm"),
        ("python -m vllm.entrypoints.openai.api_server --model m", "vllm"),
        ("python3 -m sglang.launch_server --model-path m", "sglang"),
        ("/opt/tritonserver/bin/tritonserver --model-repository=/models", "tritonserver"),
        ("java -cp x org.pytorch.serve.ModelServer", "torchserve"),
        ("text-generation-launcher --model-id m", "text-generation-inference"),
        ("/usr/bin/python /usr/bin/torchrun --nproc_per_node=8 train.py", "torchrun"),
        ("python -m torch.distributed.run train.py", "torchrun"),
        ("/usr/bin/accelerate launch train.py", "accelerate"),
        ("python train.py --per_device_train_batch_size 8", "transformers trainer"),
        ("python vllm_notes.py serve", ""),
        ("vim torchrun.md", ""),
    ],
)
def test_programs_are_known_by_their_command_lines(command: str, name: str) -> None:
    assert [program.name for program in known_programs((Process(1, 0, command),))] == ([name] if name else [])


def test_every_known_program_has_a_reader() -> None:
    assert {name for name, _ in PATTERNS} | {"transformers trainer"} == set(READERS)


def test_options_are_read_in_all_their_forms() -> None:
    (program,) = known_programs(
        (Process(1, 0, "vllm serve m --max_num_seqs=8 --dtype half --enforce-eager --x 'a b' --n -1"),)
    )
    assert program.options == {"max-num-seqs": "8", "dtype": "half", "enforce-eager": "true", "x": "a b", "n": "-1"}
    assert (program.number("n"), program.number("dtype", "max-num-seqs"), program.number("y")) == (-1.0, 8.0, None)


def test_a_command_line_that_was_cut_off_is_still_read() -> None:
    (program,) = known_programs((Process(1, 0, "vllm serve m --max-num-seqs 2 --chat-template 'a"),))
    assert program.number("max-num-seqs") == 2


@pytest.mark.parametrize(
    ("command", "status", "told"),
    [
        ("vllm serve m --max-num-seqs 256 --dtype bfloat16", "pass", "--max-num-seqs 256, --dtype bfloat16"),
        ("vllm serve m --max-num-seqs 1", "fail", "at most 1 sequences at once"),
        ("vllm serve m --dtype float32", "fail", "--dtype float32"),
        ("vllm serve m --enforce-eager", "warn", "no CUDA graphs"),
        ("python -m sglang.launch_server --max-running-requests 2", "fail", "at most 2 sequences"),
        ("python -m sglang.launch_server --disable-cuda-graph", "warn", "no CUDA graphs"),
        ("tritonserver --model-repository=/models", "warn", "does not batch unless"),
        ("torchserve --start --ts-config c.properties", "warn", "batch size is 1"),
        ("text-generation-launcher --max-batch-size 1", "fail", "--max-batch-size 1"),
        ("text-generation-launcher --model-id m", "pass", "defaults"),
        ("accelerate launch train.py", "warn", "no --mixed_precision"),
        ("accelerate launch --mixed_precision bf16 train.py", "pass", "--mixed-precision bf16"),
        ("python t.py --per_device_train_batch_size 8 --bf16 True", "warn", "--dataloader_num_workers is 0"),
        ("python t.py --per_device_train_batch_size 8 --bf16 --dataloader_num_workers 8", "pass", "--bf16 true"),
        ("python t.py --dataloader_num_workers 8 --bf16 False", "warn", "full precision"),
        ("python app.py", "not_measurable", "No command line"),
    ],
)
def test_defaults_and_options_that_cost(command: str, status: str, told: str) -> None:
    line = _line(command)
    assert line.status == status
    assert told in line.figure


def test_the_worst_remark_comes_first_and_one_process_speaks_for_its_kind() -> None:
    line = _line("torchrun --nproc_per_node 8 t.py", "vllm serve m --dtype float32", "vllm serve m")
    assert line.status == "fail"
    assert line.figure.startswith("vllm (pid 11): --dtype float32")
    assert "pid 12" not in line.figure
    assert "torchrun (pid 10)" in line.figure


def test_fewer_processes_than_gpus_are_told() -> None:
    judged = window(np.full(30, 0.9))
    two = replace(
        judged,
        gpus=(*judged.gpus, replace(judged.gpus[0], key="gpu:b", index=1)),
        processes=(Process(10, 1, "torchrun --nproc-per-node=1 t.py"),),
    )
    line = next(one for one in run_checklist(two).lines if one.check == "programs")
    assert line.status == "warn"
    assert "1 processes on 2 GPUs" in line.figure
