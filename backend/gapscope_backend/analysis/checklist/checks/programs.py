"""What the command lines of known servers and trainers say, and which defaults they leave in place."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from gapscope_backend.analysis.checklist.check import Check, line, unseen
from gapscope_backend.analysis.checklist.commands import Program
from gapscope_backend.analysis.checklist.facts import Facts
from gapscope_backend.analysis.checklist.model import FAIL, PASS, STATUSES, WARN, Line
from gapscope_backend.analysis.language import Text
from gapscope_backend.analysis.verdict import NONE

ID, TITLE = "programs", Text("Server and trainer options")
Remark = tuple[str, Text, Text]
"""Status, what the command line says, what to do."""
FULL_PRECISION = ("float32", "float", "fp32")
LLM_OPTIONS = ("max-num-seqs", "max-running-requests", "max-num-batched-tokens", "chunked-prefill-size", "dtype")
_make = line(ID, TITLE)


def _given(program: Program, *names: str) -> Remark:
    given = [f"--{name} {program.options[name]}" for name in names if name in program.options]
    return PASS, Text("{options:, }", options=given) if given else Text("defaults"), NONE


def _dtype(program: Program) -> Iterator[Remark]:
    dtype = program.text("dtype", "torch-dtype").lower()
    if dtype in FULL_PRECISION:
        yield (
            FAIL,
            Text("--dtype {dtype}", dtype=dtype),
            Text("Serve in bfloat16 or float16 (--dtype auto takes the model's own)."),
        )


def _llm_server(program: Program) -> Iterator[Remark]:
    yield _given(program, *LLM_OPTIONS)
    yield from _dtype(program)
    at_once = program.number("max-num-seqs", "max-running-requests", "max-batch-size")
    if at_once is not None and at_once <= 4:
        yield (
            FAIL,
            Text("at most {count:g} sequences at once: continuous batching is next to off", count=at_once),
            Text(
                "Raise it (--max-num-seqs, --max-running-requests); decoding is bound by memory traffic, which a "
                "larger batch shares."
            ),
        )
    for flag in ("enforce-eager", "disable-cuda-graph"):
        if program.text(flag):
            yield (
                WARN,
                Text("--{flag}: no CUDA graphs", flag=flag),
                Text("Leave it out once it runs: decoding gets bound by launches."),
            )


def _text_generation(program: Program) -> Iterator[Remark]:
    yield _given(program, "max-concurrent-requests", "max-batch-size", "max-batch-prefill-tokens", "max-waiting-tokens")
    yield from _dtype(program)
    size = program.number("max-batch-size")
    if size is not None and size <= 4:
        yield (
            FAIL,
            Text("--max-batch-size {size:g}", size=size),
            Text("Raise it or leave it out; the router batches what fits in memory."),
        )
    if program.text("cuda-graphs") == "0":
        yield WARN, Text("--cuda-graphs 0"), Text("Leave it out: decoding gets bound by launches.")


def _triton(program: Program) -> Iterator[Remark]:
    where = program.text("model-repository", "model-store") or Text("its model repository")
    yield (
        WARN,
        Text("models in {where}; Triton does not batch unless a model's configuration says so", where=where),
        Text(
            "Look into config.pbtxt: max_batch_size above 0, dynamic_batching { } (off by default; "
            "max_queue_delay_microseconds is 0 by default), instance_group count."
        ),
    )


def _torchserve(program: Program) -> Iterator[Remark]:
    config = program.text("ts-config")
    yield (
        WARN,
        Text("TorchServe's batch size is 1 unless a model sets it ({config})", config=config)
        if config
        else Text("TorchServe's batch size is 1 unless a model sets it"),
        Text(
            "Set batchSize and maxBatchDelay (100 ms by default) of the model, and check that the handler takes "
            "batches."
        ),
    )


def _accelerate(program: Program) -> Iterator[Remark]:
    yield _given(program, "mixed-precision", "num-processes")
    if program.text("mixed-precision") in ("", "no") and not program.text("config-file"):
        yield (
            WARN,
            Text("no --mixed_precision: full precision unless accelerate's own configuration says otherwise"),
            Text("Give --mixed_precision bf16."),
        )


def _trainer(program: Program) -> Iterator[Remark]:
    yield _given(program, "per-device-train-batch-size", "dataloader-num-workers", "bf16", "fp16", "tf32")
    if program.number("dataloader-num-workers") in (None, 0.0):
        yield (
            WARN,
            Text("--dataloader_num_workers is 0: each batch is made by the trainer itself"),
            Text("Give it workers, such as --dataloader_num_workers 8."),
        )
    if not any(program.text(name).lower() not in ("", "false") for name in ("bf16", "fp16", "tf32")):
        yield (
            WARN,
            Text("neither --bf16 nor --fp16 nor --tf32: full precision"),
            Text("Give --bf16 True, or at least --tf32 True."),
        )


def _torchrun(program: Program) -> Iterator[Remark]:
    yield _given(program, "nproc-per-node", "nnodes")
    if program.text("per-device-train-batch-size", "dataloader-num-workers"):
        yield from _trainer(program)


READERS: Mapping[str, Callable[[Program], Iterator[Remark]]] = {
    "vllm": _llm_server,
    "sglang": _llm_server,
    "tritonserver": _triton,
    "torchserve": _torchserve,
    "text-generation-inference": _text_generation,
    "accelerate": _accelerate,
    "torchrun": _torchrun,
    "transformers trainer": _trainer,
}


def _processes_per_gpu(facts: Facts, program: Program) -> Iterator[Remark]:
    """Fewer processes than GPUs leave GPUs without work."""
    count, gpus = (
        program.number("nproc-per-node", "num-processes", "tensor-parallel-size", "tp"),
        len(facts.window.gpus),
    )
    if count is not None and count < gpus and program.name in ("torchrun", "accelerate"):
        yield (
            WARN,
            Text("{count:g} processes on {gpus} GPUs", count=count, gpus=gpus),
            Text("Start one process a GPU, unless others use the rest."),
        )


def _rule(facts: Facts) -> Line:
    if not facts.programs:
        return unseen(ID, TITLE, Text("No command line of a known server or trainer was seen."))
    remarks = [
        (program, remark)
        for program in {p.name: p for p in reversed(facts.programs)}.values()
        for remark in (*READERS[program.name](program), *_processes_per_gpu(facts, program))
    ]
    remarks.sort(key=lambda pair: STATUSES.index(pair[1][0]))
    status = remarks[0][1][0]
    told = [
        Text("{program} (pid {pid}): {said}", program=program.name, pid=program.pid, said=said)
        for program, (_, said, _) in remarks
    ]
    todo = dict.fromkeys(todo for _, (_, _, todo) in remarks if todo)
    return _make(status, Text("{told:; }.", told=told), Text("{advice: }", advice=list(todo)) if todo else NONE)


CHECK = Check(ID, TITLE, _rule)
