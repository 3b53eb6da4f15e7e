from __future__ import annotations

import pytest

from gapscope_backend.analysis.activity import Activity
from gapscope_backend.analysis.frames import FrameKind, frame_kind, library_path
from gapscope_backend.analysis.stack_class import classify_stack
from gapscope_backend.analysis.window import Frame


@pytest.mark.parametrize(
    ("file", "function", "kind"),
    [
        ("torch/nn/modules/conv.py", "Conv2d.forward", FrameKind.LAUNCH),
        ("/venv/lib/python3.11/site-packages/torch/nn/modules/conv.py", "forward", FrameKind.LAUNCH),
        ("/usr/lib/python3/dist-packages/PIL/Image.py", "Image.resize", FrameKind.CPU_WORK),
        ("/usr/lib/python3.10/threading.py", "wait", FrameKind.QUEUE_WAIT),
        ("torch/cuda/__init__.py", "synchronize", FrameKind.DEVICE_WAIT),
        ("torch/cuda/__init__.py", "_lazy_init", FrameKind.LAUNCH),
        ("torch/cuda/memory.py", "empty_cache", FrameKind.ALLOCATOR),
        ("torch/serialization.py", "_save", FrameKind.CHECKPOINT),
        ("torch/serialization.py", "load", FrameKind.IO),
        ("torch/utils/data/dataloader.py", "_MultiProcessingDataLoaderIter._try_get_data", FrameKind.LOADER_WAIT),
        ("torch/utils/data/_utils/fetch.py", "fetch", FrameKind.LOADER_WORK),
        ("torch/utils/data/_utils/pin_memory.py", "do_one_step", FrameKind.LOADER_HELPER),
        ("torch/autograd/graph.py", "_engine_run_backward", FrameKind.BACKWARD),
        ("transformers/models/gpt2/modeling_gpt2.py", "forward", FrameKind.LAUNCH),
        ("transformers/tokenization_utils_fast.py", "_batch_encode_plus", FrameKind.CPU_WORK),
        ("numpy/lib/_npyio_impl.py", "load", FrameKind.IO),
        ("numpy/lib/_npyio_impl.py", "save", FrameKind.CHECKPOINT),
        ("numpy/_core/_methods.py", "_mean", FrameKind.CPU_WORK),
        ("urllib3/response.py", "read", FrameKind.IO),
        ("socket.py", "socket.accept", FrameKind.SERVER_WAIT),
        ("asyncio/base_events.py", "run_forever", FrameKind.SERVER_WAIT),
        ("<frozen importlib._bootstrap>", "_find_and_load", FrameKind.IMPORT),
        ("calendar.py", "monthrange", FrameKind.STDLIB),
        ("/srv/app/torchlike.py", "synchronize", FrameKind.APP),
        ("app.py", "wait_for_requests", FrameKind.APP),
        ("<string>", "<module>", FrameKind.APP),
        ("/opt/conda/lib/python3.13t/site-packages/cv2/__init__.py", "imread", FrameKind.CPU_WORK),
        ("/usr/lib/python3.12/selectors.py", "EpollSelector.select", FrameKind.SERVER_WAIT),
        ("/tmp/torchinductor_root/ab/cab.py", "call", FrameKind.LAUNCH),
        ("<eval_with_key>.12", "forward", FrameKind.LAUNCH),
        ("torch/_inductor/runtime/triton_heuristics.py", "run", FrameKind.LAUNCH),
        ("torch/_inductor/codegen/triton.py", "codegen", FrameKind.IMPORT),
        ("torch/_dynamo/eval_frame.py", "compile_wrapper", FrameKind.LAUNCH),
        ("torch/_dynamo/convert_frame.py", "_compile", FrameKind.IMPORT),
        ("transformers/trainer.py", "Trainer._maybe_log_save_evaluate", FrameKind.LAUNCH),
        ("transformers/trainer.py", "_save_checkpoint", FrameKind.CHECKPOINT),
        ("transformers/tokenization_utils_base.py", "__call__", FrameKind.CPU_WORK),
        ("vllm/v1/worker/gpu_model_runner.py", "execute_model", FrameKind.LAUNCH),
        ("vllm/v1/core/sched/scheduler.py", "Scheduler.schedule", FrameKind.CPU_WORK),
        ("nvidia/dali/pipeline.py", "Pipeline.share_outputs", FrameKind.LOADER_WAIT),
        ("pickle.py", "_Pickler.save", FrameKind.CHECKPOINT),
        ("pickle.py", "_Unpickler.load", FrameKind.IO),
        ("json/__init__.py", "dump", FrameKind.CHECKPOINT),
        ("json/__init__.py", "dumps", FrameKind.CPU_WORK),
        ("numpy/lib/format.py", "write_array", FrameKind.CHECKPOINT),
        ("s3fs/core.py", "_fetch_range", FrameKind.IO),
        ("fastapi/routing.py", "app", FrameKind.SERVER_WAIT),
        ("datasets/arrow_dataset.py", "map", FrameKind.CARRIER),
        ("torch/amp/grad_scaler.py", "GradScaler._maybe_opt_step", FrameKind.SYNC),
        ("torch/amp/grad_scaler.py", "scale", FrameKind.LAUNCH),
    ],
)
def test_kind_of_a_frame(file: str, function: str, kind: FrameKind) -> None:
    assert frame_kind(Frame(function, file, 1)) is kind


def test_library_path_keeps_other_paths() -> None:
    assert library_path("/srv/app/app.py") == "/srv/app/app.py"


APP = Frame("f", "app.py", 1)
CALL = Frame("Module._call_impl", "torch/nn/modules/module.py", 1)
CONV = Frame("Conv2d.forward", "torch/nn/modules/conv.py", 1)
PIL = Frame("Image.resize", "PIL/Image.py", 1)
WAIT = Frame("Condition.wait", "threading.py", 1)
FETCH = Frame("fetch", "torch/utils/data/_utils/fetch.py", 1)
RECV = Frame("SocketIO.readinto", "socket.py", 1)
S3FS = Frame("sync", "fsspec/asyn.py", 1)
MAP = Frame("Dataset.map", "datasets/arrow_dataset.py", 1)
PANDAS = Frame("DataFrame.apply", "pandas/core/frame.py", 1)
SERVER = Frame("BaseServer.serve", "socketserver.py", 1)


def _app(source: str) -> Frame:
    return Frame("f", "app.py", 1, source)


@pytest.mark.parametrize(
    ("frames", "on", "off"),
    [
        ((CONV, CALL, APP), Activity.LAUNCH, Activity.STALLED),
        ((CALL, CONV), Activity.LAUNCH, Activity.STALLED),
        ((APP, CALL, APP), Activity.LAUNCH, Activity.STALLED),
        ((PIL, CALL, APP), Activity.CPU_WORK, Activity.CPU_WORK),
        ((CALL, PIL, APP), Activity.CPU_WORK, Activity.CPU_WORK),
        ((PIL, APP, FETCH), Activity.LOADER_WORK, Activity.LOADER_WORK),
        ((RECV, APP, FETCH), Activity.LOADER_WORK, Activity.IO_WAIT),
        ((WAIT, APP), Activity.QUEUE_WAIT, Activity.QUEUE_WAIT),
        ((WAIT, S3FS, APP), Activity.IO_WAIT, Activity.IO_WAIT),
        ((WAIT, APP, S3FS), Activity.QUEUE_WAIT, Activity.QUEUE_WAIT),
        ((CONV, CALL, APP, MAP), Activity.LAUNCH, Activity.STALLED),
        ((CONV, CALL, APP, PANDAS), Activity.LAUNCH, Activity.STALLED),
        ((CONV, APP, CALL, PIL), Activity.CPU_WORK, Activity.CPU_WORK),
        ((APP, PANDAS), Activity.CPU_WORK, Activity.CPU_WORK),
        ((MAP, APP), Activity.CPU_WORK, Activity.STALLED),
        ((APP, FETCH), Activity.LOADER_WORK, Activity.IO_WAIT),
        ((RECV, APP), Activity.IO_WAIT, Activity.IO_WAIT),
        ((RECV, SERVER), Activity.CPU_WORK, Activity.QUEUE_WAIT),
        ((APP,), Activity.NATIVE, Activity.BLOCKED),
        ((), Activity.BLOCKED, Activity.BLOCKED),
        ((_app("n += len(s.recv(4096))"),), Activity.NATIVE, Activity.IO_WAIT),
        ((_app("loss = y.mean().item()"),), Activity.SYNC, Activity.SYNC),
        ((_app("b.copy_(a)"),), Activity.COPY, Activity.COPY),
        ((_app("torch.cuda.empty_cache()"),), Activity.ALLOCATOR, Activity.ALLOCATOR),
        ((_app("y = np.percentile(x, 5)"),), Activity.CPU_WORK, Activity.CPU_WORK),
        ((_app("y = torch.relu(x)"),), Activity.LAUNCH, Activity.LAUNCH),
        ((_app("time.sleep(1)"),), Activity.NATIVE, Activity.QUEUE_WAIT),
    ],
)
def test_meaning_of_a_stack(frames: tuple[Frame, ...], on: Activity, off: Activity) -> None:
    found = classify_stack(frames)
    assert (found.on, found.off) == (on, off)


def test_threads_that_prepare_data_feed_no_gpu() -> None:
    assert classify_stack((CONV, CALL, APP)).feeds
    assert classify_stack((PIL, APP, FETCH)).feeds
    assert not classify_stack((CALL, PIL, APP)).feeds
    assert not classify_stack((WAIT, APP)).feeds
